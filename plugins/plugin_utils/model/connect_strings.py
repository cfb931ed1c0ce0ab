"""Rules on how brokers find the ensemble, and clients the brokers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import usual
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.bootstrap import Places
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.properties import judged
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import connect_places, told_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

CONNECT, HOSTS = "kafka_zookeeper_connect", "broker_zookeeper_hosts"


def zookeeper_connect(model: Model) -> Iterator[Problem]:
    """Brokers are told of servers that exist, of all of them or of a whole datacenter's, and of a proper chroot."""
    places = connect_places(model)
    for broker in model.brokers:
        for entry in broker.zookeeper_connect:
            if places and entry not in places:
                wrong, advice = "no declared ZooKeeper server listens there", "name address:port of the group zookeeper"
                yield broker.problem(CONNECT, "ZOOKEEPER_CONNECT_UNKNOWN", entry, wrong, advice)
        if model.servers and broker.inputs.values.get(CONNECT) in ([], ()):
            wrong, advice = "no server, and Kafka would not start", "leave it out: every server of the group zookeeper"
            yield broker.problem(CONNECT, "ZOOKEEPER_CONNECT_EMPTY", None, wrong, advice)
        yield from _missing(model, broker, told_of(model, broker))
        chroot = broker.inputs.get("kafka_zookeeper_chroot")
        path = chroot if isinstance(chroot, str) else ""
        if path == "/zookeeper" or path.startswith("/zookeeper/"):
            wrong = "ZooKeeper keeps its own quotas and configuration there"
            yield broker.problem("kafka_zookeeper_chroot", "CHROOT_INVALID", path, wrong, "name another, as /kafka")
        elif path and not re.fullmatch(r"(/(?!\.{1,2}(/|$))[^/\s,\x00-\x1f]+)+", path):
            wrong, advice = "no path of a znode", "write it as /kafka"
            yield broker.problem("kafka_zookeeper_chroot", "CHROOT_INVALID", path, wrong, advice)


def _missing(model: Model, broker: Broker, known: frozenset[str]) -> Iterator[Problem]:
    """A datacenter's own servers are enough, where one of them may be down as ZooKeeper as a whole allows it."""
    missing = [server.name for server in model.servers if server.name not in known]
    own = {server.name for server in model.servers if server.datacenter == broker.datacenter}
    if not known or not missing:
        return
    hosts = [str(name) for name in broker.inputs.sequence(HOSTS)]
    told = HOSTS if set(hosts) == known else CONNECT  # of the one the other is made
    if model.layout == "single" or not own or known != own:
        wrong = f"the broker is not told of {', '.join(missing)}, and loses its session when the others are down"
        shown = ", ".join(hosts) if told == HOSTS else None
        yield broker.problem(told, "ZOOKEEPER_CONNECT_PARTIAL", shown, wrong, "name every server", warning=True)
    elif len(known) == 1 and len(model.voters) > 2:
        wrong = "the broker is told of the one server of its datacenter alone, and loses its session whenever that is "
        wrong += "restarted"
        yield broker.problem(told, "ZOOKEEPER_CONNECT_PARTIAL", None, wrong, "name every server", warning=True)


def bootstrap(model: Model) -> Iterator[Problem]:
    """Clients are told of listeners that exist."""
    advertised = {listener.advertised for broker in model.brokers for listener in broker.listeners}
    if not advertised or any("kafka_listeners" not in broker.inputs.values for broker in model.brokers):
        return  # what is missing is reported as such
    yield from _ports(model, advertised)
    hosts = {told.rpartition(":")[0] for told in advertised}
    places_of = Places(model)
    for machine in model.functional:
        places: list[tuple[str, Any]] = [("kafka_client", machine.inputs.get("kafka_client"))]
        if model.is_in("kafka", machine):
            listeners = machine.inputs.mapping("kafka_admin_listeners")
            places += [(f"kafka_admin_listeners[{name}]", settings) for name, settings in listeners.items()]
        for variable, settings in places:
            servers = settings.get("bootstrap.servers") if isinstance(settings, Mapping) else None
            if isinstance(settings, Mapping) and not servers and variable != "kafka_client":
                near = next((f"did you mean that by {key}?" for key in settings if "servers" in str(key)), None)
                near = near or next((f"{key} is nothing that is read" for key in settings if "boot" in str(key)), None)
                wrong, advice = (
                    "nobody is named whom the control node could ask",
                    near or "name address:port of brokers",
                )
                yield machine.problem(f"{variable}[bootstrap.servers]", "BOOTSTRAP_UNKNOWN", None, wrong, advice)
            for entry in map(str.strip, str(servers).split(",") if servers else []):
                if entry not in advertised:
                    known = entry.rpartition(":")[0] in hosts or places_of.nobody(entry)
                    place, advice = f"{variable}[bootstrap.servers]", "name address:port of a listener"
                    wrong = "no declared broker advertises it"
                    if variable == "kafka_client" and places_of.nobody(entry):
                        advice = f"write {places_of.right(entry)}"
                    yield machine.problem(place, "BOOTSTRAP_UNKNOWN", entry, wrong, advice, warning=not known)


def _ports(model: Model, advertised: Collection[str]) -> Iterator[Problem]:
    """Yield ports of the cluster that hosts say otherwise than others, where clients are told of the wrong ones.

    Whoever is told works out the ports of all brokers from his own.
    """
    for word, network, machines in (
        ("client_port", "client", model.functional),
        ("replication_port", "replication", list[Machine](model.brokers)),
    ):
        told: dict[int, list[str]] = {}
        for machine in machines:
            if (port := machine.inputs.whole(word)) is not None:
                told.setdefault(port, []).append(machine.name)
        meant = {f"{broker.address(network)}:{port}" for broker in model.brokers for port in told} - {*advertised}
        if len(told) < 2 or not any(meant & {*_told(machine)} for machine in machines):
            continue
        most = usual(word) if usual(word) in told else max(told, key=lambda port: len(told[port]))
        for port, hosts in told.items():
            if port != most:
                wrong = f"other hosts have {most}, and it is of the site"
                yield Problem(tuple(hosts), word, "SITE_DIFFERS", port, wrong, "say it once, for all hosts")


def _told(machine: Machine) -> Iterator[str]:
    """Yield the places that a host is told of, as its site or the wiring says them."""
    listeners = machine.inputs.mapping("kafka_admin_listeners").values()
    for settings in (machine.inputs.get("kafka_client"), *listeners):
        servers = settings.get("bootstrap.servers") if isinstance(settings, Mapping) else None
        yield from map(str.strip, str(servers).split(",") if servers else [])


def client_properties(model: Model) -> Iterator[Problem]:
    """The site's client settings are Kafka's own, and wait for every acknowledgement."""
    if not model.brokers:
        return
    definitions = Definitions.load("kafka", str(model.brokers[0].inputs.get("kafka_version")))
    for machine in model.functional:
        yield from _client(machine, definitions, "kafka_client", machine.inputs.mapping("kafka_client"))
    for broker in model.brokers:  # of the tools, whose names are judged with the broker's own
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
    yield from judged(machine, definitions, "client", variable, settings, "CLIENT")
    yield from _acks(machine, variable, settings)


def _acks(machine: Machine, variable: str, settings: Mapping[str, Any]) -> Iterator[Problem]:
    acks = settings.get("acks")
    if acks is not None and str(acks) not in ("all", "-1"):
        wrong, advice = "records are reported as stored before they are safe", "leave it out, or use all"
        yield machine.problem(f"{variable}[acks]", "ACKS_NOT_ALL", acks, wrong, advice)


def jobs(model: Model) -> Iterator[Problem]:
    """The name of a job is the name of its unit on the node, and its checkpoint is its own."""
    for node in model.spark_nodes:
        names = [str(entry["name"]) for entry in node.inputs.entries("spark_job_jobs") if entry.get("name")]
        for name in sorted({name for name in names if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name)}):
            wrong, advice = "it names a unit and files", "use letters, figures and _ . - alone"
            yield node.problem("spark_job_jobs", "JOB_NAME", name, wrong, advice)
        for name in sorted({name for name in names if names.count(name) > 1}):
            wrong, advice = "two jobs of that name on one node", "give each a name of its own"
            yield node.problem("spark_job_jobs", "JOB_DUPLICATE", name, wrong, advice)
        seen: dict[str, str] = {}
        for job in node.jobs:
            checkpoint = str(job.config.get("checkpoint") or "")
            if checkpoint and seen.setdefault(checkpoint, job.name) != job.name:
                wrong = f"job {seen[checkpoint]} has the same, and each would take the other's progress for its own"
                variable, advice = f"{job.variable}.config.checkpoint", "give each job a checkpoint of its own"
                yield node.problem(variable, "JOB_CHECKPOINT", checkpoint, wrong, advice)
