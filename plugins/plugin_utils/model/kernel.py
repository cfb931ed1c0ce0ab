"""Rules on what the role base makes of a host: settings of the kernel, names in /etc/hosts, rules for nobody."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.firewall import rules_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.ports import of_services
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import is_address, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# Settings of Linux that hosts of Kafka are given, with the least and the most of each, as sysctl/vm.rst and net.rst of
# the kernel's documentation say them; None where there is no end.
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
# What hosts of a function want, of the one at least and of the other at most, and what comes of another number.
WANTED = {
    MAPS: ("kafka", 262144, "a broker maps two files of each segment, and ends where it may map no more"),
    SWAP: ("kafka", 10, "the kernel would rather swap the heap than give up page cache: pauses that cost sessions"),
}
# What Linux has dropped or moved, and since when: advice of old pages that ends in an error, or in nothing.
DROPPED = {
    "kernel.sched_latency_ns": "5.13",
    "kernel.sched_migration_cost_ns": "5.13",
    "kernel.sched_min_granularity_ns": "5.13",
    "kernel.sched_wakeup_granularity_ns": "5.13",
    "net.ipv4.netfilter.ip_conntrack_max": "4.9",
    "net.ipv4.tcp_tw_recycle": "4.12",
}
RANGE, RESERVED = "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports"
PASSING = range(32768, 61000)  # the kernel's own choice (net.ipv4.ip_local_port_range)
OPEN_FILES, ALL_FILES = "fs.nr_open", "fs.file-max"
THREE = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_mem")
SETTING = re.compile(r"[a-z]\w*([./][\w*-]+)+")
LABEL = r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)"
NAME = re.compile(rf"{LABEL}(\.{LABEL})*\.?")


def settings(model: Model) -> Iterator[Problem]:
    """Settings of the kernel are such as it has, with values that it takes."""
    for machine in model.functional:
        told = machine.inputs.mapping("base_sysctl")
        for name, value in told.items():
            if found := _setting(str(name), value):
                yield machine.problem(f"base_sysctl[{name}]", "SYSCTL_VALUE", value, *found)
        yield from _dirty(machine, told)
        yield from _granted(model, machine, told)
        for name, (function, wanted, wrong) in WANTED.items():
            number = whole(told.get(name)) if model.is_in(function, machine) else None
            if number is None or number < KERNEL[name][0]:
                continue  # said as SYSCTL_VALUE
            if number < wanted if name == MAPS else number > wanted:
                place = f"base_sysctl[{name}]"
                yield machine.problem(place, "SYSCTL_UNFIT", number, wrong, f"write {wanted}", warning=True)


def _granted(model: Model, machine: Machine, told: Mapping[Any, Any]) -> Iterator[Problem]:
    """A JVM is granted more than it uses; where a database is alone, PostgreSQL's manual (18.4.4) advises 2."""
    ratio = whole(told.get("vm.overcommit_ratio", 50))
    enough = whole(told.get("vm.overcommit_kbytes")) or ratio is None or ratio >= 100
    java = any(function.java for function in model.functions_of(machine))
    if whole(told.get(OVERCOMMIT)) == 2 and java and not enough:
        wrong = f"the kernel then grants no more than swap and {ratio}% of the memory: a JVM asks for more than it uses"
        place = f"base_sysctl[{OVERCOMMIT}]"
        yield machine.problem(place, "SYSCTL_UNFIT", 2, wrong, "write 0, or leave it out", warning=True)


def _dirty(machine: Machine, told: Mapping[Any, Any]) -> Iterator[Problem]:
    """What is not yet on a disk has two limits, the kernel's own below the writers', each said in one way."""
    for name in ("vm.dirty_bytes", "vm.dirty_background_bytes"):
        other = name.replace("bytes", "ratio")
        if whole(told.get(name)) and whole(told.get(other)):
            wrong = (
                f"{other} is there as well, and the kernel has one of them: whichever comes last sets the other to 0"
            )
            yield machine.problem(f"base_sysctl[{name}]", "SYSCTL_VALUE", told[name], wrong, "keep one of the two")
    low, high = (whole(told.get(name)) for name in ("vm.dirty_background_ratio", "vm.dirty_ratio"))
    if low is not None and high is not None and 0 < high <= low <= 100:
        wrong = f"not less than vm.dirty_ratio ({high}): whoever writes would wait before the kernel begins to"
        place, advice = "base_sysctl[vm.dirty_background_ratio]", "lower it, as to 5"
        yield machine.problem(place, "SYSCTL_VALUE", low, wrong, advice)


def open_files(model: Model) -> Iterator[Problem]:
    """Services open no more files than the kernel lets a process open: systemd would not start them."""
    yield from (problem for name in (OPEN_FILES, ALL_FILES) for problem in _open_files(model, name))


def _open_files(model: Model, setting: str) -> Iterator[Problem]:
    place, found = f"base_sysctl[{setting}]", dict[int, dict[str, dict[str, int]]]()
    for machine in model.functional:
        most = whole(machine.inputs.mapping("base_sysctl").get(setting))
        inputs = [f"{function.prefix}_limit_nofile" for function in model.functions_of(machine)]
        asked = {name: number for name in inputs if (number := machine.inputs.whole(name))}
        if most is not None and KERNEL[setting][0] <= most < max(asked.values(), default=0):
            found.setdefault(most, {})[machine.name] = asked
    for most, hosts in found.items():
        wanted, name = max((number, name) for asked in hosts.values() for name, number in asked.items())
        wrong = f"less than {name} ({wanted}), and a service that asks for more does not start"
        if setting == ALL_FILES:
            wrong = f"fewer for the whole host than {name} ({wanted}) grants one service"
        advice = (
            "leave it out: 1048576" if setting == OPEN_FILES else "leave it out: the kernel reckons with its memory"
        )
        yield Problem(tuple(hosts), place, "SYSCTL_VALUE", most, wrong, advice)


def local_ports(model: Model) -> Iterator[Problem]:
    """No connection of a host's own takes a port at which one of its services listens when it is started again."""
    place, found = f"base_sysctl[{RANGE}]", dict[tuple[str, str], list[Machine]]()
    for machine in model.functional:
        told = machine.inputs.mapping("base_sysctl")
        if told.get(RANGE) is not None:
            found.setdefault((str(told[RANGE]), str(told.get(RESERVED) or "")), []).append(machine)
    for (told_range, kept), machines in found.items():
        ends, hosts = [whole(end) for end in told_range.split()], tuple(machine.name for machine in machines)
        low, high = ends if len(ends) == 2 else (None, None)
        if low is None or high is None or not 0 < low < high < 65536:
            wrong, advice = "not two ports, the lower one first", "write it as 32768 60999, or leave it out"
            yield Problem(hosts, place, "SYSCTL_VALUE", told_range, wrong, advice)
            continue
        reserved = _reserved(kept)
        numbers = {port.number for machine in machines for port in of_services(machine, model)}
        taken = sorted(port for port in numbers if isinstance(port, int) and low <= port <= high)
        free = [port for port in taken if not any(one <= port <= two for one, two in reserved)]
        if free:
            wrong = f"a connection of a host's own may take {', '.join(map(str, free))} while the service restarts"
            advice = f"begin above them, or name them in {RESERVED}"
            yield Problem(hosts, place, "SYSCTL_VALUE", told_range, wrong, advice, warning=True)


def passing_ports(model: Model) -> Iterator[Problem]:
    """The same, where nobody says which ports a host's own connections take: then they are Linux's."""
    for machine in model.functional:
        told = machine.inputs.mapping("base_sysctl")
        kept = _reserved(str(told.get(RESERVED) or ""))
        for port in of_services(machine, model) if told.get(RANGE) is None else ():
            number = port.number
            if not isinstance(number, int) or not PASSING[0] <= number <= PASSING[-1]:
                continue
            if any(one <= number <= two for one, two in kept):
                continue
            wrong = f"one of those that connections of the host's own take ({PASSING[0]} to {PASSING[-1]}): "
            wrong += "the service may find it taken when it starts again"
            advice = f"use one below {PASSING[0]}, or name it in {RESERVED} of base_sysctl"
            yield machine.problem(port.variable, "PORT_PASSING", number, wrong, advice, warning=True)


def _reserved(text: str) -> list[tuple[int, int]]:
    """Return the ports that connections of a host's own leave alone, as ranges."""
    return [(int(one), int(two or one)) for one, two in re.findall(r"(\d+)(?:-(\d+))?", text)]


def _setting(name: str, value: Any) -> tuple[str, str] | None:
    """Return what is wrong with a setting, and advice."""
    if name.replace("/", ".") in DROPPED:
        return f"Linux has no such setting since {DROPPED[name.replace('/', '.')]}, and setting it fails", "take it out"
    if name not in KERNEL and name not in (RANGE, RESERVED):
        near = nearest(name, KERNEL)
        if not SETTING.fullmatch(name):
            return "no name of a setting of the kernel", f"did you mean {near}?" if near else "as vm.swappiness"
        if near and near.count(".") == name.count("."):
            return "the kernel knows no such setting", f"did you mean {near}?"
    if name in THREE and not re.fullmatch(r"\d+\s+\d+\s+\d+", str(value).strip()):
        return (
            "the kernel has three numbers there, and the others would stay",
            "write all three, as 4096 87380 16777216",
        )
    if value is None or isinstance(value, (bool, Mapping, list, tuple)) or not str(value).strip():
        return "no value of a setting of the kernel", "write a number or a text, or take it out"
    least, most = KERNEL.get(name, (None, None))
    number = whole(value)
    if name in KERNEL and (number is None or (least is not None and number < least) or number > (most or number)):
        span = f"from {least} on" if most is None else f"from {least} to {most}"
        return f"not a whole number {span}", "correct it"
    return None


def names(model: Model) -> Iterator[Problem]:
    """Lines of /etc/hosts are an address and names, and a host of the inventory has its own address there."""
    elsewhere = {str(address) for machine in model.machines.values() for address in machine.addresses}
    fine = set[str]()  # most hosts have the same lines
    for machine in model.functional:
        for number, entry in enumerate(machine.inputs.entries("base_hosts")):
            if (line := repr(entry)) in fine:
                continue
            found = list(_line(model, machine, number, entry, elsewhere))
            if not found:
                fine.add(line)
            yield from found


def _line(
    model: Model, machine: Machine, number: int, entry: Mapping[str, Any], elsewhere: Collection[str]
) -> Iterator[Problem]:
    address, told = entry.get("address"), entry.get("names")
    if address is not None and not is_address(address) and str(address) not in elsewhere:
        wrong, advice = "no address", "write one, as 198.51.100.7; names stand in names"
        yield machine.problem(f"base_hosts[{number}].address", "HOSTS_LINE", address, wrong, advice)
    if told in ([], ()):
        wrong, advice = "an address without a name", "write the names that it has, as [mirror.example.org]"
        yield machine.problem(f"base_hosts[{address}].names", "HOSTS_LINE", None, wrong, advice)
    for name in told if isinstance(told, (list, tuple)) else ():
        yield from _name(model, machine, address, str(name))


def _name(model: Model, machine: Machine, address: Any, name: str) -> Iterator[Problem]:
    place, host = f"base_hosts[{address}].names", model.machines.get(name)
    if not NAME.fullmatch(name) or len(name) > 253:
        wrong, advice = "no name of a host", "write names of letters, figures, - and dots, one entry for each"
        yield machine.problem(place, "HOSTS_LINE", name, wrong, advice)
    elif host and is_address(address) and host.addresses and str(address) not in map(str, host.addresses):
        wrong = f"a host of the inventory, whose addresses are {', '.join(map(str, host.addresses))}"
        yield machine.problem(place, "HOSTS_LINE", name, wrong, "take it out: base_hosts has it without being told")


def rules(model: Model) -> Iterator[Problem]:
    """A rule of the site's own lets somebody in, and does not refuse him as well."""
    for machine in model.functional:
        judged: dict[tuple[Any, str], str] = {}
        for rule in machine.inputs.entries("site_firewall_rules") if rules_of(machine) else ():
            given, action = rule.get("from"), str(rule.get("action") or "accept")
            place = f"site_firewall_rules[{rule.get('port')}]"
            if given in ([], ()):
                wrong, advice = "no source: nobody is meant by it", "name addresses or subnets, or take the rule out"
                yield machine.problem(place, "FIREWALL_NOBODY", None, wrong, advice)
            for source in map(str, given if isinstance(given, (list, tuple)) else ()):
                if judged.setdefault((whole(rule.get("port")), source), action) != action:
                    wrong = "let in by one rule, and rejected by another"
                    yield machine.problem(place, "FIREWALL_NOBODY", source, wrong, "keep the one that is meant")
