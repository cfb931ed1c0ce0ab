"""Writes that end half way, or without an answer: what was done, what was not, and of what nobody knows."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from kafka.errors import RequestTimedOutError
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import broker_control, connection
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import admin, kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import users as credentials
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.users import Logins
from ansible_collections.millrace.kafka.plugins.modules import (
    kafka_access,
    kafka_broker_config,
    kafka_quotas,
    kafka_topics,
)

SASL = {"security.protocol": "SASL_SSL"}
ACL: dict[str, Any] = {"principal": "User:a", "operations": ["READ"], "resource": "topic", "name": "t"}
KINDS: dict[str, tuple[str, Any, dict[str, Any], str]] = {
    "topics": (
        "create_topics",
        kafka_topics,
        {"topics": [{"name": "t", "partitions": 1, "replication_factor": 3}]},
        "topic t",
    ),
    "more partitions": (
        "create_partitions",
        kafka_topics,
        {"topics": [{"name": "old", "partitions": 2, "replication_factor": 3, "allow_more_partitions": True}]},
        "topic old",
    ),
    "topics that go": (
        "delete_topics",
        kafka_topics,
        {"topics": [{"name": "old", "state": "absent", "allow_delete": True}]},
        "topic old",
    ),
    "ACLs": ("create_acls", kafka_access, {"login": {}, "acls": [ACL]}, "ACL User:a from * may READ topic t (literal)"),
    "users": (
        "alter_user_scram_credentials",
        kafka_access,
        {"login": SASL, "users": [{"name": "a", "password": "Guoph0Eeshi7", "verify": "generation"}]},
        "user a",
    ),
    "quotas": (
        "alter_client_quotas",
        kafka_quotas,
        {"quotas": [{"user": "a", "values": {"producer_byte_rate": 5.0}}]},
        "quota user a",
    ),
    "settings of brokers": (
        "incremental_alter_configs",
        kafka_broker_config,
        {"brokers": [{"id": 2, "config": {"num.io.threads": 9}}]},
        "settings of broker 2",
    ),
}


pytestmark = pytest.mark.usefixtures("clock")


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster()
    cluster.topics = {"old": [[1, 2, 3]]}
    return cluster


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make writes time out after 0.3 s. Only for writes that never arrive: no other write depends on the load."""
    monkeypatch.setattr(connection, "Admin", lambda properties, _: Admin(properties, 0.3))
    monkeypatch.setattr(broker_control, "SECONDS", 1.0)  # of the fake clock


@pytest.fixture
def withheld(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a request time out when a broker has received it and withholds the answer, however long that takes."""
    answer, bounded = admin.answer, kafka_python.bounded

    def is_answered(future: Future[Any]) -> bool:
        while not future.done():
            if cluster.withheld.acquire(timeout=0.01):
                return False
        return True

    def answered(future: Future[Any], timeout: float) -> Any:
        return answer(future, timeout) if is_answered(future) else answer(Future(), -1)

    def bounded_by_the_broker(seconds: float, function: Callable[[], Any], what: str) -> Any:
        def ask() -> Any:
            future = in_a_thread(function)
            if is_answered(future):
                return future.result()
            raise RequestTimedOutError

        return bounded(seconds, ask, what)

    monkeypatch.setattr(admin, "answer", answered)
    monkeypatch.setattr(kafka_python, "bounded", bounded_by_the_broker)


def in_a_thread(function: Callable[[], Any]) -> Future[Any]:
    """Call a function in a thread that does not keep the process from ending."""
    future: Future[Any] = Future()

    def call() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return future


@pytest.mark.parametrize(("method", "module", "arguments", "name"), KINDS.values(), ids=KINDS)
def test_a_write_whose_answer_does_not_come(
    run: Run, withheld: None, cluster: FakeCluster, method: str, module: Any, arguments: dict[str, Any], name: str
) -> None:
    """It was done all the same: that is read back, and no failure."""
    cluster.late = {method}
    done = run(module, **arguments)
    assert (done.get("failed"), done["changed"]) == (None, True), done["msg"]
    assert len(cluster.written) == 1
    cluster.late = set()
    assert run(module, **arguments)["changed"] is False


@pytest.mark.parametrize(("method", "module", "arguments", "name"), KINDS.values(), ids=KINDS)
def test_a_write_that_never_arrives(
    run: Run, brief: None, cluster: FakeCluster, method: str, module: Any, arguments: dict[str, Any], name: str
) -> None:
    cluster.lost = {method}
    done = run(module, **arguments)
    assert (done["failed"], done["changed"], cluster.written) == (True, True, [])
    assert list(done["outcome"]["failed"]) == [name]
    assert done["outcome"]["failed"][name].endswith("; it was read again, and is not written so far")
    assert done["outcome"]["unknown"] == [name], "it may still be in a queue"


@pytest.mark.parametrize(("method", "module", "arguments", "name"), KINDS.values(), ids=KINDS)
def test_a_write_of_which_nobody_knows(
    run: Run,
    withheld: None,
    cluster: FakeCluster,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    module: Any,
    arguments: dict[str, Any],
    name: str,
) -> None:
    """No broker answers afterwards, either: the change may have been made."""
    withhold = cluster.withhold

    def withhold_all() -> None:
        monkeypatch.setattr(admin, "FIRST", 0.3)  # no answer comes from now on, however long the module waits
        withhold()

    monkeypatch.setattr(cluster, "withhold", withhold_all)
    cluster.last = {method}
    done = run(module, **arguments)
    assert (done["failed"], done["changed"]) == (True, True)
    assert done["outcome"]["unknown"] == [name]
    assert "unknown whether it was written, since it could not be read again (" in done["msg"]


def test_a_limit_that_is_none(run: Run) -> None:
    assert run(kafka_quotas, write_timeout=0)["msg"].startswith("write_timeout 0: too short for any write")


def test_what_was_granted_before_is_said(run: Run, brief: None, cluster: FakeCluster) -> None:
    cluster.acls, cluster.lost = [(2, "t", 3, "User:b", "*", 3, 3)], {"delete_acls"}
    done = run(kafka_access, login={}, acls=[ACL, {**ACL, "principal": "User:b", "state": "absent"}])
    assert (done["changed"], done["outcome"]["done"]) == (True, ["ACL User:a from * may READ topic t (literal)"])
    assert list(done["outcome"]["failed"]) == ["ACL User:b from * may READ topic t (literal)"]


def test_passwords_that_are_written_and_nobody_can_try(
    run: Run, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listener went away meanwhile; the credential is there, and ACLs are not begun."""

    def work(*_: Any) -> bool:
        raise AdminError("login of a at nowhere: no answer")

    monkeypatch.setattr(Logins, "work", work)
    done = run(kafka_access, login=SASL, users=[{"name": "a", "password": "Guoph0Eeshi7"}], acls=[ACL])
    assert cluster.written == ["credential a"] and done["changed"] is True
    why = "was written, but could not be verified by a login: login of a at nowhere: no answer"
    assert done["outcome"]["failed"] == {"user a": why}
    assert done["outcome"]["not_tried"] == ["ACL User:a from * may READ topic t (literal)"]


def test_a_password_that_is_written_and_does_not_log_in(
    run: Run, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "SECONDS", 0.3)
    monkeypatch.setattr(Logins, "work", lambda *_: False)
    done = run(kafka_access, login=SASL, users=[{"name": "a", "password": "Guoph0Eeshi7"}])
    assert (done["failed"], done["changed"]) == (True, True)
    assert done["outcome"]["failed"]["user a"].startswith("was written, but cannot log in with SCRAM-SHA-512")


def test_settings_of_the_first_broker_are_said_where_the_second_fails(run: Run, cluster: FakeCluster) -> None:
    cluster.refused = {"2": "no"}
    brokers = [{"id": one, "config": {"num.io.threads": 9}} for one in (1, 2, 3)]
    done = run(kafka_broker_config, brokers=brokers)
    assert done["changed"] is True and done["outcome"] == {
        "done": ["settings of broker 1"],
        "failed": {"settings of broker 2": "no (PolicyViolationError)"},
        "not_tried": ["settings of broker 3"],
        "unknown": [],
    }


def test_settings_for_all_whose_answers_do_not_come(run: Run, withheld: None, cluster: FakeCluster) -> None:
    """Neither that of the broker which takes them first, nor that of all."""
    cluster.late = {"incremental_alter_configs"}
    done = run(kafka_broker_config, config={"num.io.threads": 9})
    assert cluster.written == ["tell 2", "tell all", "tell 2"]
    assert (done.get("failed"), done["changed"]) == (None, True)
    assert cluster.told == {"": {"num.io.threads": "9"}, "2": {}}


def test_settings_for_all_that_never_arrive(run: Run, brief: None, cluster: FakeCluster) -> None:
    cluster.lost = {"incremental_alter_configs"}
    done = run(kafka_broker_config, config={"num.io.threads": 9})
    failed = done["outcome"]["failed"]["settings of all brokers"]
    assert failed.startswith("was tried on broker 2 first: it is unknown whether the broker has it (no answer ")
    assert "no other broker was changed" in failed
    assert (done["changed"], cluster.told) == (False, {})


def test_a_broker_that_a_setting_ended_was_changed(run: Run, cluster: FakeCluster) -> None:
    cluster.fatal = {"num.io.threads"}
    done = run(kafka_broker_config, brokers=[{"id": 2, "config": {"num.io.threads": 9}}])
    assert (done["failed"], done["changed"]) == (True, True)


OWN = "broker 2 still has it as a setting of its own: "
BACK = "remove num.io.threads of broker 2 with null when it answers"


@pytest.mark.parametrize("cut", [{"": False}, {"2": False}, {"": False, "2": False}])
def test_settings_for_all_are_taken_while_the_connection_breaks(
    run: Run, cluster: FakeCluster, cut: dict[str, bool]
) -> None:
    """The broker that took them first does not keep them as its own, where a later change would not reach it."""
    cluster.cut = cut
    done = run(kafka_broker_config, config={"num.io.threads": 9})
    assert (done.get("failed"), done["changed"]) == (None, True), done["msg"]
    assert cluster.told == {"": {"num.io.threads": "9"}, "2": {}}


def test_settings_for_all_that_are_done_and_answered_as_if_nobody_knew(run: Run, cluster: FakeCluster) -> None:
    cluster.unclear = {"2", "all"}
    done = run(kafka_broker_config, config={"num.io.threads": 9})
    assert (done.get("failed"), done["changed"]) == (None, True), done["msg"]
    assert cluster.told == {"": {"num.io.threads": "9"}, "2": {}}


def test_a_broker_that_ends_while_all_are_told_is_no_success(run: Run, cluster: FakeCluster) -> None:
    """Those that are left have the setting, and none has it of its own."""
    cluster.cut = {"": True}
    done = run(kafka_broker_config, config={"num.io.threads": 9})
    failed = done["outcome"]["failed"]["settings of all brokers"]
    assert failed.startswith("was written, but ") and "broker 1 no longer answers (" in failed
    assert (done["failed"], done["changed"], done["outcome"]["unknown"]) == (True, True, [])
    assert cluster.told == {"": {"num.io.threads": "9"}, "2": {}}


def test_a_broker_that_ends_while_it_tries_a_setting_is_named(run: Run, cluster: FakeCluster) -> None:
    """With what it holds, and how to take that back: it may end of it each time that it starts."""
    cluster.cut = {"2": True}
    done = run(kafka_broker_config, config={"num.io.threads": 9})
    failed = done["outcome"]["failed"]["settings of all brokers"]
    assert failed.startswith("was tried on broker 2 first: it is unknown whether the broker has it (")
    assert "no other broker was changed; it may have it as a setting of its own: " in failed and failed.endswith(BACK)
    assert (done["failed"], done["changed"], cluster.written) == (True, True, ["tell 2"])


def test_a_broker_that_keeps_what_it_tried_is_no_success(
    run: Run, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have it, as one sees who looks; the one that was to take it first is gone by then."""
    tell = cluster.tell

    def telling(name: str, request: Any, broker: int, sets: dict[str, str], removes: list[str]) -> Any:
        if name == "2" and removes:
            raise ConnectionError
        return tell(name, request, broker, sets, removes)

    monkeypatch.setattr(cluster, "tell", telling)
    cluster.cut = {"": False}
    done = run(kafka_broker_config, config={"num.io.threads": 9})
    failed = done["outcome"]["failed"]["settings of all brokers"]
    assert OWN in failed and failed.endswith(BACK) and done["changed"]


def test_a_broker_of_its_own_that_ends_unheard(run: Run, cluster: FakeCluster) -> None:
    """It alone knows what it has."""
    cluster.cut = {"2": True}
    done = run(kafka_broker_config, brokers=[{"id": 2, "config": {"num.io.threads": 9}}])
    failed = done["outcome"]["failed"]["settings of broker 2"]
    assert "broker 2 no longer answers (" in failed and failed.endswith("; unknown whether it was written")
    assert done["outcome"]["unknown"] == ["settings of broker 2"]
