"""Rules on ports: what listens on a host, and that nothing else does there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import JMX, options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import WILDCARDS, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import SSH
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

UNPRIVILEGED = 1024
BIND, CAPABILITIES = "cap_net_bind_service", ("AmbientCapabilities", "CapabilityBoundingSet")


class Port(NamedTuple):
    """A port that is open on a host."""

    number: Any
    """As declared: a number, unless that is a mistake."""
    product: str
    """What the inputs of its role begin with."""
    what: str
    variable: str = ""
    """What says it, '' where it is fixed."""
    address: str = ""
    """Where it is bound; '' on all."""
    sources: tuple[str, ...] = ()
    """Who may connect, as functions say it."""


def of_services(machine: Machine, model: Model) -> list[Port]:
    """Return the ports at which the services of a host are asked, as its functions say them."""
    found: list[Port] = []
    for function, item in model.items(machine, "ports"):
        declared = item.get("port") if isinstance(item, Mapping) else None
        number = declared if whole(declared) is None else whole(declared)
        if number is None or item.get("action") == "reject" or (item.get("optional") and not whole(number)):
            continue
        variable = str(item.get("input") or "")
        what = str(item.get("what") or variable or f"a port of {function.name}")
        sources = tuple(item.get("from") or ())
        found.append(Port(number, function.prefix, what, variable, str(item.get("address") or ""), sources))
    return found


# States of a job that opens no port.
IDLE = ("stopped", "absent")


def of_jvms(machine: Machine, model: Model) -> list[Port]:
    """Return what JVMs of a host open besides: JMX, agents, debuggers, ZooKeeper's AdminServer and metrics."""
    entries = machine.inputs.entries("spark_job_jobs")
    idle = tuple(f"spark_job_jobs[{entry.get('name')}]." for entry in entries if entry.get("state") in IDLE)
    found = [
        port
        for name, told in options(machine).items()
        if not name.startswith(idle) and "[spark.executor." not in name  # a job has no executors but its driver
        for port in _of_options(name, told)
    ]
    servers = [server for server in model.servers if server.name == machine.name]
    return list(dict.fromkeys([*found, *(port for server in servers for port in _of_zookeeper(server.config))]))


def _of_options(variable: str, told: list[str]) -> Iterator[Port]:
    product = next((one.prefix for one in functions().values() if variable.startswith(f"{one.prefix}_")), "")
    values = {name: value for name, _, value in (option.partition("=") for option in told)}
    port, registry = whole(values.get(f"{JMX}.port")), whole(values.get(f"{JMX}.rmi.port"))
    if port:
        yield Port(port, product, f"JMX of {product}", variable)
    if registry and registry != port:
        yield Port(registry, product, f"RMI of {product}", variable)
    for option in told:
        agent = re.match(r"-javaagent:[^=]+=(?:[\w.-]+:)?(\d+)(?::|$)", option)
        debugger = re.match(r"(?:-agentlib:jdwp=|-Xrunjdwp:).*\baddress=(?:[^,]*:)?(\d+)", option)
        for match, what in ((agent, "an agent"), (debugger, "the debugger")):
            if match:
                yield Port(int(match.group(1)), product, f"{what} of {product}", variable)


def _of_zookeeper(config: Mapping[Any, Any]) -> Iterator[Port]:
    asked = []
    if str(config.get("admin.enableServer")).lower() == "true":
        asked.append(("admin.serverPort", 8080, "the AdminServer"))
    if config.get("metricsProvider.className"):
        asked.append(("metricsProvider.httpPort", 7000, "ZooKeeper's metrics"))
    for name, usual, what in asked:
        number = whole(config.get(name, usual))
        if number:
            yield Port(number, "zookeeper", what, f"zookeeper_config[{name}]")


def taken(model: Model) -> Iterator[Problem]:
    """Nothing on a host listens where something else does, and every port is one."""
    for machine in model.functional:
        services = of_services(machine, model)
        found = [*services, Port(SSH, "", "the SSH server"), *of_jvms(machine, model)]
        for number, one in enumerate(found):
            for other in found[number + 1 :]:
                places = {one.address, other.address}
                if one.number == other.number and (len(places) == 1 or places & set(WILDCARDS)):
                    wrong, advice = f"taken by {one.what} and by {other.what}", "give one of them another port"
                    place = "" if other in services or not other.product else other.variable
                    yield machine.problem(place, "PORT_CLASH", one.number, wrong, advice)
        for port in found:
            if isinstance(port.number, int) and not 1 <= port.number <= 65535:
                wrong = f"{port.what} has no port from 1 to 65535"
                yield machine.problem("", "PORT_RANGE", port.number, wrong, "correct it")


def privileged(model: Model) -> Iterator[Problem]:
    """Services are not root, and open no port below 1024 unless they are told how."""
    for machine in model.functional:
        for port in [*of_services(machine, model), *of_jvms(machine, model)]:
            low = isinstance(port.number, int) and 0 < port.number < UNPRIVILEGED and port.number != SSH
            if low and not _allowed(machine, port.product):
                wrong = f"{port.what}: only root opens ports below {UNPRIVILEGED}, and the service is not root"
                advice = f"use a higher port, or say {' and '.join(CAPABILITIES)} in {port.product}_unit_overrides"
                yield machine.problem(port.variable, "PORT_PRIVILEGED", port.number, wrong, advice)


def _allowed(machine: Machine, product: str) -> bool:
    service = machine.inputs.mapping(f"{product}_unit_overrides").get("Service")
    told = service if isinstance(service, Mapping) else {}
    allowed = all(BIND in str(told.get(name)).lower() for name in CAPABILITIES)
    return allowed or "net.ipv4.ip_unprivileged_port_start" in machine.inputs.mapping("base_sysctl")
