"""Wrong inventories: monitoring hosts."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import Mistake

INVENTORY = "lab_monitoring"


def wrong(code: str, where: str, advice: str, **variables: Any) -> Mistake:
    """Return a mistake of the lab's monitoring host."""
    return Mistake(code, where, advice, variables={"monitoring": variables}, inventory=INVENTORY)


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "MONITORING_METRICS",
        "dc1-mon1",
        "add dc1-mon1 to the group metrics",
        hosts={'dc1-mon1: {}, "dc1-spark': '"dc1-spark'},
        inventory=INVENTORY,
    ),
    wrong(
        "MONITORING_ALERTS",
        "group monitoring/prometheus_alertmanager_config.route",
        "did you mean email?",
        prometheus_alertmanager_config={"route": {"receiver": "emails"}, "receivers": [{"name": "email"}]},
    ),
    wrong(
        "MONITORING_USER",
        "group monitoring/lag_exporter_user",
        "add {exporter: true}",
        lag_exporter_user="publish_lines",  # it writes a topic, and sees no group
    ),
    wrong(
        "MONITORING_CANARY_TOPIC",
        "group monitoring/lag_exporter_canary_topic",
        "did you mean canary?",
        lag_exporter_canary_topic="cannary",
    ),
    wrong(
        "MONITORING_CANARY_SHARED",
        "group monitoring/lag_exporter_canary_topic",
        "for the canary alone",
        lag_exporter_canary_topic="streams-plaintext-input",
    ),
    Mistake(
        "MONITORING_CANARY_USER",
        "group all/lag_exporter_canary_topic",
        "add canary: canary to its grant",
        variables={
            "all": {
                "monitoring_users": [
                    {
                        "name": "monitoring",
                        "password": "{{ vault.passwords.monitoring }}",
                        "grants": [{"exporter": True, "topics": ["canary"]}],  # which may read it
                    }
                ]
            }
        },
        inventory=INVENTORY,
    ),
    wrong(
        "MONITORING_GROUPS",
        "group monitoring/lag_exporter_groups",
        "write billing-.*",
        lag_exporter_groups=["billing-*"],
    ),
    wrong("MONITORING_OPEN", "group monitoring/prometheus_address", "use 127.0.0.1", prometheus_address="0.0.0.0"),
    wrong("MONITORING_VALUE", "group monitoring/prometheus_retention", "write 15d", prometheus_retention="15 days"),
)
