"""Rules on who may read keys and bundles: the role pki makes them root's and a group's (0640), and nobody else's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import plain_path
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# Groups of services by the functions whose units have them; a group of the site's own may have any of them in it.
OURS = {"kafka": "kafka", "zookeeper": "zookeeper", "database": "postgres", "spark": "spark"}
PREFIXES = {"kafka": "kafka", "zookeeper": "zookeeper", "database": "postgresql", "spark": "spark_job"}
NOBODY = "root"  # the role's default
DATABASE = "/etc/postgresql/tls/server.pem"  # ssl_cert_file and ssl_key_file of roles/postgresql
# Keys of a job's connections that name files.
LOCATIONS = ("ssl.keystore.location", "ssl.truststore.location", "sslrootcert", "sslcert", "sslkey")
Readers = dict[str, tuple[str, str]]
"""By path the function that reads it, and for what."""


def readers(model: Model) -> Iterator[Problem]:
    """What a service reads belongs to its group."""
    read: dict[str, Readers] = {machine.name: {} for machine in model.functional}
    for broker in model.brokers:
        read[broker.name] |= {path: ("kafka", what) for path, what in _of_broker(broker).items()}
    for server in model.servers:
        for name in ("zookeeper_keystore", "zookeeper_truststore") if server.speaks_tls else ():
            read[server.name].setdefault(_plain(server.inputs.get(name)), ("zookeeper", f"its {name}"))
    for node in model.spark_nodes:
        for path, what in _of_jobs(node).items():
            read[node.name].setdefault(path, ("spark", what))
    for name in model.groups.get("database", ()):
        read[name].setdefault(DATABASE, ("database", "the database"))
    for machine in model.functional:
        for name, entries in (("pki_certificates", machine.certificates), ("pki_truststores", machine.truststores)):
            for entry in entries:
                function, what = read[machine.name].get(_plain(entry.get("path")), ("", ""))
                if function and not _may_read(machine, function, str(entry.get("group") or NOBODY)):
                    yield _closed(machine, name, entry, function, what)


def _closed(machine: Machine, name: str, entry: Mapping[str, Any], function: str, what: str) -> Problem:
    given, own = str(entry.get("group") or NOBODY), OURS[function]
    of_whom = "root alone" if given == NOBODY else f"root and group {given}"
    wrong = f"{entry.get('path')} is for {of_whom} (0640), and {own}, which reads it for {what}, could not open it"
    key = entry.get("name") if name == "pki_certificates" else entry.get("path")
    return machine.problem(f"{name}[{key}].group", "STORE_GROUP", given, wrong, f"write group: {own}")


def _plain(path: Any) -> str:
    return plain_path(str(path)) if path else ""


def _of_broker(broker: Broker) -> dict[str, str]:
    """Return the files that a broker reads, each with what is served or trusted with it."""
    found: dict[str, str] = {}
    for item in broker.encrypted:
        found.setdefault(_plain(broker.keystore(item)), f"listener {item.name}")
        if item.asks_for_certificates:
            found.setdefault(_plain(broker.truststore(item)), f"listener {item.name}")
    if broker.zookeeper_keystore:
        for path in (broker.zookeeper_keystore, broker.truststore()):
            found.setdefault(_plain(path), "the broker's client of ZooKeeper")
    return {path: what for path, what in found.items() if path}


def _of_jobs(node: SparkNode) -> dict[str, str]:
    """Return the files that jobs name in what they connect to."""
    found: dict[str, str] = {}
    for job in node.jobs:
        database = job.config.get("database")
        for told in (job.kafka, database if isinstance(database, Mapping) else {}, job.migrate):
            for key in LOCATIONS:
                if told.get(key):
                    found.setdefault(_plain(told[key]), f"job {job.name}")
    return found


def _may_read(machine: Machine, function: str, group: str) -> bool:
    """Tell whether a unit may read what belongs to a group; of the site's own groups that is not known."""
    own = OURS[function]
    if group == own or group not in (NOBODY, *OURS.values()):
        return True
    service = machine.inputs.mapping(f"{PREFIXES[function]}_unit_overrides").get("Service")
    told = service if isinstance(service, Mapping) else {}
    groups = re.findall(r"[\w.-]+", str([told.get("Group"), told.get("SupplementaryGroups")]))
    return group in groups or str(told.get("User") or "") in ("root", "0")
