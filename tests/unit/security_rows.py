"""The tests that show each row of the tables in docs/security.md: the row's first cell, and ids below tests/.

An id without [...] stands for all rows of that test.
"""

from collections.abc import Mapping, Sequence

NEGATIVE, LISTENERS = "security/test_negative.py", "listeners/test_listeners.py"
CA = "rotation/test_chain_of_cas.py::test_a_chain_of_cas_comes_into_use_under_load"


def rows(file: str, test: str, *names: str) -> tuple[str, ...]:
    """Return the ids of some rows of a test."""
    return tuple(f"{file}::{test}[{name}]" for name in names)


def refuses(*names: str) -> tuple[str, ...]:
    """Return the ids of rows of what a broker refuses."""
    return rows(NEGATIVE, "test_a_broker_refuses", *names)


WHO: Mapping[str, Sequence[str]] = {
    "Clients to brokers, listener `CLIENT`": (
        f"{NEGATIVE}::test_a_broker_refuses",
        f"{NEGATIVE}::test_a_broker_lets_in",
        f"{NEGATIVE}::test_a_user_may_not",
        f"{NEGATIVE}::test_a_user_may_what_the_acls_say_and_sees_nothing_else",
        "rotation/test_rotation.py::test_a_password_is_replaced_while_the_old_one_works",
    ),
    "Brokers among themselves and admins, listener `REPLICATION`": (
        f"{NEGATIVE}::test_a_broker_refuses",
        f"{NEGATIVE}::test_a_broker_lets_in",
    ),
    "Brokers to ZooKeeper": (
        f"{NEGATIVE}::test_zookeeper_refuses",
        f"{NEGATIVE}::test_zookeeper_lets_the_owner_of_the_znodes_read_all",
        f"{NEGATIVE}::test_zookeeper_lets_another_trusted_certificate_read_little_and_write_nothing",
    ),
    "ZooKeeper servers among themselves": (
        "infra/test_security.py::test_the_quorum_is_encrypted_between_servers_that_know_each_other",
    ),
    "All of them": (
        "operations/test_firewall.py::test_every_way_is_as_the_table_says",
        "operations/test_firewall.py::test_the_control_node_reaches_what_it_asks",
    ),
}
STEPS = {"1. Trust both": (CA,), "2. New certificates": (CA,), "3. Drop the old": (CA,)}
REFUSED: Mapping[str, Sequence[str]] = {
    "no TLS, or no login on `CLIENT`": (
        *refuses(
            "CLIENT without TLS",
            "CLIENT with a login in the clear",
            "CLIENT without a login",
            "CLIENT with a certificate of the cluster instead",
            "REPLICATION without TLS",
        ),
        f"{NEGATIVE}::test_no_port_answers_in_the_clear",
    ),
    "it trusts another CA, or the address is not in the certificate": (
        *refuses("CLIENT by who trusts another CA", "REPLICATION by who trusts another CA"),
        f"{NEGATIVE}::test_a_broker_is_refused_under_an_address_that_its_certificate_lacks",
        f"{NEGATIVE}::test_zookeeper_is_refused_by_who_compares_names_and_trusts_another_ca",
    ),
    "wrong password, unknown user, or a mechanism for which the user has no password": refuses(
        "CLIENT with a wrong password",
        "CLIENT with no password",
        "CLIENT by an unknown user",
        "CLIENT by the brokers' principal, which is no user",
        "CLIENT with the mechanism for which the user has no password",
    ),
    "another mechanism": refuses("CLIENT with PLAIN"),
    "no ACL": (f"{NEGATIVE}::test_a_user_may_not",),
    "`REPLICATION` without a certificate, or with one of a CA that it does not know": refuses(
        "REPLICATION without a certificate",
        "REPLICATION with a login",
        "REPLICATION with one of the client CA",
    ),
    "`REPLICATION` with an expired one, or one of another CA of the same name": refuses(
        "REPLICATION as admin, of another CA of the same name",
        "REPLICATION with an expired one",
    ),
    "`REPLICATION` with a certificate that is neither a broker's nor an admin's": (
        *refuses(
            "REPLICATION by neither broker nor admin",
            "REPLICATION as admin of another organization",
            "REPLICATION as a broker of another organization",
        ),
        f"{NEGATIVE}::test_a_broker_says_which_certificate_is_nobodys",
    ),
    "ZooKeeper without a certificate": rows(NEGATIVE, "test_zookeeper_refuses", "no certificate"),
    "ZooKeeper with an expired one, or one of another CA": rows(
        NEGATIVE,
        "test_zookeeper_refuses",
        "one of another CA of the same name",
        "one of the client CA",
        "an expired one",
    ),
    "ZooKeeper's `/config/users` with another trusted certificate": (
        f"{NEGATIVE}::test_zookeeper_lets_another_trusted_certificate_read_little_and_write_nothing",
    ),
    "a listener for certificates, with one of another CA; of another CA of the same name": rows(
        LISTENERS,
        "test_refused_with",
        "a certificate of the brokers' CA",
        "one of another CA of the same name",
    ),
    "the same, with a subject that none of its rules names": rows(
        LISTENERS,
        "test_refused_with",
        "one of the clients' CA, of another organization",
        "a broker's subject from the clients' CA",
    ),
    "a token of another issuer, or one that has ended": rows(
        LISTENERS, "test_refused_with", "a token of another issuer", "a token that has ended"
    ),
}
# By the first cell of each table's head.
TABLES: Mapping[str, Mapping[str, Sequence[str]]] = {"Who talks to whom": WHO, "Step": STEPS, "Mistake": REFUSED}
# Tests about refusals: each belongs to a row of what a refused client sees.
ABOUT_REFUSALS = (
    f"{NEGATIVE}::test_a_broker_refuses",
    f"{NEGATIVE}::test_a_user_may_not",
    f"{NEGATIVE}::test_zookeeper_refuses",
    f"{NEGATIVE}::test_a_broker_is_refused_under_an_address_that_its_certificate_lacks",
    f"{NEGATIVE}::test_no_port_answers_in_the_clear",
    f"{NEGATIVE}::test_zookeeper_is_refused_by_who_compares_names_and_trusts_another_ca",
    f"{LISTENERS}::test_refused_with",
    f"{NEGATIVE}::test_zookeeper_lets_another_trusted_certificate_read_little_and_write_nothing",
)
