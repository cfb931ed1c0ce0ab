"""Rules on options of Java: those that the Java of a unit does not have, or would not take, and it would not start.

Which flags a release has, plugins/definitions/generated/java.json says (packaging/java_options.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import FOLDER, nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import Function, functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import CLASS_PATH, options
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

FLAG = re.compile(r"-XX:([+-]?)(\w*)(=?)(.*)", re.DOTALL)
RELEASE = re.compile(r"(?:java|jdk|jre|temurin|zulu|corretto)[-_/]?(?:1\.)?(\d+)")
LEAST = {"spark": 17}  # what functions need besides Java 11, for its -Xlog
# What Debian 12 and 13 install (roles/java).
USUAL = ("17", "21")
# Packages of Java, by the number in their names.
PACKAGE = re.compile(r"(?:java|jdk|jre|temurin|zulu|corretto|graalvm|semeru|liberica)\w*?[-_]?(?:1\.)?(\d+)")
JAVA = re.compile(r"java|jdk|jre|jvm|temurin|zulu|corretto|graal|semeru|liberica|sapmachine", re.IGNORECASE)
PACKAGES = (
    "default-jre", "default-jre-headless", "default-jdk", "default-jdk-headless", "openjdk-17-jre-headless",
    "openjdk-17-jre", "openjdk-17-jdk", "openjdk-17-jdk-headless", "openjdk-21-jre-headless", "openjdk-21-jre",
    "openjdk-21-jdk", "openjdk-21-jdk-headless",
)  # fmt: skip
# Options that name a file, and the least of a stack (os::Posix::set_minimum_stack_sizes).
FILED = re.compile(r"(-javaagent|-agentpath):(.+)", re.DOTALL)
LEAST_STACK = 136 * 2**10
# Flags that the JVM reads before it has any.
BEFORE = ("Flags", "VMOptionsFile", "IgnoreUnrecognizedVMOptions")
NUMBER = re.compile(r"\d+[kKmMgGtT]?|0x[0-9a-fA-F]+|-?\d+(\.\d+)?")
# Properties of which Java makes a number, or nothing (Integer.getInteger).
NUMERIC = re.compile(
    r"jute\.maxbuffer|zookeeper\.(snapCount|preAllocSize|globalOutstandingLimit|maxCnxns|commitLogCount)"
)
# What the launcher and the JVM take besides, as `java --help` and `java -X` list it.
OTHERS = re.compile(
    r"-D.+|--?(ea|da|esa|dsa|enableassertions|disableassertions|server|client|verbose|javaagent|agentlib|agentpath"
    r"|splash|cp|classpath)\b.*|--(add|illegal|enable|disable|limit|module|patch|upgrade|finalization|class|sun)-?.*"
    r"|-X(ms|mx|mn|ss)\d+[kKmMgGtT]?|-X(batch|comp|debug|diag|future|int|internalversion|mixed|noclassgc|rs|prof)"
    r"|-X(bootclasspath/|check:|log|run|share:|showSettings|verify|loggc:|noverify).*|-noverify|@.+"
)


@cache
def known() -> Mapping[str, Mapping[str, str]]:
    """Return what each release says of its flags: `product bool`, `experimental number`, `ignored`."""
    found: dict[str, dict[str, str]] = {}
    for head, lines in json.loads((FOLDER / "java.json").read_text(encoding="utf-8")).items():
        releases, _, said = head.partition(": ")
        for release in releases.split():
            found.setdefault(release, {}).update(dict.fromkeys(" ".join(lines).split(), said))
    return found


def releases(machine: Machine, variable: str) -> Sequence[str]:
    """Return the releases of Java that may run with a variable's options: that of its path, else those of Debian."""
    prefixes = sorted(functions().values(), key=lambda function: len(function.prefix), reverse=True)
    function = next((one for one in prefixes if variable.startswith(one.prefix)), None)
    paths = " ".join(machine.inputs.text(name) or "" for name in (function.java if function else ()))
    package = machine.inputs.text("java_package") or ""
    found = RELEASE.search(f"{paths} {package}")
    if not found:
        return USUAL
    return [found[1]] if found[1] in known() else []


def old(model: Model) -> Iterator[Problem]:
    """No unit runs a Java that is too old for what it is told, and for the jars."""
    for machine in model.functional:
        for function in model.functions_of(machine):
            for path, name in _run_by(model, machine, function).items():
                found, least = RELEASE.search(path), LEAST.get(function.name, 11)
                if found and int(found[1]) < least:
                    wrong = f"Java {found[1]}, and {function.name} does not start below {least}"
                    yield machine.problem(name, "JAVA_OLD", path, wrong, "name a Java 17 or 21")


def package(model: Model) -> Iterator[Problem]:
    """The package brings a Java that all services of a host run with."""
    for machine in model.functional:
        told = machine.inputs.text("java_package") if "java_package" in machine.inputs.values else None
        found = PACKAGE.search(told or "")
        near = nearest(told, PACKAGES) if told and not found and told not in PACKAGES else None
        if told is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+:~=_-]*", told):
            wrong, advice = "no name of a package", "write one, as openjdk-17-jre-headless"
            yield machine.problem("java_package", "JAVA_PACKAGE", told, wrong, advice)
        elif found and found[1] not in USUAL:
            wrong = f"Java {found[1]}, and Kafka, ZooKeeper and Spark run here with {' or '.join(USUAL)}"
            yield machine.problem("java_package", "JAVA_PACKAGE", told, wrong, "name a package of one of these")
        elif near or (told and not JAVA.search(told)):
            wrong = "no package of a Java that is known here"
            advice = f"did you mean {near}?" if near else "name one that brings java, as openjdk-17-jre-headless"
            yield machine.problem(
                "java_package", "JAVA_PACKAGE", told, wrong, advice, warning=not (near or _foreign(told))
            )


def _foreign(package: str | None) -> bool:
    """Tell whether a package is that of another function."""
    return any(re.match(word, package or "") for word in ("postgresql", "kafka", "zookeeper", "spark", "python"))


def home(model: Model) -> Iterator[Problem]:
    """Spark is told where java is by JAVA_HOME alone (spark-class), and runs bin/java in it."""
    for machine in model.spark_nodes:
        for path, name in _run_by(model, machine, functions()["spark"]).items():
            if path.startswith("/") and not path.endswith("/bin/java"):  # else said as PATH_RELATIVE
                wrong = "Spark runs bin/java of a JAVA_HOME, and no other program"
                advice = "name the one in bin of its runtime, as /opt/jdk-21/bin/java"
                yield machine.problem(name, "JAVA_NO_HOME", path, wrong, advice)


def _run_by(model: Model, machine: Machine, function: Function) -> dict[str, str]:
    """Return the java that a function's units run, by its path the input that a site writes."""
    own = {machine.inputs.text(name) for name in function.java}
    return {path: name for path, name in model.executables(machine).items() if path in own}


def flags(model: Model) -> Iterator[Problem]:
    """Every option is one that Java takes as it is written."""
    for machine in model.functional:
        found = options(machine)
        words = {option for told in found.values() for option in told}
        unlocked = {name for name in ("Diagnostic", "Experimental") if f"-XX:+Unlock{name}VMOptions" in words}
        for variable, told in found.items():
            asked = releases(machine, variable)
            lenient = "-XX:+IgnoreUnrecognizedVMOptions" in told
            for before, option in () if lenient or not asked else pairwise(["", *told]):
                if CLASS_PATH.fullmatch(before) and "=" not in before:
                    continue  # of an option that is said as OPTION_CLASS_PATH
                for code, wrong, advice, warning in judged(option, tuple(asked), frozenset(unlocked)):
                    yield machine.problem(variable, code, option, wrong, advice, warning=warning)


@cache
def judged(option: str, asked: tuple[str, ...], unlocked: frozenset[str]) -> list[tuple[str, str, str, bool]]:
    """Return code, what is wrong, advice and whether it is a warning."""
    found = FLAG.fullmatch(option)
    if not found:
        return _no_flag(option)
    sign, name, equals, value = found.groups()
    lists = {release: known()[release] for release in asked}
    lacking = [release for release in asked if name not in lists[release]]
    if name in BEFORE:
        return []
    if len(lacking) == len(asked):
        return [_unknown(name, asked)]
    release, said = next((release, flags[name]) for release, flags in lists.items() if name in flags)
    if lacking:
        wrong = f"Java {release} has it, Java {' and '.join(lacking)} has not, and would not start"
        return [("OPTION_GONE", wrong, "take it out", True)]
    if said == "ignored":
        return [("OPTION_GONE", f"Java {release} has given it up, and only warns of it", "take it out", True)]
    kind, taken = said.split()
    if kind != "product" and kind.capitalize() not in unlocked and not name.startswith("Unlock"):
        wrong = f"a flag that Java calls {kind} and keeps locked, and it would not start"
        return [
            ("OPTION_LOCKED", wrong, f"put -XX:+Unlock{kind.capitalize()}VMOptions before it, or take it out", False)
        ]
    if taken == "bool":
        fine, form = bool(sign) and not equals, f"-XX:+{name} or -XX:-{name}"
    else:
        fine, form = not sign and bool(equals), f"-XX:{name}=<{'text' if taken == 'text' else 'number'}>"
        if fine and taken != "text":
            fine = bool(NUMBER.fullmatch(value))
        if fine and taken == "percent":
            fine, form = 0 <= float(value) <= 100 if re.fullmatch(r"[\d.]+", value) else False, "a number up to 100"
    return [] if fine else [("OPTION_FORM", "Java would not take it so, and not start", f"write {form}", False)]


def _no_flag(option: str) -> list[tuple[str, str, str, bool]]:
    name, _, value = option.removeprefix("-D").partition("=")
    if NUMERIC.fullmatch(name) and not re.fullmatch(r"-?\d+|0[xX][0-9a-fA-F]+", value):
        wrong = "no plain number, and the property's default stays without a word"
        return [("OPTION_FORM", wrong, f"write -D{name}=4194304, without a unit", False)]
    if found := FILED.fullmatch(option):
        path = found[2].partition("=")[0]
        if not path.startswith("/"):
            wrong = f"{path} is looked for in /, where the unit runs, and Java would not start without it"
            return [("OPTION_FORM", wrong, f"write the whole path, as {found[1]}:/opt/plugins/{path}", False)]
    if (stack := re.fullmatch(r"-Xss(\d+[kKmMgG]?)", option)) and 0 < (size(stack[1]) or 0) < LEAST_STACK:
        wrong = "less than Java takes for a stack, and it would not start"
        return [("OPTION_FORM", wrong, "write -Xss512k, or leave it out: 1m", False)]
    if OTHERS.fullmatch(option):
        return []
    if not option.startswith("-"):
        wrong = "without a dash before it, Java takes it for the name of the program"
        return [("OPTION_FORM", wrong, "begin it with -, or put it into one entry with its option", False)]
    return [("OPTION_UNKNOWN", "no option of Java, which would not start", "correct it; java -X lists them", False)]


def _unknown(name: str, asked: Sequence[str]) -> tuple[str, str, str, bool]:
    near = nearest(name, {name for release in asked for name in known()[release]})
    elsewhere = [release for release, flags in known().items() if name in flags]
    there = f" (Java {' and '.join(elsewhere)} has it)" if elsewhere else ""
    wrong = (
        f"Java {' and '.join(asked)} {'has' if len(asked) == 1 else 'have'} no such flag, and would not start{there}"
    )
    near = None if name.startswith(("CMS", "UseConcMark", "UseParNew", "PermSize", "MaxPermSize")) else near
    return (
        "OPTION_UNKNOWN",
        wrong,
        f"did you mean {near}?" if near else "take it out: older releases had it, or none",
        False,
    )
