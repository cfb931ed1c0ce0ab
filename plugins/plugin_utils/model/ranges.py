"""Rules on numbers whose range no argument spec can say, and on lists in which something stands twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.grants import LISTS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

PORTS = 65535
FILES = "every connection and every file of data takes one: the service would run out of them"
NEVER = "nothing would ever be done in that time"
# Inputs and words of the site: least, most, and what comes of another number. Ports of listeners, ids, and waits for
# services (TIMEOUT_NONE) have rules of their own.
RANGES: dict[str, tuple[int, int | None, str]] = {
    "ansible_port": (1, PORTS, "nobody could connect"),
    "check_certificate_days": (0, None, "a certificate that has ended would pass"),
    "expected_bytes_per_second": (1, None, "disks cannot be held against it"),
    "kafka_limit_nofile": (4096, None, FILES),
    "kafka_min_insync_replicas": (1, None, "Kafka refuses it, and would not start"),
    "kafka_replication_factor": (1, None, "no topic could be created"),
    "kafka_restart_margin": (0, None, "restarts would wait for less than min.insync.replicas, and stop writes"),
    "kafka_unregistered_timeout": (0, None, "no such time"),
    "kafka_write_timeout": (1, None, NEVER),
    "pki_renew_days": (1, None, "certificates would end before they are renewed"),
    "spark_job_limit_nofile": (1024, None, FILES),
    "zookeeper_limit_nofile": (1024, None, FILES),
}
# Lists of plain values, each of which counts once.
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
# Lists inside of entries, and of words that are dicts.
ONCE_INSIDE = {
    "kafka_acls": ("operations",),
    "kafka_listeners": ("sasl_mechanisms", "principal_mapping_rules"),
    "site_firewall_rules": ("from",),
    "postgresql_users": ("from",),
}
ONCE_IN_DICTS = {"kafka_prune": ("topics", "acls", "users", "quotas"), "firewall_extra_sources": ("client", "admin")}


def numbers(model: Model) -> Iterator[Problem]:
    """Every number is one with which its input does something."""
    for machine in model.functional:
        for name, (least, most, wrong) in RANGES.items():
            number = machine.inputs.whole(name) if name in machine.inputs.values else None
            if number is not None and not (least <= number and (most is None or number <= most)):
                advice = f"write {least} at least" if number < least else f"write {most} at most"
                yield machine.problem(name, "NUMBER_RANGE", number, wrong, advice)


def certificate_days(model: Model) -> Iterator[Problem]:
    """A check does not fail for certificates that no run would renew."""
    for machine in model.functional:
        told, renewed = machine.inputs.whole("check_certificate_days"), machine.inputs.whole("pki_renew_days")
        if told is not None and renewed is not None and 1 <= renewed < told:
            wrong = f"more than pki_renew_days ({renewed}): check.yml would fail, and no run renew anything"
            advice = "lower it, or raise pki_renew_days"
            yield machine.problem("check_certificate_days", "CERTIFICATE_CHECK", told, wrong, advice)


def cluster_id(model: Model) -> Iterator[Problem]:
    """The id of a cluster is one as Kafka makes them (org.apache.kafka.common.Uuid)."""
    for broker in model.brokers:
        told = broker.inputs.text("kafka_cluster_id")
        if told is not None and not re.fullmatch(r"[A-Za-z0-9_-]{22}", told):
            wrong = "no id of a cluster, which has 22 letters, figures, _ and -: nothing would ever be written"
            advice = "take it from cluster.id in meta.properties of a broker, or leave it out"
            yield broker.problem("kafka_cluster_id", "CLUSTER_ID", told, wrong, advice)


def once(model: Model) -> Iterator[Problem]:
    """Nothing stands twice in a list: the second does nothing, and another one was meant."""
    for machine in model.functional:
        for place, given in _lists(machine):
            told: set[str] = set()
            for item in given if isinstance(given, (list, tuple)) else ():
                text = str(item) if whole(item) is None else str(whole(item))
                if text in told and isinstance(item, (str, int)):
                    wrong, advice = "there twice, and counts once", "take one out, or write the one that is meant"
                    yield machine.problem(place, "VALUE_TWICE", item, wrong, advice)
                told.add(text)


def _lists(machine: Machine) -> Iterator[tuple[str, Any]]:
    """Yield the lists of a host in which nothing stands twice, each with its place."""
    yield from ((name, machine.inputs.get(name)) for name in ONCE)
    for name, keys in ONCE_IN_DICTS.items():
        yield from ((f"{name}.{key}", machine.inputs.mapping(name).get(key)) for key in keys)
    for name, keys in ONCE_INSIDE.items():
        for number, entry in enumerate(machine.inputs.entries(name)):
            told = next((entry[key] for key in ("name", "principal", "port") if entry.get(key) is not None), number)
            yield from ((f"{name}[{told}].{key}", entry.get(key)) for key in keys)
    for user in machine.inputs.entries("kafka_users"):
        grants = user.get("grants")
        for grant in grants if isinstance(grants, (list, tuple)) else ():
            if isinstance(grant, dict):
                place = f"kafka_users[{user.get('name')}].grants"
                yield from ((f"{place}.{key}", grant.get(key)) for key in LISTS)
