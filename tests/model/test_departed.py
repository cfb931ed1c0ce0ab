"""What left the inventory while it is needed."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import check_hosts
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import merged
from model.probes import Probe, answer, model, probed


@pytest.mark.parametrize(
    ("dropped", "given_up", "offline", "codes"),
    [
        ({"mounted": True, "names": []}, ["/data/kafka3"], ["orders-0"], ["LOG_DIR_DROPPED"]),
        ({"mounted": True, "error": "EIO"}, [], ["orders-0", "orders-1"], ["LOG_DIR_DROPPED"]),
        ({"mounted": False, "names": []}, [], ["orders-0"], ["LOG_DIR_DROPPED"]),
        ({"mounted": True, "names": ["orders-0"]}, ["/data/kafka3"], [], []),
        ({"mounted": True, "names": []}, [], ["orders-0"], []),
    ],
)
def test_a_disk_that_failed_is_not_left_out_while_it_may_hold_the_last_in_sync(
    dropped: dict[str, Any], given_up: list[str], offline: list[str], codes: list[str]
) -> None:
    """Its broker would come back with an empty replica, and lead."""
    change = answer(log_dirs=["/data/kafka1", "/data/kafka3"], given_up=given_up, dropped={"/data/kafka3": dropped})
    probe = Probe("", "", "", change)
    found = check_hosts(model(probe), probed(probe), {}, offline)
    assert [problem.code for problem in found] == codes


META = {"cluster.id": "x", "broker.id": "1"}
BOTH = ["/data/kafka1", "/data/kafka2"]


@pytest.mark.parametrize(
    ("told", "alone", "codes"),
    [
        ({"log_dirs": BOTH, "meta_properties": {BOTH[0]: META}}, {"1": ["late-0"]}, ["LOG_DIR_EMPTY"]),
        ({"log_dirs": [BOTH[0], BOTH[1] + "/"], "meta_properties": {BOTH[0]: META}}, {"1": ["t-0"]}, ["LOG_DIR_EMPTY"]),
        ({"log_dirs": BOTH}, {"1": ["late-0"]}, ["LOG_DIR_EMPTY"]),  # one line for both
        ({"log_dirs": BOTH}, {}, []),  # it comes back with empty disks, and copies
        ({"log_dirs": BOTH, "meta_properties": {BOTH[0]: META}}, {"9": ["late-0"]}, []),  # another one may lead
        ({"log_dirs": BOTH, "meta_properties": {BOTH[0]: META}}, {"1": ["kept-0"]}, []),  # it has that
        ({"log_dirs": BOTH[:1], "meta_properties": {BOTH[0]: META}}, {"1": ["late-0"]}, []),  # a log dir more
        ({}, {"1": ["late-0"]}, ["LOG_DIR_EMPTY"]),  # a host that was installed anew, under an id that is known
        ({"meta_properties": {BOTH[0]: META}}, {"1": ["late-0"]}, ["LOG_DIR_EMPTY"]),  # and has one of its disks
        ({"meta_properties": {BOTH[0]: META}}, {"1": ["kept-0"]}, []),
        ({"meta_properties": dict.fromkeys(BOTH, META)}, {"1": ["late-0"]}, []),  # or all of them
        ({}, {"9": ["late-0"]}, []),  # a new broker
        ({}, {}, []),  # a first install: nobody answers
        ({"log_dirs": BOTH, "meta_properties": dict.fromkeys(BOTH, META)}, {"1": ["late-0"]}, []),  # nothing is new
    ],
)
def test_no_broker_begins_with_nothing_what_it_alone_had_in_sync(
    told: dict[str, Any], alone: dict[str, list[str]], codes: list[str]
) -> None:
    """It would lead that, and the other replicas would throw away what they have."""

    def change(found: dict[str, Any]) -> None:
        found.update(told)
        found["mounts"][BOTH[0]]["names"] = ["kept-0"] if told.get("meta_properties") else []

    probe = Probe("", "", "", change)
    problems = merged(check_hosts(model(probe), probed(probe), {}, [], alone))
    assert [problem.code for problem in problems] == codes
    verb = "replace_disk.yml -e broker=1 -e log_dir=" if told.get("log_dirs") else "site.yml -e lost="
    for one in problems:
        assert alone["1"][0] in str(one.message) and verb in one.advice
    assert not [one for one in check_hosts(model(probe), probed(probe), {}, [], alone, alone.get("1", ()))]


LOST = [f"late-{number}" for number in range(5)]


def test_what_is_printed_gives_all_of_it_up() -> None:
    """One that it leaves out is a reason to refuse it again; a log dir that is left out names what was there alone."""
    dropped = {"/data/kafka3": {"mounted": False, "names": []}}
    change = answer(log_dirs=[*BOTH, "/data/kafka3"], meta_properties={BOTH[0]: META}, dropped=dropped)
    probe = Probe("", "", "", change)
    found = check_hosts(model(probe), probed(probe), {}, [*LOST, "others-0"], {"1": LOST, "9": ["others-0"]})
    verb = f"-e lost={','.join(LOST)})"
    assert [(one.code, one.advice.endswith(verb)) for one in found] == [
        ("LOG_DIR_DROPPED", True), ("LOG_DIR_EMPTY", True)]  # fmt: skip
    (dropped_alone,) = check_hosts(model(probe), probed(probe), {}, ["others-0"], {"9": ["others-0"]})
    assert dropped_alone.advice.endswith("(playbooks/replace_disk.yml -e broker=1 -e log_dir=/data/kafka3)")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"serves": BOTH, "meta_properties": {BOTH[0]: META}}, True),
        ({"serves": [BOTH[1] + "/"], "meta_properties": {BOTH[0]: META}}, True),
        ({"serves": BOTH[:1], "meta_properties": {BOTH[0]: META}}, False),  # it has given that up
        ({"serves": [], "meta_properties": {BOTH[0]: META}}, False),  # it is down
        ({"serves": BOTH, "meta_properties": dict.fromkeys(BOTH, META)}, False),
    ],
)
def test_no_disk_is_mounted_over_one_from_which_its_broker_serves(told: dict[str, Any], said: bool) -> None:
    """With a restart it would lose what it has there; of no partition that lacks a leader does anybody know."""
    probe = Probe("", "", "", answer(log_dirs=BOTH, **told))
    found = check_hosts(model(probe), probed(probe))
    assert [(one.code, one.value) for one in found] == ([("LOG_DIR_EMPTY", BOTH[1])] if said else [])
    for one in found:
        assert "still serves from the disk that was mounted there before" in one.message
        assert "stop.yml -l dc1-kafka1), then run playbooks/replace_disk.yml -e broker=1 -e log_dir=" in one.advice


def test_a_log_dir_in_which_the_broker_has_begun_is_its_own() -> None:
    """It locks it before it writes what that is."""
    probe = Probe("", "", "", answer(log_dirs=BOTH, serves=BOTH, meta_properties={BOTH[0]: META}))
    answers = probed(probe)
    answers[probe.host]["mounts"][BOTH[1]]["names"] = [".lock"]
    assert check_hosts(model(probe), answers) == []


@pytest.mark.parametrize(
    ("changes", "declared", "codes"),
    [
        ({"error": "Input/output error"}, {}, ["DISK_FAILED"]),
        ({"mounted": False}, {}, ["NOT_MOUNTED"]),
        ({"mounted": False}, {"kafka_log_dirs_are_mounts": False}, ["LOG_DIR_EMPTY"]),
    ],
)
def test_beside_a_disk_that_fails_a_broker_makes_no_replica_anew(
    changes: dict[str, Any], declared: dict[str, Any], codes: list[str]
) -> None:
    change = answer(log_dirs=BOTH, meta_properties={BOTH[0]: META})
    probe = Probe("", "", "", change, declared=declared)
    answers = probed(probe)
    answers[probe.host]["mounts"] = {**answers[probe.host]["mounts"]}
    answers[probe.host]["mounts"][BOTH[1]] = {**answers[probe.host]["mounts"][BOTH[1]], **changes}
    found = check_hosts(model(probe), answers, {}, [], {"1": ["late-0"]})
    assert [problem.code for problem in found] == codes


def test_a_broker_whose_id_was_changed_is_one_mistake() -> None:
    """Its disks say so; that nobody has the old id any more is the same mistake. Another id is another one."""
    change = answer(meta_properties={"/data/kafka1": {"broker.id": "7"}})
    probe = Probe("", "", "", change)
    found = check_hosts(model(probe), probed(probe), {"7": 12, "8": 3})
    assert [(problem.code, problem.value) for problem in found] == [("KAFKA_ID_CHANGED", 1), ("BROKER_DROPPED", 8)]
