#!/usr/bin/env python3
"""Write plugins/definitions/generated/*.json, the properties of Kafka and ZooKeeper, from the jars of the archives.

Kafka is asked by KafkaDefinitions.java; of ZooKeeper's classes, zookeeper_properties.py reads what javap lists.
older-<product>.json says what versions before ours know otherwise (older_definitions.py), from jars that Maven gets.
With --check nothing is written, and the exit code is 1 where a file differs; of the older versions it is then only
asked whether the file is of them, for their jars are no part of the archives.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import older_definitions
from products import product
from tarballs import BuildError
from zookeeper_properties import MARK, Spec, Specs, properties

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "plugins" / "definitions" / "generated"
REMEDY = "Any JDK from 17 on will do, and so does Debian's JRE: apt-get install default-jre-headless"
SHOWN = 500  # characters of what a Java that failed has said


# Kafka


def number(text: str) -> int | float:
    """Return a number as a validator writes it, with or without a fraction."""
    return float(text) if "." in text else int(text)


def valid_values(name: str, text: str) -> Spec:
    """Return what a validator of ConfigDef demands, by its toString, for it has no getters.

    Raises BuildError for a text that is not understood: it is no freedom.
    """
    if found := re.fullmatch(r"\[(-?[\d.]+),\.\.\.(?:,(-?[\d.]+))?\](?: or (-?\d+))?", text):
        return {key: number(bound) for key, bound in zip(("min", "max", "also"), found.groups(), strict=True) if bound}
    if "-IV" in text:
        versions = text.strip("[]").split(", ")
        short = dict.fromkeys(version.split("-")[0] for version in versions)
        return {"versions": list(dict.fromkeys([*short, *versions]))}
    if found := re.fullmatch(r"(\(case insensitive\) )?\[([^\[\]]*)\]", text):
        return {"choices": sorted(found[2].split(", ")), **({"ignorecase": True} if found[1] else {})}
    if text in ("non-empty string", "non-empty list"):
        return {"nonempty": True}
    if text.startswith("The default value of -1 means"):  # its ensureValid refuses 0, and what is below -1
        return {"min": 1, "also": -1}
    if text in ("", "non-null string") or text.startswith("[partitionId]:[brokerId]"):
        return {}
    raise BuildError(f"{name}: the valid values '{text}' are of no known form: teach it to valid_values()")


def in_our_words(name: str, spec: Spec) -> Spec:
    """Return a spec with keys in place of the text under `valid`."""
    found: Spec = {}
    for key, value in spec.items():
        found |= valid_values(name, value) if key == "valid" else {key: value}
    return found


def kafka(folder: Path, *options: str) -> dict[str, Specs]:
    """Return the sections of Kafka, as KafkaDefinitions.java prints them but for what is valid.

    With the option `older` it does without classes that versions before ours lack.
    """
    program = Path(__file__).with_name("KafkaDefinitions.java")
    printed = json.loads(run_java("-cp", f"{folder}/*", str(program), *options)).items()
    return {section: {name: in_our_words(name, spec) for name, spec in specs.items()} for section, specs in printed}


def zookeeper(folder: Path) -> dict[str, Specs]:
    """Return the one section of ZooKeeper."""
    jars = sorted(folder.glob("zookeeper-*.jar"))
    names = []
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            files = sorted(name for name in archive.namelist() if name.endswith(".class"))
            names += [name.removesuffix(".class") for name in files if MARK.search(archive.read(name))]
    javap = ("-m", "jdk.jdeps/com.sun.tools.javap.Main", "-p", "-c", "-cp", os.pathsep.join(map(str, jars)))
    return {"zookeeper": properties(run_java(*javap, *names))}


def run_java(*command: str) -> str:
    """Return what Java prints.

    Raises BuildError with its own words, the compiler's where a program asks for what the jars do not hold, or with
    what to install where it cannot run a source file (JEP 330) or javap: both are modules of a JDK.
    """
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    if not shutil.which(java):
        raise BuildError(f"no {java}. {REMEDY}")
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    done = subprocess.run([java, *quick, *command], capture_output=True, text=True)
    said = done.stderr + done.stdout  # a module that lacks is named on either
    if done.returncode and re.search("[Mm]odule jdk", said):
        raise BuildError(f"{java} lacks modules of a JDK. {REMEDY}")
    if done.returncode:
        raise BuildError(f"Java does not get on with these jars: {said.strip()[:SHOWN]}")
    return done.stdout


def definitions(target: str, archives: Path) -> dict[str, Any]:
    """Return the sections of a product, as its archive has them."""
    archive = product(target, ROOT, archives, "").file
    if not archive.is_file():
        raise BuildError(f"{archive} is absent, and the definitions are read from it: run `make archives`")
    with tempfile.TemporaryDirectory() as name, tarfile.open(archive) as packed:
        folder = Path(name)
        for member in packed:
            if member.name.endswith(".jar") and (jar := packed.extractfile(member)):
                with (folder / Path(member.name).name).open("wb") as file:
                    shutil.copyfileobj(jar, file)
        sections = READERS[target](folder)
    version = re.search(r"(\d+\.\d+\.\d+)(?:-bin)?\.t", archive.name)
    return {"product": target, "version": version[1] if version else "", "sections": sections}


def as_text(found: Mapping[str, Any]) -> str:
    """Return the JSON text with one line for each property, sorted."""
    sections = []
    for section, specs in found["sections"].items():
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(specs[name])}" for name in sorted(specs))
        sections.append(f"{json.dumps(section)}: {{\n{lines}\n}}")
    head = json.dumps({"product": found["product"], "version": found["version"]})[:-1]
    return head + ', "sections": {\n' + ",\n".join(sections) + "\n}}\n"


READERS: dict[str, Callable[[Path], dict[str, Specs]]] = {"kafka": kafka, "zookeeper": zookeeper}
OLDER_READERS: dict[str, Callable[[Path], dict[str, Specs]]] = {
    "kafka": lambda folder: kafka(folder, "older"),
    "zookeeper": zookeeper,
}


def put(file: Path, text: str, check: bool) -> bool:
    """Write a file that differs, or with `check` say so; return whether it still does."""
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    print(f"{file.relative_to(ROOT)}: {'differs; run `make definitions`' if check else 'written'}")
    if not check:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return check


def put_older(target: str, found: Mapping[str, Any], check: bool) -> bool:
    """Write what older versions know otherwise, or with `check` look at the file alone; return whether it is wrong.

    Raises BuildError where their jars cannot be had.
    """
    file = FOLDER / f"older-{target}.json"
    if not check:
        read = OLDER_READERS[target]
        return put(file, older_definitions.as_text(older_definitions.older_definitions(target, found, read)), check)
    wrong = not file.is_file() or older_definitions.stale(file.read_text(encoding="utf-8"), found)
    if wrong:
        print(f"{file.relative_to(ROOT)}: of other versions; run `make definitions`")
    return wrong


def main(argv: Sequence[str] | None = None) -> int:
    """Return 1 where --check finds a difference, or where something is missing."""
    parser = argparse.ArgumentParser(description="Write plugins/definitions/generated from the jars of the archives.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a file differs")
    check, status = parser.parse_args(argv).check, 0
    with ThreadPoolExecutor() as pool:  # each waits for a Java
        asked = {target: pool.submit(definitions, target, ROOT / ".build" / "archives") for target in READERS}
    for target, answer in asked.items():
        try:
            found = answer.result()
            file = FOLDER / f"{target}-{found['version']}.json"
            status |= put(file, as_text(found), check)
            if not check:
                for older in set(FOLDER.glob(f"{target}-*.json")) - {file}:  # what is asked is the only version
                    older.unlink()
                    print(f"{older.relative_to(ROOT)}: removed")
            status |= put_older(target, found, check)
        except BuildError as error:
            print(f"error: {target}: {error}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
