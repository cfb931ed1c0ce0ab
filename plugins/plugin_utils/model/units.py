"""Rules on timeouts and log levels of services, and on sections and secrets in drop-ins of systemd units."""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

LEAST_STOP = {"kafka": 30}  # seconds
WAITS, DAY, USUAL = ("stop", "restart", "unregistered", "write"), 86_400, 60
WEEK = 7 * DAY
TIMEOUT = re.compile(r"\w+_(stop|start|restart|unregistered|write)_timeout")
LEVELS = ("OFF", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")
SECTIONS = ("Unit", "Service", "Install")
SECRET = re.compile(r"passw|secret|passphrase|token$|(access|account|api|private|shared)_?key$", re.IGNORECASE)
# An address that contains a password.
LOGIN = re.compile(r"\w://[^/\s:@]*:(?![$%{])[^/\s@]+@")
# Names of settings that refer to a secret: a file that holds it, or a service that returns it.
ELSEWHERE = re.compile(
    r"(file|path|location|dir|id|ur[il]|name|backend|engine|policy|login|mount|provider|store|type|length|ttl)$",
    re.IGNORECASE,
)
# A variable, a specifier of systemd, a file, a switch or a number.
NO_SECRET = re.compile(r"[$%/].*|true|false|yes|no|on|off|\d+", re.IGNORECASE)

TIMEOUT_NONE = ProblemKind("TIMEOUT_NONE", "the run would not wait at all", "set a number of seconds, at least 1")
TIMEOUT_NONE_FOREVER = TIMEOUT_NONE.variant(message="systemd would wait without end")
TIMEOUT_NONE_NEGATIVE = TIMEOUT_NONE.variant(message="systemd accepts no negative time")
STOP_TIMEOUT_SHORT = ProblemKind(
    "STOP_TIMEOUT_SHORT",
    "systemd would kill a broker that still moves its leaders to other brokers, and its logs would need recovery",
    "remove it (default: 300): if a broker stops sooner, the wait ends",
    warning=True,
)


def timeouts(model: Model) -> Iterator[Problem]:
    """Yield a problem for each stop or restart timeout below 1 second.

    Also yield a warning if a broker's timeout is too short for the broker to hand over its leaders.
    """
    for machine in model.functional:
        for function in model.functions_of(machine):
            for name in (f"{function.prefix}_stop_timeout", f"{function.prefix}_restart_timeout"):
                seconds = machine.inputs.whole(name)
                if seconds is not None and seconds < 1:
                    kind = TIMEOUT_NONE_FOREVER if seconds == 0 else TIMEOUT_NONE_NEGATIVE
                    yield machine.report(kind if name.endswith("_stop_timeout") else TIMEOUT_NONE, name, seconds)
            name, least = f"{function.prefix}_stop_timeout", LEAST_STOP.get(function.name, 0)
            seconds = machine.inputs.whole(name)
            if seconds is not None and 1 <= seconds < least:
                yield machine.report(STOP_TIMEOUT_SHORT, name, seconds)


TIMEOUT_LONG = ProblemKind(
    "TIMEOUT_LONG", "the unit is seconds", "write {seconds} if you mean milliseconds, or keep it", warning=True
)
TIMEOUT_LONG_HOURS = TIMEOUT_LONG.variant(message="the unit is seconds: {hours} hours")


TIMEOUT_LONG_WEEK = TIMEOUT_LONG.variant(
    message="the unit is seconds: a stop or a run that does not end would be noticed after {days} days",
    advice="use at most {most}",
)


def longest(model: Model) -> Iterator[Problem]:
    """Yield a problem for each timeout of a service that is longer than a week.

    systemd rejects a time of 18446744073709 s or more, and then uses its default of 90 s.
    """
    names = [name for name in model.defaults if TIMEOUT.fullmatch(name)]
    for machine in model.functional:
        for name in names:
            seconds = machine.inputs.whole(name)
            if seconds is not None and seconds > WEEK:
                days = seconds // DAY
                yield machine.report(TIMEOUT_LONG_WEEK, name, seconds, warning=False, days=days, most=WEEK)


def milliseconds(model: Model) -> Iterator[Problem]:
    """Yield a warning for each timeout in seconds that is so long that its value is probably in milliseconds.

    A timeout of more than a week is an error of `longest`.
    """
    for machine in model.functional:
        names = [f"{function.prefix}_{wait}_timeout" for function in model.functions_of(machine) for wait in WAITS]
        for name in (name for name in names if name in model.defaults):
            value, usual = machine.inputs.whole(name) or 0, whole(model.defaults[name]) or USUAL
            if 0 < value <= WEEK and value % 1000 == 0 and value >= min(DAY, 100 * usual):
                kind = TIMEOUT_LONG_HOURS if value >= 7200 else TIMEOUT_LONG
                yield machine.report(kind, name, value, seconds=value // 1000, hours=value // 3600)


LOG_LEVEL = ProblemKind("LOG_LEVEL", "not a log level", "use one of {levels}")
LOG_LEVEL_TYPO = LOG_LEVEL.variant(advice="did you mean {near}?")


def log_levels(model: Model) -> Iterator[Problem]:
    """Yield a problem for each unknown log level in a variable *_log_levels.

    The service would silently use INFO instead, or log everything.
    """
    for machine in model.functional:
        for function in model.functions_of(machine):
            name = f"{function.prefix}_log_levels"
            for logger, level in machine.inputs.mapping(name).items():
                if level not in (None, False) and str(level).upper() not in LEVELS:
                    near = nearest(str(level).upper(), LEVELS)
                    kind = LOG_LEVEL_TYPO if near else LOG_LEVEL
                    yield machine.report(kind, f"{name}[{logger}]", level, near=near, levels=LEVELS)


UNIT_SECRET = ProblemKind(
    "UNIT_SECRET",
    "every user of the host can read this secret: units are not secret",
    "put the secret into a file, and name the file in EnvironmentFile or LoadCredential",
)


def secrets(model: Model) -> Iterator[Problem]:
    """Yield a problem for each secret in a drop-in of a systemd unit: every user of the host can read drop-ins."""
    for machine in model.functional:
        for name, settings in overrides(machine):
            for place, text in _settings(settings):
                for secret in _secrets(place, text):
                    yield machine.report(UNIT_SECRET, f"{name}{place}", secret or None)


UNIT_SECTION = ProblemKind(
    "UNIT_SECTION",
    "not a section that contains settings",
    "put the setting into its section, such as {{Service: {{CPUQuota: 400%}}}}",
)
SECTION_UNKNOWN = ProblemKind(
    "SECTION_UNKNOWN", "systemd has no such section for services, and ignores it", "use one of {sections}"
)
SECTION_UNKNOWN_TYPO = SECTION_UNKNOWN.variant(advice="did you mean {near}?")


def sections(model: Model) -> Iterator[Problem]:
    """Yield a problem for each section in a drop-in of a systemd unit that systemd does not know."""
    for machine in model.functional:
        for name, drop_in in overrides(machine):
            for section, settings in drop_in.items():
                if not isinstance(settings, Mapping):
                    yield machine.report(UNIT_SECTION, f"{name}[{section}]")  # a value may contain a secret
                elif section not in SECTIONS and not str(section).startswith("X-"):
                    near = next((known for known in SECTIONS if known.lower() == str(section).lower()), None)
                    kind = SECTION_UNKNOWN_TYPO if near else SECTION_UNKNOWN
                    yield machine.report(kind, f"{name}[{section}]", near=near, sections=SECTIONS)


def _settings(overrides: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """Yield (place, text) for each text in a drop-in; a place is [Service][Environment]."""
    for section, settings in overrides.items():
        for key, value in settings.items() if isinstance(settings, Mapping) else ():
            for text in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(text, str):
                    yield f"[{section}][{key}]", text


def _secrets(place: str, text: str) -> Iterator[str]:
    """Yield the names of the secrets in a text, as A_SECRET in "A_SECRET=x" and --token in "/x --token=y".

    `place` is the setting with this text, as [Service][Environment]. A credential without a name yields "".
    """
    if place.endswith("[SetCredential]"):
        yield text.partition(":")[0] if ":" in text else ""
    if ENVIRONMENT.fullmatch(text.strip().strip("\"'")):
        return  # checked with the other options of the JVM
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    for word in words:
        if LOGIN.search(word):
            yield word.partition("=")[0] if "=" in word.partition("://")[0] else "an address with its password"
            continue
        for name, value in pairwise(word.split("=")):  # of A=-Db=c, c is the value of b
            if value and SECRET.search(name) and not ELSEWHERE.search(name) and not NO_SECRET.fullmatch(value):
                yield name
