"""Rules on drop-ins of units: what the role owns stays the role's, and the service can start and do its work in it."""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.unit_values import value_faults
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.units import SECTIONS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below, subnet, v6, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# What a unit of ours is. Another value makes it another service.
OWNED = {
    **dict.fromkeys(("ExecStart", "ExecStop"), "the role writes the command"),
    **dict.fromkeys(("User", "Group", "DynamicUser"), "its files and certificates are those of the role's user"),
    **dict.fromkeys(("Type", "NotifyAccess", "PIDFile", "BusName", "RemainAfterExit", "GuessMainPID", "KillMode",
                     "KillSignal"), "systemd would take it for running, or for ended, when it is not"),
    **dict.fromkeys(("RootDirectory", "RootImage", "ChrootDirectory"), "its files are not in there"),
}  # fmt: skip
# Inputs that say the same: by the setting, what the input's name ends with.
INPUTS = {"LimitNOFILE": "limit_nofile", "TimeoutStopSec": "stop_timeout", "MemoryMax": "memory_max"}
# What ends a service that does well.
ENDING = {
    "RuntimeMaxSec": "systemd would end the service after that time, again and again",
    "WatchdogSec": "nothing here feeds the watchdog, which would kill the service again and again",
    "PrivateNetwork": "the service would reach nobody",
    "MemoryDenyWriteExecute": "Java writes the code that it runs, and would not start",
}
RESTARTS = ("always", "on-failure")
# Threads that a JVM begins with, and some more: of a broker more than a hundred. A database has a process for each
# connection, as many as the site says.
LEAST_TASKS = {"kafka": 256, "zookeeper": 128, "spark": 256}
GIVES_UP = ("StartLimitIntervalSec", "StartLimitInterval", "StartLimitBurst", "StartLimitAction")
# Scripts of the products read these; the units run java itself.
SCRIPTS = re.compile(
    r"(KAFKA_(HEAP|JVM_PERFORMANCE|GC_LOG|LOG4J|JMX)?_?OPTS|JMX_PORT|LOG_DIR|JAVA_HOME|CLASSPATH|JAVA_OPTS|EXTRA_ARGS"
    r"|(SERVER_)?JVMFLAGS|ZK_SERVER_HEAP|ZOO_LOG_DIR|SPARK_DRIVER_MEMORY)=.*",
    re.DOTALL,
)
# What keeps a service that is taken over from the rest of its host.
SANDBOX = (
    "NoNewPrivileges", "ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectKernelTunables",
    "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups", "ProtectClock", "RestrictSUIDSGID",
    "RestrictRealtime", "RestrictNamespaces", "LockPersonality",
)  # fmt: skip
SHUT = ("ReadOnlyPaths", "InaccessiblePaths", "TemporaryFileSystem", "NoExecPaths")
OWN = 256 * 2**20  # what a JVM needs besides its heap at the least
SIZE = re.compile(r"\d+ *[KMGTPE]?")  # as systemd reads it
NO = ("", "no", "false", "off", "0", "infinity", "none")


@cache
def known() -> Mapping[str, Sequence[str]]:
    """Return the settings of each section that systemd knows (packaging/unit_settings.py)."""
    found: dict[str, list[str]] = json.loads((FOLDER / "systemd.json").read_text(encoding="utf-8"))
    return found


def settings(model: Model) -> Iterator[Problem]:
    """Every setting of a drop-in is one of systemd's, and leaves the service what it is."""
    for machine in model.functional:
        for name, sections in overrides(machine):
            function = next((one for one in functions().values() if name == f"{one.prefix}_unit_overrides"), None)
            for section, told in sections.items():
                if section in SECTIONS and isinstance(told, Mapping):
                    for key, value in told.items():
                        for code, wrong, advice, warning in _wrong(model, machine, function, section, str(key), value):
                            place = f"{name}[{section}][{key}]"
                            yield machine.problem(place, code, value, wrong, advice, warning=warning)


def alone(model: Model) -> Iterator[Problem]:
    """A service may speak to somebody, whatever of its drop-ins says so."""
    for machine in model.functional:
        found = {said[0]: said[1] for layers in _units(machine) if (said := _denied(machine, layers))}
        for place, value in found.items():
            wrong, advice = "the service would reach nobody", "take it out, or name in IPAddressAllow whom it speaks to"
            yield machine.problem(place, "UNIT_STOPS", value, wrong, advice)


def _units(machine: Machine) -> Iterator[list[tuple[str, Mapping[Any, Any]]]]:
    """Yield the drop-ins of each unit as systemd reads them, by where they are said: a job's after those of all."""
    told, of_all = dict(overrides(machine)), f"{functions()['spark'].prefix}_unit_overrides"
    jobs = [f"spark_job_jobs[{entry.get('name')}].unit_overrides" for entry in machine.inputs.entries("spark_job_jobs")]
    yield from ([(name, told[name])] for name in told if name not in jobs and not (jobs and name == of_all))
    yield from ([(name, told[name]) for name in (of_all, job) if name in told] for job in jobs)


def _denied(machine: Machine, layers: Sequence[tuple[str, Mapping[Any, Any]]]) -> tuple[str, Any] | None:
    """Return where everybody is denied to a unit that allows nobody, and what is written there."""
    denied, allowed, found = list[str](), list[str](), None
    for name, sections in layers:
        told = sections.get("Service")
        for key, value in told.items() if isinstance(told, Mapping) else ():
            if key == "IPAddressAllow":
                allowed = _added(allowed, value)
            elif key == "IPAddressDeny":
                denied, found = _added(denied, value), (f"{name}[Service][{key}]", value)
    return found if _everybody(denied, machine.addresses) and not allowed else None


def _added(before: Sequence[str], value: Any) -> list[str]:
    """Return the words of a setting that adds up; an empty entry takes away what is there."""
    found = list(before)
    for text in value if isinstance(value, (list, tuple)) else [value]:
        words = [] if text is None else str(text).split()
        found = [*found, *words] if words else []
    return found


def _everybody(words: Sequence[str], addresses: Sequence[Any]) -> bool:
    """Tell whether networks are all of what a host's addresses are among, of IPv4 or of IPv6."""
    networks = [network for word in words if (network := subnet(word))]
    old = [network for network in networks if isinstance(network, IPv4Network)]
    new = [network for network in networks if isinstance(network, IPv6Network)]
    complete = {6 for network in collapse_addresses(new) if not network.prefixlen}
    complete |= {4 for network in collapse_addresses(old) if not network.prefixlen}
    return "any" in words or complete.issuperset({6 if v6(address) else 4 for address in addresses or [""]})


def _wrong(
    model: Model, machine: Machine, function: Function | None, section: str, key: str, value: Any
) -> Iterator[tuple[str, str, str, bool]]:
    """Yield code, what is wrong, advice and whether it is a warning.

    Without a function it is the drop-in of one job, which says for that one what inputs say for all; its memory is
    judged with the job (jobs.py).
    """
    texts = [str(item) for item in (value if isinstance(value, (list, tuple)) else [value])]
    on = any(text.strip().lower() not in NO for text in texts)
    least = LEAST_TASKS.get(function.name if function else "spark", 0)
    own = f"{function.prefix}_{INPUTS.get(key)}" if function else ""
    if not key.startswith("X-") and key not in known()[section]:
        yield _unknown(section, key)
    elif key in OWNED:
        yield "UNIT_OWNED", f"belongs to the role: {OWNED[key]}", "take it out", False
    elif own in machine.inputs.defaults:
        yield "UNIT_INPUT", f"{own} says it already", f"take it out, and set {own}", False
    elif key == "Restart" and texts[-1] not in RESTARTS:
        yield "UNIT_STOPS", "a service that failed would stay down", "take it out: on-failure", False
    elif key in GIVES_UP and texts[-1] not in ("0", "none"):
        yield "UNIT_STOPS", "after some failed starts systemd would give the service up", "take it out", False
    elif key in ENDING and on:
        yield "UNIT_STOPS", ENDING[key], "take it out", False
    elif key in ("MemoryMax", "MemoryHigh", "MemoryLimit", "LimitAS", "LimitDATA", "MemorySwapMax"):
        yield from _memory(machine, function, key, texts[-1]) if function else ()
    elif key == "TasksMax" and (number := whole(texts[-1])) is not None and 0 <= number < least:
        wrong = "threads are tasks, and the service could not make those that it begins with"
        yield "UNIT_STOPS", wrong, f"write {least * 16}, or take it out", False
    elif key in SHUT and (path := _shut(model, machine, texts)):
        yield "UNIT_STOPS", f"{path} is in there, where the service writes", "take it out", False
    elif key == "ReadWritePaths" and "" in texts:
        yield "UNIT_STOPS", "an empty entry takes away all that the service may write to", "take it out", False
    elif (key in SANDBOX and not on) or (key == "ProtectSystem" and texts[-1] != "strict"):
        wrong = "a service that somebody takes over could do more on its host"
        yield "SANDBOX_OPEN", wrong, "take it out; more to write to stands in ReadWritePaths", False
    elif key == "AmbientCapabilities" and re.sub(r"CAP_NET_BIND_SERVICE\b", "", " ".join(texts)).strip():
        yield "SANDBOX_OPEN", "more than a service needs, and near to being root", "take it out", False
    elif key == "RestrictAddressFamilies" and any(re.match(r"~.*AF_INET", text) for text in texts):
        yield "UNIT_STOPS", "the service would reach nobody", "take it out", False
    elif key == "Environment":
        yield from _environment(function or functions()["spark"], texts)
    if key in known()[section]:
        yield from (("UNIT_VALUE", wrong, advice, False) for wrong, advice in value_faults(key, value))


def _unknown(section: str, key: str) -> tuple[str, str, str, bool]:
    other = next((name for name, keys in known().items() if key in keys), None)
    near = nearest(key, known()[section])
    wrong = f"systemd knows no such setting in [{section}], and leaves it out"
    if other:
        return "UNIT_SETTING", wrong, f"write it below {other}", False
    return "UNIT_SETTING", wrong, f"did you mean {near}?" if near else "correct it, or take it out", not near


def _memory(machine: Machine, function: Function, key: str, text: str) -> Iterator[tuple[str, str, str, bool]]:
    """A limit leaves room for what the JVM takes."""
    share = re.fullmatch(r"(\d+(?:\.\d+)?)%", text)
    total = size(machine.inputs.get("memory"))
    limit = (total and int(total * float(share[1]) / 100)) if share else size(text) if SIZE.fullmatch(text) else None
    heaps = {name: size(machine.inputs.get(name)) or 0 for name in function.heaps}
    if function.name == "database" and (shared := shared_buffers(machine)):
        heaps["shared_buffers"] = shared
    if key == "MemorySwapMax" or text in ("infinity", "") or not heaps:
        return
    if limit is None:
        if not share:
            yield "UNIT_MEMORY", "no size, and systemd leaves it out", "write it as 12G", False
        return
    told = [option for name in function.jvm for option in options(machine).get(name, [])]
    direct = sum(size(option.partition("=")[2]) or 0 for option in told if "MaxDirectMemorySize=" in option)
    needed = sum(heaps.values()) + direct + OWN
    if limit < needed:
        parts = " and ".join([*heaps, *(["MaxDirectMemorySize"] if direct else [])])
        who = "the server" if function.name == "database" else "the JVM"
        wrong = f"less than what {who} takes ({parts}, and what it needs besides): the kernel would kill it"
        yield "UNIT_MEMORY", wrong, f"raise it above {needed / 2**30:.1f}G, or lower {next(iter(heaps))}", False


def _shut(model: Model, machine: Machine, texts: Sequence[str]) -> str | None:
    """Return a directory of the host's data that is in one of these paths."""
    paths = [word.lstrip("+-").partition(":")[0] for text in texts for word in text.split()]
    data = [str(path) for _, path in model.items(machine, "mounts")]
    return next((path for path in data if below(path, *paths)), None) if paths else None


def _environment(function: Function, texts: Sequence[str]) -> Iterator[tuple[str, str, str, bool]]:
    for text in texts:
        if SCRIPTS.fullmatch(text.strip().strip("\"'")):
            name = text.strip("\"' ").partition("=")[0]
            own = " and ".join([*function.heaps, *function.jvm]) or "config.spark of the job"
            wrong = f"scripts alone read {name}, and the unit runs none"
            if name.endswith("HOME"):
                own, wrong = "java_executable", "the role says which java the unit runs"
            elif name == "CLASSPATH" and function.jvm:
                own, wrong = f"{function.prefix}_class_path", "the unit says its class path itself, which goes before"
            yield "UNIT_ENVIRONMENT", wrong, f"take it out, and use {own}", False
