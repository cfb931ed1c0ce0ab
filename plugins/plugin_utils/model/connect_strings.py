"""Rules on connection strings: of brokers to ZooKeeper, and of clients to brokers.

Also rules on properties of clients, and on names and checkpoints of Spark jobs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import project_value
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.bootstrap import BOOTSTRAP_UNKNOWN, Endpoints
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.identity import SITE_DIFFERS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.properties import CLIENT_PROPERTY, check_properties
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import (
    connect_places,
    connected_servers,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

CONNECT, HOSTS = "kafka_zookeeper_connect", "broker_zookeeper_hosts"
ZOOKEEPER_CONNECT_UNKNOWN = ProblemKind(
    "ZOOKEEPER_CONNECT_UNKNOWN",
    "no declared ZooKeeper server listens at this address and port",
    "set address:port of a host of the group zookeeper",
)
ZOOKEEPER_CONNECT_EMPTY = ProblemKind(
    "ZOOKEEPER_CONNECT_EMPTY",
    "the list names no server, so Kafka would not start",
    "remove it (default: every server of the group zookeeper)",
)
CHROOT_INVALID = ProblemKind("CHROOT_INVALID", "not the path of a znode", "write a path, for example /kafka")
CHROOT_INVALID_RESERVED = CHROOT_INVALID.variant(
    message="ZooKeeper keeps its own quotas and configuration below /zookeeper",
    advice="use another path, for example /kafka",
)


def zookeeper_connect(model: Model) -> Iterator[Problem]:
    """Yield a problem for each broker with a wrong ZooKeeper connection string or chroot.

    The connection string is wrong if it contains an undeclared server or no server. Also yield a warning if servers are
    missing; in a cluster of several datacenters, the servers of the broker's own datacenter suffice, if at least two.
    """
    places = connect_places(model)
    for broker in model.brokers:
        for entry in broker.zookeeper_connect:
            if places and entry not in places:
                yield broker.report(ZOOKEEPER_CONNECT_UNKNOWN, CONNECT, entry)
        if model.servers and broker.inputs.values.get(CONNECT) in ([], ()):
            yield broker.report(ZOOKEEPER_CONNECT_EMPTY, CONNECT)
        yield from _missing(model, broker, connected_servers(model, broker))
        chroot = broker.inputs.get("kafka_zookeeper_chroot")
        path = chroot if isinstance(chroot, str) else ""
        if path == "/zookeeper" or path.startswith("/zookeeper/"):
            yield broker.report(CHROOT_INVALID_RESERVED, "kafka_zookeeper_chroot", path)
        elif path and not re.fullmatch(r"(/(?!\.{1,2}(/|$))[^/\s,\x00-\x1f]+)+", path):
            yield broker.report(CHROOT_INVALID, "kafka_zookeeper_chroot", path)


ZOOKEEPER_CONNECT_PARTIAL = ProblemKind(
    "ZOOKEEPER_CONNECT_PARTIAL",
    "does not name {missing}: the broker would lose its session if all servers in this list are down",
    "name every ZooKeeper server",
    warning=True,
)
ZOOKEEPER_CONNECT_PARTIAL_ONE = ZOOKEEPER_CONNECT_PARTIAL.variant(
    message="names only the one server of the broker's datacenter: the broker loses its session at every "
    "restart of that server"
)


def _missing(model: Model, broker: Broker, known: frozenset[str]) -> Iterator[Problem]:
    """Yield a warning if a broker knows too few of the ZooKeeper servers; `known` has the names of those it knows.

    In a cluster of several datacenters, those of its own datacenter are enough, if they are at least two.
    """
    missing = [server.name for server in model.servers if server.name not in known]
    local = {server.name for server in model.servers if server.datacenter == broker.datacenter}
    if not known or not missing:
        return
    hosts = [str(name) for name in broker.inputs.sequence(HOSTS)]
    variable = HOSTS if set(hosts) == known else CONNECT  # the wiring derives CONNECT from HOSTS
    if model.layout == "single" or not local or known != local:
        value = ", ".join(hosts) if variable == HOSTS else None
        yield broker.report(ZOOKEEPER_CONNECT_PARTIAL, variable, value, missing=missing)
    elif len(known) == 1 and len(model.voters) > 2:
        yield broker.report(ZOOKEEPER_CONNECT_PARTIAL_ONE, variable)


BOOTSTRAP_UNKNOWN_BROKER = BOOTSTRAP_UNKNOWN.variant(advice="write {right}")
BOOTSTRAP_UNKNOWN_NONE = BOOTSTRAP_UNKNOWN.variant(
    message="not set, so the control node has no broker to connect to", advice="set it to address:port of brokers"
)
BOOTSTRAP_UNKNOWN_KEY = BOOTSTRAP_UNKNOWN_NONE.variant(advice="did you mean bootstrap.servers instead of {key}?")
BOOTSTRAP_UNKNOWN_UNREAD = BOOTSTRAP_UNKNOWN_NONE.variant(
    advice="set it to address:port of brokers: no client reads the property {key}"
)


def bootstrap(model: Model) -> Iterator[Problem]:
    """Yield a problem for each bootstrap.servers of the tools at which no broker listens.

    The tools connect with kafka_client and kafka_admin_listeners. Also yield a problem if an entry of
    kafka_admin_listeners has no bootstrap.servers.
    """
    advertised = {listener.advertised for broker in model.brokers for listener in broker.listeners}
    if not advertised or any("kafka_listeners" not in broker.inputs.values for broker in model.brokers):
        return  # what is missing is reported as such
    yield from _ports(model, advertised)
    hosts = {endpoint.rpartition(":")[0] for endpoint in advertised}
    endpoints = Endpoints(model)
    former = {f"{one.address('client')}:{item.advertised_port}" for one in model.brokers for item in one.listeners}
    for machine in model.functional:
        clients: list[tuple[str, Any]] = [("kafka_client", machine.inputs.get("kafka_client"))]
        if model.is_in("kafka", machine):
            listeners = machine.inputs.mapping("kafka_admin_listeners")
            clients += [(f"kafka_admin_listeners[{name}]", settings) for name, settings in listeners.items()]
        for client, settings in clients:
            variable = f"{client}[bootstrap.servers]"
            servers = settings.get("bootstrap.servers") if isinstance(settings, Mapping) else None
            if isinstance(settings, Mapping) and not servers and client != "kafka_client":
                yield _without_servers(machine, variable, settings)
            moving = client != "kafka_client" and machine.inputs.on("adding_replication_network")
            for entry in map(str.strip, str(servers).split(",") if servers else []):
                if entry not in (advertised | former if moving else advertised):
                    closed = endpoints.is_closed(entry)
                    warning = not (entry.rpartition(":")[0] in hosts or closed)
                    if client == "kafka_client" and closed:
                        right = endpoints.listeners_of(entry)
                        yield machine.report(BOOTSTRAP_UNKNOWN_BROKER, variable, entry, warning=warning, right=right)
                    else:
                        yield machine.report(BOOTSTRAP_UNKNOWN, variable, entry, warning=warning)


def _without_servers(machine: Machine, variable: str, settings: Mapping[Any, Any]) -> Problem:
    """Return the problem of client settings without bootstrap.servers; its advice names a similar key."""
    if key := next((key for key in settings if "servers" in str(key)), None):
        return machine.report(BOOTSTRAP_UNKNOWN_KEY, variable, key=key)
    if key := next((key for key in settings if "boot" in str(key)), None):
        return machine.report(BOOTSTRAP_UNKNOWN_UNREAD, variable, key=key)
    return machine.report(BOOTSTRAP_UNKNOWN_NONE, variable)


def _ports(model: Model, advertised: Collection[str]) -> Iterator[Problem]:
    """Yield a problem if client_port or replication_port differs between hosts, so that clients connect to wrong ports.

    Each host computes the ports of all brokers from its own value. `advertised` has "address:port" of all listeners.
    """
    for name, addresses, machines in (
        ("client_port", [broker.address("client") for broker in model.brokers], model.functional),
        ("replication_port", [broker.inner_address for broker in model.brokers], list[Machine](model.brokers)),
    ):
        hosts_by_port: dict[int, list[str]] = {}
        for machine in machines:
            if (port := machine.inputs.whole(name)) is not None:
                hosts_by_port.setdefault(port, []).append(machine.name)
        possible = {f"{address}:{port}" for address in addresses for port in hosts_by_port}
        unlistened = possible - {*advertised}
        if len(hosts_by_port) < 2 or not any(unlistened & {*_servers(machine)} for machine in machines):
            continue
        default = project_value(name)
        most = default if default in hosts_by_port else max(hosts_by_port, key=lambda port: len(hosts_by_port[port]))
        for port, hosts in hosts_by_port.items():
            if port != most:
                yield SITE_DIFFERS.problem(hosts, name, port, who="hosts", others=[most], whole="site")


def _servers(machine: Machine) -> Iterator[str]:
    """Yield each "address:port" in bootstrap.servers of kafka_client and kafka_admin_listeners of a host."""
    listeners = machine.inputs.mapping("kafka_admin_listeners").values()
    for settings in (machine.inputs.get("kafka_client"), *listeners):
        servers = settings.get("bootstrap.servers") if isinstance(settings, Mapping) else None
        yield from map(str.strip, str(servers).split(",") if servers else [])


def client_properties(model: Model) -> Iterator[Problem]:
    """Yield a problem for each property of clients that Kafka does not know, or whose value Kafka rejects.

    Also yield a problem for `acks` other than "all". Clients are kafka_client, the command line tools and Spark jobs.
    """
    if not model.brokers:
        return
    definitions = Definitions.load("kafka", str(model.brokers[0].inputs.get("kafka_version")))
    for machine in model.functional:
        yield from _client(machine, definitions, "kafka_client", machine.inputs.mapping("kafka_client"))
    for broker in model.brokers:  # of the tools, whose names are checked with the broker's own
        tools = broker.inputs.mapping("kafka_client_properties")
        yield from _acks(broker, "kafka_client_properties", tools)
    for node in model.spark_nodes:
        site = node.inputs.mapping("kafka_client")
        for job in node.jobs:
            own = {name: value for name, value in job.kafka.items() if site.get(name) != value}
            yield from _client(node, definitions, f"{job.variable}.config.kafka", own)


def _client(
    machine: Machine, definitions: Definitions, variable: str, settings: Mapping[str, Any]
) -> Iterator[Problem]:
    yield from check_properties(machine, definitions, "client", variable, settings, CLIENT_PROPERTY)
    yield from _acks(machine, variable, settings)


ACKS_NOT_ALL = ProblemKind(
    "ACKS_NOT_ALL", "records are acknowledged before all in-sync replicas have them", "remove it (default: all)"
)


def _acks(machine: Machine, variable: str, settings: Mapping[str, Any]) -> Iterator[Problem]:
    acks = settings.get("acks")
    if acks is not None and str(acks) not in ("all", "-1"):
        yield machine.report(ACKS_NOT_ALL, f"{variable}[acks]", acks)


JOB_NAME = ProblemKind(
    "JOB_NAME", "not valid in the names of the job's unit and files", "use only letters, digits, _ . and -"
)
JOB_DUPLICATE = ProblemKind("JOB_DUPLICATE", "two jobs on one host have this name", "give each job another name")
JOB_CHECKPOINT = ProblemKind(
    "JOB_CHECKPOINT",
    "job {other} has the same checkpoint, and each would resume from the other's progress",
    "give each job a checkpoint of its own",
)


def jobs(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Spark job with an invalid or duplicate name, or with the checkpoint of another job."""
    for node in model.spark_nodes:
        names = [str(entry["name"]) for entry in node.inputs.entries("spark_job_jobs") if entry.get("name")]
        for name in sorted({name for name in names if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name)}):
            yield node.report(JOB_NAME, "spark_job_jobs", name)
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield node.report(JOB_DUPLICATE, "spark_job_jobs", name)
        seen: dict[str, str] = {}
        for job in node.jobs:
            checkpoint = str(job.config.get("checkpoint") or "")
            if checkpoint and seen.setdefault(checkpoint, job.name) != job.name:
                yield node.report(
                    JOB_CHECKPOINT, f"{job.variable}.config.checkpoint", checkpoint, other=seen[checkpoint]
                )
