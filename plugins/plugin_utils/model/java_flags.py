"""Rules on the Java of services: the release, the package, and options that this release would not accept.

The flags of each Java release are in plugins/definitions/generated/java.json, from packaging/java_options.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import FOLDER, nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import Function, functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import CLASS_PATH, options, texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.unit_text import is_closed, unit_option

FLAG = re.compile(r"-XX:([+-]?)(\w*)(=?)(.*)", re.DOTALL)
RELEASE = re.compile(r"(?:java|jdk|jre|temurin|zulu|corretto)[-_/]?(?:1\.)?(\d+)")
LEAST = {"spark": 17, "spark_masters": 17, "spark_workers": 17}  # other functions require Java 11, for its -Xlog
# The releases that Debian 12 and 13 install (roles/java).
USUAL = ("17", "21")
# Packages of Java, by the number in their names.
PACKAGE = re.compile(r"(?:java|jdk|jre|temurin|zulu|corretto|graalvm|semeru|liberica)\w*?[-_]?(?:1\.)?(\d+)")
JAVA = re.compile(r"java|jdk|jre|jvm|temurin|zulu|corretto|graal|semeru|liberica|sapmachine", re.IGNORECASE)
PACKAGES = (
    "default-jre", "default-jre-headless", "default-jdk", "default-jdk-headless", "openjdk-17-jre-headless",
    "openjdk-17-jre", "openjdk-17-jdk", "openjdk-17-jdk-headless", "openjdk-21-jre-headless", "openjdk-21-jre",
    "openjdk-21-jdk", "openjdk-21-jdk-headless",
)  # fmt: skip
# Options that name a file, and the minimum of a stack (os::Posix::set_minimum_stack_sizes).
WITH_FILE = re.compile(r"(-javaagent|-agentpath):(.+)", re.DOTALL)
LEAST_STACK = 136 * 2**10
# Flags that the JVM reads before all others.
BEFORE = ("Flags", "VMOptionsFile", "IgnoreUnrecognizedVMOptions")
NUMBER = re.compile(r"\d+[kKmMgGtT]?|0x[0-9a-fA-F]+|-?\d+(\.\d+)?")
# Properties that Java reads as a number, or ignores (Integer.getInteger).
NUMERIC = re.compile(
    r"jute\.maxbuffer|zookeeper\.(snapCount|preAllocSize|globalOutstandingLimit|maxCnxns|commitLogCount)"
)
# Options with a value of any text, and those whose value is a command with options of its own.
WITH_VALUE = re.compile(r"-D[^=]+=.+|-XX:\w+=.+|-(javaagent|agentlib|agentpath):.+|-Xlog:.+", re.DOTALL)
COMMANDS = ("-XX:OnError=", "-XX:OnOutOfMemoryError=")
# Other options of the launcher and the JVM, as `java --help` and `java -X` list them.
OTHERS = re.compile(
    r"-D.+|--?(ea|da|esa|dsa|enableassertions|disableassertions|server|client|verbose|javaagent|agentlib|agentpath"
    r"|splash|cp|classpath)\b.*|--(add|illegal|enable|disable|limit|module|patch|upgrade|finalization|class|sun)-?.*"
    r"|-X(ms|mx|mn|ss)\d+[kKmMgGtT]?|-X(batch|comp|debug|diag|future|int|internalversion|mixed|noclassgc|rs|prof)"
    r"|-X(bootclasspath/|check:|log|run|share:|showSettings|verify|loggc:|noverify).*|-noverify|@.+"
)
Finding = tuple[ProblemKind, dict[str, Any]]
"""(kind of problem, message details)."""


@cache
def known() -> Mapping[str, Mapping[str, str]]:
    """Return {Java release: {flag: description}}.

    A description is "category type", such as "product bool", or "ignored" if Java accepts the flag without effect.
    """
    flags_of: dict[str, dict[str, str]] = {}
    for head, lines in json.loads((FOLDER / "java.json").read_text(encoding="utf-8")).items():
        releases, _, description = head.partition(": ")
        for release in releases.split():
            flags_of.setdefault(release, {}).update(dict.fromkeys(" ".join(lines).split(), description))
    return flags_of


def releases(machine: Machine, variable: str) -> Sequence[str]:
    """Return the Java releases, such as ["17"], that may run with the options in `variable` of a host.

    The release is taken from the path of java or from java_package. If neither names a release, return both releases
    that Debian may install. Return [] if the flags of the release are not known.
    """
    prefixes = sorted(functions().values(), key=lambda function: len(function.prefix), reverse=True)
    function = next((item for item in prefixes if variable.startswith(item.prefix)), None)
    paths = " ".join(machine.inputs.text(name) or "" for name in (function.java if function else ()))
    package = machine.inputs.text("java_package") or ""
    match = RELEASE.search(f"{paths} {package}")
    if not match:
        return USUAL
    return [match[1]] if match[1] in known() else []


JAVA_OLD = ProblemKind("JAVA_OLD", "Java {release}, but {function} requires at least {least}", "use Java 17 or 21")


def old_java(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Java executable whose path names a release that is too old for its function."""
    for machine in model.functional:
        for function in model.functions_of(machine):
            for path, name in _java_of(model, machine, function).items():
                match, least = RELEASE.search(path), LEAST.get(function.name, 11)
                if match and int(match[1]) < least:
                    yield machine.report(JAVA_OLD, name, path, release=match[1], function=function.name, least=least)


JAVA_PACKAGE = ProblemKind(
    "JAVA_PACKAGE",
    "Java {release}, but Kafka, ZooKeeper and Spark require Java {supported} here",
    "use a package such as openjdk-17-jre-headless",
)
JAVA_PACKAGE_NAME = JAVA_PACKAGE.variant(
    message="not the name of a package", advice="use a name such as openjdk-17-jre-headless"
)
JAVA_PACKAGE_UNKNOWN = JAVA_PACKAGE.variant(
    message="not a known package of Java", advice="use a package that contains java, such as openjdk-17-jre-headless"
)
JAVA_PACKAGE_TYPO = JAVA_PACKAGE_UNKNOWN.variant(advice="did you mean {near}?")


def package(model: Model) -> Iterator[Problem]:
    """Yield a problem if java_package is not the name of a Java package, or names an unsupported release."""
    for machine in model.functional:
        name = machine.inputs.text("java_package") if "java_package" in machine.inputs.values else None
        match = PACKAGE.search(name or "")
        near = nearest(name, PACKAGES) if name and not match and name not in PACKAGES else None
        if name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+:~=_-]*", name):
            yield machine.report(JAVA_PACKAGE_NAME, "java_package", name)
        elif match and match[1] not in USUAL:
            supported = " or ".join(USUAL)
            yield machine.report(JAVA_PACKAGE, "java_package", name, release=match[1], supported=supported)
        elif near or (name and not JAVA.search(name)):
            kind = JAVA_PACKAGE_TYPO if near else JAVA_PACKAGE_UNKNOWN
            warning = not (near or _foreign(name))
            yield machine.report(kind, "java_package", name, warning=warning, near=near)


def _foreign(package: str | None) -> bool:
    """Tell whether a package name belongs to other software, as postgresql or kafka."""
    return any(re.match(word, package or "") for word in ("postgresql", "kafka", "zookeeper", "spark", "python"))


JAVA_NO_HOME = ProblemKind(
    "JAVA_NO_HOME",
    "Spark starts Java only as JAVA_HOME/bin/java, so the path must end with /bin/java",
    "write the path of java in its runtime, such as /opt/jdk-21/bin/java",
)


def java_home(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Java executable of Spark whose path does not end with /bin/java.

    Spark accepts only a JAVA_HOME, in which it runs bin/java.
    """
    for machine, function in (
        (model.machines[name], functions()[group])
        for group in ("spark", "spark_masters", "spark_workers")
        for name in model.groups.get(group, ())
    ):
        for path, name in _java_of(model, machine, function).items():
            if path.startswith("/") and not path.endswith("/bin/java"):  # else reported as PATH_RELATIVE
                yield machine.report(JAVA_NO_HOME, name, path)


def _java_of(model: Model, machine: Machine, function: Function) -> dict[str, str]:
    """Return {path: role input that names it} of the Java executables that a function's services run."""
    paths = {machine.inputs.text(name) for name in function.java}
    return {path: name for path, name in model.executables(machine).items() if path in paths}


def flags(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Java option that Java would reject, or that has no effect."""
    for machine in model.functional:
        by_variable = options(machine)
        all_options = {option for words in by_variable.values() for option in words}
        unlocked = {name for name in ("Diagnostic", "Experimental") if f"-XX:+Unlock{name}VMOptions" in all_options}
        for variable, words in by_variable.items():
            possible = releases(machine, variable)
            lenient = "-XX:+IgnoreUnrecognizedVMOptions" in words
            for before, option, rest in () if lenient or not possible else _with_rests(words):
                if CLASS_PATH.fullmatch(before) and "=" not in before:
                    continue  # the value of an option that is reported as OPTION_CLASS_PATH
                if rest:
                    name, _, value = option.partition("=")
                    whole, quoted = " ".join([option, *rest]), f"{name}='{' '.join([value, *rest])}'"
                    yield machine.report(OPTION_FORM_BLANK, variable, whole, option=option, quoted=quoted)
                    continue
                for kind, details in findings(option, tuple(possible), frozenset(unlocked)):
                    yield machine.report(kind, variable, option, **details)


def _with_rests(words: Sequence[str]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield (option before it, option, the words after it that belong to its value) for each option in `words`.

    Words belong to a value if they are no options, as -9 in "-XX:OnError=kill -9 %p" without quotation marks.
    """
    before, left = "", list(words)
    while left:
        option, rest = left.pop(0), list[str]()
        while left and WITH_VALUE.fullmatch(option) and _is_rest(option, left[0]):
            rest.append(left.pop(0))
        yield before, option, rest
        before = option


def _is_rest(option: str, word: str) -> bool:
    """Tell whether a word after an option cannot be an option itself."""
    is_command = option.startswith(COMMANDS)
    return not (FLAG.fullmatch(word) or OTHERS.fullmatch(word)) if is_command else not word.startswith(("-", "@"))


OPTION_GONE = ProblemKind(
    "OPTION_GONE",
    "Java {release} has removed this option, and only prints a warning",
    "remove it",
    warning=True,
)
OPTION_GONE_LATER = OPTION_GONE.variant(
    message="Java {release} has this option, but Java {without} does not, and would not start"
)
OPTION_LOCKED = ProblemKind(
    "OPTION_LOCKED",
    "Java locks this {category} flag, and would not start",
    "put {unlock} before it, or remove it",
)
OPTION_FORM = ProblemKind(
    "OPTION_FORM", "Java does not accept the option in this form, and would not start", "write {form}"
)
OPTION_FORM_NUMBER = OPTION_FORM.variant(
    message="not a plain number: Java uses the default, without an error", advice="write {form}, without a unit"
)
OPTION_FORM_RELATIVE = OPTION_FORM.variant(
    message="Java looks for {file} in /, where the unit runs, and would not start without it",
    advice="write the absolute path, such as {form}",
)
OPTION_FORM_STACK = OPTION_FORM.variant(
    message="less than the minimum stack size: Java would not start",
    advice="write -Xss512k, or remove it (default: 1m)",
)
OPTION_FORM_DASH = OPTION_FORM.variant(
    message="Java reads a text without a dash as the name of the program",
    advice="begin the text with -, or put it into the entry of the option that it belongs to",
)
OPTION_FORM_BLANK = OPTION_FORM.variant(
    message="the value contains a blank, which ends the option: Java reads only {option}, and would not start",
    advice="put the value in quotation marks: {quoted}",
)
OPTION_FORM_QUOTES = OPTION_FORM.variant(
    message="a quotation mark is not closed: systemd ignores the command, and the service does not start",
    advice="close it, or write a backslash before it",
)
OPTION_FORM_QUOTES_SPARK = OPTION_FORM_QUOTES.variant(
    message="a quotation mark is not closed: Spark rejects the options, and the job does not start"
)
OPTION_UNKNOWN = ProblemKind(
    "OPTION_UNKNOWN", "not an option of Java, which would not start", "correct it (java -X lists the options)"
)
OPTION_UNKNOWN_FLAG = OPTION_UNKNOWN.variant(
    message="Java {releases} does not have this flag, and would not start",
    advice="remove it (the flag of an older Java release, or misspelled)",
)
OPTION_UNKNOWN_FLAG_ELSEWHERE = OPTION_UNKNOWN_FLAG.variant(
    message="Java {releases} does not have this flag (Java {elsewhere} has it), and would not start"
)

DID_YOU_MEAN = "did you mean {near}?"
OPTION_UNKNOWN_TYPO = OPTION_UNKNOWN_FLAG.variant(advice=DID_YOU_MEAN)
OPTION_UNKNOWN_TYPO_ELSEWHERE = OPTION_UNKNOWN_FLAG_ELSEWHERE.variant(advice=DID_YOU_MEAN)


def quotes(model: Model) -> Iterator[Problem]:
    """Yield a problem for each text of Java options in which a quotation mark is not closed.

    The value is not printed, since rules on secrets cannot read such a text. Rules on drop-ins report Environment.
    """
    for machine in model.functional:
        for variable, values in texts(machine).items():
            of_spark, written = variable.startswith("spark_job_jobs["), [str(value) for value in values]
            if not variable.endswith("[Environment]"):
                for text in written:
                    if not is_closed(text if of_spark else unit_option(text)):
                        yield machine.report(OPTION_FORM_QUOTES_SPARK if of_spark else OPTION_FORM_QUOTES, variable)


@cache
def findings(option: str, possible: tuple[str, ...], unlocked: frozenset[str]) -> list[Finding]:
    """Return [(kind of problem, message details)] of one Java option; [] if the option is valid.

    `possible` are the Java releases that may run with the option. `unlocked` are the categories of flags ("Diagnostic",
    "Experimental") that other options of the same JVM unlock.
    """
    match = FLAG.fullmatch(option)
    if not match:
        return _no_flag(option)
    sign, name, equals, value = match.groups()
    lists = {release: known()[release] for release in possible}
    without = [release for release in possible if name not in lists[release]]
    if name in BEFORE:
        return []
    if len(without) == len(possible):
        return [_unknown(name, possible)]
    release, description = next((release, flags[name]) for release, flags in lists.items() if name in flags)
    if without:
        return [(OPTION_GONE_LATER, {"release": release, "without": " and ".join(without)})]
    if description == "ignored":
        return [(OPTION_GONE, {"release": release})]
    category, value_type = description.split()
    if category != "product" and category.capitalize() not in unlocked and not name.startswith("Unlock"):
        return [(OPTION_LOCKED, {"category": category, "unlock": f"-XX:+Unlock{category.capitalize()}VMOptions"})]
    if value_type == "bool":
        valid, form = bool(sign) and not equals, f"-XX:+{name} or -XX:-{name}"
    else:
        valid, form = not sign and bool(equals), f"-XX:{name}=<{'text' if value_type == 'text' else 'number'}>"
        if valid and value_type != "text":
            valid = bool(NUMBER.fullmatch(value))
        if valid and value_type == "percent":
            valid, form = 0 <= float(value) <= 100 if re.fullmatch(r"[\d.]+", value) else False, "a number up to 100"
    return [] if valid else [(OPTION_FORM, {"form": form})]


def _no_flag(option: str) -> list[Finding]:
    """Return [(kind of problem, message details)] of an option that does not begin with -XX:, as -D or -Xss."""
    name, _, value = option.removeprefix("-D").partition("=")
    if NUMERIC.fullmatch(name) and not re.fullmatch(r"-?\d+|0[xX][0-9a-fA-F]+", value):
        return [(OPTION_FORM_NUMBER, {"form": f"-D{name}=4194304"})]
    if match := WITH_FILE.fullmatch(option):
        path = match[2].partition("=")[0]
        if not path.startswith("/"):
            return [(OPTION_FORM_RELATIVE, {"file": path, "form": f"{match[1]}:/opt/plugins/{path}"})]
    if (stack := re.fullmatch(r"-Xss(\d+[kKmMgG]?)", option)) and 0 < (size(stack[1]) or 0) < LEAST_STACK:
        return [(OPTION_FORM_STACK, {})]
    if OTHERS.fullmatch(option):
        return []
    return [(OPTION_UNKNOWN if option.startswith("-") else OPTION_FORM_DASH, {})]


def _unknown(name: str, possible: Sequence[str]) -> Finding:
    """Return (kind of problem, message details) of a flag that none of the possible Java releases has.

    The details name a flag with a similar name, or the releases that have this flag.
    """
    near = nearest(name, {flag for release in possible for flag in known()[release]})
    elsewhere = [release for release, flags in known().items() if name in flags]
    removed = name.startswith(("CMS", "UseConcMark", "UseParNew", "PermSize", "MaxPermSize"))
    if near and not removed:
        kind = OPTION_UNKNOWN_TYPO_ELSEWHERE if elsewhere else OPTION_UNKNOWN_TYPO
    else:
        kind = OPTION_UNKNOWN_FLAG_ELSEWHERE if elsewhere else OPTION_UNKNOWN_FLAG
    return kind, {"releases": " or ".join(possible), "elsewhere": " and ".join(elsewhere), "near": near}
