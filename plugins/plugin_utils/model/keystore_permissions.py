"""Rules on the permissions of keystores and truststores.

The role pki makes these files readable by root and one group (mode 0640), which must be the group of the service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import plain_path
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# Groups of services, by function. A group of the site may have any of them as a member.
GROUPS = {"kafka": "kafka", "zookeeper": "zookeeper", "database": "postgres", "spark": "spark"}
PREFIXES = {"kafka": "kafka", "zookeeper": "zookeeper", "database": "postgresql", "spark": "spark_job"}
ROOT = "root"  # the role's default
DATABASE = "/etc/postgresql/tls/server.pem"  # ssl_cert_file and ssl_key_file of roles/postgresql
# Keys of a job's connections that name files.
LOCATIONS = ("ssl.keystore.location", "ssl.truststore.location", "sslrootcert", "sslcert", "sslkey")
Readers = dict[str, tuple[str, str]]
"""{path of a file: (function that reads it, purpose for a message)}."""
STORE_GROUP = ProblemKind(
    "STORE_GROUP",
    "{path} is readable by {readers} (0640), and {service}, which reads it for {purpose}, could not open it",
    "set group: {service}",
)


def readers(model: Model) -> Iterator[Problem]:
    """Yield a problem for each keystore and truststore whose `group` does not let its service read the file."""
    read: dict[str, Readers] = {machine.name: {} for machine in model.functional}
    for broker in model.brokers:
        read[broker.name] |= {path: ("kafka", purpose) for path, purpose in _of_broker(broker).items()}
    for server in model.servers:
        for name in ("zookeeper_keystore", "zookeeper_truststore") if server.speaks_tls else ():
            read[server.name].setdefault(_plain(server.inputs.get(name)), ("zookeeper", f"its {name}"))
    for node in model.spark_nodes:
        for path, purpose in _of_jobs(node).items():
            read[node.name].setdefault(path, ("spark", purpose))
    for name in model.groups.get("database", ()):
        read[name].setdefault(DATABASE, ("database", "the database"))
    for machine in model.functional:
        for name, entries in (("pki_certificates", machine.certificates), ("pki_truststores", machine.truststores)):
            for entry in entries:
                function, purpose = read[machine.name].get(_plain(entry.get("path")), ("", ""))
                if function and not _may_read(machine, function, str(entry.get("group") or ROOT)):
                    yield _closed(machine, name, entry, function, purpose)


def _closed(machine: Machine, name: str, entry: Mapping[str, Any], function: str, purpose: str) -> Problem:
    group = str(entry.get("group") or ROOT)
    key = entry.get("name") if name == "pki_certificates" else entry.get("path")
    return machine.report(
        STORE_GROUP,
        f"{name}[{key}].group",
        group,
        path=entry.get("path"),
        readers="only root" if group == ROOT else f"root and group {group}",
        service=GROUPS[function],
        purpose=purpose,
    )


def _plain(path: Any) -> str:
    return plain_path(str(path)) if path else ""


def _of_broker(broker: Broker) -> dict[str, str]:
    """Return {path: purpose for a message} of the keystores and truststores that a broker reads."""
    files: dict[str, str] = {}
    for item in broker.encrypted:
        files.setdefault(_plain(broker.keystore(item)), f"listener {item.name}")
        if item.asks_for_certificates:
            files.setdefault(_plain(broker.truststore(item)), f"listener {item.name}")
    if broker.zookeeper_keystore:
        for path in (broker.zookeeper_keystore, broker.truststore()):
            files.setdefault(_plain(path), "the broker's client of ZooKeeper")
    return {path: purpose for path, purpose in files.items() if path}


def _of_jobs(node: SparkNode) -> dict[str, str]:
    """Return {path: "job NAME"} of the keystores and certificates in the connection settings of jobs."""
    files: dict[str, str] = {}
    for job in node.jobs:
        database = job.config.get("database")
        for settings in (job.kafka, database if isinstance(database, Mapping) else {}, job.migrate):
            for key in LOCATIONS:
                if settings.get(key):
                    files.setdefault(_plain(settings[key]), f"job {job.name}")
    return files


def _may_read(machine: Machine, function: str, group: str) -> bool:
    """Tell whether the service of a function can read files of a group; true for an unknown group of the site."""
    own = GROUPS[function]
    if group == own or group not in (ROOT, *GROUPS.values()):
        return True
    service = machine.inputs.mapping(f"{PREFIXES[function]}_unit_overrides").get("Service")
    section = service if isinstance(service, Mapping) else {}
    groups = re.findall(r"[\w.-]+", str([section.get("Group"), section.get("SupplementaryGroups")]))
    return group in groups or str(section.get("User") or "") in ("root", "0")
