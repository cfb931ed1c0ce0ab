"""Wrong inventories: numbers out of their range, and what stands twice in a list."""

from __future__ import annotations

from model.mistakes.base import BROKERS, Mistake, kafka

MISTAKES: tuple[Mistake, ...] = (
    Mistake("NUMBER_RANGE", f"{BROKERS}/kafka_limit_nofile", "at least 4096", variables=kafka(kafka_limit_nofile=100)),
    Mistake(
        "VALUE_TWICE",
        f"{BROKERS}/kafka_super_users",
        "remove one",
        variables=kafka(kafka_super_users=["User:kafka-broker", "User:admin", "User:admin"]),
    ),
    Mistake(
        "CERTIFICATE_CHECK",
        "group all/check_certificate_days",
        "pki_renew_days",
        variables={"all": {"check_certificate_days": 60}},
    ),
    Mistake("CLUSTER_ID", f"{BROKERS}/kafka_cluster_id", "meta.properties", variables=kafka(kafka_cluster_id="prod")),
)
