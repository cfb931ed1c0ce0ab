"""A run ends with one line on what it changed."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import connection
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Done, Plan
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Metadata
from ansible_collections.millrace.kafka.plugins.plugin_utils.closing import Closing

HOST = "millrace.kafka.host_state"
ACCESS = "millrace.kafka.kafka_access"


def closing(*answers: tuple[str, str, dict[str, Any]]) -> Closing:
    found = Closing()
    for action, host, result in answers:
        found.note(action, host, result)
    return found


def test_nothing_changed() -> None:
    found = closing((HOST, "kafka1", {"changes": []}), ("ansible.builtin.shell", "kafka1", {"changed": False}))
    assert found.line(check_mode=False) == "millrace: nothing changed"
    assert found.line(check_mode=True) == "millrace: check mode, nothing was changed, nor would a run"


def test_a_run_that_only_looks_has_none() -> None:
    asked: dict[str, Any] = {"changes": [], "modes": {}}
    found = closing(("millrace.kafka.health_page", "kafka1", {}), ("millrace.kafka.zookeeper_ensemble", "zk1", asked))
    assert found.line(check_mode=False) == ""


CHANGED_ACCESS = (
    Change("user", "a", "create", (), ("SCRAM-SHA-512: 8192 iterations",)),
    Change("ACL", "User:a from * may READ topic t (literal)", "create"),
    Change("ACL", "User:a from * may WRITE topic t (literal)", "delete"),
)


def answer(*changes: Change, refusals: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what a module of resources answers."""
    plan = Plan(changes, refusals=refusals)
    return connection.answer([(plan, lambda written, _: Done(written))], Metadata("id", 1, {}, []), "resources")


def test_resources_of_a_cluster() -> None:
    """Of each kind as many as there were; the same where a playbook does one thing alone."""
    topics = [Change("topic", f"t{number}", "create", (), ("3 partitions",)) for number in range(20)]
    found = closing(
        ("millrace.kafka.kafka_topics", "kafka1", answer(*topics)),
        (ACCESS, "kafka1", answer(*CHANGED_ACCESS)),
        ("millrace.kafka.kafka_quotas", "kafka1", answer(Change("quota", "user a, client id b", "update"))),
        ("millrace.kafka.kafka_groups", "kafka1", answer(Change("group", "g", "update"))),
    )
    assert found.line(check_mode=False) == "millrace: 20 topics, 1 user, 2 ACLs, 1 quota, 1 group"


def test_brokers_that_were_told_settings() -> None:
    """Of a failed run those that were told before it."""
    name, changes = "millrace.kafka.kafka_live_config", [Change("settings of", f"broker {n}", "update") for n in (1, 2)]
    assert closing((name, "a", answer(changes[0]))).line(check_mode=False) == "millrace: 1 broker with new settings"
    found = closing((name, "a", answer(*changes)))
    assert found.line(check_mode=False) == "millrace: 2 brokers with new settings"
    done = {"done": ["settings of broker 1"], "failed": {"settings of broker 2": "no"}, "not_tried": []}
    cut = closing((name, "a", {**answer(*changes), "outcome": done}))
    assert cut.line(check_mode=False, failed=["a"]) == "millrace: 1 broker with new settings; then it failed on a"


@pytest.mark.parametrize("name", ["kafka_access", "kafka_topics", "kafka_quotas", "kafka_groups"])
def test_what_was_refused_is_no_change(name: str) -> None:
    refused = {**answer(*CHANGED_ACCESS, refusals=("no",)), "changed": False, "failed": True}
    line = closing((f"millrace.kafka.{name}", "kafka1", refused)).line(False, ["kafka1"])
    assert line == "millrace: nothing changed; then it failed on kafka1"


def test_what_was_done_before_a_failure() -> None:
    """A broker refused the second ACL."""
    done = connection.names_of(CHANGED_ACCESS[:2])
    outcome = {"done": done, "failed": {"ACL x": "why"}, "not_tried": []}
    failed = {**answer(*CHANGED_ACCESS), "changed": True, "failed": True, "outcome": outcome}
    assert closing((ACCESS, "kafka1", failed)).line(False, ["kafka1"]) == (
        "millrace: 1 user, 1 ACL; then it failed on kafka1"
    )


@pytest.mark.parametrize(
    ("result", "line"),
    [
        ({"changed": True, "deleted": 7}, "millrace: 1 emptied topic"),
        ({"changed": False, "deleted": 0}, "millrace: nothing changed"),
        ({"changed": True, "made": "3 partitions, no settings"}, "millrace: 1 recreated topic"),
        ({"changed": True, "failed": True}, "millrace: 1 partly changed topic"),
        ({"changed": False, "partitions": []}, ""),
    ],
)
def test_one_topic(result: dict[str, Any], line: str) -> None:
    assert closing(("millrace.kafka.kafka_topic", "kafka1", result)).line(check_mode=False) == line


def test_groups_that_are_described() -> None:
    found = closing(("millrace.kafka.kafka_groups", "kafka1", {"changed": False, "groups": []}))
    assert found.line(check_mode=False) == ""


CHANGES = ["file /etc/kafka/server.properties", "file /etc/systemd/system/kafka.service", "directory /var/lib/kafka"]


@pytest.mark.parametrize(
    ("check_mode", "failed", "line"),
    [
        (
            False,
            (),
            "millrace: restarted kafka on kafka1, kafka2; started spark-job@a on spark1; 2 files, "
            "1 directory, 1 user, 2 ACLs, 3 elected leaders, 1 moved partition, 1 other task changed something",
        ),
        (
            True,
            (),
            "millrace: check mode, nothing was changed; a run would have: restarted kafka on kafka1, kafka2; started "
            "spark-job@a on spark1; 2 files, 1 directory, 1 user, 2 ACLs, 3 elected leaders, "
            "1 moved partition, 1 other task changed something",
        ),
        (
            False,
            ("kafka3",),
            "millrace: restarted kafka on kafka1, kafka2; started spark-job@a on spark1; 2 files, 1 directory, 1 user, "
            "2 ACLs, 3 elected leaders, 1 moved partition, 1 other task changed something; then it failed on kafka3",
        ),
    ],
)
def test_what_was_changed(check_mode: bool, failed: tuple[str, ...], line: str) -> None:
    found = closing(
        (HOST, "kafka1", {"changes": CHANGES}),
        (HOST, "kafka2", {"changes": ["restart kafka.service"]}),
        (HOST, "kafka1", {"changes": ["restart kafka.service"]}),
        (HOST, "spark1", {"changes": ["start spark-job@a.service"]}),
        (ACCESS, "kafka1", answer(*CHANGED_ACCESS)),
        ("millrace.kafka.kafka_leaders", "kafka1", {"changed": True, "moved": ["t-0", "t-1", "t-2"]}),
        ("millrace.kafka.kafka_reassign", "kafka1", {"changed": True, "moved": ["t-0"]}),
        ("ansible.builtin.shell", "spark1", {"changed": True}),
    )
    assert found.line(check_mode, failed) == line
