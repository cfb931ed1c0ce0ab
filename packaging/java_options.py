#!/usr/bin/env python3
"""Write plugins/definitions/generated/java.json, the -XX flags that releases of Java know, as each lists them itself.

Each java that is named is asked; what the file says of other releases stays. A flag that a release has given up and
still takes, with a warning, is `ignored`: these it does not list, so every name in its libjvm is tried.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "plugins" / "definitions" / "generated" / "java.json"
UNLOCK = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+UnlockExperimentalVMOptions")
FLAG = re.compile(r"^ *(\w+) +(\w+) +:?= .*\{(.*?)\} \{", re.MULTILINE)
PERCENT = re.compile(r"^ *\w+ +(\w+) +\[ 0(?:\.0+)? +\.\.\. +100(?:\.0+)? \]", re.MULTILINE)
IGNORED = re.compile(r"Ignoring option (\w+); support was removed in (\d+)")
NAME = re.compile(rb"[A-Z][A-Za-z0-9]{3,60}(?=\0)")
WIDTH = 110

Flags = dict[str, str]
"""What a release says of each flag: `product bool`, `experimental number`, `ignored`."""
TYPES = {"bool": "bool", "ccstr": "text", "ccstrlist": "text"}


def asked(java: str, *options: str) -> str:
    """Return what java says of its options."""
    done = subprocess.run([java, *options, "-version"], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def flags_of(java: str) -> tuple[str, Flags]:
    """Return the release of a java, as 17, and its flags."""
    said = asked(java, *UNLOCK, "-XX:+PrintFlagsFinal")
    release = re.search(r'version "(\d+)', said)
    percents = set(PERCENT.findall(asked(java, *UNLOCK, "-XX:+PrintFlagsRanges")))
    found = {
        name: f"{_kind(kinds)} {'percent' if name in percents else TYPES.get(kind, 'number')}"
        for kind, name, kinds in FLAG.findall(said)
    }
    if not release or not found:
        raise SystemExit(f"{java} lists no flags: {said[:200]}")
    home = Path(re.findall(r"java\.home = (.*)", asked(java, "-XshowSettings:properties"))[0])
    names = {name.decode() for name in NAME.findall((home / "lib" / "server" / "libjvm.so").read_bytes())} - set(found)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as options:
        options.write("\n".join(f"-XX:+{name}" for name in sorted(names)))
        options.flush()
        tried = asked(java, "-XX:+IgnoreUnrecognizedVMOptions", f"-XX:VMOptionsFile={options.name}")
    return release[1], {**found, **{name: "ignored" for name, _ in IGNORED.findall(tried)}}


def _kind(kinds: str) -> str:
    return next((kind for kind in ("experimental", "diagnostic") if kind in kinds), "product")


def read(text: str) -> dict[str, Flags]:
    """Return the flags by release, as the file has them."""
    found: dict[str, Flags] = {}
    for head, lines in json.loads(text).items():
        releases, _, said = head.partition(": ")
        for release in releases.split():
            found.setdefault(release, {}).update(dict.fromkeys(" ".join(lines).split(), said))
    return found


def as_text(known: Mapping[str, Flags]) -> str:
    """Return the text of the file: flags by the releases that say the same of them, in lines of some length."""
    names: dict[str, list[str]] = {}
    for name in sorted({name for flags in known.values() for name in flags}):
        said: dict[str, list[str]] = {}
        for release in sorted(known, key=int):
            if name in known[release]:
                said.setdefault(known[release][name], []).append(release)
        for what, releases in said.items():
            names.setdefault(f"{' '.join(releases)}: {what}", []).append(name)
    found = {}
    for head in sorted(names):
        lines = [""]
        for name in names[head]:
            lines += [""] if len(lines[-1]) + len(name) > WIDTH else []
            lines[-1] = f"{lines[-1]} {name}".strip()
        found[head] = lines
    return json.dumps(found, indent=1) + "\n"


def write(file: Path, what: str, ask: Callable[[str], tuple[str, Flags]]) -> int:
    """Write a file anew by what each java that is named says of itself; what it says of other releases stays."""
    parser = argparse.ArgumentParser(description=f"Write the {what} that releases of Java know.")
    parser.add_argument("java", nargs="*", default=["java"], help="a java to ask")
    known = read(file.read_text(encoding="utf-8")) if file.exists() else {}
    for java in parser.parse_args().java:
        release, found = ask(java)
        known[release] = found
        print(f"Java {release}: {len(found)} {what}")
    file.write_text(as_text(known), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(write(FILE, "flags", flags_of))
