"""Rules on *_unit_overrides, from which the roles write drop-ins of systemd units.

A drop-in must not change what the role sets, and the service must be able to start and work with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import FOLDER, nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import Function, functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.database_memory import shared_buffers
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import overrides, size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.sandbox_paths import services_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.unit_values import (
    rejected_values,
    unit_size,
    unreadable_values,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.units import SECTIONS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below, subnet, v6, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

UNIT_OWNED = ProblemKind("UNIT_OWNED", "the role sets it", "remove it")
UNIT_OWNED_COMMAND = UNIT_OWNED.variant(message="the role sets it: the role writes the command of the service")
UNIT_OWNED_USER = UNIT_OWNED.variant(message="the role sets it: files and certificates belong to the role's user")
UNIT_OWNED_STATE = UNIT_OWNED.variant(
    message="the role sets it: with another value, systemd would report a running service as stopped, or the reverse"
)
UNIT_OWNED_ROOT = UNIT_OWNED.variant(message="the service would not find its files below this directory")
# Settings of the role; with another value the unit would be another service.
OWNED = {
    **dict.fromkeys(("ExecStart", "ExecStop"), UNIT_OWNED_COMMAND),
    **dict.fromkeys(("User", "Group", "DynamicUser"), UNIT_OWNED_USER),
    **dict.fromkeys(("Type", "NotifyAccess", "PIDFile", "BusName", "RemainAfterExit", "GuessMainPID", "KillMode",
                     "KillSignal"), UNIT_OWNED_STATE),
    **dict.fromkeys(("RootDirectory", "RootImage", "ChrootDirectory"), UNIT_OWNED_ROOT),
}  # fmt: skip
# Settings that an input of the role sets, and the end of the input's name.
INPUTS = {"LimitNOFILE": "limit_nofile", "TimeoutStopSec": "stop_timeout", "MemoryMax": "memory_max"}

UNIT_INPUT = ProblemKind("UNIT_INPUT", "{input} already sets it", "remove it, and set {input}")
UNIT_STOPS = ProblemKind("UNIT_STOPS", "systemd would not restart a failed service", "remove it (default: on-failure)")
UNIT_STOPS_START_LIMIT = UNIT_STOPS.variant(
    message="after several failed starts, systemd would not start the service again", advice="remove it"
)
UNIT_STOPS_RUNTIME = UNIT_STOPS.variant(
    message="systemd would stop the service after this time, again and again", advice="remove it"
)
UNIT_STOPS_WATCHDOG = UNIT_STOPS.variant(
    message="systemd would kill the service again and again, since the service does not report to a watchdog",
    advice="remove it",
)
UNIT_STOPS_NETWORK = UNIT_STOPS.variant(message="the service could not connect to any host", advice="remove it")
UNIT_STOPS_NO_ADDRESS = UNIT_STOPS_NETWORK.variant(
    advice="remove it, or list the hosts to which the service connects in IPAddressAllow"
)
UNIT_STOPS_EXECUTE = UNIT_STOPS.variant(
    message="Java generates machine code in memory and executes it, so the service would not start", advice="remove it"
)
UNIT_STOPS_TASKS = UNIT_STOPS.variant(
    message="systemd counts threads as tasks, and the service needs more threads to start",
    advice="set {usual}, or remove it",
)
UNIT_STOPS_PATH = UNIT_STOPS.variant(
    message="the service must write to {path}, which would not be writable", advice="remove it"
)
UNIT_STOPS_PROGRAM = UNIT_STOPS.variant(
    message="the service must execute {path}, which it could not",
    advice="remove it, or list {path} and the folders of its libraries (for example /usr) in ExecPaths",
)
UNIT_STOPS_WRITABLE = UNIT_STOPS.variant(
    message="an empty entry clears the list of paths to which the service may write", advice="remove it"
)
# Settings that stop a healthy service.
ENDING = {
    "RuntimeMaxSec": UNIT_STOPS_RUNTIME,
    "WatchdogSec": UNIT_STOPS_WATCHDOG,
    "PrivateNetwork": UNIT_STOPS_NETWORK,
    "MemoryDenyWriteExecute": UNIT_STOPS_EXECUTE,
}
RESTARTS = ("always", "on-failure")
# Minimum of TasksMax: the threads with which a JVM starts (a broker has more than a hundred), and some more. A database
# has a process for each connection, whose number the site sets.
LEAST_TASKS = {"kafka": 256, "zookeeper": 128, "spark": 256}
# The role turns the limit of starts off; only with an interval do StartLimitBurst and StartLimitAction have an effect.
START_LIMITS = ("StartLimitIntervalSec", "StartLimitInterval")
NO_TIME = re.compile(r"0+(\.0*)?\s*[a-z]*|none", re.IGNORECASE)
# Only the products' scripts read these variables; the units run java itself.
SCRIPTS = re.compile(
    r"(KAFKA_(HEAP|JVM_PERFORMANCE|GC_LOG|LOG4J|JMX)?_?OPTS|JMX_PORT|LOG_DIR|JAVA_HOME|CLASSPATH|JAVA_OPTS|EXTRA_ARGS"
    r"|(SERVER_)?JVMFLAGS|ZK_SERVER_HEAP|ZOO_LOG_DIR|SPARK_DRIVER_MEMORY)=.*",
    re.DOTALL,
)
# Settings that protect the host from a compromised service.
SANDBOX = (
    "NoNewPrivileges", "ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectKernelTunables",
    "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups", "ProtectClock", "RestrictSUIDSGID",
    "RestrictRealtime", "RestrictNamespaces", "LockPersonality",
)  # fmt: skip
READ_ONLY = ("ReadOnlyPaths", "InaccessiblePaths", "TemporaryFileSystem")
BESIDES_HEAP = 256 * 2**20  # the minimum that a JVM needs besides its heap
NO = ("", "no", "false", "off", "0", "infinity", "none")

SANDBOX_OPEN = ProblemKind(
    "SANDBOX_OPEN", "with this value, a compromised service could change more of its host", "remove it"
)
SANDBOX_OPEN_SYSTEM = SANDBOX_OPEN.variant(advice="remove it, and list further writable paths in ReadWritePaths")
SANDBOX_OPEN_FOLDERS = SANDBOX_OPEN.variant(
    advice="remove it, and list the folders that the service needs in BindReadOnlyPaths or BindPaths"
)
# Settings that a site can replace by another one, which opens less.
OPENED = {
    "ProtectSystem": SANDBOX_OPEN_SYSTEM, "ProtectHome": SANDBOX_OPEN_FOLDERS, "PrivateTmp": SANDBOX_OPEN_FOLDERS,
}  # fmt: skip
SANDBOX_OPEN_CAPABILITIES = SANDBOX_OPEN.variant(
    message="gives the service more privileges than it needs, close to those of root", advice="remove it"
)
UNIT_SETTING = ProblemKind(
    "UNIT_SETTING", "systemd has no such setting in [{section}], and ignores it", "did you mean {near}?"
)
UNIT_SETTING_SECTION = UNIT_SETTING.variant(advice="move it to section [{other}]")
UNIT_SETTING_STRANGE = UNIT_SETTING.variant(advice="correct the name, or remove the setting")
UNIT_MEMORY = ProblemKind("UNIT_MEMORY", "not a size: systemd ignores it", "write a size, for example 12G")
UNIT_MEMORY_LOW = UNIT_MEMORY.variant(
    message=f"less than the JVM needs ({{parts}}, and {BESIDES_HEAP >> 20} MiB more): {{effect}}",
    advice="set more than {needed}G, or lower {heap}",
)
UNIT_MEMORY_LOW_DATABASE = UNIT_MEMORY_LOW.variant(
    message=f"less than the server needs ({{parts}}, and {BESIDES_HEAP >> 20} MiB more): {{effect}}"
)
# What happens at a limit, by its setting; else the kernel kills the service.
AT_LIMIT = {
    "MemoryHigh": "the kernel would slow the service down more and more",
    **dict.fromkeys(("LimitAS", "LimitDATA"), "the kernel would refuse memory, and the service fail"),
}
KILLED = "the kernel would kill the service"
UNIT_ENVIRONMENT = ProblemKind(
    "UNIT_ENVIRONMENT",
    "only start scripts read {name}, but the unit starts java directly",
    "remove it, and use {input}",
)
UNIT_ENVIRONMENT_JAVA = UNIT_ENVIRONMENT.variant(message="has no effect: the role sets the path of java in the unit")
UNIT_ENVIRONMENT_CLASS_PATH = UNIT_ENVIRONMENT.variant(message="the unit sets its own class path, which overrides it")
UNIT_SPECIFIER = ProblemKind(
    "UNIT_SPECIFIER",
    "systemd replaces {specifiers} in this value (systemd.unit(5), specifiers)",
    "write {escaped} if the service is to read {specifiers}, or keep it",
    warning=True,
)
# What systemd replaces in a unit (systemd.unit(5)); it writes % for %%, and keeps a % before another character.
SPECIFIERS = re.compile(r"%(%|[abdf-jl-qs-wyA-EG-JLMNPS-WY])")
Finding = tuple[ProblemKind, dict[str, Any]]
"""(kind of problem, message details)."""


@cache
def known() -> Mapping[str, Sequence[str]]:
    """Return {section of a unit file: names of the settings that systemd knows in it}, from systemd.json."""
    sections: dict[str, list[str]] = json.loads((FOLDER / "systemd.json").read_text(encoding="utf-8"))
    return sections


def settings(model: Model) -> Iterator[Problem]:
    """Yield a problem for each setting in a drop-in that systemd does not know, or that harms the service."""
    for machine in model.functional:
        for name, sections in overrides(machine):
            function = next((item for item in functions().values() if name == f"{item.prefix}_unit_overrides"), None)
            for section, values in sections.items():
                if section in SECTIONS and isinstance(values, Mapping):
                    for key, value in values.items():
                        place = f"{name}[{section}][{key}]"
                        unreadable = list(unreadable_values(str(key), value))
                        for kind in unreadable:
                            yield machine.report(kind, place)  # rules on secrets cannot read the value
                        if unreadable:
                            continue
                        for kind, details in _findings(model, machine, function, section, str(key), value):
                            strange = kind is UNIT_SETTING_STRANGE or None
                            # The value of Environment may contain secrets, also if its name or section is wrong.
                            secret = key == "Environment" or kind.code == UNIT_SETTING.code
                            shown = details.get("name") if secret else value
                            yield machine.report(kind, place, shown, warning=strange, **details)


def denied_addresses(model: Model) -> Iterator[Problem]:
    """Yield a problem for each IPAddressDeny setting with which a service could not connect to any host.

    All drop-ins of the service's unit are considered together.
    """
    for machine in model.functional:
        denials = {denial[0]: denial[1] for layers in _units(machine) if (denial := _denied(machine, layers))}
        for place, value in denials.items():
            yield machine.report(UNIT_STOPS_NO_ADDRESS, place, value)


def _units(machine: Machine) -> Iterator[list[tuple[str, Mapping[Any, Any]]]]:
    """Yield, for each unit of a host, its drop-ins as [(variable, {section: settings})], in the order of systemd.

    The drop-in of one Spark job follows that of all jobs.
    """
    drop_ins, of_all = dict(overrides(machine)), f"{functions()['spark'].prefix}_unit_overrides"
    jobs = [f"spark_job_jobs[{entry.get('name')}].unit_overrides" for entry in machine.inputs.entries("spark_job_jobs")]
    yield from ([(name, drop_ins[name])] for name in drop_ins if name not in jobs and not (jobs and name == of_all))
    yield from ([(name, drop_ins[name]) for name in (of_all, job) if name in drop_ins] for job in jobs)


def _denied(machine: Machine, layers: Sequence[tuple[str, Mapping[Any, Any]]]) -> tuple[str, Any] | None:
    """Return (place, value) of IPAddressDeny if the drop-ins of a unit deny all addresses and allow none, else None.

    `layers` has the drop-ins of one unit, as (variable, {section: settings}).
    """
    denied, allowed, place = list[str](), list[str](), None
    for name, sections in layers:
        service = sections.get("Service")
        for key, value in service.items() if isinstance(service, Mapping) else ():
            if key == "IPAddressAllow":
                allowed = _added(allowed, value)
            elif key == "IPAddressDeny":
                denied, place = _added(denied, value), (f"{name}[Service][{key}]", value)
    return place if _everybody(denied, machine.addresses) and not allowed else None


def _added(before: Sequence[str], value: Any) -> list[str]:
    """Return `before` with the words of `value` appended, as systemd does for a setting that may occur repeatedly.

    An empty value resets the list.
    """
    words = list(before)
    for text in value if isinstance(value, (list, tuple)) else [value]:
        added = [] if text is None else str(text).split()
        words = [*words, *added] if added else []
    return words


def _everybody(words: Sequence[str], addresses: Sequence[Any]) -> bool:
    """Tell whether these networks contain all addresses of each IP version (4, 6) that a host uses.

    `words` are networks or "any", `addresses` are those of the host.
    """
    networks = [network for word in words if (network := subnet(word))]
    old = [network for network in networks if isinstance(network, IPv4Network)]
    new = [network for network in networks if isinstance(network, IPv6Network)]
    complete = {6 for network in collapse_addresses(new) if not network.prefixlen}
    complete |= {4 for network in collapse_addresses(old) if not network.prefixlen}
    return "any" in words or complete.issuperset({6 if v6(address) else 4 for address in addresses or [""]})


def _findings(
    model: Model, machine: Machine, function: Function | None, section: str, key: str, value: Any
) -> Iterator[Finding]:
    """Yield (kind of problem, message details) for one setting, `key`, of a drop-in.

    `function` is None for the drop-in of one Spark job. Such a drop-in may override what the role sets for all jobs,
    and jobs.py checks the memory of the job.
    """
    texts = [str(item) for item in (value if isinstance(value, (list, tuple)) else [value])]
    variable = f"{function.prefix}_{INPUTS.get(key)}" if function else ""
    if not key.startswith("X-") and key not in known()[section]:
        yield _unknown(section, key)
    elif key in OWNED:
        yield OWNED[key], {}
    elif variable in machine.inputs.defaults:
        yield UNIT_INPUT, {"input": variable}
    elif key == "WatchdogSec" and (function is None or function.name == "spark"):
        yield UNIT_INPUT, {"input": "watchdog of entries of spark_job_jobs"}
    elif key in ("MemoryMax", "MemoryHigh", "MemoryLimit", "LimitAS", "LimitDATA", "MemorySwapMax"):
        yield from _memory(machine, function, key, texts[-1]) if function else ()
    elif key == "Environment":
        yield from _environment(function or functions()["spark"], texts)
    else:
        yield from _stops(model, machine, function, key, texts)
        if key == "NoExecPaths":
            yield from _not_executed(model, machine, function, texts)
    if key in known()[section]:
        yield from rejected_values(key, value)


def _stops(
    model: Model, machine: Machine, function: Function | None, key: str, texts: Sequence[str]
) -> Iterator[Finding]:
    """Yield (kind of problem, message details) if a setting would stop the service or weaken its sandbox."""
    on = any(text.strip().lower() not in NO for text in texts)
    least = LEAST_TASKS.get(function.name if function else "spark", 0)
    if key == "Restart" and texts[-1] not in RESTARTS:
        yield UNIT_STOPS, {}
    elif key in START_LIMITS and not NO_TIME.fullmatch(texts[-1].strip()):
        yield UNIT_STOPS_START_LIMIT, {}
    elif key in ENDING and on:
        yield ENDING[key], {}
    elif key == "TasksMax" and (number := whole(texts[-1])) is not None and 0 <= number < least:
        yield UNIT_STOPS_TASKS, {"usual": least * 16}
    elif key in READ_ONLY and (path := _data_inside(model, machine, texts)):
        yield UNIT_STOPS_PATH, {"path": path}
    elif key == "ReadWritePaths" and "" in texts:
        yield UNIT_STOPS_WRITABLE, {}
    elif (key in SANDBOX and not on) or (key == "ProtectSystem" and texts[-1] != "strict"):
        yield OPENED.get(key, SANDBOX_OPEN), {}
    elif key == "AmbientCapabilities" and re.sub(r"CAP_NET_BIND_SERVICE\b", "", " ".join(texts)).strip():
        yield SANDBOX_OPEN_CAPABILITIES, {}
    elif key == "RestrictAddressFamilies" and _denied_families(texts) & _families(machine):
        yield UNIT_STOPS_NETWORK, {}


def _denied_families(texts: Sequence[str]) -> set[str]:
    """Return the families of addresses, as AF_INET, that values of RestrictAddressFamilies take from a service."""
    denied = {"AF_INET", "AF_INET6"} if texts[-1].strip() == "none" else set[str]()
    return denied.union(*(text.strip().lstrip("~").split() for text in texts if text.strip().startswith("~")))


def _families(machine: Machine) -> set[str]:
    """Return the families of the addresses of a host; AF_INET if it has none."""
    return {"AF_INET6" if v6(address) else "AF_INET" for address in machine.addresses or [""]}


def _not_executed(model: Model, machine: Machine, function: Function | None, texts: Sequence[str]) -> Iterator[Finding]:
    """Yield (kind of problem, message details) if NoExecPaths contains a host's java, and ExecPaths opens nothing."""
    paths = [word.lstrip("+-") for text in texts for word in text.split()]
    prefix = (function or functions()["spark"]).prefix
    services = services_of(machine, f"{prefix}_unit_overrides")
    program = next((path for path in model.executables(machine) if paths and below(path, *paths)), None)
    if program and not any(section.get("ExecPaths") for section in services):
        yield UNIT_STOPS_PROGRAM, {"path": program}


def _unknown(section: str, key: str) -> Finding:
    """Return (kind of problem, message details) of a setting that systemd does not know in this section."""
    other = next((name for name, keys in known().items() if key in keys), None)
    if other:
        return UNIT_SETTING_SECTION, {"section": section, "other": other}
    near = nearest(key, known()[section])
    return (UNIT_SETTING if near else UNIT_SETTING_STRANGE), {"section": section, "near": near}


def _memory(machine: Machine, function: Function, key: str, text: str) -> Iterator[Finding]:
    """Yield (kind of problem, message details) if a memory limit is invalid or too low for the service.

    `key` is a setting such as MemoryMax, `text` its value. The service needs its heap (a database its shared_buffers),
    direct memory and 256 MiB.
    """
    share = re.fullmatch(r"(\d+(?:\.\d+)?)%", text)
    total = size(machine.inputs.get("memory"))
    limit = (total and int(total * float(share[1]) / 100)) if share else unit_size(text)
    heaps = {name: size(machine.inputs.get(name)) or 0 for name in function.heaps}
    if function.name == "database" and (shared := shared_buffers(machine)):
        heaps["shared_buffers"] = shared
    if key == "MemorySwapMax" or text.partition(":")[0] in ("infinity", "") or not heaps:
        return
    if limit is None:
        if not share and not any(rejected_values(key, text)):  # else reported as UNIT_VALUE
            yield UNIT_MEMORY, {}
        return
    java = [option for name in function.jvm for option in options(machine).get(name, [])]
    direct = sum(size(option.partition("=")[2]) or 0 for option in java if "MaxDirectMemorySize=" in option)
    needed = sum(heaps.values()) + direct + BESIDES_HEAP
    if limit < needed:
        parts = " and ".join([*heaps, *(["MaxDirectMemorySize"] if direct else [])])
        kind = UNIT_MEMORY_LOW_DATABASE if function.name == "database" else UNIT_MEMORY_LOW
        effect = AT_LIMIT.get(key, KILLED)
        yield kind, {"parts": parts, "needed": f"{needed / 2**30:.1f}", "heap": next(iter(heaps)), "effect": effect}


def _data_inside(model: Model, machine: Machine, texts: Sequence[str]) -> str | None:
    """Return a data directory of the host that is below one of the paths in `texts`; None if there is none."""
    paths = [word.lstrip("+-").partition(":")[0] for text in texts for word in text.split()]
    data = [str(path) for _, path in model.items(machine, "mounts")]
    return next((path for path in data if below(path, *paths)), None) if paths else None


def _environment(function: Function, texts: Sequence[str]) -> Iterator[Finding]:
    """Yield (kind of problem, message details) for each environment variable that has no effect on the unit.

    Also yield a warning for each text in which systemd replaces a % and the character after it. The details name the
    role input that has the intended effect. `texts` are the values of Environment (NAME=value).
    """
    for text in texts:
        if SCRIPTS.fullmatch(text.strip().strip("\"'")):
            name = text.strip("\"' ").partition("=")[0]
            kind, variable = UNIT_ENVIRONMENT, " and ".join([*function.heaps, *function.jvm])
            variable = variable or "config.spark of the job"
            if name.endswith("HOME"):
                kind, variable = UNIT_ENVIRONMENT_JAVA, "java_executable"
            elif name == "CLASSPATH" and function.jvm:
                kind, variable = UNIT_ENVIRONMENT_CLASS_PATH, f"{function.prefix}_class_path"
            yield kind, {"name": name, "input": variable}
        if replaced := list(dict.fromkeys(match[0] for match in SPECIFIERS.finditer(text) if match[0] != "%%")):
            name = text.strip("\"' ").partition("=")[0]
            yield UNIT_SPECIFIER, {"name": name, "specifiers": replaced, "escaped": [f"%{item}" for item in replaced]}
