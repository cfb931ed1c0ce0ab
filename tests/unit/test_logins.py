"""Passwords are tried where a password decides: elsewhere every one of them works."""

from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run, brokers

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.users import Logins
from ansible_collections.millrace.kafka.plugins.modules import kafka_access

USER: dict[str, Any] = {"name": "a", "password": "Guoph0Eeshi7"}


@pytest.mark.parametrize("protocol", [None, "PLAINTEXT", "SSL", "ssl"])
def test_a_listener_that_asks_for_no_password(run: Run, cluster: FakeCluster, protocol: str | None) -> None:
    """A login there says of any password that it holds: nobody is told so, and nothing is written."""
    cluster.scram = {"a": {2: 8192}}
    login = {} if protocol is None else {"security.protocol": protocol}
    users = [USER, {**USER, "name": "new"}, {**USER, "name": "gone", "state": "absent"}]
    done = run(kafka_access, login=login, users=users)
    assert done["msg"] == (
        "users and ACLs: nothing was written: 1 rejected\n"
        f"- users a, new: verify: login, but login has security.protocol: {(protocol or 'PLAINTEXT').upper()}, which "
        "asks for no password, so that every password would seem correct; use a listener with SASL_SSL "
        "(kafka_client), or set verify: generation"
    )
    assert cluster.written == []


def test_what_needs_no_login_needs_no_listener_for_it(run: Run, cluster: FakeCluster) -> None:
    cluster.scram = {"a": {2: 8193}, "gone": {2: 8192}}
    users = [{**USER, "verify": "generation"}, {"name": "gone", "state": "absent"}, {"name": "cn", "credential": False}]
    done = run(kafka_access, login={"security.protocol": "SSL"}, users=users)
    assert done["plan"]["delete"] == ["gone"] and cluster.written == ["credential gone"]


@pytest.mark.parametrize("password", [" Guoph0Eeshi7", "Guoph0Eeshi7\n", "Guoph0\tEeshi7"])
def test_a_password_that_cannot_be_used_is_not_written(run: Run, cluster: FakeCluster, password: str) -> None:
    """With it, no later run would get past the user, so that the ACLs of all users would never be made."""
    login = {"security.protocol": "SASL_SSL"}
    done = run(kafka_access, login=login, users=[{"name": "new", "password": password}])
    assert done["msg"].endswith(
        "user new: its password has an outer blank, a line end or a control character; set another"
    )
    assert cluster.written == []


def test_a_mechanism_that_a_listener_does_not_take(cluster: FakeCluster) -> None:
    """It says nothing of the password, which would else be written in each run anew."""
    cluster.mechanisms = ["SCRAM-SHA-256"]
    with brokers(cluster) as servers:
        logins = Logins({"bootstrap.servers": servers, "security.protocol": "SASL_PLAINTEXT"})
        with pytest.raises(
            AdminError, match=r"login of a at .*: the listener has no SCRAM-SHA-512, only SCRAM-SHA-256"
        ):
            logins.work("a", "Guoph0Eeshi7", "SCRAM-SHA-512")
