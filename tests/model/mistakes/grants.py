"""Wrong inventories: users and their grants."""

from __future__ import annotations

from typing import Any

from model.mistakes.access import NEW, acl, users
from model.mistakes.base import ALL, BROKERS, JOB, Mistake, kafka

ORDERS = f"{ALL}/kafka_users[orders]"


def granted(grant: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the lab's users and one more with a grant."""
    return users({**NEW, "grants": [grant]})


ABSENT = {"name": "streams-plaintext-input", "state": "absent", "allow_delete": True}

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "TOPIC_NEEDED",
        f"{BROKERS}/kafka_topics[streams-plaintext-input]",
        "stop the job",
        variables=kafka(kafka_topics=[ABSENT, {"name": "streams-wordcount-output", "partitions": 6}]),
    ),
    Mistake(
        "USER_PREFIX",
        f"{ALL}/kafka_users[User:orders].name",
        "remove the type",
        variables=users({**NEW, "name": "User:orders"}),
    ),
    Mistake(
        "USER_NEEDED",
        f"{ALL}/kafka_users[admin].state",
        "remove the entry",
        variables=users({"name": "admin", "state": "absent"}),
    ),
    Mistake(
        "USER_CREDENTIAL", f"{ORDERS}.password", "remove credential", variables=users({**NEW, "credential": False})
    ),
    Mistake(
        "GRANT_VERBS",
        f"{ORDERS}.grants[produce]",
        "one of produce",
        variables=granted({"produce": ["streams-plaintext-input"], "exporter": True}),
    ),
    Mistake(
        "GRANT_BESIDE",
        f"{ORDERS}.grants[produce]",
        "a grant of consume",
        variables=granted({"produce": ["streams-plaintext-input"], "group": "orders"}),
    ),
    Mistake(
        "GRANT_LACKS",
        f"{ORDERS}.grants[consume]",
        "add group",
        variables=granted({"consume": ["streams-plaintext-input"]}),
    ),
    Mistake("GRANT_EMPTY", f"{ORDERS}.grants[produce]", "name at least one", variables=granted({"produce": []})),
    Mistake(
        "GRANT_STAR",
        f"{ORDERS}.grants[produce].produce",
        "for example orders-*",
        variables=granted({"produce": ["*-input"]}),
    ),
    Mistake(
        "GRANT_TOPIC", f"{ORDERS}.grants[produce].produce", "declare it", variables=granted({"produce": ["payments.*"]})
    ),
    Mistake("ACL_UNKNOWN_TOPIC", f"{ALL}/kafka_acls[User:lab].name", "declare it", variables=acl(name="orders")),
    Mistake(
        "JOB_TOPIC",
        "group spark_consumer/spark_job_jobs[count_words].config.output_topic",
        "declare it",
        variables={
            "spark_consumer": {
                "spark_job_jobs": [{**JOB, "config": {**JOB["config"], "output_topic": "streams-wordcounts"}}]
            }
        },
        also=frozenset({"JOB_ACL"}),
    ),
    Mistake(
        "ADMIN_LOCKED_OUT",
        f"{BROKERS}/kafka_super_users",
        "name User:admin",
        variables=kafka(kafka_super_users=["User:kafka-broker"]),
    ),
    Mistake(
        "GRANT_OWN_ALIAS",
        f"{ORDERS}.grants[mirror_maker].source",
        "of the other cluster",
        variables=granted({"mirror_maker": "target", "source": "dc1", "groups": ["orders"]}),
    ),
)
