"""Wrong inventories: what ACLs allow."""

from __future__ import annotations

from typing import Any

from model.mistakes.access import acl, users
from model.mistakes.base import ALL, Mistake

LAB = f"{ALL}/kafka_acls[User:lab]"
DENIAL: dict[str, Any] = {
    "principal": "User:*",
    "operations": ["ALL"],
    "resource": "topic",
    "name": "streams-word",
    "pattern": "prefixed",
    "permission": "deny",
}

WITHOUT_GROUP = users()
WITHOUT_GROUP["all"]["kafka_users"][2]["grants"] = [
    {"consume": ["streams-plaintext-input"], "group": "count_words"},
    {"produce": ["streams-wordcount-output"]},
]

MISTAKES: tuple[Mistake, ...] = (
    Mistake("ACL_STAR", f"{LAB}.name", "name: orders-, pattern: prefixed", variables=acl(name="orders-*")),
    Mistake("ACL_TOPIC", f"{LAB}.name", "letters, digits", variables=acl(name="orders and returns")),
    Mistake("ACL_OPERATIONS_NONE", f"{LAB}.operations", "for example [READ]", variables=acl(operations=[])),
    Mistake("ACL_HOST", f"{LAB}.host", "one address", variables=acl(host="198.18.0.0/16")),
    Mistake("ACL_JOB_DENIED", f"{ALL}/kafka_acls[User:*]", "narrow the denial", variables=acl(DENIAL)),
    Mistake(
        "JOB_ACL",
        "dc1-spark2/spark_job_jobs[count_words]",
        "User:count_words",
        variables=WITHOUT_GROUP,
    ),
)
