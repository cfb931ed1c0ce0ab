"""What the definitions of this release say of settings."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions, Finding

KAFKA, ZOOKEEPER = Definitions.load("kafka", "3.9.2"), Definitions.load("zookeeper", "3.8.6")
NO_SUCH = "Kafka 3.9.2 has no broker property of that name"
BROKER_PAGE = "https://kafka.apache.org/39/documentation.html#brokerconfigs"
MEND = "correct it, or remove it"


def broker(**settings: Any) -> list[tuple[str, str, str]]:
    """Return what is wrong with broker properties given with underscores: kind, text and advice."""
    found = KAFKA.judge("broker", {name.replace("_", "."): value for name, value in settings.items()})
    return [(finding.kind, finding.message, finding.advice) for finding in found]


def only(section: str, name: str, value: Any = "x") -> Finding:
    """Return the one finding about one setting."""
    judge = ZOOKEEPER if section == "zookeeper" else KAFKA
    (finding,) = judge.judge(section, {name: value})
    return finding
