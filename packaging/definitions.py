#!/usr/bin/env python3
"""Write plugins/definitions/*.json, the properties that Kafka and ZooKeeper know, from the jars of the archives.

Kafka prints its own definitions as HTML; what that leaves out, and all of ZooKeeper's, is read from class files
(JVM specification, chapters 4 and 6.5). With --check nothing is written, and the exit code is 1 where a file differs.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from itertools import product as product_of
from pathlib import Path
from typing import Any

from archives import BuildError
from classfile import Step, classes, read_class
from products import product

ROOT = Path(__file__).resolve().parents[1]
Spec = dict[str, Any]
Specs = dict[str, Spec]

PRINTERS = {
    "broker": "kafka.server.KafkaConfig",
    "producer": "org.apache.kafka.clients.producer.ProducerConfig",
    "consumer": "org.apache.kafka.clients.consumer.ConsumerConfig",
    "admin": "org.apache.kafka.clients.admin.AdminClientConfig",
    "topic": "org.apache.kafka.storage.internals.log.LogConfig",
}
CLIENTS = ("producer", "consumer", "admin")
# Classes that read properties of their own from the originals: the sections, and the texts that are names, with their types.
# A name that ends with a dot stands for all names below it.
PLUGINS = (
    ("org/apache/kafka/common/config/AbstractConfig", ("broker", *CLIENTS), r"config\.providers\.?", "string"),
    ("org/apache/kafka/clients/CommonClientConfigs", ("broker", *CLIENTS), r"metrics\.context\.", "string"),
    ("org/apache/kafka/common/metrics/JmxReporter", ("broker", *CLIENTS), r"metrics\.jmx\.\w+", "string"),
    ("org/apache/kafka/metadata/authorizer/StandardAuthorizer", ("broker",), r"super\.users", "string"),
    ("org/apache/kafka/metadata/authorizer/StandardAuthorizer", ("broker",), r"allow\.everyone\..+", "boolean"),
    ("kafka/security/authorizer/AclAuthorizer$", ("broker",), r"super\.users", "string"),
    ("kafka/security/authorizer/AclAuthorizer$", ("broker",), r"allow\.everyone\..+", "boolean"),
    ("kafka/security/authorizer/AclAuthorizer$", ("broker",), r"zookeeper\.(url|\w+\.timeout\.ms|max\.in\.flight\.requests)", "string"),
    ("kafka/metrics/KafkaCSVMetricsReporter", ("broker",), r"kafka\.csv\..+", "string"),
    ("org/apache/kafka/server/log/remote/storage/RemoteLogManagerConfig", ("broker",), r"r[sl]mm?\.config\.", "string"),
    ("org/apache/kafka/common/serialization/StringSerializer", ("producer",), r".*serializer\.encoding", "string"),
    ("org/apache/kafka/common/serialization/StringDeserializer", ("consumer",), r".*deserializer\.encoding", "string"),
)
KRAFT = ("org/apache/kafka/server/config/KRaftConfigs", "org/apache/kafka/raft/QuorumConfig")
# What a server that runs with ZooKeeper reads all the same.
NOT_ONLY_KRAFT = ("node.id", "zookeeper.")

QUORUM_CONFIG = "org/apache/zookeeper/server/quorum/QuorumPeerConfig"
X509 = "org/apache/zookeeper/common/X509Util"
PORT: Spec = {"min": 0, "max": 65535}
# Ranges that stand in no table: refused, or replaced with a warning, by QuorumPeerConfig and java.net.InetSocketAddress.
RANGES: Specs = {
    "tickTime": {"min": 1},
    "initLimit": {"min": 1},
    "syncLimit": {"min": 1},
    "electionAlg": {"type": "string", "choices": ["3"]},
    "autopurge.snapRetainCount": {"min": 3},
    **dict.fromkeys(("clientPort", "secureClientPort", "observerMasterPort", "admin.serverPort"), PORT),
}
# Methods that read a property or a text, and the type that they make of it.
READS = {"getProperty": "string", "getPropertyBackwardCompatibleWay": "string", "getInteger": "int", "getInt": "int", "getLong": "long"}
READS |= {"getBoolean": "boolean", "isSystemPropertyTrue": "boolean", "getDoubleProp": "double"}
PARSES = {"parseInt": "int", "parseLong": "long", "parseDouble": "double", "parseFloat": "double", "parseBoolean": "boolean"}
# Texts after which a property is a secret.
SECRET = re.compile(r"(?i)(password|superDigest)$")


# Kafka


class Tables(HTMLParser):
    """Reads what ConfigDef.toHtml prints: of each property its name, and cells under their headings."""

    def __init__(self, html: str) -> None:
        """Fill `rows` at once."""
        super().__init__()
        self.rows: dict[str, dict[str, str]] = {}
        self.tag = self.name = self.heading = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember what the text to come is."""
        if tag in ("h4", "th", "td"):
            self.tag = tag

    def handle_endtag(self, tag: str) -> None:
        """Text between cells is documentation."""
        if tag == self.tag:
            self.tag = ""

    def handle_data(self, data: str) -> None:
        """Take a headline, a heading or a cell."""
        if self.tag == "h4":
            self.name = data
            self.rows[data] = {}
        elif self.tag == "th":
            self.heading = data.rstrip(":")
        elif self.tag == "td":
            self.rows[self.name][self.heading] = data


def number(text: str) -> int | float:
    """Return a number as Kafka prints it, with or without a fraction."""
    return float(text) if "." in text else int(text)


def typed(kind: str, text: str) -> Any:
    """Return a printed default as a value; sizes and times have theirs again in words: 3600000 (1 hour)."""
    if kind in ("int", "long", "short", "double"):
        return float(text) if kind == "double" else int(text.split(" (")[0])
    return text == "true" if kind == "boolean" else "" if text == '""' else text.replace("class ", "")


def valid_values(name: str, text: str) -> Spec:
    """Return what a text under `Valid Values` demands; one that is not understood is an error, not a freedom."""
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
    if text in ("", "non-null string") or text.startswith(("The default value of -1 means", "[partitionId]:[brokerId]")):
        return {}
    raise BuildError(f"{name}: the valid values '{text}' are of no known form: teach it to valid_values()")


def printed(html: str) -> Specs:
    """Return the properties of one page."""
    found: Specs = {}
    for name, row in Tables(html).rows.items():
        spec = found[name] = {"type": row["Type"]}
        if row.get("Default", "null") != "null":
            spec["default"] = typed(row["Type"], row["Default"])
        spec |= valid_values(name, row.get("Valid Values", ""))
        for heading, key in (("Update Mode", "update"), ("Server Default Property", "server")):
            if row.get(heading, "null") != "null":
                spec[key] = row[heading]
    return found


def internals(jars: Sequence[Path]) -> Iterator[tuple[str, str, Spec]]:
    """Yield section, name and spec of the properties that the pages leave out (ConfigDef.defineInternal)."""
    for item in classes(jars, b"defineInternal"):
        section = {f"{client.title()}Config": client for client in CLIENTS}.get(item.name.rpartition("/")[2], "broker")
        for steps in item.methods.values():
            texts, kind = [], "string"
            for step, value in steps:
                if step == "text":
                    texts.append(value)
                elif step == "type":
                    kind = value
                elif step == "call" and value[1].startswith("define"):
                    if value[1] == "defineInternal" and texts:
                        yield section, texts[0], {"type": kind, "internal": True}
                    texts = []


def kafka(folder: Path, jars: Sequence[Path]) -> dict[str, Specs]:
    """Return the sections of Kafka."""
    sections = {section: printed(run_java(folder, name)) for section, name in PRINTERS.items()}
    own = [jar for jar in jars if re.match(r"kafka(?!-streams)", jar.name)]
    for section, name, spec in internals(own):
        sections[section].setdefault(name, spec)
    broker = sections["broker"]
    for plugin, users, pattern, kind in PLUGINS:
        names = [text for text in read_class(own, plugin).texts() if re.fullmatch(pattern, text)]
        if not names:
            raise BuildError(f"{plugin} reads no property any more that matches {pattern}")
        for user, name in product_of(users, names):
            if name.startswith("zookeeper."):  # the authorizer may have a ZooKeeper of its own
                sections[user][f"authorizer.{name}"] = sections[user].get(name, {"type": kind})
            else:
                sections[user].setdefault(name, {"type": kind})
    # AclAuthorizer.zkClientConfigFromKafkaConfigAndMap takes all of the broker's own with that prefix.
    broker |= {f"authorizer.{name}": broker[name] for name in list(broker) if name.startswith(("zookeeper.ssl.", "zookeeper.clientCnxn"))}
    for name in (text for item in KRAFT for text in read_class(own, item).texts()):
        if name in broker and not name.startswith(NOT_ONLY_KRAFT):
            broker[name]["kraft"] = True
    return sections


# ZooKeeper


def config_keys(jars: Sequence[Path]) -> Specs:
    """Return the keys that QuorumPeerConfig.parseProperties compares with, each with the type that the branch parses."""
    found: Specs = {}
    key = ""
    before: Step = ("", ("", ""))
    steps = read_class(jars, QUORUM_CONFIG).methods["parseProperties"]
    for step, after in zip(steps, [*steps[1:], before], strict=True):
        call = step[1][1] if step[0] == "call" else ""
        test = after[1][1] if step[0] == "text" and after[0] == "call" else ""
        if test == "equals" and before[0] == "call" and before[1][1] == "toLowerCase":
            found[key] |= {"choices": sorted([*found[key].get("choices", []), step[1]]), "ignorecase": True}
        elif test == "equals":
            key = step[1]
            found[key] = {"type": "string"}
        elif test == "startsWith":
            found[step[1].rstrip(".") + "."] = {"type": "string"}
        elif call in PARSES and key:
            found[key] = {"type": PARSES[call]}
        elif call == "setProperty":  # the last branch: any other key becomes the system property zookeeper.<key>
            return found
        before = step
    raise BuildError(f"{QUORUM_CONFIG} has no last branch that sets a system property: see what it does with unknown keys")


def composed(jars: Sequence[Path]) -> dict[str, list[str]]:
    """Return the system properties that X509Util composes of a prefix and a suffix, by the fields and getters that hold them."""
    holders: dict[str, list[str]] = {}
    users = [read_class(jars, X509.replace("X509", kind)) for kind in ("ClientX509", "QuorumX509")]
    prefixes = [next(value for step, value in user.methods["getConfigPrefix"] if step == "text") for user in users]
    base = read_class(jars, X509)
    for item, its_prefixes in ((base, prefixes), *zip(users, ([prefix] for prefix in prefixes), strict=True)):
        suffix = ""
        for step, value in item.methods["<init>"]:
            if step == "text":
                suffix = value
            elif step == "put" and suffix:
                holders[value] = [prefix + suffix for prefix in its_prefixes]
                suffix = ""
        for name, steps in item.methods.items():
            if len(steps) == 1 and steps[0][0] == "get" and steps[0][1] in holders:
                holders[name] = holders[steps[0][1]]
    return holders


def reading(steps: Sequence[Step], before: Step, holders: Mapping[str, Sequence[str]]) -> Spec | None:
    """Return the spec of a property whose name stands in front of the steps, None where they do not read it."""
    constants: list[Any] = []
    for at, (step, value) in enumerate(steps[:6]):
        name = value[1] if step == "call" else value
        if name in holders or (step == "text" and value.startswith("zookeeper.")) or name in ("equals", "equalsIgnoreCase"):
            return None
        if step in ("text", "number"):
            constants.append(value)
        elif name not in READS or value[0] == "java/util/Properties":
            constants.append(None)  # what is computed is no constant
        else:
            spec: Spec = {"type": READS[name]}
            if len(constants) == 1 and constants[0] is not None:
                spec["default"] = constants[0]
            return refined(spec, before, steps[at + 1 : at + 6]) if spec["type"] == "string" else spec
    return None


def refined(spec: Spec, before: Step, steps: Sequence[Step]) -> Spec:
    """Return the spec of a text that is compared with constants or parsed."""
    parses = [PARSES[value[1]] for step, value in steps if step == "call" and value[1] in PARSES]
    if spec.get("default") in ("yes", "no"):
        return {**spec, "choices": ["no", "yes"]}
    if before[1] in ("true", "false") or spec.get("default") in ("true", "false"):
        parses = ["boolean"]
    if parses:
        spec["type"] = parses[0]
        if "default" in spec:
            spec["default"] = typed(parses[0], spec["default"])
    return spec


def system_properties(jars: Sequence[Path]) -> Iterator[tuple[str, Spec]]:
    """Yield the keys of zoo.cfg that are system properties without their prefix, and those that only a JVM option sets."""
    holders = composed(jars)
    yield from ((name.removeprefix("zookeeper."), {"type": "string"}) for names in holders.values() for name in names)
    jvm_only = re.compile(r"(?!zookeeper\.|java|sun\.|os\.|user\.|line\.|jdk\.|log4j)[a-z]\w*(\.[\w-]+)+")
    for item in classes(jars, b"zookeeper.", b"getInteger", b"getLong", b"getBoolean"):
        for steps in item.methods.values():
            for at, (step, value) in enumerate(steps):
                if step == "text" and re.fullmatch(r"zookeeper\.[\w.-]+", value):
                    names = [value]
                else:
                    names = holders.get(value if step == "get" else value[1] if step == "call" else "", [])
                following = steps[at + 1 : at + 8]
                spec = reading(following, steps[at - 1] if at else ("", ""), holders) if names or step == "text" else None
                if spec:
                    yield from ((name.removeprefix("zookeeper."), dict(spec)) for name in names)
                elif names and following[:1] == [("call", ("java/lang/String", "startsWith"))]:
                    yield from ((name, {"type": "string"}) for name in prefixed(names[0].removeprefix("zookeeper.")))
                if spec and step == "text" and jvm_only.fullmatch(value) and steps[at - 1][0] != "text":
                    calls = [call for kind, call in following if kind == "call" and call[0] != "java/util/concurrent/TimeUnit"]
                    if calls[0][0].startswith("java/lang/") and calls[0][1] in READS:
                        yield value, {**spec, "jvm": True}


def prefixed(name: str) -> Sequence[str]:
    """Return what is valid where names are compared with a beginning: the names below it, and it itself unless it ends with the dot."""
    return (name,) if name.endswith(".") else (name, f"{name}.")


def zookeeper(_: Path, jars: Sequence[Path]) -> dict[str, Specs]:
    """Return the one section of ZooKeeper."""
    own = [jar for jar in jars if jar.name.startswith("zookeeper-")]
    keys = config_keys(own)
    found: Specs = {}
    for name, spec in system_properties(own):
        if name in found and not found[name].get("jvm") and (spec.get("jvm") or spec["type"] == "string"):
            continue
        found[name] = spec
    for name, spec in keys.items():
        default = {"default": found[name]["default"]} if "default" in found.get(name, {}) else {}
        found[name] = spec | default
    for name, spec in RANGES.items():
        if name not in found:
            raise BuildError(f"ZooKeeper has no {name} any more: mend RANGES")
        found[name] |= spec
    for name, spec in found.items():
        if SECRET.search(name):
            spec["type"] = "password"
        if spec["type"] == "boolean" and "default" in spec:
            spec["default"] = bool(spec["default"])
    return {"zookeeper": found}


# The command


def run_java(folder: Path, name: str) -> str:
    """Return what a class of the archive prints."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    if not shutil.which(java):
        raise BuildError("no java: Kafka prints its own definitions, and any Java from 11 on will do (apt-get install openjdk-17-jre-headless)")
    done = subprocess.run([java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{folder}/*", name], capture_output=True, text=True)
    if done.returncode or "config-list" not in done.stdout:
        raise BuildError(f"{name} does not print its definitions: {done.stderr.strip()[-300:] or 'no output'}")
    return done.stdout


def definitions(target: str, archives: Path) -> dict[str, Any]:
    """Return the sections of a product, as its archive has them."""
    archive = product(target, ROOT, archives, "").file
    if not archive.is_file():
        raise BuildError(f"{archive} is absent, and the definitions are read from it: run `make archives`")
    with tempfile.TemporaryDirectory() as name, tarfile.open(archive) as packed:
        folder = Path(name)
        for member in packed:
            if member.isfile() and member.name.endswith(".jar"):
                member.name = Path(member.name).name
                packed.extract(member, folder, filter="data")
        sections = READERS[target](folder, sorted(folder.glob("*.jar")))
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


READERS: dict[str, Callable[[Path, Sequence[Path]], dict[str, Specs]]] = {"kafka": kafka, "zookeeper": zookeeper}


def main(argv: Sequence[str] | None = None) -> int:
    """Return 1 where --check finds a difference, or where something is missing."""
    parser = argparse.ArgumentParser(description="Write plugins/definitions/*.json from the jars of the archives.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a file differs")
    check, status = parser.parse_args(argv).check, 0
    for target in READERS:
        try:
            found = definitions(target, ROOT / ".build" / "archives")
        except BuildError as error:
            print(f"error: {target}: {error}", file=sys.stderr)
            status = 1
            continue
        file, text = ROOT / "plugins" / "definitions" / f"{target}-{found['version']}.json", as_text(found)
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        print(f"{file.relative_to(ROOT)}: {'differs; run `make definitions`' if check else 'written'}")
        status |= check
        if not check:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
