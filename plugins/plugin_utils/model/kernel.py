"""Rules on inputs of the role base: kernel settings (base_sysctl), lines of /etc/hosts, and site_firewall_rules."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.firewall import rules_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.ports import of_services
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import (
    is_address,
    is_host_name,
    is_local_name,
    whole,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# Settings of Linux that are usual on hosts of Kafka, with minimum and maximum (None: no maximum), from sysctl/vm.rst
# and net.rst of the kernel's documentation.
KERNEL: dict[str, tuple[int, int | None]] = {
    "fs.file-max": (1, None),
    "fs.nr_open": (1024, None),
    "kernel.pid_max": (301, None),
    "kernel.threads-max": (20, None),
    "net.core.netdev_max_backlog": (1, None),
    "net.core.rmem_max": (2304, None),
    "net.core.somaxconn": (1, None),
    "net.core.wmem_max": (4608, None),
    "net.ipv4.ip_unprivileged_port_start": (0, 65535),
    "net.ipv4.tcp_fin_timeout": (1, None),
    "net.ipv4.tcp_keepalive_intvl": (1, None),
    "net.ipv4.tcp_keepalive_probes": (1, 127),
    "net.ipv4.tcp_keepalive_time": (1, None),
    "net.ipv4.tcp_max_syn_backlog": (1, None),
    "net.ipv4.tcp_retries2": (1, None),
    "net.ipv4.tcp_window_scaling": (0, 1),
    "vm.dirty_background_bytes": (0, None),
    "vm.dirty_background_ratio": (0, 100),
    "vm.dirty_bytes": (0, None),
    "vm.dirty_expire_centisecs": (0, None),
    "vm.dirty_ratio": (0, 100),
    "vm.dirty_writeback_centisecs": (0, None),
    "vm.max_map_count": (65530, None),
    "vm.min_free_kbytes": (0, None),
    "vm.overcommit_kbytes": (0, None),
    "vm.overcommit_memory": (0, 2),
    "vm.overcommit_ratio": (0, None),
    "vm.swappiness": (0, 200),
    "vm.vfs_cache_pressure": (0, None),
    "vm.zone_reclaim_mode": (0, 7),
}
MAPS, SWAP, OVERCOMMIT = "vm.max_map_count", "vm.swappiness", "vm.overcommit_memory"

SYSCTL_UNFIT = ProblemKind("SYSCTL_UNFIT", "unsuitable for Kafka", "set {recommended}", warning=True)
SYSCTL_UNFIT_MAPS = SYSCTL_UNFIT.variant(
    message="a broker maps two files of each segment into memory, and stops if it cannot map more"
)
SYSCTL_UNFIT_SWAP = SYSCTL_UNFIT.variant(
    message="the kernel would swap the heap rather than reduce the page cache: pauses would end sessions with ZooKeeper"
)
SYSCTL_UNFIT_OVERCOMMIT = SYSCTL_UNFIT.variant(
    message="the kernel would allow no more than swap and {ratio}% of the memory, but a JVM reserves more than it uses",
    advice="set 0, or remove it",
)
# For hosts of a function: the minimum of MAPS, the maximum of SWAP, and the kind of problem.
RECOMMENDED = {MAPS: ("kafka", 262144, SYSCTL_UNFIT_MAPS), SWAP: ("kafka", 10, SYSCTL_UNFIT_SWAP)}
# Settings that Linux has removed, and since which version: old pages advise them, and setting them fails.
REMOVED = {
    "kernel.sched_latency_ns": "5.13",
    "kernel.sched_migration_cost_ns": "5.13",
    "kernel.sched_min_granularity_ns": "5.13",
    "kernel.sched_wakeup_granularity_ns": "5.13",
    "net.ipv4.netfilter.ip_conntrack_max": "4.9",
    "net.ipv4.tcp_tw_recycle": "4.12",
}
RANGE, RESERVED = "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports"
EPHEMERAL = range(32768, 61000)  # the kernel's default of net.ipv4.ip_local_port_range
OPEN_FILES, ALL_FILES = "fs.nr_open", "fs.file-max"
THREE = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_mem")
SETTING = re.compile(r"[a-z]\w*([./][\w*-]+)+")

SYSCTL_VALUE = ProblemKind("SYSCTL_VALUE", "not a whole number from {least} to {most}", "set a number in this range")
SYSCTL_VALUE_LEAST = SYSCTL_VALUE.variant(message="not a whole number of at least {least}", advice="set such a number")
SYSCTL_VALUE_REMOVED = SYSCTL_VALUE.variant(
    message="Linux has no such setting since {release}, and setting it fails", advice="remove it"
)
SYSCTL_VALUE_NAME = SYSCTL_VALUE.variant(
    message="not the name of a kernel setting", advice="use a name such as vm.swappiness"
)
SYSCTL_VALUE_NAME_TYPO = SYSCTL_VALUE_NAME.variant(advice="did you mean {near}?")
SYSCTL_VALUE_TYPO = SYSCTL_VALUE.variant(message="the kernel has no such setting", advice="did you mean {near}?")
SYSCTL_VALUE_THREE = SYSCTL_VALUE.variant(
    message="the setting has three numbers, and the others would not change",
    advice="set all three, such as 4096 87380 16777216",
)
SYSCTL_VALUE_FORM = SYSCTL_VALUE.variant(
    message="not a value of a kernel setting", advice="set a number or a text, or remove it"
)
SYSCTL_VALUE_DIRTY_TWICE = SYSCTL_VALUE.variant(
    message="{other} is set too, but the kernel uses only one of the two: setting one sets the other to 0",
    advice="keep one of the two",
)
SYSCTL_VALUE_DIRTY_RATIO = SYSCTL_VALUE.variant(
    message="not less than vm.dirty_ratio ({limit}): writers would have to wait before the kernel starts to write",
    advice="set less than {limit}",
)
SYSCTL_VALUE_NR_OPEN = SYSCTL_VALUE.variant(
    message="less than {input} ({limit}): systemd cannot start a service with a higher limit",
    advice="remove it (default: 1048576)",
)
SYSCTL_VALUE_FILE_MAX = SYSCTL_VALUE.variant(
    message="the limit of the whole host is lower than {input} ({limit}) of one service",
    advice="remove it: the kernel computes it from the memory",
)
SYSCTL_VALUE_RANGE = SYSCTL_VALUE.variant(
    message="not two ports, the lower one first", advice="write it like 32768 60999, or remove it"
)
SYSCTL_VALUE_PORTS = SYSCTL_VALUE.variant(
    message="outgoing connections of the host may use {ports} while the service restarts",
    advice="start the range above these ports, or add them to net.ipv4.ip_local_reserved_ports",
)


def settings(model: Model) -> Iterator[Problem]:
    """Yield a problem for each entry of base_sysctl that is unknown, has a wrong value or harms a service."""
    for machine in model.functional:
        sysctl = machine.inputs.mapping("base_sysctl")
        for name, value in sysctl.items():
            if finding := _setting(str(name), value):
                kind, details = finding
                yield machine.report(kind, f"base_sysctl[{name}]", value, **details)
        yield from _dirty(machine, sysctl)
        yield from _overcommit(model, machine, sysctl)
        for name, (function, recommended, kind) in RECOMMENDED.items():
            number = whole(sysctl.get(name)) if model.is_in(function, machine) else None
            if number is None or number < KERNEL[name][0]:
                continue  # reported as SYSCTL_VALUE
            if number < recommended if name == MAPS else number > recommended:
                yield machine.report(kind, f"base_sysctl[{name}]", number, recommended=recommended)


def _overcommit(model: Model, machine: Machine, sysctl: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield a problem for vm.overcommit_memory: 2 on a host with a JVM, which reserves more memory than it uses.

    For a host with only a database, the manual of PostgreSQL (18.4.4) recommends 2.
    """
    ratio = whole(sysctl.get("vm.overcommit_ratio", 50))
    enough = whole(sysctl.get("vm.overcommit_kbytes")) or ratio is None or ratio >= 100
    java = any(function.java for function in model.functions_of(machine))
    if whole(sysctl.get(OVERCOMMIT)) == 2 and java and not enough:
        yield machine.report(SYSCTL_UNFIT_OVERCOMMIT, f"base_sysctl[{OVERCOMMIT}]", 2, ratio=ratio)


def _dirty(machine: Machine, sysctl: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield a problem for limits of dirty pages that contradict each other.

    A limit is set both in bytes and as a ratio; or the background limit, at which the kernel starts to write, is not
    below the limit at which processes must wait.
    """
    for name in ("vm.dirty_bytes", "vm.dirty_background_bytes"):
        other = name.replace("bytes", "ratio")
        if whole(sysctl.get(name)) and whole(sysctl.get(other)):
            yield machine.report(SYSCTL_VALUE_DIRTY_TWICE, f"base_sysctl[{name}]", sysctl[name], other=other)
    low, high = (whole(sysctl.get(name)) for name in ("vm.dirty_background_ratio", "vm.dirty_ratio"))
    if low is not None and high is not None and 0 < high <= low <= 100:
        yield machine.report(SYSCTL_VALUE_DIRTY_RATIO, "base_sysctl[vm.dirty_background_ratio]", low, limit=high)


def open_files(model: Model) -> Iterator[Problem]:
    """Yield a problem if fs.nr_open or fs.file-max is below the number of files that a service may open.

    systemd would not start such a service.
    """
    yield from (problem for name in (OPEN_FILES, ALL_FILES) for problem in _open_files(model, name))


def _open_files(model: Model, setting: str) -> Iterator[Problem]:
    place, too_low = f"base_sysctl[{setting}]", dict[int, dict[str, dict[str, int]]]()
    for machine in model.functional:
        most = whole(machine.inputs.mapping("base_sysctl").get(setting))
        inputs = [f"{function.prefix}_limit_nofile" for function in model.functions_of(machine)]
        limits = {name: number for name in inputs if (number := machine.inputs.whole(name))}
        if most is not None and KERNEL[setting][0] <= most < max(limits.values(), default=0):
            too_low.setdefault(most, {})[machine.name] = limits
    for most, by_host in too_low.items():
        limit, name = max((number, name) for limits in by_host.values() for name, number in limits.items())
        kind = SYSCTL_VALUE_FILE_MAX if setting == ALL_FILES else SYSCTL_VALUE_NR_OPEN
        yield kind.problem(tuple(by_host), place, most, input=name, limit=limit)


def local_ports(model: Model) -> Iterator[Problem]:
    """Yield a warning if the range of ports for outgoing connections contains the port of a service.

    The range is net.ipv4.ip_local_port_range in base_sysctl.
    """
    place, by_range = f"base_sysctl[{RANGE}]", dict[tuple[str, str], list[Machine]]()
    for machine in model.functional:
        sysctl = machine.inputs.mapping("base_sysctl")
        if sysctl.get(RANGE) is not None:
            by_range.setdefault((str(sysctl[RANGE]), str(sysctl.get(RESERVED) or "")), []).append(machine)
    for (port_range, kept), machines in by_range.items():
        ends, hosts = [whole(end) for end in port_range.split()], tuple(machine.name for machine in machines)
        low, high = ends if len(ends) == 2 else (None, None)
        if low is None or high is None or not 0 < low < high < 65536:
            yield SYSCTL_VALUE_RANGE.problem(hosts, place, port_range)
            continue
        reserved = _reserved(kept)
        numbers = {port.number for machine in machines for port in of_services(machine, model)}
        in_range = sorted(port for port in numbers if isinstance(port, int) and low <= port <= high)
        unreserved = [port for port in in_range if not any(first <= port <= last for first, last in reserved)]
        if unreserved:
            yield SYSCTL_VALUE_PORTS.problem(hosts, place, port_range, warning=True, ports=unreserved)


PORT_PASSING = ProblemKind(
    "PORT_PASSING",
    "in the range of ports of outgoing connections ({first} to {last}): the port may be in use when the service "
    "restarts",
    "use a port below {first}, or add the port to net.ipv4.ip_local_reserved_ports in base_sysctl",
    warning=True,
)


def ephemeral_ports(model: Model) -> Iterator[Problem]:
    """Yield a warning for each service port in Linux's default range of ports for outgoing connections.

    Hosts with their own range in base_sysctl are checked by local_ports.
    """
    for machine in model.functional:
        sysctl = machine.inputs.mapping("base_sysctl")
        kept = _reserved(str(sysctl.get(RESERVED) or ""))
        for port in of_services(machine, model) if sysctl.get(RANGE) is None else ():
            number = port.number
            if not isinstance(number, int) or not EPHEMERAL[0] <= number <= EPHEMERAL[-1]:
                continue
            if any(first <= number <= last for first, last in kept):
                continue
            yield machine.report(PORT_PASSING, port.variable, number, first=EPHEMERAL[0], last=EPHEMERAL[-1])


def _reserved(text: str) -> list[tuple[int, int]]:
    """Return [(first port, last port)] of a value of net.ipv4.ip_local_reserved_ports, as "9092,9999-10010"."""
    return [(int(first), int(last or first)) for first, last in re.findall(r"(\d+)(?:-(\d+))?", text)]


def _setting(name: str, value: Any) -> tuple[ProblemKind, dict[str, Any]] | None:
    """Return (kind of problem, message details) of one entry of base_sysctl; None if it is valid."""
    if name.replace("/", ".") in REMOVED:
        return SYSCTL_VALUE_REMOVED, {"release": REMOVED[name.replace("/", ".")]}
    if name not in KERNEL and name not in (RANGE, RESERVED):
        near = nearest(name, KERNEL)
        if not SETTING.fullmatch(name):
            return SYSCTL_VALUE_NAME_TYPO if near else SYSCTL_VALUE_NAME, {"near": near}
        if near and near.count(".") == name.count("."):
            return SYSCTL_VALUE_TYPO, {"near": near}
    if name in THREE and not re.fullmatch(r"\d+\s+\d+\s+\d+", str(value).strip()):
        return SYSCTL_VALUE_THREE, {}
    if value is None or isinstance(value, (bool, Mapping, list, tuple)) or not str(value).strip():
        return SYSCTL_VALUE_FORM, {}
    least, most = KERNEL.get(name, (None, None))
    number = whole(value)
    if name in KERNEL and (number is None or (least is not None and number < least) or number > (most or number)):
        return SYSCTL_VALUE_LEAST if most is None else SYSCTL_VALUE, {"least": least, "most": most}
    return None


HOSTS_LINE = ProblemKind(
    "HOSTS_LINE",
    "not the name of a host",
    "use names of letters, digits, - and dots, one entry for each name",
)
HOSTS_LINE_ADDRESS = HOSTS_LINE.variant(
    message="not an address", advice="use an address such as 198.51.100.7, and list the host's names in `names`"
)
HOSTS_LINE_NAMELESS = HOSTS_LINE.variant(
    message="an address without names", advice="list its names, such as [mirror.example.org]"
)
HOSTS_LINE_LOCAL = HOSTS_LINE.variant(
    message="every host has this name already, for itself", advice="use another name, for example kafka1"
)
HOSTS_LINE_OWN = HOSTS_LINE.variant(
    message="this is a host of the inventory, with the addresses {addresses}",
    advice="remove the name: the role adds the hosts of the inventory to /etc/hosts",
)


def names(model: Model) -> Iterator[Problem]:
    """Yield a problem for each entry of base_hosts (a line of /etc/hosts) without a valid address or names.

    Also yield a problem if an entry contradicts the declared address of a host of the inventory.
    """
    elsewhere = {str(address) for machine in model.machines.values() for address in machine.addresses}
    correct = set[str]()  # most hosts have the same lines
    for machine in model.functional:
        for number, entry in enumerate(machine.inputs.entries("base_hosts")):
            if (line := repr(entry)) in correct:
                continue
            problems = list(_line(model, machine, number, entry, elsewhere))
            if not problems:
                correct.add(line)
            yield from problems


def _line(
    model: Model, machine: Machine, number: int, entry: Mapping[str, Any], elsewhere: Collection[str]
) -> Iterator[Problem]:
    """Yield problems of the entry `number` of base_hosts.

    `elsewhere` has the addresses of all hosts of the inventory.
    """
    address, host_names = entry.get("address"), entry.get("names")
    if address is not None and not is_address(address) and str(address) not in elsewhere:
        yield machine.report(HOSTS_LINE_ADDRESS, f"base_hosts[{number}].address", address)
    if host_names in ([], ()):
        yield machine.report(HOSTS_LINE_NAMELESS, f"base_hosts[{address}].names")
    for name in host_names if isinstance(host_names, (list, tuple)) else ():
        yield from _name(model, machine, address, str(name))


def _name(model: Model, machine: Machine, address: Any, name: str) -> Iterator[Problem]:
    place, host = f"base_hosts[{address}].names", model.machines.get(name)
    if not is_host_name(name.removesuffix(".")):
        if not {name, name.rpartition(".")[0]} & {*model.all_groups["all"]}:  # else reported as HOST_NAME
            yield machine.report(HOSTS_LINE, place, name)
    elif is_local_name(name) and is_address(address) and not ip_address(str(address)).is_loopback and not host:
        yield machine.report(HOSTS_LINE_LOCAL, place, name)
    elif host and is_address(address) and host.addresses and str(address) not in map(str, host.addresses):
        yield machine.report(HOSTS_LINE_OWN, place, name, addresses=host.addresses)


FIREWALL_NOBODY = ProblemKind(
    "FIREWALL_NOBODY",
    "no source: the rule applies to no host",
    "list addresses or subnets in `from`, or remove the rule",
)
FIREWALL_NOBODY_BOTH = FIREWALL_NOBODY.variant(
    message="one rule accepts this source at the port, and another rule rejects it", advice="keep one of the two rules"
)


def rules(model: Model) -> Iterator[Problem]:
    """Yield a problem for each rule in site_firewall_rules with an empty list of sources.

    Also yield a problem if one rule accepts a source at a port and another rule rejects the same source there.
    """
    for machine in model.functional:
        actions: dict[tuple[Any, str], str] = {}
        for rule in machine.inputs.entries("site_firewall_rules") if rules_of(machine) else ():
            given, action = rule.get("from"), str(rule.get("action") or "accept")
            place = f"site_firewall_rules[{rule.get('port')}]"
            if given in ([], ()):
                yield machine.report(FIREWALL_NOBODY, place)
            for source in map(str, given if isinstance(given, (list, tuple)) else ()):
                if actions.setdefault((whole(rule.get("port")), source), action) != action:
                    yield machine.report(FIREWALL_NOBODY_BOTH, place, source)
