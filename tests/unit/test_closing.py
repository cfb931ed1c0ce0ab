"""A run ends with one line on what it changed."""

from typing import Any

import pytest

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


CHANGES = ["file /etc/kafka/server.properties", "file /etc/systemd/system/kafka.service", "directory /var/lib/kafka"]


@pytest.mark.parametrize(
    ("check_mode", "failed", "line"),
    [
        (
            False,
            (),
            "millrace: restarted kafka on kafka1, kafka2; started spark-job@a on spark1; "
            "2 files, 1 directory, 1 user, 2 ACLs, 3 elected leaders, 1 other task changed something",
        ),
        (
            True,
            (),
            "millrace: check mode, nothing was changed; a run would have: restarted kafka on kafka1, kafka2; started "
            "spark-job@a on spark1; 2 files, 1 directory, 1 user, 2 ACLs, 3 elected leaders, "
            "1 other task changed something",
        ),
        (
            False,
            ("kafka3",),
            "millrace: restarted kafka on kafka1, kafka2; started spark-job@a on spark1; 2 files, 1 directory, 1 user, "
            "2 ACLs, 3 elected leaders, 1 other task changed something; then it failed on kafka3",
        ),
    ],
)
def test_what_was_changed(check_mode: bool, failed: tuple[str, ...], line: str) -> None:
    acl = "ACL: User:a from * may READ topic t (literal)"
    found = closing(
        (HOST, "kafka1", {"changes": CHANGES}),
        (HOST, "kafka2", {"changes": ["restart kafka.service"]}),
        (HOST, "kafka1", {"changes": ["restart kafka.service"]}),
        (HOST, "spark1", {"changes": ["start spark-job@a.service"]}),
        (ACCESS, "kafka1", {"changes": ["user a: new", acl, f"no {acl}"], "changed": True}),
        ("millrace.kafka.kafka_leaders", "kafka1", {"changed": True, "moved": ["t-0", "t-1", "t-2"]}),
        ("ansible.builtin.shell", "spark1", {"changed": True}),
    )
    assert found.line(check_mode, failed) == line
