#!/usr/bin/env python3
"""Write plugins/definitions/generated/systemd.json, the settings of services, as systemd lists them itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "plugins" / "definitions" / "generated" / "systemd.json"
SYSTEMD = "/usr/lib/systemd/systemd"
SECTIONS = ("Unit", "Service", "Install")


def settings(listed: str) -> dict[str, list[str]]:
    """Return the names of each section, those that systemd calls gone left out."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^(?=\[)", listed, flags=re.MULTILINE):
        section = part.partition("]")[0].removeprefix("[")
        if section in SECTIONS:
            named = re.findall(r"^(\w+)=(\S+)", part, re.MULTILINE)
            found[section] = sorted(name for name, kind in named if kind != "NOTSUPPORTED")
    return found


def main() -> int:
    """Write the file anew."""
    listed = subprocess.run([SYSTEMD, "--dump-configuration-items"], capture_output=True, text=True, check=True).stdout
    lines = [f"{json.dumps(name)}: {json.dumps(names)}" for name, names in settings(listed).items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    FILE.write_text(text.replace('", "', '",\n "').replace("[", "[\n ").replace("]", "\n]"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
