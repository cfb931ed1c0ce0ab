"""Users, ACLs and quotas that are wanted and found: what would be done, how it is shown, and what is refused."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import acls, quotas, users
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.acls import Acl
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import human
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.quotas import Entity
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.users import Credential

READ: dict[str, Any] = {"principal": "User:a", "operations": ["READ"], "resource": "topic", "name": "t"}
READS = Acl("User:a", "ALLOW", "READ", "TOPIC", "t", "LITERAL", "*")
ALTERS = Acl("User:admin", "ALLOW", "ALTER", "CLUSTER", "kafka-cluster", "LITERAL", "*")
KEPT = {"a": {"SCRAM-SHA-512": 8192}}
WORKS = {("a", "SCRAM-SHA-512"): True}


def test_acls_as_declared() -> None:
    """One for each operation, in the broker's words; what is not said permits a literal name from anywhere."""
    present, absent = acls.acls(
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
    assert acls.acls([READ, {**READ, "state": "absent"}]) == ({READS}, set())


def test_an_acl_in_words() -> None:
    assert str(READS) == "User:a from * may READ topic t (literal)"
    assert str(READS._replace(permission="DENY", resource="CLUSTER")) == "User:a from * may not READ cluster"


def test_acls_that_are_missing_and_acls_that_go() -> None:
    other = READS._replace(principal="User:z")
    plan = acls.diff([{**READ, "operations": ["WRITE"]}, {**READ, "state": "absent"}], {READS, other})
    assert [(change.verb, change.name) for change in plan.changes] == [
        ("create", "User:a from * may WRITE topic t (literal)"),
        ("delete", "User:a from * may READ topic t (literal)"),
    ]
    assert plan.unmanaged == ["User:z from * may READ topic t (literal)"]


def test_a_principal_without_its_kind() -> None:
    assert acls.diff([{**READ, "principal": "a"}], set()).refusals == [
        "ACL of a: Kafka has only principals that begin with User:; write User:a"
    ]


def test_prune_of_acls() -> None:
    """Never one's own, a super user's, or one of a kind that cannot be declared."""
    stale, token = READS._replace(principal="User:old-1"), READS._replace(principal="User:old-2", resource="UNKNOWN")
    mine, brokers = READS._replace(principal="User:admin"), READS._replace(principal="User:kafka-broker")
    found = {READS, stale, token, mine, brokers}
    scope = {"acls": ["User:*"], "max_deletes": 1}
    plan = acls.diff([READ], found, scope, "User:admin", ["User:kafka-broker"])
    assert [str(change) for change in plan.changes] == ["delete ACL User:old-1 from * may READ topic t (literal)"]
    assert plan.refusals == [] and len(plan.unmanaged) == 3
    assert acls.diff([], found, {"acls": ["User:old-1"], "max_deletes": 1}).changes == plan.changes
    (refusal,) = acls.diff([], found, scope, "User:admin", ["User:kafka-broker"]).refusals
    assert refusal.startswith("prune: 2 ACLs would be deleted") and "max_deletes is 1" in refusal


LOCKED_OUT = {
    "the only right goes": (
        {"principal": "User:admin", "operations": ["ALTER"], "resource": "cluster", "state": "absent"},
        {ALTERS, ALTERS._replace(principal="User:x")},
    ),
    "the last of all rights goes": (
        {"principal": "User:admin", "operations": ["ALTER"], "resource": "cluster", "state": "absent"},
        {ALTERS},
    ),
    "a denial comes": (
        {"principal": "User:*", "operations": ["ALL"], "resource": "cluster", "permission": "deny"},
        {ALTERS},
    ),
    "others get the first right": ({"principal": "User:x", "operations": ["ALTER"], "resource": "cluster"}, set()),
}


@pytest.mark.parametrize(("declared", "found"), LOCKED_OUT.values(), ids=LOCKED_OUT)
def test_who_asks_is_not_locked_out(declared: dict[str, Any], found: set[Acl]) -> None:
    """Unless it is a super user, who needs no ACL."""
    (refusal,) = acls.diff([declared], found).refusals
    assert refusal.startswith("ACLs: User:admin, the user of this run, could no longer alter the cluster")
    assert acls.diff([declared], found, super_users=["User:admin"]).refusals == []


def user(**more: Any) -> dict[str, Any]:
    return {"name": "a", "password": "Guoph0Eeshi7", **more}


def test_a_new_user() -> None:
    (change,) = users.diff([user()], {}, {}).changes
    assert str(change) == "create user a: + SCRAM-SHA-512: 8192 iterations"
    assert change.work == [Credential("a", "SCRAM-SHA-512", 8192, "Guoph0Eeshi7")]
    assert "Guoph0Eeshi7" not in repr(change)


def test_a_user_who_is_as_declared() -> None:
    assert users.to_try([user()], KEPT) == [Credential("a", "SCRAM-SHA-512", 8192, "Guoph0Eeshi7")]
    assert users.diff([user()], KEPT, WORKS).unchanged == ["a"]


def test_another_password_is_shown_without_any() -> None:
    (change,) = users.diff([user()], KEPT, {}).changes
    assert (change.before, change.after) == (
        ("SCRAM-SHA-512: 8192 iterations, another password",),
        ("SCRAM-SHA-512: 8192 iterations, the declared password",),
    )


@pytest.mark.parametrize(
    ("more", "after"),
    [
        ({"iterations": 4096}, "SCRAM-SHA-512: 4096 iterations"),
        ({"mechanism": "SCRAM-SHA-256"}, "SCRAM-SHA-256: 8192 iterations"),
    ],
)
def test_a_user_who_changed(more: dict[str, Any], after: str) -> None:
    assert users.to_try([user(**more)], KEPT) == [], "a login would tell nothing"
    (change,) = users.diff([user(**more)], KEPT, {}).changes
    assert (change.verb, change.after) == ("update", (after,))


def test_a_user_who_goes_with_all_that_is_kept() -> None:
    kept = {"a": {"SCRAM-SHA-512": 8192, "SCRAM-SHA-256": 4096}}
    plan = users.diff([{"name": "a", "state": "absent"}, {"name": "b", "state": "absent"}], kept, {})
    (change,) = plan.changes
    assert (change.verb, change.work) == (
        "delete",
        [Credential("a", "SCRAM-SHA-512"), Credential("a", "SCRAM-SHA-256")],
    )
    (change,) = users.diff([{"name": "a", "state": "absent", "mechanism": "SCRAM-SHA-256"}], kept, {}).changes
    assert (change.verb, change.work) == ("update", [Credential("a", "SCRAM-SHA-256")])


def test_a_user_of_a_certificate_has_no_password() -> None:
    plan = users.diff([{"name": "CN=reports,O=example", "credential": False}], KEPT, {})
    assert (plan.changes, plan.refusals, plan.unmanaged) == ([], [], ["a"])
    assert users.diff([{"name": "b"}], {}, {}).refusals == [
        "user b: has no password; set vault.passwords.b, or credential: false"
    ]


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_password_that_is_declared_away_goes(state: str) -> None:
    """It would go on working; the change is shown, and a super user's is refused."""
    asked = [{"name": "a", "credential": False, "state": state}]
    (change,) = users.diff(asked, KEPT, {}).changes
    assert str(change) == "delete user a: - SCRAM-SHA-512: 8192 iterations"
    assert change.work == [Credential("a", "SCRAM-SHA-512")]
    plan = users.diff(asked, KEPT, {}, safe=["User:a"])
    assert plan.changes == []
    assert plan.refusals == [
        "user a: credential: false, but it has a password, and is a super user or the user of this run; "
        "set its password, or delete it by hand"
    ]


def test_prune_of_users() -> None:
    kept = {name: {"SCRAM-SHA-512": 8192} for name in ("a", "old-1", "admin")}
    plan = users.diff([user()], kept, WORKS, {"users": ["*"], "max_deletes": 1}, ["User:admin"])
    assert [str(change) for change in plan.changes] == ["delete user old-1: - SCRAM-SHA-512: 8192 iterations"]
    assert plan.unmanaged == ["admin"]
    (refusal,) = users.diff([], kept, {}, {"users": ["*"], "max_deletes": 2}).refusals
    assert refusal.startswith("prune: 3 users would be deleted")


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        ("orders-*", ["orders-1", "orders-[2]"]),
        ("orders-[2]", ["orders-[2]"]),
        ("?*", []),
        ("[a-z]*", []),
        ("*-1", []),
        ("o*-1*", []),
    ],
)
def test_only_a_star_at_the_end_of_a_scope_stands_for_more(scope: str, names: list[str]) -> None:
    kept = {name: {"SCRAM-SHA-512": 8192} for name in ("billing-1", "orders-1", "orders-[2]")}
    plan = users.diff([], kept, {}, {"users": [scope], "max_deletes": 9})
    assert [change.name for change in plan.changes] == names


def test_quotas() -> None:
    found = {Entity("a", None): {"producer_byte_rate": 1048576.0, "request_percentage": 12.5}, Entity("b", None): {}}
    plan = quotas.diff(
        [
            {"user": "a", "values": {"producer_byte_rate": 2097152}},
            {"user": "", "client_id": "c", "values": {"consumer_byte_rate": 1.0}},
        ],
        found,
    )
    assert [str(change) for change in plan.changes] == [
        "update quota user a: - producer_byte_rate: 1048576 (1 MiB); - request_percentage: 12.5; "
        "+ producer_byte_rate: 2097152 (2 MiB)",
        "create quota default user, client id c: + consumer_byte_rate: 1",
    ]
    assert plan.changes[0].work == (
        Entity("a", None),
        {"producer_byte_rate": 2097152.0, "request_percentage": None},
    )
    assert plan.unmanaged == ["user b"]


def test_quotas_that_are_as_wanted_or_go() -> None:
    found = {Entity("a", None): {"producer_byte_rate": 5.0}}
    assert quotas.diff([{"user": "a", "values": {"producer_byte_rate": 5}}], found).unchanged == ["user a"]
    (change,) = quotas.diff([{"user": "a", "state": "absent"}], found).changes
    assert (change.verb, change.work) == ("delete", (Entity("a", None), {"producer_byte_rate": None}))


def test_quotas_of_nothing() -> None:
    assert quotas.diff([{"values": {"producer_byte_rate": 1}}, {"user": "a", "values": {"x": 0}}], {}).refusals == [
        "quota without an entity; set user or client_id, '' is the default of all",
        "quota of user a: x 0 would block all requests; set more than 0, or remove it",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        ("20MiB", '"20MiB"'),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (True, "true"),
        ([5], "[5]"),
        ({"a": 1}, '{"a": 1}'),
    ],
)
def test_quotas_that_are_no_numbers(value: Any, shown: str) -> None:
    assert quotas.diff([{"user": "a", "values": {"producer_byte_rate": value}}], {}).refusals == [
        f"quota of user a: producer_byte_rate {shown} is not a number; "
        "write a number of bytes, percent or partitions, without a unit"
    ]


def test_quotas_said_twice() -> None:
    twice = [{"user": "a", "values": {"x": "1"}}, {"user": "a", "values": {"x": 2}}]
    assert quotas.diff(twice, {}).refusals == ["quota of user a: declared twice; keep one of the two"]


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("retention.ms", "604800000", "retention.ms: 604800000 (7 d)"),
        ("retention.ms", "5400000", "retention.ms: 5400000 (90 min)"),
        ("retention.ms", "12345", "retention.ms: 12345 (12.3 s)"),
        ("retention.ms", "-1", "retention.ms: -1 (no limit)"),
        ("segment.bytes", "1073741824", "segment.bytes: 1073741824 (1 GiB)"),
        ("producer_byte_rate", 20971520.0, "producer_byte_rate: 20971520 (20 MiB)"),
        ("min.insync.replicas", "2", "min.insync.replicas: 2"),
        ("request_percentage", 12.5, "request_percentage: 12.5"),
    ],
)
def test_human_units(key: str, value: Any, line: str) -> None:
    assert human(key, value) == line


def test_a_diff_has_one_order() -> None:
    """Not that of the declaration."""
    both = [user(name="b"), user(name="a")]
    assert users.diff(both, {}, {}).diff("users")["after"] == (
        "user a\n  SCRAM-SHA-512: 8192 iterations\nuser b\n  SCRAM-SHA-512: 8192 iterations\n"
    )


def test_who_asks_stays() -> None:
    """Also where somebody declares it absent; of another mechanism it has nothing, and nothing goes."""
    plan = users.diff([gone := {"name": "a", "state": "absent"}], KEPT, {}, None, ["User:a"])
    assert list(plan.changes) == [] and plan.refusals == [
        "user a: is a super user, or the user of this run; remove state: absent"
    ]
    assert users.diff([{**gone, "mechanism": "SCRAM-SHA-256"}], KEPT, {}, None, ["User:a"]).refusals == []
