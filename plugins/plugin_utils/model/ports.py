"""Rules on ports: each port of a host belongs to one service, which is allowed to open it."""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import role_of

UNPRIVILEGED = 1024
BIND, CAPABILITIES = "cap_net_bind_service", ("AmbientCapabilities", "CapabilityBoundingSet")


class Port(NamedTuple):
    """A port that is open on a host."""

    number: Any
    """The port as declared: a number, or another type if the declaration is wrong."""
    product: str
    """The prefix of the variables of the role that opens the port, as kafka."""
    what: str
    """The name of the port for messages."""
    variable: str = ""
    """The variable that sets the port; "" if the port is fixed."""
    address: str = ""
    """The address to which the port is bound; "" for all addresses."""
    sources: tuple[str, ...] = ()
    """Functions and networks whose hosts may connect to the port."""


def of_services(machine: Machine, model: Model) -> list[Port]:
    """Return the ports at which the services of a host listen, by the key `ports` of functions/*.yml."""
    ports: list[Port] = []
    for function, item in model.items(machine, "ports"):
        declared = item.get("port") if isinstance(item, Mapping) else None
        number = declared if whole(declared) is None else whole(declared)
        if number is None or item.get("action") == "reject" or (item.get("optional") and not whole(number)):
            continue
        variable = str(item.get("input") or "")
        what = str(item.get("what") or variable or f"a port of {function.name}")
        sources = tuple(item.get("from") or ())
        product = role_of().get(variable, function.prefix)
        ports.append(Port(number, product, what, variable, str(item.get("address") or ""), sources))
    return ports


# States of a job in which it opens no port.
IDLE = ("stopped", "absent")


def of_jvms(machine: Machine, model: Model) -> list[Port]:
    """Return the additional ports of a host's JVMs: JMX, agents, debuggers, and ZooKeeper's AdminServer and metrics."""
    entries = machine.inputs.entries("spark_job_jobs")
    idle = tuple(f"spark_job_jobs[{entry.get('name')}]." for entry in entries if entry.get("state") in IDLE)
    ports = [
        port
        for name, arguments in options(machine).items()
        if not name.startswith(idle) and "[spark.executor." not in name  # a job has no executors besides its driver
        for port in _of_options(name, arguments)
    ]
    servers = [server for server in model.servers if server.name == machine.name]
    return list(dict.fromkeys([*ports, *(port for server in servers for port in _of_zookeeper(server.config))]))


def _of_options(variable: str, arguments: list[str]) -> Iterator[Port]:
    prefixes = (function.prefix for function in functions().values())
    product = next((prefix for prefix in prefixes if variable.startswith(f"{prefix}_")), "")
    values = {name: value for name, _, value in (option.partition("=") for option in arguments)}
    port, registry = whole(values.get(f"{JMX}.port")), whole(values.get(f"{JMX}.rmi.port"))
    if port:
        yield Port(port, product, f"JMX of {product}", variable)
    if registry and registry != port:
        yield Port(registry, product, f"RMI of {product}", variable)
    for option in arguments:
        agent = re.match(r"-javaagent:[^=]+=(?:[\w.-]+:)?(\d+)(?::|$)", option)
        debugger = re.match(r"(?:-agentlib:jdwp=|-Xrunjdwp:).*\baddress=(?:[^,]*:)?(\d+)", option)
        for match, what in ((agent, "an agent"), (debugger, "the debugger")):
            if match:
                yield Port(int(match.group(1)), product, f"{what} of {product}", variable)


def _of_zookeeper(config: Mapping[Any, Any]) -> Iterator[Port]:
    enabled = []
    if str(config.get("admin.enableServer")).lower() == "true":
        enabled.append(("admin.serverPort", 8080, "the AdminServer"))
    if config.get("metricsProvider.className"):
        enabled.append(("metricsProvider.httpPort", 7000, "ZooKeeper's metrics"))
    for name, default, what in enabled:
        number = whole(config.get(name, default))
        if number:
            yield Port(number, "zookeeper", what, f"zookeeper_config[{name}]")


PORT_CLASH = ProblemKind("PORT_CLASH", "used by {first} and by {second}", "give one of them another port")
PORT_RANGE = ProblemKind("PORT_RANGE", "{what} has a port outside 1 to 65535", "set a port from 1 to 65535")


def taken(model: Model) -> Iterator[Problem]:
    """Yield a problem for each port that two services of a host use, and for each port outside 1 to 65535."""
    for machine in model.functional:
        services = of_services(machine, model)
        ports = [*services, Port(SSH, "", "the SSH server"), *of_jvms(machine, model)]
        for number, first in enumerate(ports):
            for second in ports[number + 1 :]:
                addresses = {first.address, second.address}
                if first.number == second.number and (len(addresses) == 1 or addresses & set(WILDCARDS)):
                    yield machine.report(
                        PORT_CLASH,
                        "" if second in services or not second.product else second.variable,
                        first.number,
                        first=first.what,
                        second=second.what,
                        listener=any(port.variable.startswith("kafka_listeners[") for port in (first, second)),
                    )
        for port in ports:
            if isinstance(port.number, int) and not 1 <= port.number <= 65535:
                yield machine.report(PORT_RANGE, "", port.number, what=port.what)


PORT_PRIVILEGED = ProblemKind(
    "PORT_PRIVILEGED",
    "{what}: only root may open ports below {unprivileged}, and the service does not run as root",
    "use a higher port, or set {capabilities} in {product}_unit_overrides to CAP_NET_BIND_SERVICE",
)
PORT_PRIVILEGED_ALWAYS = PORT_PRIVILEGED.variant(advice="use a higher port")


def privileged(model: Model) -> Iterator[Problem]:
    """Yield a problem for each port below 1024 of a service: only root, or a unit with a capability, may open it."""
    for machine in model.functional:
        for port in [*of_services(machine, model), *of_jvms(machine, model)]:
            low = isinstance(port.number, int) and 0 < port.number < UNPRIVILEGED and port.number != SSH
            if low and not _allowed(machine, port.product):
                has_overrides = f"{port.product}_unit_overrides" in role_of()
                yield machine.report(
                    PORT_PRIVILEGED if has_overrides else PORT_PRIVILEGED_ALWAYS,
                    port.variable,
                    port.number,
                    what=port.what,
                    unprivileged=UNPRIVILEGED,
                    capabilities=" and ".join(CAPABILITIES),
                    product=port.product,
                )


def _allowed(machine: Machine, product: str) -> bool:
    """Tell whether a service can open ports below 1024.

    `product` is the prefix of its variables. The unit has the capability, or base_sysctl lowers the kernel's limit.
    """
    service = machine.inputs.mapping(f"{product}_unit_overrides").get("Service")
    section = service if isinstance(service, Mapping) else {}
    allowed = all(BIND in str(section.get(name)).lower() for name in CAPABILITIES)
    return allowed or "net.ipv4.ip_unprivileged_port_start" in machine.inputs.mapping("base_sysctl")
