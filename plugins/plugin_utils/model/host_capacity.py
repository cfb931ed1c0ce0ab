"""Rules on hosts as machines: each host is a different machine, with enough memory for all its processes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.database_memory import shared_buffers
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import LEAST_MEMORY, size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jobs import driver_memory
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import LOOPBACK
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import holders
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

SSH = 22
LOCAL = "127.0.0.1"
ARGUMENTS = ("args", "common_args", "extra_args")
PROXY = re.compile(r"\bproxy(jump|command)\b|(^|\s)-[JF]", re.IGNORECASE)  # ssh_config(5), ssh(1)


MACHINE_TWICE = ProblemKind(
    "MACHINE_TWICE",
    "these hosts have the same address, so that one computer would be set up as several hosts",
    "set ansible_host of each host to its own address",
)
MACHINE_TWICE_LOCAL = MACHINE_TWICE.variant(
    message="all these hosts are the control node, which would be set up as each of them in turn",
    advice="remove ansible_connection, or set it for only one host",
)


def twice(model: Model) -> Iterator[Problem]:
    """Yield a problem for each group of host names that are the same machine: Ansible connects to the same address."""
    local = [machine.name for machine in model.functional if machine.inputs.get("ansible_connection") == "local"]
    if len(local) > 1:
        yield MACHINE_TWICE_LOCAL.problem(tuple(local), "ansible_connection", "local")
    endpoints = (
        (endpoint, machine.name)
        for machine in model.functional
        if (endpoint := _endpoint(machine)) and not (machine.name in local and len(local) > 1)
    )
    for (address, *_), hosts in holders(endpoints).items():
        yield MACHINE_TWICE.problem(tuple(hosts), "ansible_host", address)


def _endpoint(machine: Machine) -> tuple[str, int, str] | None:
    """Return (address, port, proxy) of the SSH connection to a host; None if the connection is not SSH.

    Every loopback address is returned as 127.0.0.1, the control node. `proxy` is "" or the SSH arguments that set a
    proxy.
    """
    host, connection = str(machine.inputs.get("ansible_host") or ""), machine.inputs.get("ansible_connection")
    if connection == "local":
        return LOCAL, SSH, ""
    if not host or connection not in (None, "ssh", "smart"):
        return None
    arguments = " ".join(str(machine.inputs.get(f"ansible_ssh_{name}") or "") for name in ARGUMENTS).strip()
    proxy = arguments if PROXY.search(arguments) else ""
    return LOCAL if LOOPBACK.fullmatch(host) else host, machine.inputs.whole("ansible_port") or SSH, proxy


HEAP_SUM = ProblemKind(
    "HEAP_SUM",
    "{inputs} together need more memory than the host has",
    "lower them to at most half of the memory in total",
)


def heaps(model: Model) -> Iterator[Problem]:
    """Yield a problem for each host with less memory than the heaps and buffers of all its functions together."""
    drivers = Counter({node.name: sum(driver_memory(node).values()) for node in model.spark_nodes})
    for machine in model.functional:
        total = size(machine.inputs.get("memory"))
        if total is not None and total < LEAST_MEMORY:
            continue  # reported as MEMORY_INVALID
        sizes = {name: size(machine.inputs.get(name)) or 0 for name in model.input_names(machine, "heaps")}
        if model.is_in("database", machine) and (shared := shared_buffers(machine)):
            sizes["postgresql_config[shared_buffers]"] = shared
        if drivers[machine.name]:
            sizes["spark_job_jobs"] = drivers[machine.name]
        if total is not None and len(sizes) > 1 and sum(sizes.values()) > total > max(sizes.values()):
            yield machine.report(HEAP_SUM, "memory", machine.inputs.get("memory"), inputs=" and ".join(sizes))


PLACE_CASE = ProblemKind(
    "PLACE_CASE",
    "{others} exists as well, and Kafka treats upper and lower case as different",
    "use one spelling on all hosts",
)


def cases(model: Model) -> Iterator[Problem]:
    """Yield a problem for names of datacenters or of racks that differ only in upper and lower case."""
    for name in ("datacenter", "rack"):
        hosts_of: dict[tuple[str, ...], dict[str, list[str]]] = {}
        for machine in model.functional:
            value = machine.inputs.text(name)
            if value is not None:
                place = (str(machine.datacenter).lower(), value.lower()) if name == "rack" else (value.lower(),)
                hosts_of.setdefault(place, {}).setdefault(value, []).append(machine.name)
        for notations in hosts_of.values():
            if len(notations) > 1:
                rarest = min(reversed(notations), key=lambda value: len(notations[value]))
                others = sorted(value for value in notations if value != rarest)
                yield PLACE_CASE.problem(tuple(notations[rarest]), name, rarest, others=others)


CERTIFICATE_PURPOSE = ProblemKind(
    "CERTIFICATE_PURPOSE",
    "the host uses this certificate as {roles} as well, and peers would reject the certificate",
    "remove usage (default: [server, client])",
)


def certificates(model: Model) -> Iterator[Problem]:
    """Yield a problem for each certificate whose `usage` (server, client) does not include what its service needs.

    A service that accepts connections from its peers and also connects to them needs both server and client.
    """
    required: dict[str, dict[str, set[str]]] = {machine.name: {} for machine in model.cluster}
    for broker in model.brokers:
        for item in broker.encrypted:
            usages = {"server", "client"} if item.name == str(broker.inter_broker) else {"server"}
            required[broker.name].setdefault(broker.keystore(item), set()).update(usages)
    for server in model.servers:
        if server.speaks_tls:
            required[server.name][str(server.inputs.get("zookeeper_keystore"))] = {"server", "client"}
    for machine in model.cluster:
        for entry in machine.certificates:
            usage = entry.get("usage")
            given = {*map(str, usage)} if isinstance(usage, (list, tuple)) and usage else {"server", "client"}
            missing = required[machine.name].get(str(entry.get("path")), set()) - given
            if missing:
                variable, value = f"pki_certificates[{entry.get('name')}].usage", ", ".join(sorted(given))
                yield machine.report(CERTIFICATE_PURPOSE, variable, value, roles=" and ".join(sorted(missing)))
    yield from _owners(model)


ZOOKEEPER_OWNERS = ProblemKind(
    "ZOOKEEPER_OWNERS",
    "other brokers connect to ZooKeeper with another subject, so brokers could not read each other's znodes",
    "give all brokers one subject, for example CN=kafka,OU=zkclients,O=...",
)


def _owners(model: Model) -> Iterator[Problem]:
    """Yield a problem for brokers whose certificate for ZooKeeper has another subject than that of most brokers."""
    hosts_of: dict[str, list[str]] = {}
    for broker in model.brokers:
        for entry in broker.certificates:
            if broker.zookeeper_keystore and entry.get("path") == broker.zookeeper_keystore:
                hosts_of.setdefault(str(entry.get("subject")), []).append(broker.name)
    if len(hosts_of) > 1:
        rarest = min(hosts_of, key=lambda subject: len(hosts_of[subject]))
        yield ZOOKEEPER_OWNERS.problem(tuple(hosts_of[rarest]), "pki_certificates", rarest)
