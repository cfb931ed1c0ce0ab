"""What a machine is: addresses, clock, Java, limits, memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import NETWORKS, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import WILDCARDS, is_address
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

Probe = Mapping[str, Any]
# Seconds between two clocks from which records and sessions get strange times.
CLOCK = 0.5
JAVA = ("17", "21")
# Where a distribution's package puts java.
PACKAGED = ("/usr/bin/", "/usr/lib/jvm/")
CAP_SYS_RESOURCE = 24


def addresses(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """Declared addresses are on an interface of the host."""
    places = {f"{network}_address": machine.address(network) for network in NETWORKS}
    for broker in model.brokers:
        for item in broker.listeners if broker.name == machine.name else ():
            if item.address not in (*WILDCARDS, *places.values()):
                places[item.variable] = item.address
    for name, declared in places.items():
        if declared and is_address(declared) and declared not in probe["addresses"]:
            wrong = f"the host has only {', '.join(probe['addresses']) or 'none'}"
            advice = "correct the inventory, or configure the interface"
            yield machine.problem(name, "ADDRESS_ABSENT", declared, wrong, advice)


def clock(_: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """The kernel says that the clock is kept in time (adjtimex), and it does not differ from the control node's."""
    asked, found = probe.get("asked"), probe["clock"]
    if asked and not asked[0] - CLOCK <= found["time"] <= asked[1] + CLOCK:
        off = found["time"] - asked[0] if found["time"] < asked[0] else found["time"] - asked[1]
        wrong = "the host's clock differs from the control node's by more than half a second"
        yield machine.problem("", "CLOCK_OFFSET", f"{off:+.1f} s", wrong, "let both follow the same time servers")
    if machine.inputs.get("base_time_sync_required") and not found["synchronized"]:
        wrong = "the kernel's clock is not kept in time by any service"
        advice = (
            "start chrony or systemd-timesyncd, or set base_time_sync_required: false where the hypervisor keeps it"
        )
        yield machine.problem("", "CLOCK_UNSYNCHRONIZED", None, wrong, advice)


def java(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """Every java that units run is there, and is one that Kafka and ZooKeeper are run with.

    Where the one that the role java sees to is not there yet, it comes with a package, and the others may as well: the
    usual package brings what is at the usual places, one that the site names may bring any.
    """
    wanted, found = model.executables(machine), probe["java"]
    comes = next((path not in found for path, name in wanted.items() if name == "java_executable"), False)
    anywhere = bool(machine.inputs.text("java_package"))
    for path, name in wanted.items():
        version = found.get(path)
        if version is None and not (comes and (anywhere or path.startswith(PACKAGED))):
            wrong = "no program that can be run is there, and what is started with it would stay down"
            yield machine.problem(name, "JAVA_ABSENT", path, wrong, "install it, or name another java")
        elif version and version.split(".")[0] not in JAVA:
            wrong = f"Java {version}; Kafka 3.9 and ZooKeeper 3.8 run with 17 or 21"
            yield machine.problem(name, "JAVA_VERSION", path, wrong, "install one of these, or name another java")


def limits(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """The host grants the open files that the units ask for."""
    found = probe["limits"]
    free = found["capabilities"] >> CAP_SYS_RESOURCE & 1
    granted = found["nr_open"] if free else min(found["nr_open"], found["nofile"])
    for name in model.input_names(machine, "open_files"):
        wanted = machine.inputs.whole(name)
        if wanted and wanted > granted:
            wrong = f"the host grants {granted} open files, and the unit would get that in silence"
            advice = "raise fs.nr_open or the container's limit, or ask for less"
            yield machine.problem(name, "LIMIT_NOFILE", wanted, wrong, advice)


def memory(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """The heaps leave the page cache room."""
    names, total = model.input_names(machine, "heaps"), probe["memory"]
    heaps = sum(size(machine.inputs.get(name)) or 0 for name in names)
    if names and total and heaps > total / 2:
        shown = ", ".join(str(machine.inputs.get(name)) for name in names)
        part = "more than" if heaps > total else "more than half of"
        wrong = f"{part} the host's memory of {total / 2**30:.1f} GiB"
        advice = "use half of it at most: the page cache is what makes Kafka fast"
        yield machine.problem(names[0], "HEAP_RAM", shown, wrong, advice, warning=heaps <= total)
