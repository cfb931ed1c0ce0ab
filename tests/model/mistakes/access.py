"""Wrong inventories: users, ACLs and logins."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import ALL, JOB, Mistake, kafka, listeners, login

TOPIC = "streams-plaintext-input"
GRANTS: dict[str, list[dict[str, Any]]] = {
    "publish_lines": [{"produce": ["streams-plaintext-input"]}],
    "count_words": [
        {"consume": ["streams-plaintext-input"], "group": "spark-kafka-source*"},
        {"produce": ["streams-wordcount-output"]},
    ],
}


def users(*more: dict[str, Any], **changes: Any) -> dict[str, dict[str, Any]]:
    """Return the lab's users, with changes to the first, and more of them."""
    known = [
        {"name": name, "password": f"{{{{ vault.passwords.{name} }}}}", "grants": GRANTS.get(name, [])}
        for name in ("lab", "publish_lines", "count_words")
    ]
    return {"all": {"kafka_users": [{**known[0], **changes}, *known[1:], *more]}}


def acl(*more: dict[str, Any], **changes: Any) -> dict[str, dict[str, Any]]:
    """Return one ACL with changes, and others."""
    return {
        "all": {
            "kafka_acls": [
                {"principal": "User:lab", "operations": ["READ"], "resource": "topic", "name": TOPIC, **changes},
                *more,
            ]
        }
    }


# The user of a job, declared with a certificate in place of a password.
SECRETLESS = users()
SECRETLESS["all"]["kafka_users"][2] = {
    "name": "count_words",
    "credential": False,
    "grants": GRANTS["count_words"],
}

SAID: dict[str, Any] = {
    "principal": "User:lab",
    "operations": ["write", "READ"],
    "resource": "topic",
    "name": TOPIC,
}
NEW: dict[str, Any] = {"name": "orders", "password": "{{ vault.passwords.lab }}2"}

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "USER_NOBODY",
        f"{ALL}/kafka_users[CN=reports,O=lab].credential",
        "a listener for clients with certificates",
        variables=users({"name": "CN=reports,O=lab", "credential": False}),
    ),
    # Users
    Mistake(
        "USER_DUPLICATE",
        f"{ALL}/kafka_users[lab]",
        "keep one",
        variables=users({"name": "lab", "password": "{{ vault.passwords.lab }}"}),
    ),
    Mistake(
        "USER_NAME",
        f"{ALL}/kafka_users[3].name",
        "with which the client logs in",
        variables=users({"name": "", "password": "{{ vault.passwords.lab }}2"}),
    ),
    Mistake(
        "USER_CASE",
        f"{ALL}/kafka_users[Lab]",
        "keep one of the two",
        variables=users({**NEW, "name": "Lab"}),
    ),
    Mistake(
        "USER_PASSWORD",
        f"{ALL}/kafka_users[orders].password",
        "vault.passwords['orders']",
        variables=users({"name": "orders"}),
    ),
    Mistake(
        "USER_GENERATION",
        f"{ALL}/kafka_users[orders].generation",
        "increase it by 1",
        variables=users({**NEW, "verify": "generation", "generation": 0}),
    ),
    Mistake(
        "USER_ITERATIONS",
        f"{ALL}/kafka_users[orders].iterations",
        "8192",
        variables=users({**NEW, "iterations": 4095}),
    ),
    Mistake(
        "USER_MECHANISM",
        f"{ALL}/kafka_users[orders].mechanism",
        "sasl_mechanisms",
        variables={**users({**NEW, "mechanism": "SCRAM-SHA-256"}), **kafka(kafka_listeners=listeners())},
    ),
    # ACLs
    Mistake("ACL_PRINCIPAL", f"{ALL}/kafka_acls[lab]", "User:lab", variables=acl(principal="lab")),
    Mistake("ACL_EVERYBODY", f"{ALL}/kafka_acls[User:*]", "name the users", variables=acl(principal="User:*")),
    Mistake(
        "ACL_UNKNOWN_USER",
        f"{ALL}/kafka_acls[User:order]",
        "declare the user",
        variables=acl(principal="User:order"),
    ),
    Mistake(
        "ACL_OPERATION",
        f"{ALL}/kafka_acls[User:lab].operations",
        "use one of ALL, ALTER_CONFIGS, DELETE, DESCRIBE, DESCRIBE_CONFIGS, READ",
        variables=acl(operations=["WRITE"], resource="group"),
    ),
    Mistake("ACL_NAME", f"{ALL}/kafka_acls[User:lab].name", "'*' for all", variables=acl(name="")),
    Mistake("ACL_DUPLICATE", f"{ALL}/kafka_acls[User:lab]", "keep one", variables=acl(SAID)),
    Mistake(
        "ACL_CONTRADICTION",
        f"{ALL}/kafka_acls[User:lab]",
        "keep one of the two",
        variables=acl({**SAID, "permission": "deny"}),
    ),
    # Jobs
    Mistake(
        "JOB_LOGIN",
        "group spark_consumer/spark_job_jobs[count_words].config.kafka[sasl.jaas.config]",
        "declare the user",
        variables={
            "spark_consumer": {
                "spark_job_jobs": [
                    {
                        **JOB,
                        "config": {
                            **JOB["config"],
                            "kafka": login("reader", "lab"),
                        },
                    }
                ]
            }
        },
    ),
)
