"""Rules on what the JVMs are told: heaps as they read them, one collector, nothing that lets strangers in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, inputs
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import overrides, size
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

LEAST = 2**26  # below this no broker and no server starts
LEAST_DIRECT = 2**24
COLLECTOR = re.compile(r"-XX:\+Use(Serial|Parallel|G1|Z|Shenandoah|Epsilon)GC")
# Flags that one collector alone reads.
OF_COLLECTOR = {
    "G1": r"G1[A-Z]\w*|InitiatingHeapOccupancyPercent",
    "Z": r"Z[A-Z]\w*",
    "Shenandoah": r"Shenandoah\w+",
    "Epsilon": r"Epsilon\w+",
    "Parallel": r"PS[A-Z]\w*|ParallelOld\w+",
}
# Variables of the environment that every JVM reads.
# Java takes the last, which is the unit's.
CLASS_PATH = re.compile(r"-cp|-classpath|--class-path(=.*)?|-Djava\.class\.path=.*", re.DOTALL)
ENVIRONMENT = re.compile(r"(?:JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS)=(.*)", re.DOTALL)
LOOPBACK = re.compile(r"localhost|127\..*|\[?::1]?")
JMX = "-Dcom.sun.management.jmxremote"
# Names a file that holds the secret.
FILE = re.compile(r"(file|path|location)$", re.IGNORECASE)


def options(machine: Machine) -> dict[str, list[str]]:
    """Return what the JVMs of a host are told, by variable, one text for each option."""
    found: dict[str, list[str]] = {}
    for _, name in inputs("jvm"):
        found[name] = _words(machine.inputs.sequence(name))
    for name, sections in overrides(machine):
        service = sections.get("Service")
        given = service.get("Environment") if isinstance(service, Mapping) else None
        texts = given if isinstance(given, (list, tuple)) else [given] if given else []
        matches = (ENVIRONMENT.fullmatch(str(text).strip().strip("\"'")) for text in texts)
        found[f"{name}[Service][Environment]"] = _words([match.group(1) for match in matches if match])
    for entry in machine.inputs.entries("spark_job_jobs"):
        config = entry.get("config")
        spark = config.get("spark") if isinstance(config, Mapping) and entry.get("state") != "absent" else None
        for name, value in spark.items() if isinstance(spark, Mapping) else ():
            if str(name).endswith("JavaOptions"):
                found[f"spark_job_jobs[{entry.get('name')}].config.spark[{name}]"] = _words([value])
    return {name: told for name, told in found.items() if told}


def _words(texts: Any) -> list[str]:
    """Return the options of texts, each of which may hold several."""
    return [word for text in texts for word in _split(str(text))]


@lru_cache(maxsize=1024)  # hosts are told the same
def _split(text: str) -> Sequence[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def heaps(model: Model) -> Iterator[Problem]:
    """Heaps are written as the JVM reads them, and large enough to start with."""
    for machine in model.functional:
        for name in model.input_names(machine, "heaps"):
            declared = str(machine.inputs.get(name))
            heap = size(declared)
            if heap is None:
                continue  # said as HEAP_INVALID
            if not re.fullmatch(r"\d+[kKmMgGtT]?", declared):
                wrong = "the JVM takes a number and one letter, and would not start"
                yield machine.problem(name, "HEAP_NOTATION", declared, wrong, "write it as 512m or 6g")
            elif heap < LEAST:
                unit = ", for a number alone is bytes" if declared.isdecimal() else ""
                wrong = f"too little to start with{unit}"
                yield machine.problem(name, "HEAP_SMALL", declared, wrong, "write it as 512m or 6g")


def buffers(model: Model) -> Iterator[Problem]:
    """What sockets take beside the heap is not so little that a service ends with its first clients."""
    for machine in model.functional:
        for variable, told in options(machine).items():
            for option in told:
                name, _, value = option.partition("=")
                number = size(value) if name == "-XX:MaxDirectMemorySize" else None
                if number is not None and 0 < number < LEAST_DIRECT:
                    wrong = "sockets take their buffers from it, and connections would end for lack of memory"
                    yield machine.problem(variable, "BUFFERS_SMALL", option, wrong, "leave it out: as much as the heap")


def flags(model: Model) -> Iterator[Problem]:
    """Nothing is said twice: the heap is an input."""
    for machine in model.functional:
        told = options(machine)
        for function in functions().values():
            for variable in (*function.jvm, f"{function.prefix}_unit_overrides[Service][Environment]"):
                for option in told.get(variable, []):
                    if function.heaps and re.match(r"-Xm[sx]\d|-XX:(Max|Initial|Min)(HeapSize|RAMPercentage)=", option):
                        heap = function.heaps[0]
                        wrong, advice = f"{heap} says it as well", f"take it out, and set {heap}"
                        yield machine.problem(variable, "OPTION_HEAP", option, wrong, advice)
                    elif CLASS_PATH.fullmatch(option):
                        wrong, advice = "the unit's own goes before, and nothing of it is read", "take it out"
                        if (own := f"{function.prefix}_class_path") in machine.inputs.defaults:
                            advice = f"list the jars in {own}"
                        yield machine.problem(variable, "OPTION_CLASS_PATH", option, wrong, advice)


def collectors(model: Model) -> Iterator[Problem]:
    """A JVM has one collector, and only this one's flags do anything."""
    for machine in model.functional:
        for usual, told in _processes(machine):
            pairs = [(variable, option) for variable, found in told.items() for option in found]
            chosen: dict[str, str] = {}
            for variable, option in pairs:
                if COLLECTOR.fullmatch(option):
                    chosen.setdefault(option, variable)
            for option, variable in list(chosen.items())[1:]:
                wrong = f"{next(iter(chosen))} is there as well, and the JVM does not start with two collectors"
                yield machine.problem(variable, "OPTION_COLLECTOR", option, wrong, f"keep one, in {usual}")
            if len(chosen) == 1:
                yield from _idle(machine, next(iter(chosen)), pairs)


def _processes(machine: Machine) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield what each JVM of a host is told, by variable, and the variable where its collector is usual."""
    told, environment = options(machine), "unit_overrides[Service][Environment]"
    for function in functions().values():
        if function.jvm:
            names = (*function.jvm, f"{function.prefix}_{environment}")
            yield function.jvm[0], {name: told[name] for name in names if name in told}
    for entry in machine.inputs.entries("spark_job_jobs"):
        place = f"spark_job_jobs[{entry.get('name')}]"
        own = [name for name in told if name.startswith(f"{place}.config.spark[spark.driver.")]
        names = (*own, f"{place}.{environment}", f"spark_job_{environment}")
        yield "spark.driver.extraJavaOptions", {name: told[name] for name in names if name in told}


def _idle(machine: Machine, collector: str, pairs: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    """Flags of another collector than the one that runs."""
    running = COLLECTOR.sub(r"\1", collector)
    for variable, option in pairs:
        name = re.match(r"-XX:[+-]?(\w+)", option)
        of = next((kind for kind, names in OF_COLLECTOR.items() if name and re.fullmatch(names, name[1])), running)
        if of != running:
            wrong = f"a flag of Use{of}GC, and with {collector} the JVM does nothing with it"
            yield machine.problem(variable, "OPTION_IDLE", option, wrong, "take it out", warning=True)


def of_jobs(model: Model) -> Iterator[Problem]:
    """Spark says the heap of a job's JVM itself, and refuses another."""
    for machine in model.spark_nodes:
        for variable, told in options(machine).items():
            for option in told if variable.startswith("spark_job_jobs") else ():
                if option.startswith("-Xmx"):
                    wrong, advice = "Spark refuses a heap there", "take it out, and set spark.driver.memory"
                    yield machine.problem(variable, "OPTION_HEAP", option, wrong, advice)


def strangers(model: Model) -> Iterator[Problem]:
    """No JVM takes orders from whoever connects, and none has a secret in its command line."""
    for machine in model.functional:
        for variable, found in options(machine).items():
            yield from _jmx(machine, variable, found)
            for option in found:
                if re.match(r"-agentlib:jdwp|-Xrunjdwp", option):
                    wrong = "a debugger runs any code in the process, without a login"
                    yield machine.problem(variable, "DEBUGGER_OPEN", option, wrong, "take it out")
                name, _, value = option.partition("=")
                if (
                    re.search(r"passw|secret|passphrase|token$", name, re.IGNORECASE)
                    and value
                    and not FILE.search(name)
                ):
                    wrong = "everybody on the host can read it: units and command lines are no secret"
                    advice = "name a file that holds it, or use the roles' inputs"
                    yield machine.problem(variable, "OPTION_SECRET", name, wrong, advice)


def _jmx(machine: Machine, variable: str, found: list[str]) -> Iterator[Problem]:
    told = {name: value for name, _, value in (option.partition("=") for option in found) if name.startswith(JMX)}
    outside = f"{JMX}.port" in told and not LOOPBACK.fullmatch(told.get(f"{JMX}.host", ""))
    for name, wrong in (
        ("authenticate", "whoever connects may do everything with the process, and JMX asks for no login"),
        ("ssl", "the login to JMX passes in the clear"),
    ):
        if outside and told.get(f"{JMX}.{name}", "true").lower() != "true":
            advice = f"take {name}=false out, or bind it to the loopback: {JMX}.host=127.0.0.1"
            yield machine.problem(variable, "JMX_OPEN", f"{JMX}.{name}=false", wrong, advice)
            return
