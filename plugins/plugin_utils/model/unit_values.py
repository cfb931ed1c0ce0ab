"""Checks values of settings in systemd units.

systemd ignores a setting whose value it rejects, and only logs this in the journal. The rules are from systemd.exec(5),
systemd.resource-control(5), systemd.service(5), systemd.unit(5) and systemd.time(7).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.unit_text import is_closed, is_one_line

SPAN = re.compile(
    r"infinity|((\d+(\.\d*)?|\.\d+)\s*(us|usec|µs|μs|ms|msec|s|sec|seconds?|m|min|minutes?|h|hr|hours?|d|days?|w|weeks?"
    r"|M|months?|y|years?)?\s*)+"
)
# A number of seconds that does not fit into 64 bits as microseconds.
TOO_LONG = re.compile(r"\d{14}")
SIZE = r"(\d+(\.\d+)?\s*[KMGTPE]\s*)*\d+(\.\d+)?\s*[KMGTPEB]?"
AMOUNT = re.compile(rf"infinity|{SIZE}|\d+(\.\d+)?%")
TASKS = re.compile(r"infinity|\d+|\d+(\.\d+)?%")
LIMIT = re.compile(r"(infinity|\d+)(:(infinity|\d+))?")
LIMIT_SIZE = re.compile(rf"(infinity|{SIZE})(:(infinity|{SIZE}))?")
IN_BYTES = ("FSIZE", "DATA", "STACK", "CORE", "RSS", "AS", "MEMLOCK", "MSGQUEUE")
SWITCH = re.compile(r"1|0|yes|no|y|n|true|false|t|f|on|off", re.IGNORECASE)
UNIT = re.compile(r"[\w.@:\\-]+\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)", re.ASCII)
# Lists of processors or of memory nodes, and the keyword that systemd accepts instead of a list.
CPUS = {
    "CPUAffinity": "numa", "AllowedCPUs": "", "StartupAllowedCPUs": "", "NUMAMask": "all", "AllowedMemoryNodes": "",
    "StartupAllowedMemoryNodes": "",
}  # fmt: skip
VARIABLE = re.compile(r"[\"']?[A-Za-z_]\w*=.*", re.DOTALL)
OF_UNITS = (
    "After", "Before", "Wants", "Requires", "Requisite", "BindsTo", "PartOf", "Upholds", "Conflicts", "OnFailure",
    "OnSuccess", "WantedBy", "RequiredBy", "UpheldBy", "Also",
)  # fmt: skip
SIZES = (
    "MemoryMin", "MemoryLow", "MemoryHigh", "MemoryMax", "MemorySwapMax", "MemoryZSwapMax",
)  # fmt: skip
# Minimum and maximum of numbers.
NUMBERS = {
    "Nice": (-20, 19),
    "OOMScoreAdjust": (-1000, 1000),
    "CPUWeight": (1, 10000),
    "StartupCPUWeight": (1, 10000),
    "IOWeight": (1, 10000),
    "StartupIOWeight": (1, 10000),
    "IOSchedulingPriority": (0, 7),
    "CPUSchedulingPriority": (1, 99),
}
CHOICES = {
    "IOSchedulingClass": ("none", "realtime", "best-effort", "idle", "0", "1", "2", "3"),
    "CPUSchedulingPolicy": ("other", "batch", "idle", "fifo", "rr", "0", "1", "2", "3", "5"),
    "OOMPolicy": ("continue", "stop", "kill"),
    "ProtectHome": ("yes", "no", "read-only", "tmpfs"),
}
SWITCHES = re.compile(
    r"NoNewPrivileges|PrivateTmp|PrivateDevices|ProtectKernel\w+|ProtectControlGroups|ProtectClock|ProtectHostname"
    r"|RestrictSUIDSGID|RestrictRealtime|LockPersonality|MemoryDenyWriteExecute|RemoveIPC|\w+Accounting|Delegate"
)
# In later releases of systemd these accept more than a boolean.
BOOLEAN_OR_MORE = ("ProtectHostname", "ProtectControlGroups", "PrivateTmp", "Delegate")


UNIT_VALUE = ProblemKind("UNIT_VALUE", "systemd rejects this value, and ignores the setting", "write {expected}")
UNIT_VALUE_NESTED = UNIT_VALUE.variant(
    message="a mapping or a list, but a line of a unit has one text", advice="write a text, or a list of texts"
)
UNIT_VALUE_LINES = UNIT_VALUE.variant(
    message="systemd would read another line of the value as a setting of its own, or the next line of the unit as a "
    "part of the value",
    advice="write it on one line without a backslash at its end, or as a list of texts",
)
UNIT_VALUE_QUOTES = UNIT_VALUE.variant(
    message="a quotation mark is not closed, and systemd ignores the setting",
    advice="close it, or write a backslash before it",
)
# Settings in which systemd reads quotation marks.
QUOTED = re.compile(r"Exec(?!SearchPath)\w+|(Pass|Unset)?Environment|LogExtraFields|\w+Paths|TemporaryFileSystem")


def unit_size(value: Any) -> int | None:
    """Return a size in bytes as systemd reads it, such as 40.4G or "1G 512M"; None if it is no size or a share.

    Of a limit with two values, as 8G:16G, the first one holds.
    """
    text = str(value).strip().partition(":")[0]
    if not re.fullmatch(SIZE, text):
        return None
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([KMGTPE]?)", text)
    return sum(int(float(number) * 1024 ** (" KMGTPE".index(unit) if unit else 0)) for number, unit in parts)


def rejected_values(key: str, value: Any) -> Iterator[tuple[ProblemKind, dict[str, str]]]:
    """Yield (kind of problem, message details) for each value of the setting `key` that systemd rejects.

    An empty text is accepted, because it resets the setting.
    """
    for item in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(item, (Mapping, list, tuple)):
            yield UNIT_VALUE_NESTED, {}
        elif item is not None and (text := _plain(item)) and (expected := _expected(key, text)):
            yield UNIT_VALUE, {"expected": expected}


def unreadable_values(key: str, value: Any) -> Iterator[ProblemKind]:
    """Yield the kind of problem of each value of the setting `key` that is no line of a unit."""
    for item in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(item, str) and not is_one_line(item):
            yield UNIT_VALUE_LINES
        elif isinstance(item, str) and QUOTED.fullmatch(key) and not is_closed(item):
            yield UNIT_VALUE_QUOTES


def _plain(item: Any) -> str:
    return ("yes" if item else "no") if isinstance(item, bool) else str(item).strip()


def _expected(key: str, text: str) -> str | None:
    """Return a description of the values that systemd accepts for the setting `key`; None if it accepts `text`."""
    form: str | None = None
    if key in NUMBERS:
        least, most = NUMBERS[key]
        number = int(text, 0) if re.fullmatch(r"[+-]?(0x[\da-f]+|0|[1-9]\d*)", text, re.IGNORECASE) else None
        form = f"a whole number from {least} to {most}" if number is None or not least <= number <= most else None
        form = None if key.endswith("CPUWeight") and text == "idle" else form
    elif key in CHOICES:
        accepted = text in CHOICES[key] or ("yes" in CHOICES[key] and SWITCH.fullmatch(text))
        form = None if accepted else f"one of {', '.join(CHOICES[key])}"
    elif key in CPUS:
        form = "numbers of processors, such as 0-3 or 0,2" if not _processors(key, text) else None
    elif key == "CPUQuota":
        form = "a share of one processor, such as 400%" if not re.fullmatch(r"\d+(\.\d+)?%", text) else None
    elif key.endswith("Sec") or key == "StartLimitInterval":
        accepted = SPAN.fullmatch(text) and not TOO_LONG.search(text)
        form = "a time, such as 30s or 5min" if not accepted else None
    elif key in SIZES:
        form = "a size such as 12G, a share such as 50%, or infinity" if not AMOUNT.fullmatch(text) else None
    elif key == "TasksMax":
        form = "a number, a share such as 50%, or infinity" if not TASKS.fullmatch(text) else None
    elif re.fullmatch(r"Limit[A-Z]+", key) and key not in ("LimitCPU", "LimitRTTIME", "LimitNICE"):
        allowed = LIMIT_SIZE if key.removeprefix("Limit") in IN_BYTES else LIMIT
        form = "a number, or infinity" if not allowed.fullmatch(text) else None
    elif SWITCHES.fullmatch(key) and key not in BOOLEAN_OR_MORE:
        form = "yes or no" if not SWITCH.fullmatch(text) else None
    elif key in OF_UNITS:
        invalid = [word for word in text.split() if "%" not in word and not UNIT.fullmatch(word)]
        form = f"the full name of a unit, such as {invalid[0]}.target or {invalid[0]}.service" if invalid else None
    elif key == "Environment":
        form = "NAME=value" if not VARIABLE.fullmatch(text) else None
    return form


def _processors(key: str, text: str) -> bool:
    """Tell whether `text` is a list of processors, as "0-3,8", for the setting `key`.

    Commas and blanks separate the entries.
    """
    ranges = [re.fullmatch(r"(\d+)(?:-(\d+))?", item) for item in re.split(r"[,\s]+", text) if item]
    return bool(text == CPUS[key]) or all(match and int(match[1]) <= int(match[2] or match[1]) for match in ranges)
