"""Wrong inventories: what a site adds to systemd's units."""

from __future__ import annotations

from model.mistakes.base import BROKERS, Mistake, kafka

MISTAKES: tuple[Mistake, ...] = (
    Mistake("TIMEOUT_NONE", f"{BROKERS}/kafka_restart_timeout", "1 at least", variables=kafka(kafka_restart_timeout=0)),
    Mistake(
        "UNIT_SECRET",
        f"{BROKERS}/kafka_unit_overrides[Service][Environment]",
        "EnvironmentFile",
        variables=kafka(kafka_unit_overrides={"Service": {"Environment": "AWS_SECRET_ACCESS_KEY=Guoph0Eeshi7"}}),
        inventory="stretch3",
    ),
    Mistake(
        "UNIT_SECTION",
        f"{BROKERS}/kafka_unit_overrides[CPUQuota]",
        "below their section",
        variables=kafka(kafka_unit_overrides={"CPUQuota": "400%"}),
    ),
    Mistake(
        "SECTION_UNKNOWN",
        f"{BROKERS}/kafka_unit_overrides[service]",
        "did you mean Service?",
        variables=kafka(kafka_unit_overrides={"service": {"CPUQuota": "400%"}}),
    ),
)
