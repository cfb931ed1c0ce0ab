"""Filters that say which hosts a play is for, from what modules answered."""

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from unit.test_filters import general

from ansible_collections.millrace.kafka.plugins.lookup.run_lock import LookupModule
from ansible_collections.millrace.kafka.plugins.plugin_utils import run_lock

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
KEYS, CAS = "/tls/keystore.pem", "/tls/ca.pem"


def test_the_lookup_of_preflight_opens_the_sockets_of_the_run_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for an exported inventory, which no plugin reads. The filter that computes the pattern opens none."""
    monkeypatch.setattr(run_lock, "_KEEPER", run_lock.Keeper())
    pattern = general["function_pattern"]({"all": ["a"], "kafka": ["a"]})
    assert (pattern, run_lock._KEEPER.sender) == ("kafka", None)
    assert LookupModule().run([pattern]) == [pattern]
    assert run_lock._KEEPER.sender


def test_the_host_of_a_broker() -> None:
    """By its id as text or number; without such a broker, the message lists the ids."""
    hostvars = {"a": {"kafka_broker_id": 3}, "b": {"kafka_broker_id": 12}}
    assert [general["broker_host"](["a", "b"], hostvars, one) for one in (3, " 12", "03")] == ["a", "b", "a"]
    assert general["broker_host"](["a"], {}, "") == "all:!all"
    for broker, message in (
        ("", "no broker is set; use one of 3, 12"),
        (9, "the inventory has no broker 9; use one of 3, 12"),
    ):
        with pytest.raises(AnsibleFilterError, match=message):
            general["broker_host"](["a", "b"], hostvars, broker)


def probed(*java: str, **inputs: str) -> dict[str, Any]:
    """Return variables of a host that was probed."""
    return {"preflight_probe": {"probe": {"java": dict.fromkeys(java, "17.0.19")}}, **inputs}


def test_hosts_without_java() -> None:
    """Those whose probe found none where the role wants it; who was not probed, as in a limited run, is left alone."""
    hostvars = {
        "a": probed(),
        "b": probed("/usr/bin/java"),
        "c": {},
        "d": {"preflight_probe": {"unreachable": True}},
        "e": probed("/opt/jdk/bin/java"),
        "f": probed("/opt/jdk/bin/java", java_executable="/opt/jdk/bin/java"),
    }
    assert general["lacking_java"](["a", "b", "c", "d", "e", "f"], hostvars) == "a,e"
    assert general["lacking_java"](["b", "c"], hostvars) == "all:!all"
    assert general["lacking_java"](["a"], {}) == "all:!all"
    assert general["lacking_java"]([], {}) == "all:!all"


def test_hosts_that_are_owed_a_restart() -> None:
    """Of this unit, as this run's host_state answered."""
    hostvars: dict[str, Any] = {
        "a": {"kafka_state": {"units": {"kafka.service": {"restart_owed": True}}}},
        "b": {
            "kafka_state": {
                "units": {"kafka.service": {"restart_owed": False}, "other.service": {"restart_owed": True}}
            }
        },
        "c": {"kafka_state": {"skipped": True}},
        "d": {},
        "e": {"zookeeper_state": {"units": {"kafka.service": {"restart_owed": True}}}},
        "f": {"kafka_state": {"units": {"kafka.service": {"restart_owed": True}}}},
    }
    assert general["owed_restart"](list(hostvars), hostvars, "kafka_state", "kafka.service") == "a,f"
    assert general["owed_restart"](["b", "c", "d", "e"], hostvars, "kafka_state", "kafka.service") == "all:!all"
    assert general["owed_restart"](["a"], {}, "kafka_state", "kafka.service") == "all:!all"


def test_brokers_that_are_to_be_told_settings() -> None:
    """As this run's host_state answered of this unit; who was not asked, or answered nothing of it, is left alone."""

    def answered(owed: bool, unit: str = "kafka.service", **more: Any) -> dict[str, Any]:
        live = {"owed": owed, "anew": False, "digest": "d", "settings": {"a": "1"}, "told": {}, **more}
        return {"kafka_state": {"units": {unit: {"live": live}}}, "kafka_broker_id": "7"}

    hostvars: dict[str, Any] = {
        "a": answered(True, anew=True, told={"a": ["2"]}),
        "b": answered(False),
        "c": answered(True, "other.service"),
        "d": {"kafka_state": {"skipped": True}},
        "e": {},
        "f": {"kafka_state": {"units": {"kafka.service": {"restart_owed": True}}}},
        "g": answered(True),
    }
    asked = (hostvars, "kafka_state", "kafka.service")
    assert general["owed_settings"](list(hostvars), *asked) == "a,g"
    assert general["owed_settings"](["b", "c", "d", "e", "f"], *asked) == "all:!all"
    assert general["owed_settings"](["a"], {}, "kafka_state", "kafka.service") == "all:!all"
    assert general["settings_owed"](list(hostvars), *asked) == [
        {"id": 7, "settings": {"a": "1"}, "told": {"a": ["2"]}, "anew": True},
        {"id": 7, "settings": {"a": "1"}, "told": {}, "anew": False},
    ]


def test_hosts_that_a_run_touched() -> None:
    """What was started, and what is owed a restart; not another unit."""
    hostvars: dict[str, Any] = {
        "a": {"kafka_state": {"units": {"kafka.service": {"started": True, "restart_owed": False}}}},
        "b": {"kafka_state": {"units": {"other.service": {"started": True}, "kafka.service": {"started": False}}}},
        "c": {"kafka_state": {"units": {"kafka.service": {"started": False, "restart_owed": True}}}},
        "d": {},
    }
    assert general["touched"](list(hostvars), hostvars, "kafka_state", "kafka.service") == ["a", "c"]


def test_brokers_with_a_disk_that_failed() -> None:
    hostvars: dict[str, Any] = {
        "a": {"kafka_broker_id": "1", "seen": {"probe": {"given_up": ["/data/kafka2"]}}},
        "b": {"kafka_broker_id": 2, "seen": {"probe": {"given_up": []}}},
        "c": {"kafka_broker_id": 3, "seen": {"unreachable": True}},
        "d": {"kafka_broker_id": 4},
    }
    assert general["sick_brokers"](list(hostvars), hostvars, "seen") == [1]


def test_devices_of_log_dirs() -> None:
    """Named as brokers name them; a mount that fails has none, a host that was not asked is left out."""
    mounts = {"/data/1/": {"mounted": True, "device": 2049}, "/data/2": {"mounted": False, "error": "EIO"}}
    hostvars: dict[str, Any] = {
        "a": {"kafka_broker_id": 1, "seen": {"probe": {"mounts": mounts}}},
        "b": {"kafka_broker_id": 2, "seen": {"unreachable": True}},
        "c": {"kafka_broker_id": 3},
    }
    assert general["log_dir_devices"](list(hostvars), hostvars, "seen") == {"1": {"/data/1": 2049}}


def test_what_lacked_before_the_first_restart() -> None:
    """The first in time, whatever the order of the inventory."""
    hostvars: dict[str, Any] = {
        "a": {},
        "b": {"before": {"skipped": True}},
        "c": {"before": {"lacking": {"brokers": ["3"]}, "at": 9.0}},
        "d": {"before": {"lacking": {}, "at": 12.5}},
        "e": {"run": {"lacking": {"brokers": ["2"]}, "at": 10.0}},
    }
    assert general["lacked_before"](list(hostvars), hostvars, "before") == {"brokers": ["3"]}
    assert general["lacked_before"](["d", "c", "a"], hostvars, "before") == {"brokers": ["3"]}
    assert general["lacked_before"](["a", "d", "b"], hostvars, "before") == {}
    assert general["lacked_before"]([], hostvars, "before") == {}
    hostvars["x"] = {"order": {"at": 0.1, "opened": []}}
    assert general["lacked_before"](["x", "d", "c", "a"], hostvars, "order", "before") == {"brokers": ["3"]}
    hostvars["x"] = {"order": {"at": 0.1, "opened": [1], "lacking": {}}}
    assert general["lacked_before"](["x", "d", "c", "a"], hostvars, "order", "before") == {}
    assert general["lacked_before"](["d", "e"], hostvars, "before", "run") == {"brokers": ["2"]}
    assert general["lacked_before"](["d", "e", "c"], hostvars, "run", "before") == {"brokers": ["3"]}


def test_what_comes_after_a_batch() -> None:
    following = general["following_batch"]
    assert following([[3], [1, 4], [2]], [3]) == [1, 4]
    assert following([["3"], ["1", "4"], ["2"]], [4, 1]) == [2]
    assert following([[3], [1]], [1]) == following([[3], [1]], [7]) == following([], [1]) == []


def test_what_a_gate_answered_last() -> None:
    hostvars = {
        "a": {"order": {"at": 2.0, "opened": [1]}, "back": {"at": 3.5, "opened": [2]}},
        "b": {"order": {"at": 2.0, "opened": [1]}, "back": {"skipped": True}},
        "c": {},
    }
    assert general["latest_answer"](["a", "b", "c"], hostvars, "order", "back")["opened"] == [2]
    assert general["latest_answer"](["b", "c"], hostvars, "order", "back")["opened"] == [1]
    assert general["latest_answer"](["b", "c"], hostvars, "back") == {}


def test_who_is_restarted_together_and_after_one_another() -> None:
    def owed(broker: int, **more: Any) -> dict[str, Any]:
        state = {"kafka.service": {"restart_owed": True}}
        return {"kafka_broker_id": broker, "kafka_state": {"units": state}, **more}

    told = {"order": {"batches": [[4, 2], [1]]}}
    hostvars = {"a": owed(1, **told), "b": owed(2, **told), "c": {"kafka_broker_id": 3}, "d": owed(4), "e": owed(5)}
    names = ("kafka_state", "kafka.service", "order")
    assert general["restart_batches"](list("abcde"), hostvars, *names) == [["d", "b"], ["a"], ["e"]]
    assert general["restart_batches"](list("acd"), hostvars, *names) == [["d"], ["a"]]
    assert general["restart_batches"](["c"], hostvars, *names) == []
    assert general["restart_batches"](["e", "d"], hostvars, *names) == [["e"], ["d"]]
    servers = {name: {**owed(0), "order": {"order": ["y", "x"]}} for name in "xy"}
    assert general["restart_batches"](["x", "y"], servers, *names) == [["y"], ["x"]]


def test_whether_a_restart_begins_goes_on_or_ends() -> None:
    """An earlier run is gone on with where it was for the very same hosts, which is what its marks say."""

    def probed(word: str, *run: str) -> dict[str, Any]:
        unit = "kafka.service"
        return {"probe": {"probe": {word: [unit], "restart_hosts": {unit: sorted(run)}}}}

    none: dict[str, Any] = {"probe": {"probe": {"to_restart": [], "restarted": [], "restart_hosts": {}}}}
    due, done = "to_restart", "restarted"
    for marks, word in (
        ({"a": none, "b": {}}, "mark"),
        ({"a": probed(due, "a", "b"), "b": none}, "mark"),
        ({"b": probed(due, "a", "b"), "a": probed(done, "a", "b")}, "mark"),
        ({"b": probed(done, "a", "b"), "a": probed(done, "a", "b")}, "keep"),
        ({"a": probed(done, "a", "b"), "c": none}, "mark"),  # b is owed; c was not named then
        ({"a": probed(done, "a", "b")}, "mark"),
        ({"a": probed(done, "a", "b"), "b": none}, "again"),  # another run has restarted b since, and ended
        ({"a": probed(done), "b": probed(done)}, "mark"),  # of an older version
        ({}, "mark"),
    ):
        assert general["restart_marking"](list(marks), marks, "probe") == word, marks
    left = {"a": probed(done, "a", "b", "d"), "c": none}
    assert general["restart_unnamed"](["a", "c"], left, "probe") == ["b", "d"]
    assert general["restart_unnamed"](["c"], left, "probe") == []


LOST = {"unreachable": True, "msg": "Failed to connect to the host via ssh"}
DONE: dict[str, Any] = {"changed": True, "units": {}}


@pytest.mark.parametrize(
    ("hostvars", "present", "more", "expected"),
    [
        ({}, "abc", {}, []),
        ({}, "bc", {}, ["a"]),  # the run has lost it
        ({"b": {"own": LOST}, "a": {"own": DONE}}, "abc", {"own": ["own"]}, ["b"]),  # and ignored that
        ({"a": {"own": DONE}}, "abc", {"own": ["own"]}, []),
        ({"a": {"own": DONE}, "b": {"own": {"skipped": True}}}, "abc", {"own": ["own"], "complete": True}, ["b", "c"]),
        ({"a": {"gate": LOST}}, "abc", {"asked": ["gate"], "admin": "x"}, ["x"]),  # a was asked for at x
        ({"a": {"own": DONE}}, "bc", {"own": ["own"], "admin": "x"}, ["x"]),  # a itself did answer
        ({"a": {"own": LOST}, "b": {"gate": LOST}}, "c", {"own": ["own"], "asked": ["gate"], "admin": "x"}, ["a", "x"]),
    ],
)
def test_who_could_not_be_reached(
    hostvars: dict[str, Any], present: str, more: dict[str, Any], expected: list[str]
) -> None:
    """What is charged to a host of the admin host's silence, and what it answered itself, are told apart."""
    assert general["silent_hosts"]([*"abc"], [*present], hostvars, **more) == expected
