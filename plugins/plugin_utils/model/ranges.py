"""Rules: lists contain no duplicates, and numbers are in ranges that the argument spec of a role cannot express."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.grants import LISTS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

PORTS = 65535
NUMBER_RANGE = ProblemKind("NUMBER_RANGE", "not from {least} to {most}", "use at least {least}")
TOO_HIGH = {"advice": "use at most {most}"}
FILES = NUMBER_RANGE.variant(
    message="each connection and each data file needs an open file: the service would run out of them"
)
# By input: least, most, and what is reported of another number. Other rules check ports of listeners, ids, and
# timeouts of services (TIMEOUT_NONE).
RANGES: dict[str, tuple[int, int | None, ProblemKind]] = {
    "ansible_port": (1, PORTS, NUMBER_RANGE.variant(message="no port: Ansible could not connect")),
    "check_certificate_days": (0, None, NUMBER_RANGE.variant(message="check.yml would accept an expired certificate")),
    "expected_bytes_per_second": (
        1,
        None,
        NUMBER_RANGE.variant(message="the required disk space cannot be computed from it"),
    ),
    "kafka_limit_nofile": (4096, None, FILES),
    "kafka_min_insync_replicas": (1, None, NUMBER_RANGE.variant(message="Kafka would not start with it")),
    "kafka_replication_factor": (1, None, NUMBER_RANGE.variant(message="no topic could be created")),
    "kafka_restart_margin": (
        0,
        None,
        NUMBER_RANGE.variant(
            message="restarts would wait for fewer in-sync replicas than writes require, and writes would stop"
        ),
    ),
    "kafka_unregistered_timeout": (0, None, NUMBER_RANGE.variant(message="a duration cannot be negative")),
    "kafka_write_timeout": (1, None, NUMBER_RANGE.variant(message="no write could complete in that time")),
    "lag_exporter_interval": (
        1,
        3600,
        NUMBER_RANGE.variant(message="no number of seconds between two readings of the cluster, {least} to {most}"),
    ),
    "mirror_maker_start_timeout": (1, None, NUMBER_RANGE.variant(message="no worker could start in that time")),
    "pki_renew_days": (1, None, NUMBER_RANGE.variant(message="certificates would expire before their renewal")),
    "rebalance_timer_write_timeout": (1, None, NUMBER_RANGE.variant(message="no write could complete in that time")),
    "spark_cluster_cores": (1, 512, NUMBER_RANGE.variant(message="not a number of cores from {least} to {most}")),
    "spark_cluster_decommission_timeout": (0, None, NUMBER_RANGE.variant(message="a duration cannot be negative")),
    "spark_cluster_limit_nofile": (1024, None, FILES),
    "spark_job_limit_nofile": (1024, None, FILES),
    "zookeeper_limit_nofile": (1024, None, FILES),
}
FLOW_SECONDS = NUMBER_RANGE.variant(message="not a number of seconds above 0")
# By list, and by the key that identifies its entries and the keys inside them: as RANGES.
RANGES_INSIDE: dict[str, tuple[str, dict[str, tuple[int, int | None, ProblemKind]]]] = {
    "mirror_maker_flows": (
        "source",
        {
            "max_read_again": (1, None, FLOW_SECONDS),
            "round_trip_ms": (0, 60_000, NUMBER_RANGE.variant(message="no round trip from {least} to {most} ms")),
            "sync_interval": (1, None, FLOW_SECONDS),
            "tasks": (1, None, NUMBER_RANGE.variant(message="nothing would be copied")),
        },
    ),
}
# Lists of plain values without duplicates.
ONCE = (
    "accept_risks",
    "broker_zookeeper_hosts",
    "infra_trusted",
    "kafka_class_path",
    "kafka_oauthbearer_allowed_urls",
    "kafka_restart_accepts",
    "kafka_super_users",
    "known_properties",
    "zookeeper_class_path",
    "zookeeper_observers",
)
# Lists without duplicates inside entries, and inside dicts.
ONCE_INSIDE = {
    "kafka_acls": ("operations",),
    "kafka_listeners": ("sasl_mechanisms", "principal_mapping_rules"),
    "site_firewall_rules": ("from",),
    "postgresql_users": ("from",),
}
ONCE_IN_DICTS = {"kafka_prune": ("topics", "acls", "users", "quotas"), "firewall_extra_sources": ("client", "admin")}


def numbers(model: Model) -> Iterator[Problem]:
    """Yield a problem for each number in RANGES and RANGES_INSIDE that is outside its range."""
    for machine in model.functional:
        for name, limits in RANGES.items():
            if name in machine.inputs.values:
                yield from _outside(machine, name, machine.inputs.whole(name), *limits)
        for name, (identity, keys) in RANGES_INSIDE.items():
            for entry in machine.inputs.entries(name):
                for key, limits in keys.items():
                    place = f"{name}[{entry.get(identity)}].{key}"
                    yield from _outside(machine, place, _number(entry.get(key)), *limits)


def _number(value: Any) -> float | None:
    """Return a whole or real number, which may be written as text; None for any other value."""
    if isinstance(value, (float, str)) and whole(value) is None:
        with contextlib.suppress(ValueError):
            return float(value)
    return whole(value)


def _outside(
    machine: Machine, place: str, number: float | None, least: int, most: int | None, kind: ProblemKind
) -> Iterator[Problem]:
    """Yield a problem if a number of the inventory is below `least` or above `most`."""
    if number is not None and not number >= least:  # or not a number
        yield machine.report(kind, place, number, least=least, most=most)
    elif number is not None and most is not None and number > most:
        yield machine.report(kind.variant(**TOO_HIGH), place, number, least=least, most=most)


CERTIFICATE_CHECK = ProblemKind(
    "CERTIFICATE_CHECK",
    "more than pki_renew_days ({renewed}): check.yml would fail for certificates that no run renews yet",
    "set at most {renewed}, or raise pki_renew_days",
)


def certificate_days(model: Model) -> Iterator[Problem]:
    """Yield a problem if check_certificate_days is larger than pki_renew_days.

    check.yml would fail for a certificate that no run renews yet.
    """
    for machine in model.functional:
        days, renewed = machine.inputs.whole("check_certificate_days"), machine.inputs.whole("pki_renew_days")
        if days is not None and renewed is not None and 1 <= renewed < days:
            yield machine.report(CERTIFICATE_CHECK, "check_certificate_days", days, renewed=renewed)


CLUSTER_ID = ProblemKind(
    "CLUSTER_ID",
    "not a cluster id, which has 22 letters, digits, _ and -: no cluster has such an id, so every change would be "
    "rejected",
    "copy cluster.id from meta.properties of a broker, or remove it",
)


def cluster_id(model: Model) -> Iterator[Problem]:
    """Yield a problem for each kafka_cluster_id that does not have the form of a Kafka cluster id (22 characters)."""
    for broker in model.brokers:
        declared = broker.inputs.text("kafka_cluster_id")
        if declared is not None and not re.fullmatch(r"[A-Za-z0-9_-]{22}", declared):
            yield broker.report(CLUSTER_ID, "kafka_cluster_id", declared)


VALUE_TWICE = ProblemKind("VALUE_TWICE", "listed twice, but counts once", "remove one of the two, or correct one")


def once(model: Model) -> Iterator[Problem]:
    """Yield a problem for each duplicate in a list in which duplicates have no effect.

    Another value was probably intended.
    """
    for machine in model.functional:
        for variable, items in _lists(machine):
            seen: set[str] = set()
            for item in items if isinstance(items, (list, tuple)) else ():
                text = str(item) if whole(item) is None else str(whole(item))
                if text in seen and isinstance(item, (str, int)):
                    yield machine.report(VALUE_TWICE, variable, item)
                seen.add(text)


def _lists(machine: Machine) -> Iterator[tuple[str, Any]]:
    """Yield (variable, list) for each list of a host that must have no duplicates."""
    yield from ((name, machine.inputs.get(name)) for name in ONCE)
    for name, keys in ONCE_IN_DICTS.items():
        yield from ((f"{name}.{key}", machine.inputs.mapping(name).get(key)) for key in keys)
    for name, keys in ONCE_INSIDE.items():
        for number, entry in enumerate(machine.inputs.entries(name)):
            identity = next((entry[key] for key in ("name", "principal", "port") if entry.get(key) is not None), number)
            yield from ((f"{name}[{identity}].{key}", entry.get(key)) for key in keys)
    for user in machine.inputs.entries("kafka_users"):
        grants = user.get("grants")
        for grant in grants if isinstance(grants, (list, tuple)) else ():
            if isinstance(grant, dict):
                variable = f"kafka_users[{user.get('name')}].grants"
                yield from ((f"{variable}.{key}", grant.get(key)) for key in LISTS)
