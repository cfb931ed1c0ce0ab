"""Rules on Java options: heap sizes, garbage collectors, open JMX or debugger ports, secrets in command lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, inputs
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import overrides, size
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.unit_text import option_words

LEAST = 2**26  # bytes of heap: no broker and no server starts with less
LEAST_DIRECT = 2**24
COLLECTOR = re.compile(r"-XX:\+Use(Serial|Parallel|G1|Z|Shenandoah|Epsilon)GC")
# Flags that only one collector reads.
OF_COLLECTOR = {
    "G1": r"G1[A-Z]\w*|InitiatingHeapOccupancyPercent",
    "Z": r"Z[A-Z]\w*",
    "Shenandoah": r"Shenandoah\w+",
    "Epsilon": r"Epsilon\w+",
    "Parallel": r"PS[A-Z]\w*|ParallelOld\w+",
}
# Java uses the last class path, which is the unit's.
CLASS_PATH = re.compile(r"-cp|-classpath|--class-path(=.*)?|-Djava\.class\.path=.*", re.DOTALL)
# Variables of the environment that every JVM reads.
ENVIRONMENT = re.compile(r"(?:JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS)=(.*)", re.DOTALL)
LOOPBACK = re.compile(r"localhost|127\..*|\[?::1]?")
JMX = "-Dcom.sun.management.jmxremote"
# Names of options that refer to a file with the secret.
FILE = re.compile(r"(file|path|location)$", re.IGNORECASE)


def options(machine: Machine) -> dict[str, list[str]]:
    """Return {variable: its Java options, one list entry per option} of all JVMs of a host.

    The variables are the Java options of roles, Environment= in drop-ins, and Spark's *JavaOptions of jobs.
    """
    by_variable = {name: _words(values) for name, values in texts(machine).items()}
    return {name: words for name, words in by_variable.items() if words}


def texts(machine: Machine) -> dict[str, list[Any]]:
    """Return {variable: the texts with its Java options, as the inventory contains them} of all JVMs of a host.

    The variables are those of `options`.
    """
    by_variable: dict[str, list[Any]] = {name: list(machine.inputs.sequence(name)) for _, name in inputs("jvm")}
    for name, sections in overrides(machine):
        service = sections.get("Service")
        value = service.get("Environment") if isinstance(service, Mapping) else None
        values = value if isinstance(value, (list, tuple)) else [value] if value else []
        matches = (ENVIRONMENT.fullmatch(str(text).strip().strip("\"'")) for text in values)
        by_variable[f"{name}[Service][Environment]"] = [match.group(1) for match in matches if match]
    for entry in machine.inputs.entries("spark_job_jobs"):
        config = entry.get("config")
        spark = config.get("spark") if isinstance(config, Mapping) and entry.get("state") != "absent" else None
        for name, value in spark.items() if isinstance(spark, Mapping) else ():
            if str(name).endswith("JavaOptions"):
                by_variable[f"spark_job_jobs[{entry.get('name')}].config.spark[{name}]"] = [value]
    return by_variable


def _words(values: Sequence[Any]) -> list[str]:
    """Return all options in texts as one list; a text may contain several options."""
    return [word for value in values for word in _split(str(value))]


@lru_cache(maxsize=1024)  # most hosts have the same options
def _split(text: str) -> Sequence[str]:
    return option_words(text)


HEAP_NOTATION = ProblemKind(
    "HEAP_NOTATION",
    "the JVM accepts only a number with one letter, and would not start",
    "write it like 512m or 6g",
)
HEAP_SMALL = ProblemKind("HEAP_SMALL", "too little: the process would not start", "use a size such as 512m or 6g")
HEAP_SMALL_BYTES = HEAP_SMALL.variant(
    message="too little, because a number without a unit is in bytes: the process would not start"
)


def heaps(model: Model) -> Iterator[Problem]:
    """Yield a problem for each heap size that the JVM would not accept, or that is too small to start."""
    for machine in model.functional:
        for name in model.input_names(machine, "heaps"):
            declared = str(machine.inputs.get(name))
            heap = size(declared)
            if heap is None:
                continue  # reported as HEAP_INVALID
            if not re.fullmatch(r"\d+[kKmMgGtT]?", declared):
                yield machine.report(HEAP_NOTATION, name, declared)
            elif heap < LEAST:
                yield machine.report(HEAP_SMALL_BYTES if declared.isdecimal() else HEAP_SMALL, name, declared)


BUFFERS_SMALL = ProblemKind(
    "BUFFERS_SMALL",
    "connections would fail, because sockets need direct memory for their buffers",
    "remove it (default: as much as the heap)",
)


def buffers(model: Model) -> Iterator[Problem]:
    """Yield a problem for each -XX:MaxDirectMemorySize that is too small for the buffers of the first connections."""
    for machine in model.functional:
        for variable, words in options(machine).items():
            for option in words:
                name, _, value = option.partition("=")
                number = size(value) if name == "-XX:MaxDirectMemorySize" else None
                if number is not None and 0 < number < LEAST_DIRECT:
                    yield machine.report(BUFFERS_SMALL, variable, option)


OPTION_HEAP = ProblemKind("OPTION_HEAP", "{input} sets the heap too", "remove this option, and set {input}")
OPTION_HEAP_SPARK = OPTION_HEAP.variant(message="Spark rejects a heap size in this setting")
OPTION_CLASS_PATH = ProblemKind(
    "OPTION_CLASS_PATH", "the class path of the unit overrides this option completely", "remove it"
)
OPTION_CLASS_PATH_INPUT = OPTION_CLASS_PATH.variant(advice="remove it, and list the jars in {input}")


def flags(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Java option that sets the heap or the class path: roles have variables for these."""
    for machine in model.functional:
        by_variable = options(machine)
        for function in functions().values():
            for variable in (*function.jvm, f"{function.prefix}_unit_overrides[Service][Environment]"):
                for option in by_variable.get(variable, []):
                    if function.heaps and re.match(r"-Xm[sx]\d|-XX:(Max|Initial|Min)(HeapSize|RAMPercentage)=", option):
                        yield machine.report(OPTION_HEAP, variable, option, input=function.heaps[0])
                    elif CLASS_PATH.fullmatch(option):
                        class_path = f"{function.prefix}_class_path"
                        has_input = class_path in machine.inputs.defaults
                        kind = OPTION_CLASS_PATH_INPUT if has_input else OPTION_CLASS_PATH
                        yield machine.report(kind, variable, option, input=class_path)


OPTION_COLLECTOR = ProblemKind(
    "OPTION_COLLECTOR",
    "{other} is set too, and the JVM does not start with two garbage collectors",
    "keep one of them, in {variable_name}",
)


def collectors(model: Model) -> Iterator[Problem]:
    """Yield a problem for each JVM with two garbage collectors, or with a flag of a collector that does not run."""
    for machine in model.functional:
        for usual, by_variable in _processes(machine):
            pairs = [(variable, option) for variable, words in by_variable.items() for option in words]
            chosen: dict[str, str] = {}
            for variable, option in pairs:
                if COLLECTOR.fullmatch(option):
                    chosen.setdefault(option, variable)
            for option, variable in list(chosen.items())[1:]:
                yield machine.report(OPTION_COLLECTOR, variable, option, other=next(iter(chosen)), variable_name=usual)
            if len(chosen) == 1:
                yield from _idle_flags(machine, next(iter(chosen)), pairs)


def _processes(machine: Machine) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield (usual variable, {variable: options}) for each JVM of a host.

    The usual variable is the one in which a site should set the garbage collector.
    """
    by_variable, environment = options(machine), "unit_overrides[Service][Environment]"
    for function in functions().values():
        if function.jvm:
            names = (*function.jvm, f"{function.prefix}_{environment}")
            yield function.jvm[0], {name: by_variable[name] for name in names if name in by_variable}
    for entry in machine.inputs.entries("spark_job_jobs"):
        place = f"spark_job_jobs[{entry.get('name')}]"
        of_job = [name for name in by_variable if name.startswith(f"{place}.config.spark[spark.driver.")]
        names = (*of_job, f"{place}.{environment}", f"spark_job_{environment}")
        yield "spark.driver.extraJavaOptions", {name: by_variable[name] for name in names if name in by_variable}


OPTION_IDLE = ProblemKind(
    "OPTION_IDLE",
    "a flag of Use{collector}GC: it has no effect in a JVM with {running}",
    "remove it",
    warning=True,
)


def _idle_flags(machine: Machine, collector: str, pairs: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    """Yield a warning for each flag of a garbage collector that does not run.

    `collector` is the option of the one that runs, as -XX:+UseG1GC; `pairs` are the (variable, option) of the JVM.
    """
    running = COLLECTOR.sub(r"\1", collector)
    for variable, option in pairs:
        name = re.match(r"-XX:[+-]?(\w+)", option)
        owner = next((kind for kind, names in OF_COLLECTOR.items() if name and re.fullmatch(names, name[1])), running)
        if owner != running:
            yield machine.report(OPTION_IDLE, variable, option, collector=owner, running=collector)


def heaps_of_jobs(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Java option -Xmx of a Spark job, because Spark rejects this option."""
    for machine in model.spark_nodes:
        for variable, words in options(machine).items():
            for option in words if variable.startswith("spark_job_jobs") else ():
                if option.startswith("-Xmx"):
                    yield machine.report(OPTION_HEAP_SPARK, variable, option, input="spark.driver.memory")


DEBUGGER_OPEN = ProblemKind(
    "DEBUGGER_OPEN", "a debugger that connects executes any code in the process, without a login", "remove it"
)
OPTION_SECRET = ProblemKind(
    "OPTION_SECRET",
    "every user of the host can read this secret: units and command lines are not secret",
    "put the secret into a file, or use the variables of the role for passwords",
)


def open_options(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Java option that opens a debugger or JMX without a login, or contains a secret.

    A secret on a command line can be read by every user of the host.
    """
    for machine in model.functional:
        for variable, words in options(machine).items():
            yield from _jmx(machine, variable, words)
            for option in words:
                if re.match(r"-agentlib:jdwp|-Xrunjdwp", option):
                    yield machine.report(DEBUGGER_OPEN, variable, option)
                name, _, value = option.partition("=")
                secret = re.search(r"passw|secret|passphrase|token$", name, re.IGNORECASE)
                if secret and value and not FILE.search(name):
                    yield machine.report(OPTION_SECRET, variable, name)


JMX_OPEN = ProblemKind(
    "JMX_OPEN",
    "JMX requires no login: any host that connects can control the process",
    "remove {option}=false, or bind JMX to the loopback: -Dcom.sun.management.jmxremote.host=127.0.0.1",
)
JMX_OPEN_CLEAR = JMX_OPEN.variant(message="JMX sends passwords unencrypted")


def _jmx(machine: Machine, variable: str, words: list[str]) -> Iterator[Problem]:
    """Yield a problem if Java options make JMX listen on the network without a login or without TLS."""
    values = {name: value for name, _, value in (option.partition("=") for option in words) if name.startswith(JMX)}
    outside = f"{JMX}.port" in values and not LOOPBACK.fullmatch(values.get(f"{JMX}.host", ""))
    for name, kind in (("authenticate", JMX_OPEN), ("ssl", JMX_OPEN_CLEAR)):
        if outside and values.get(f"{JMX}.{name}", "true").lower() != "true":
            yield machine.report(kind, variable, f"{JMX}.{name}=false", option=name)
            return
