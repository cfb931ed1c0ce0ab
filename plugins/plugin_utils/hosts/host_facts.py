"""Checks facts of a host: addresses, clock, Java, limits, memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import NETWORKS, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.library_folders import library_folders
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import WILDCARDS, is_address
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

Probe = Mapping[str, Any]
# Seconds of difference between two clocks; above it the times of records and sessions are wrong.
CLOCK = 0.5
JAVA = ("17", "21")
# Where a package of the distribution installs java.
PACKAGED = ("/usr/bin/", "/usr/lib/jvm/")
CAP_SYS_RESOURCE = 24

ADDRESS_ABSENT = ProblemKind(
    "ADDRESS_ABSENT",
    "the host does not have this address, only {addresses}",
    "correct the inventory, or configure the interface",
)


def addresses(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """Yield a problem for each declared address of a host that no network interface of the host has."""
    declared = {f"{network}_address": machine.address(network) for network in NETWORKS}
    for broker in model.brokers:
        for listener in broker.listeners if broker.name == machine.name else ():
            if listener.address not in (*WILDCARDS, *declared.values()):
                declared[listener.variable] = listener.address
    for variable, address in declared.items():
        if address and is_address(address) and address not in probe["addresses"]:
            yield machine.report(ADDRESS_ABSENT, variable, address, addresses=probe["addresses"] or "none")


CLOCK_OFFSET = ProblemKind(
    "CLOCK_OFFSET",
    "the clock of the host differs from that of the control node by more than half a second",
    "synchronize both with the same time servers",
)
CLOCK_UNSYNCHRONIZED = ProblemKind(
    "CLOCK_UNSYNCHRONIZED",
    "no service synchronizes the clock of the kernel",
    "start chrony or systemd-timesyncd, or set base_time_sync_required: false if the hypervisor synchronizes it",
)


def clock(_: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """Yield a problem if a host's clock is not synchronized, or differs from the control node's by more than 0.5 s."""
    asked, host_clock = probe.get("asked"), probe["clock"]
    if asked and not asked[0] - CLOCK <= host_clock["time"] <= asked[1] + CLOCK:
        offset = host_clock["time"] - asked[0] if host_clock["time"] < asked[0] else host_clock["time"] - asked[1]
        yield machine.report(CLOCK_OFFSET, "", f"{offset:+.1f} s")
    if machine.inputs.get("base_time_sync_required") and not host_clock["synchronized"]:
        yield machine.report(CLOCK_UNSYNCHRONIZED, "")


JAVA_ABSENT = ProblemKind(
    "JAVA_ABSENT",
    "no executable file at this path: the units that run it would not start",
    "install Java there, or set the path of another java",
)
JAVA_VERSION = ProblemKind(
    "JAVA_VERSION",
    "Java {version}, but Kafka 3.9 and ZooKeeper 3.8 require 17 or 21",
    "install Java 17 or 21, or set the path of another java",
)


def java(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """Yield a problem for each java executable of a host's units that is missing, or whose version is not supported.

    If java_executable is missing, this run installs a Java package, which may also bring other missing paths. Such
    paths are not reported: paths below /usr/bin and /usr/lib/jvm, or any path if the site chose the package
    (java_package).
    """
    paths, versions = model.executables(machine), probe["java"]
    package_comes = next((path not in versions for path, name in paths.items() if name == "java_executable"), False)
    anywhere = bool(machine.inputs.text("java_package"))
    for path, variable in paths.items():
        version = versions.get(path)
        if version is None and not (package_comes and (anywhere or path.startswith(PACKAGED))):
            yield machine.report(JAVA_ABSENT, variable, path)
        elif version and version.split(".")[0] not in JAVA:
            yield machine.report(JAVA_VERSION, variable, path, version=version)


TMP_NOEXEC = ProblemKind(
    "TMP_NOEXEC",
    "mounted with noexec, but Java unpacks the libraries of zstd and snappy there: the broker would reject records "
    "that are compressed with them",
    "add -Djava.io.tmpdir={home} to {variable_name}, or mount {path} without noexec",
)
TMP_NOEXEC_JOB = TMP_NOEXEC.variant(
    message="mounted with noexec, but Java unpacks the libraries of zstd and snappy there: jobs that read or write "
    "records that are compressed with them would fail",
    advice="set {variable_name}: {{Service: {{Environment: JAVA_TOOL_OPTIONS=-Djava.io.tmpdir={home}}}}}, or mount "
    "{path} without noexec",
)
TMP_NOEXEC_OTHER = {"advice": "write -Djava.io.tmpdir={home} there, or mount {path} without noexec"}
TMP_NOEXEC_MOUNT = {"advice": "mount {path} without noexec"}


def libraries(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """Yield a problem for each folder from which a JVM could not load libraries, because it is mounted with noexec.

    Of jobs it is only a warning: most of them need no such library.
    """
    closed = probe.get("noexec", ())
    for folder in library_folders(model, machine):
        if folder.path in closed:
            kind, is_job = TMP_NOEXEC_JOB if folder.function == "spark" else TMP_NOEXEC, folder.function == "spark"
            if folder.home in closed:
                kind = kind.variant(**TMP_NOEXEC_MOUNT)
            elif folder.is_set:
                kind = kind.variant(**TMP_NOEXEC_OTHER)
            details = {"home": folder.home, "path": folder.path, "variable_name": folder.variable}
            yield machine.report(kind, folder.variable, folder.path, warning=is_job, **details)


LIMIT_NOFILE = ProblemKind(
    "LIMIT_NOFILE",
    "the host allows {granted} open files, and the unit would silently get that limit",
    "raise fs.nr_open or the limit of the container, or lower the value",
)


def limits(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """Yield a problem for each variable that sets a higher limit of open files than the host allows."""
    host_limits = probe["limits"]
    may_raise = host_limits["capabilities"] >> CAP_SYS_RESOURCE & 1
    granted = host_limits["nr_open"] if may_raise else min(host_limits["nr_open"], host_limits["nofile"])
    for variable in model.input_names(machine, "open_files"):
        limit = machine.inputs.whole(variable)
        if limit and limit > granted:
            yield machine.report(LIMIT_NOFILE, variable, limit, granted=granted)


HEAP_RAM = ProblemKind(
    "HEAP_RAM",
    "more than the host's memory of {memory}",
    "use at most half of the memory: Kafka needs the other half as page cache",
)
HEAP_RAM_HALF = HEAP_RAM.variant(message="more than half of the host's memory of {memory}")


def memory(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """Yield a problem if the heaps of a host together exceed its memory.

    Yield only a warning if the heaps exceed half of the memory.
    """
    names, total = model.input_names(machine, "heaps"), probe["memory"]
    heaps = sum(size(machine.inputs.get(name)) or 0 for name in names)
    if names and total and heaps > total / 2:
        kind, value = HEAP_RAM if heaps > total else HEAP_RAM_HALF, ", ".join(str(machine.inputs.get(n)) for n in names)
        yield machine.report(kind, names[0], value, warning=heaps <= total, memory=f"{total / 2**30:.1f} GiB")
