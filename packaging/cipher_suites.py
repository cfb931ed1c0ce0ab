#!/usr/bin/env python3
"""Write plugins/definitions/generated/cipher_suites.json, the suites that releases of Java take, as each says itself.

Each java that is named is asked, by CipherSuites.java; what the file says of other releases stays.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from java_options import Flags, as_text, read

FILE = Path(__file__).resolve().parents[1] / "plugins" / "definitions" / "generated" / "cipher_suites.json"
PROGRAM = Path(__file__).with_name("CipherSuites.java")


def suites_of(java: str) -> tuple[str, Flags]:
    """Return the release of a java, as 17, and its suites."""
    done = subprocess.run([java, "-XX:TieredStopAtLevel=1", str(PROGRAM)], capture_output=True, text=True, check=True)
    release, *names = done.stdout.split()
    return release, dict.fromkeys(names, "suite")


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file anew."""
    parser = argparse.ArgumentParser(description="Write the cipher suites that releases of Java take.")
    parser.add_argument("java", nargs="*", default=["java"], help="a java of a JDK to ask")
    known = read(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for java in parser.parse_args(argv).java:
        release, suites = suites_of(java)
        known[release] = suites
        print(f"Java {release}: {len(suites)} cipher suites")
    FILE.write_text(as_text(known), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
