#!/usr/bin/env python3
"""Write plugins/definitions/generated/cipher_suites.json, the suites that releases of Java take, as each says itself.

Each java that is named is asked, by CipherSuites.java; what the file says of other releases stays.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from java_options import Flags, write

FILE = Path(__file__).resolve().parents[1] / "plugins" / "definitions" / "generated" / "cipher_suites.json"
PROGRAM = Path(__file__).with_name("CipherSuites.java")


def suites_of(java: str) -> tuple[str, Flags]:
    """Return the release of a java, as 17, and its suites."""
    done = subprocess.run([java, "-XX:TieredStopAtLevel=1", str(PROGRAM)], capture_output=True, text=True, check=True)
    release, *names = done.stdout.split()
    return release, dict.fromkeys(names, "suite")


if __name__ == "__main__":
    sys.exit(write(FILE, "cipher suites", suites_of))
