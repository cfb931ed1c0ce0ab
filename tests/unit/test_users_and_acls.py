"""Users and ACLs, from what is declared to the calls of the client, whose place a stand-in takes."""

from concurrent.futures import Future
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import access
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.access import Access, AccessError, Acl, acls

READ: dict[str, Any] = {"principal": "User:a", "operations": ["READ"], "resource": "topic", "name": "t"}
READS = Acl("User:a", "ALLOW", "READ", "TOPIC", "t", "LITERAL", "*")


def done(value: Any = None) -> "Future[Any]":
    """Return an answer that is there; an exception is raised where it is asked for."""
    future: Future[Any] = Future()
    if isinstance(value, Exception):
        future.set_exception(value)
    else:
        future.set_result(value)
    return future


class Cluster:
    """Stands in for AdminClient and Producer: who is there, which password each has, which ACLs."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, int]] = {}
        self.passwords: dict[str, str] = {}
        self.acls: list[AclBinding] = []
        self.calls: list[Any] = []
        self.options: dict[str, Any] = {}
        self.logins: list[dict[str, Any]] = []
        self.refuse: KafkaError | None = None
        self.answers = True

    def admin(self, options: dict[str, Any]) -> "Cluster":
        self.options = options
        return self

    def describe_user_scram_credentials(self, names: list[str], request_timeout: float) -> dict[str, Any]:
        absent = KafkaException(KafkaError(KafkaError.RESOURCE_NOT_FOUND))
        found = {
            name: [
                ScramCredentialInfo(ScramMechanism[kind], number) for kind, number in self.users.get(name, {}).items()
            ]
            for name in names
        }
        return {
            name: done(UserScramCredentialsDescription(name, infos) if infos else absent)
            for name, infos in found.items()
        }

    def alter_user_scram_credentials(self, changes: list[Any], request_timeout: float) -> dict[str, Any]:
        for change in changes:
            if isinstance(change, UserScramCredentialUpsertion):
                info = change.scram_credential_info
                self.calls.append(("upsert", change.user, info.mechanism.name, info.iterations, change.password))
                self.passwords[change.user] = change.password.decode()
            else:
                assert isinstance(change, UserScramCredentialDeletion)
                self.calls.append(("delete", change.user, change.mechanism.name))
        return {change.user: done(KafkaException(self.refuse) if self.refuse else None) for change in changes}

    def describe_acls(self, wanted: Any, request_timeout: float) -> "Future[Any]":
        assert (wanted.restype, wanted.name, wanted.principal, wanted.operation) == (
            ResourceType.ANY,
            None,
            None,
            AclOperation.ANY,
        )
        return done(self.acls)

    def create_acls(self, bindings: list[AclBinding], request_timeout: float) -> dict[Any, Any]:
        self.calls += [("create", binding) for binding in bindings]
        return {binding: done() for binding in bindings}

    def delete_acls(self, filters: list[AclBindingFilter], request_timeout: float) -> dict[Any, Any]:
        self.calls += [("remove", one) for one in filters]
        return {one: done([]) for one in filters}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster()

    class Producer:
        def __init__(self, options: dict[str, Any]) -> None:
            self.options = options
            found.logins.append({name: value for name, value in options.items() if name != "error_cb"})

        def list_topics(self, timeout: float) -> None:
            if not found.answers or found.passwords.get(self.options["sasl.username"]) != self.options["sasl.password"]:
                raise KafkaException(KafkaError(KafkaError._TRANSPORT))

        def poll(self, timeout: float) -> None:
            code = KafkaError._AUTHENTICATION if found.answers else KafkaError._ALL_BROKERS_DOWN
            self.options["error_cb"](KafkaError(code))

    monkeypatch.setattr(confluent_kafka.admin, "AdminClient", found.admin)
    monkeypatch.setattr(confluent_kafka, "Producer", Producer)
    monkeypatch.setattr(access, "SECONDS", 0.5)
    return found


def converge(users: Any = (), declared: Any = (), check_mode: bool = False) -> list[str]:
    """Converge once; return the changes."""
    found = Access(
        {"bootstrap.servers": "h:9093"}, {"bootstrap.servers": "h:9092", "security.protocol": "SASL_SSL"}, check_mode
    )
    found.converge(users, declared)
    return found.changes


def test_acls_as_declared() -> None:
    """One for each operation, in the broker's words; what is not said permits a literal name from anywhere."""
    present, absent = acls(
        [
            {**READ, "operations": ["read", "DESCRIBE"]},
            {"principal": "User:b", "operations": ["ALL"], "resource": "cluster"},
            {
                "principal": "User:c",
                "operations": ["WRITE"],
                "resource": "transactional_id",
                "name": "x",
                "pattern": "prefixed",
                "permission": "deny",
                "host": "198.18.1.7",
            },
            {"principal": "User:d", "operations": ["READ"], "resource": "group", "name": "g", "state": "absent"},
        ]
    )
    assert present == {
        READS,
        READS._replace(operation="DESCRIBE"),
        Acl("User:b", "ALLOW", "ALL", "CLUSTER", "kafka-cluster", "LITERAL", "*"),
        Acl("User:c", "DENY", "WRITE", "TRANSACTIONAL_ID", "x", "PREFIXED", "198.18.1.7"),
    }
    assert absent == {Acl("User:d", "ALLOW", "READ", "GROUP", "g", "LITERAL", "*")}


def test_what_is_declared_both_ways_stays() -> None:
    """Preflight refuses it; nothing is taken away meanwhile."""
    assert acls([READ, {**READ, "state": "absent"}]) == ({READS}, set())


def test_an_acl_in_words() -> None:
    assert str(READS) == "User:a from * may READ topic t (literal)"
    assert str(READS._replace(permission="DENY", resource="CLUSTER")) == "User:a from * may not READ cluster"


def test_a_new_user(cluster: Cluster) -> None:
    assert converge([{"name": "a", "password": "Guoph0Eeshi7"}]) == ["user a: new"]
    assert cluster.calls == [("upsert", "a", "SCRAM_SHA_512", 8192, b"Guoph0Eeshi7")]
    assert cluster.options["bootstrap.servers"] == "h:9093"
    assert cluster.logins[-1] == {
        "log_level": 0,
        "socket.connection.setup.timeout.ms": 3000,
        "bootstrap.servers": "h:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "a",
        "sasl.password": "Guoph0Eeshi7",
    }


def test_a_user_who_is_as_declared(cluster: Cluster) -> None:
    """Logged in once, to see whether the password holds, and left."""
    cluster.users, cluster.passwords = {"a": {"SCRAM_SHA_512": 8192}}, {"a": "one"}
    assert converge([{"name": "a", "password": "one"}]) == []
    assert (cluster.calls, len(cluster.logins)) == ([], 1)


@pytest.mark.parametrize(
    ("changed", "why", "call"),
    [
        ({"password": "two"}, "the password differs", ("upsert", "a", "SCRAM_SHA_512", 8192, b"two")),
        ({"iterations": 4096}, "iterations were 8192, are 4096", ("upsert", "a", "SCRAM_SHA_512", 4096, b"one")),
        ({"mechanism": "SCRAM-SHA-256"}, "SCRAM-SHA-256 is new", ("upsert", "a", "SCRAM_SHA_256", 8192, b"one")),
    ],
)
def test_a_user_who_changed(cluster: Cluster, changed: dict[str, Any], why: str, call: Any) -> None:
    cluster.users, cluster.passwords = {"a": {"SCRAM_SHA_512": 8192}}, {"a": "one"}
    assert converge([{"name": "a", "password": "one", **changed}]) == [f"user a: {why}"]
    assert cluster.calls == [call]


def test_a_user_who_goes(cluster: Cluster) -> None:
    """With all that is kept; one who is not there is no change, and no password is needed."""
    cluster.users = {"a": {"SCRAM_SHA_512": 8192, "SCRAM_SHA_256": 4096}, "other": {"SCRAM_SHA_512": 8192}}
    changes = converge([{"name": "a", "state": "absent"}, {"name": "b", "state": "absent"}])
    assert changes == ["user a: remove SCRAM-SHA-512", "user a: remove SCRAM-SHA-256"]
    assert cluster.calls == [("delete", "a", "SCRAM_SHA_512"), ("delete", "a", "SCRAM_SHA_256")]


def test_check_mode(cluster: Cluster) -> None:
    assert converge([{"name": "a", "password": "one"}], [READ], check_mode=True) == ["user a: new", f"ACL: {READS}"]
    assert cluster.calls == []


def test_nothing_declared(cluster: Cluster) -> None:
    assert converge() == []
    assert cluster.calls == []


BOUND = AclBinding(
    ResourceType.TOPIC, "t", ResourcePatternType.LITERAL, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW
)


def test_missing_acls_are_made(cluster: Cluster) -> None:
    """Those that are there are left, also those that nobody declared; librdkafka calls the cluster a broker."""
    foreign = AclBinding(
        ResourceType.GROUP, "g", ResourcePatternType.LITERAL, "User:z", "*", AclOperation.READ, AclPermissionType.ALLOW
    )
    cluster.acls = [BOUND, foreign]
    everything = {"principal": "User:b", "operations": ["ALTER"], "resource": "cluster"}
    assert converge(declared=[READ, everything]) == ["ACL: User:b from * may ALTER cluster"]
    wanted = AclBinding(
        ResourceType.BROKER,
        "kafka-cluster",
        ResourcePatternType.LITERAL,
        "User:b",
        "*",
        AclOperation.ALTER,
        AclPermissionType.ALLOW,
    )
    assert cluster.calls == [("create", wanted)]
    cluster.acls, cluster.calls = [BOUND, wanted], []
    assert (converge(declared=[READ, everything]), cluster.calls) == ([], [])


def test_an_acl_that_goes(cluster: Cluster) -> None:
    cluster.acls = [BOUND]
    absent = {**READ, "operations": ["READ", "WRITE"], "state": "absent"}
    assert converge(declared=[absent]) == [f"no ACL: {READS}"]
    place = (
        ResourceType.TOPIC,
        "t",
        ResourcePatternType.LITERAL,
        "User:a",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    assert cluster.calls == [("remove", AclBindingFilter(*place))]


def test_a_refusal_is_in_the_clients_words(cluster: Cluster) -> None:
    cluster.refuse = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed")
    with pytest.raises(AccessError, match="Cluster authorization failed"):
        converge([{"name": "a", "password": "one"}])


def test_a_listener_that_does_not_answer(cluster: Cluster) -> None:
    """That is no wrong password, and nothing is written."""
    cluster.users, cluster.answers = {"a": {"SCRAM_SHA_512": 8192}}, False
    with pytest.raises(AccessError, match="login of a at h:9092: "):
        converge([{"name": "a", "password": "Guoph0Eeshi7"}])
    assert cluster.calls == []


def test_a_user_who_was_written_and_cannot_log_in(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "passwords", Forgetful())
    with pytest.raises(AccessError, match="user a was written, and cannot log in with SCRAM-SHA-512 after"):
        converge([{"name": "a", "password": "Guoph0Eeshi7"}])


class Forgetful(dict[str, str]):
    """Keeps no password."""

    def __setitem__(self, name: str, value: str) -> None:
        """Forget it."""
