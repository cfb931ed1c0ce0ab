"""Rules on what a site adds to systemd's units: everybody on a host can read them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import overrides
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import ENVIRONMENT
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

LEAST_STOP = {"kafka": 30}  # seconds
WAITS, DAY, USUAL = ("stop", "restart", "unregistered", "write"), 86_400, 60
LEVELS = ("OFF", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")
SECTIONS = ("Unit", "Service", "Install")
SECRET = re.compile(r"passw|secret|passphrase|token$|(access|account|api|private|shared)_?key$", re.IGNORECASE)
# An address with its login.
LOGIN = re.compile(r"\w://[^/\s:@]*:(?![$%{])[^/\s@]+@")
# Names a file that holds the secret, or where one is asked for.
ELSEWHERE = re.compile(
    r"(file|path|location|dir|id|ur[il]|name|backend|engine|policy|login|mount|provider|store|type|length|ttl)$",
    re.IGNORECASE,
)
# A variable, a specifier of systemd, a file, a switch or a number.
NO_SECRET = re.compile(r"[$%/].*|true|false|yes|no|on|off|\d+", re.IGNORECASE)


def timeouts(model: Model) -> Iterator[Problem]:
    """What is waited for gets some time: without any, nothing would be waited for at all, or systemd for ever."""
    for machine in model.functional:
        for function in model.functions_of(machine):
            for name in (f"{function.prefix}_stop_timeout", f"{function.prefix}_restart_timeout"):
                seconds = machine.inputs.whole(name)
                if seconds is not None and seconds < 1:
                    stop = "systemd would wait for ever" if seconds == 0 else "systemd knows no such time"
                    wrong = stop if name.endswith("_stop_timeout") else "nothing would be waited for"
                    yield machine.problem(name, "TIMEOUT_NONE", seconds, wrong, "write seconds, 1 at least")
            name, least = f"{function.prefix}_stop_timeout", LEAST_STOP.get(function.name, 0)
            seconds = machine.inputs.whole(name)
            if seconds is not None and 1 <= seconds < least:
                wrong = (
                    "systemd kills a broker that is still handing over its leaders, and its logs have to be repaired"
                )
                advice = "leave it out: 300; a stop that is done sooner ends sooner"
                yield machine.problem(name, "STOP_TIMEOUT_SHORT", seconds, wrong, advice, warning=True)


def milliseconds(model: Model) -> Iterator[Problem]:
    """What is said in seconds is none of milliseconds: nobody waits for a day, or a hundred times what is usual."""
    for machine in model.functional:
        names = [f"{function.prefix}_{wait}_timeout" for function in model.functions_of(machine) for wait in WAITS]
        for name in (name for name in names if name in model.defaults):
            value, usual = machine.inputs.whole(name) or 0, whole(model.defaults[name]) or USUAL
            if value > 0 and value % 1000 == 0 and value >= min(DAY, 100 * usual):
                wrong = f"seconds, which is {value // 3600} hours" if value >= 7200 else "seconds"
                advice = f"write {value // 1000} if milliseconds were meant, or leave it"
                yield machine.problem(name, "TIMEOUT_LONG", value, wrong, advice, warning=True)


def log_levels(model: Model) -> Iterator[Problem]:
    """Levels are those that the products know: another is INFO, or everything, without a word."""
    for machine in model.functional:
        for function in model.functions_of(machine):
            name = f"{function.prefix}_log_levels"
            for logger, level in machine.inputs.mapping(name).items():
                if level not in (None, False) and str(level).upper() not in LEVELS:
                    near = nearest(str(level).upper(), LEVELS)
                    advice = f"did you mean {near}?" if near else f"one of {', '.join(LEVELS)}"
                    yield machine.problem(f"{name}[{logger}]", "LOG_LEVEL", level, "no level of a log", advice)


def secrets(model: Model) -> Iterator[Problem]:
    """No unit holds a secret: systemctl shows it to everybody, and so do diffs."""
    for machine in model.functional:
        for name, settings in overrides(machine):
            for place, text in _settings(settings):
                for said in _secrets(place, text):
                    wrong = "everybody on the host can read it: units are no secret"
                    advice = "name a file that holds it: EnvironmentFile, or LoadCredential"
                    yield machine.problem(f"{name}{place}", "UNIT_SECRET", said, wrong, advice)


def sections(model: Model) -> Iterator[Problem]:
    """What is added to a unit stands in sections, as systemd has them."""
    for machine in model.functional:
        for name, found in overrides(machine):
            for section, settings in found.items():
                if not isinstance(settings, Mapping):
                    wrong = "no section of a unit with its settings"
                    advice = "write the settings below their section, as {Service: {CPUQuota: 400%}}"
                    yield machine.problem(f"{name}[{section}]", "UNIT_SECTION", settings, wrong, advice)
                elif section not in SECTIONS and not str(section).startswith("X-"):
                    near = next((known for known in SECTIONS if known.lower() == str(section).lower()), None)
                    wrong = "no section that systemd has here: it is left out without a word"
                    advice = f"did you mean {near}?" if near else f"one of {', '.join(SECTIONS)}"
                    yield machine.problem(f"{name}[{section}]", "SECTION_UNKNOWN", None, wrong, advice)


def _settings(overrides: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """Yield each text of a drop-in with its place."""
    for section, settings in overrides.items():
        for key, value in settings.items() if isinstance(settings, Mapping) else ():
            for text in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(text, str):
                    yield f"[{section}][{key}]", text


def _secrets(place: str, text: str) -> Iterator[str]:
    """Yield the names of what is a secret in one text, as in `Environment=A_SECRET=x` and `ExecStart=/x --token=y`."""
    if place.endswith("[SetCredential]"):
        yield text.partition(":")[0]
    if ENVIRONMENT.fullmatch(text.strip().strip("\"'")):
        return  # judged with the other options of the JVM
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    for word in words:
        if LOGIN.search(word):
            yield word.partition("=")[0] if "=" in word.partition("://")[0] else "an address with its password"
            continue
        for name, value in pairwise(word.split("=")):  # of A=-Db=c, c is b's
            if value and SECRET.search(name) and not ELSEWHERE.search(name) and not NO_SECRET.fullmatch(value):
                yield name
