"""What older versions of Kafka and ZooKeeper know otherwise than the product's own: one small file for each product.

`{"product": ..., "version": <the product's own>, "older": {version: {section: {name: spec}}}}`, where a spec of null
stands for a property that the older version does not have. Preflight says by it what an upgrade changes.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from products import TREES
from tarballs import BuildError

# From which versions sites come, the last first. One more here is one more in the file, by `make definitions`.
OLDER = {"kafka": ("3.9.1", "3.9.0", "3.8.1", "3.8.0", "3.7.2"), "zookeeper": ("3.8.5", "3.8.4", "3.8.3")}
GROUPS = {"kafka": "org.apache.kafka", "zookeeper": "org.apache.zookeeper"}
# What of a spec is compared: the rest says where a property belongs, and not what it takes.
COMPARED = ("type", "default", "min", "max", "also", "choices", "ignorecase", "versions", "nonempty", "jvm")
SHOWN = 300  # characters of what a Maven that failed has said

Sections = Mapping[str, Mapping[str, Mapping[str, Any]]]


def compared(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a spec is compared."""
    return {key: spec[key] for key in COMPARED if key in spec}


def differences(older: Sections, own: Sections) -> dict[str, dict[str, Any]]:
    """Return by section the specs of the older version that differ from the product's own, None where it has none."""
    found: dict[str, dict[str, Any]] = {}
    for section in own:
        then, now = older.get(section, {}), own[section]
        for name in sorted({*then, *now}):
            spec = compared(then[name]) if name in then else None
            if spec != (compared(now[name]) if name in now else None):
                found.setdefault(section, {})[name] = spec
    return found


def jars(target: str, version: str, folder: Path) -> Path:
    """Return the folder of the jars of one version, which Maven copies below `folder`.

    Raises BuildError where it cannot.
    """
    artifact = TREES[target].top.partition("-{")[0] if target == "kafka" else target
    said = {"stage": folder, "older.group": GROUPS[target], "older.artifact": artifact, "older.version": version}
    command = ["mvn", "-B", "-q", "-ntp", "-f", str(Path(__file__).with_name("older") / "pom.xml")]
    command += [*(f"-D{name}={value}" for name, value in said.items()), "dependency:copy-dependencies"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise BuildError("mvn was not found: apt-get install maven") from None
    if done.returncode:
        raise BuildError(f"Maven does not get {artifact} {version}: {(done.stdout + done.stderr).strip()[:SHOWN]}")
    return folder / "older" / "dependency"


def older_definitions(target: str, own: Mapping[str, Any], read: Callable[[Path], Sections]) -> dict[str, Any]:
    """Return what each version of OLDER knows otherwise than the product's `own` definitions.

    `read` returns the sections of the jars in a folder. Raises BuildError.
    """
    found = {}
    for version in OLDER[target]:
        with tempfile.TemporaryDirectory() as name:
            found[version] = differences(read(jars(target, version, Path(name))), own["sections"])
    return {"product": target, "version": own["version"], "older": found}


def stale(text: str, own: Mapping[str, Any]) -> bool:
    """Tell, without any jar, a file that is of other versions than it is to be, or does not fit what it is beside."""
    try:
        found = json.loads(text)
        specs = [(section, name, spec) for one in found["older"].values() for section, names in one.items()
                 for name, spec in names.items()]  # fmt: skip
        now = own["sections"]
        fits = all(spec or name in now[section] for section, name, spec in specs)
        differ = all(spec != compared(now[section][name]) for section, name, spec in specs if name in now[section])
        versions = (found["version"], [*found["older"]]) == (own["version"], [*OLDER[own["product"]]])
    except (ValueError, KeyError, TypeError, AttributeError):
        return True
    return not (versions and fits and differ)


def as_text(found: Mapping[str, Any]) -> str:
    """Return the JSON text with one line for each property, sorted."""
    versions = []
    for version, sections in found["older"].items():
        lines = [
            f"{json.dumps(section)}: {{\n"
            + ",\n".join(f"{json.dumps(name)}: {json.dumps(specs[name])}" for name in sorted(specs))
            + "\n}"
            for section, specs in sections.items()
        ]
        versions.append(f"{json.dumps(version)}: {{" + ",\n".join(lines) + "}")
    head = json.dumps({"product": found["product"], "version": found["version"]})[:-1]
    return head + ', "older": {\n' + ",\n".join(versions) + "\n}}\n"
