"""What systemd takes for a setting's value: another it leaves out, with a line in the journal that nobody reads.

systemd.exec(5), systemd.resource-control(5), systemd.service(5), systemd.unit(5), systemd.time(7)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

SPAN = re.compile(
    r"infinity|((\d+(\.\d*)?|\.\d+)\s*(us|usec|µs|μs|ms|msec|s|sec|seconds?|m|min|minutes?|h|hr|hours?|d|days?|w|weeks?"
    r"|M|months?|y|years?)?\s*)+"
)
SIZE = r"(\d+(\.\d+)?\s*[KMGTPE]\s*)*\d+(\.\d+)?\s*[KMGTPEB]?"
AMOUNT = re.compile(rf"infinity|{SIZE}|\d+(\.\d+)?%")
TASKS = re.compile(r"infinity|\d+|\d+(\.\d+)?%")
LIMIT = re.compile(r"(infinity|\d+)(:(infinity|\d+))?")
LIMIT_SIZE = re.compile(rf"(infinity|{SIZE})(:(infinity|{SIZE}))?")
OF_BYTES = ("FSIZE", "DATA", "STACK", "CORE", "RSS", "AS", "MEMLOCK", "MSGQUEUE")
SWITCH = re.compile(r"1|0|yes|no|y|n|true|false|t|f|on|off", re.IGNORECASE)
UNIT = re.compile(r"[\w.@:\\-]+\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)", re.ASCII)
# Lists of processors or of memory nodes, and the word that may stand for all of one.
CPUS = {
    "CPUAffinity": "numa", "AllowedCPUs": "", "StartupAllowedCPUs": "", "NUMAMask": "all", "AllowedMemoryNodes": "",
    "StartupAllowedMemoryNodes": "",
}  # fmt: skip
VARIABLE = re.compile(r"[\"']?[A-Za-z_]\w*=.*", re.DOTALL)
UNITS_OF = (
    "After", "Before", "Wants", "Requires", "Requisite", "BindsTo", "PartOf", "Upholds", "Conflicts", "OnFailure",
    "OnSuccess", "WantedBy", "RequiredBy", "UpheldBy", "Also",
)  # fmt: skip
SIZES = (
    "MemoryMin", "MemoryLow", "MemoryHigh", "MemoryMax", "MemorySwapMax", "MemoryZSwapMax",
)  # fmt: skip
# Least and most of what is a plain number.
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
BOOLEAN_OR_MORE = ("ProtectHostname", "ProtectControlGroups", "PrivateTmp", "Delegate")  # of later releases


def value_faults(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the value of a setting, and advice; '' takes back what was said before."""
    for item in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(item, (Mapping, list, tuple)):
            yield "a mapping or a list, and a line of a unit has one text", "write a text, or a list of texts"
        elif item is not None and (text := _plain(item)) and (wrong := _fault(key, text)):
            yield "systemd does not take it so, and leaves it out", f"write {wrong}"


def _plain(item: Any) -> str:
    return ("yes" if item else "no") if isinstance(item, bool) else str(item).strip()


def _fault(key: str, text: str) -> str | None:
    """Return what is to be written, None where systemd takes what is there."""
    form: str | None = None
    if key in NUMBERS:
        least, most = NUMBERS[key]
        number = int(text, 0) if re.fullmatch(r"[+-]?(0x[\da-f]+|0|[1-9]\d*)", text, re.IGNORECASE) else None
        form = f"a whole number from {least} to {most}" if number is None or not least <= number <= most else None
        form = None if key.endswith("CPUWeight") and text == "idle" else form
    elif key in CHOICES:
        taken = text in CHOICES[key] or ("yes" in CHOICES[key] and SWITCH.fullmatch(text))
        form = None if taken else f"one of {', '.join(CHOICES[key])}"
    elif key in CPUS:
        form = "numbers of processors, as 0-3 or 0,2" if not _processors(key, text) else None
    elif key == "CPUQuota":
        form = "a share of one processor, as 400%" if not re.fullmatch(r"\d+(\.\d+)?%", text) else None
    elif key.endswith("Sec") or key == "StartLimitInterval":
        form = "a time, as 30s or 5min" if not SPAN.fullmatch(text) else None
    elif key in SIZES:
        form = "a size as 12G, a share as 50%, or infinity" if not AMOUNT.fullmatch(text) else None
    elif key == "TasksMax":
        form = "a number, a share as 50%, or infinity" if not TASKS.fullmatch(text) else None
    elif re.fullmatch(r"Limit[A-Z]+", key) and key not in ("LimitCPU", "LimitRTTIME", "LimitNICE"):
        allowed = LIMIT_SIZE if key.removeprefix("Limit") in OF_BYTES else LIMIT
        form = "a number, or infinity" if not allowed.fullmatch(text) else None
    elif SWITCHES.fullmatch(key) and key not in BOOLEAN_OR_MORE:
        form = "yes or no" if not SWITCH.fullmatch(text) else None
    elif key in UNITS_OF:
        strange = [word for word in text.split() if "%" not in word and not UNIT.fullmatch(word)]
        form = f"the whole name of a unit, as {strange[0]}.target or {strange[0]}.service" if strange else None
    elif key == "Environment":
        form = "NAME=value" if not VARIABLE.fullmatch(text) else None
    return form


def _processors(key: str, text: str) -> bool:
    """Tell whether a list has numbers and ranges, between blanks and commas, of which there may be too many."""
    ranges = [re.fullmatch(r"(\d+)(?:-(\d+))?", item) for item in re.split(r"[,\s]+", text) if item]
    return bool(text == CPUS[key]) or all(one and int(one[1]) <= int(one[2] or one[1]) for one in ranges)
