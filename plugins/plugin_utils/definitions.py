"""Lists the properties of Kafka and ZooKeeper, and checks the settings of a site against these properties.

The lists of properties are plugins/definitions/generated/*.json, which packaging/definitions.py extracts from the jars
of the products.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import Spec, fault, text_of, with_zookeeper
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.amounts import amount, units_of

FOLDER = Path(__file__).resolve().parents[1] / "definitions" / "generated"

TITLES = {"kafka": "Kafka", "zookeeper": "ZooKeeper"}
CLIENTS = ("producer", "consumer", "admin")
ANCHORS = {
    "broker": "brokerconfigs",
    "producer": "producerconfigs",
    "consumer": "consumerconfigs",
    "admin": "adminclientconfigs",
}
ANCHORS |= {"topic": "topicconfigs", "client": "configuration"}
# Properties that the broker also reads for each listener (ChannelBuilders, DynamicListenerConfig), and for each SASL
# mechanism of a listener.
OF_LISTENER = re.compile(
    r"(ssl|sasl)\..+|principal\.builder\.class|connections\.max\.reauth\.ms|max\.connections"
    r"|max\.connection\.creation\.rate|num\.network\.threads"
)
OF_MECHANISM = re.compile(r"sasl\..+|connections\.max\.reauth\.ms")
# The value of an unknown property is not shown if its name looks like a secret's.
SECRET = re.compile(r"(?i)pass|pwd|secret|jaas|credential|token|private|key|digest")
# A value that a config provider fills in when the process starts (org.apache.kafka.common.config.ConfigTransformer).
INDIRECT = re.compile(r"\$\{[^}]*?:[^}]*\}")


@dataclass(frozen=True)
class Finding:
    """One error in a setting: the product has no property of this name, or rejects its value.

    `shown` is the value to print; None if the value must not be printed, since it is a secret.
    """

    kind: Literal["unknown", "value"]
    name: str
    shown: Any
    message: str
    advice: str


def plain(name: str) -> str:
    """Return a property name in lower case, with letters and digits only, to compare names."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name in `known` that is most similar to the possibly mistyped `name`; None if no name is similar."""
    return _nearest(name, tuple(known))


@lru_cache(maxsize=1024)  # hosts have the same names
def _nearest(name: str, known: Sequence[str]) -> str | None:
    names = {plain(other): other for other in known}
    matches = difflib.get_close_matches(plain(name), names, n=1, cutoff=0.82)
    return names[matches[0]] if matches else None


def rank(version: str) -> int:
    """Return a version as a number for comparisons: 3.9.2 becomes 3009002."""
    major, minor, patch, *_ = [int(part) for part in re.findall(r"\d+", version)] + [0, 0, 0]
    return (major * 1000 + minor) * 1000 + patch


@cache
def read(file: Path) -> Definitions:
    """Return the definitions that a JSON file contains; each file is read once."""
    contents = json.loads(file.read_text(encoding="utf-8"))
    return Definitions(contents["product"], contents["version"], contents["sections"])


@dataclass(frozen=True, eq=False)
class Definitions:
    """The properties of one product in one version: `sections` is `{section: {property name: spec}}`.

    A name that ends with a dot is a prefix: its spec applies to every name that begins with it.
    """

    product: str
    version: str
    sections: Mapping[str, Mapping[str, Spec]]

    @classmethod
    def load(cls, product: str, version: str) -> Definitions:
        """Return the definitions of a product for `version`, or for the nearest version that has definitions.

        The attribute `version` of the result is the version whose definitions were found. Raises FileNotFoundError if
        the product has no definitions at all.
        """
        files = {file.stem.rpartition("-")[2]: file for file in sorted(FOLDER.glob(f"{product}-*.json"))}
        if not files:
            raise FileNotFoundError(f"{FOLDER}: no definitions of {product}; run `make definitions`")
        return read(files[min(files, key=lambda other: abs(rank(other) - rank(version)))])

    @property
    def title(self) -> str:
        """The product with its version for messages, such as `Kafka 3.9.2`."""
        return f"{TITLES[self.product]} {self.version}"

    def default(self, section: str, name: str) -> Any | None:
        """Return the default of a property as bool, int, float or str; None if it has no default or is unknown.

        The section `client` covers all kinds of clients: for it, returns None also if these kinds have different
        defaults.
        """
        defaults = [table[name].get("default") for table in self.tables(section) if name in table] or [
            (self.spec(section, name) or {}).get("default")
        ]
        return defaults[0] if defaults == defaults[:1] * len(defaults) else None

    def judge(self, section: str, settings: Mapping[str, Any]) -> list[Finding]:
        """Return a finding for each setting whose name the product does not know or whose value it rejects.

        `settings` is {name: value}; names with the value None are skipped. `section` is broker, producer, consumer,
        admin, topic, client (one file for several kinds of clients) or zookeeper.
        """
        findings = []
        for name, value in ((str(name), value) for name, value in settings.items()):
            if value is not None:
                finding = self.name_finding(section, name, value, settings) or self.value_finding(
                    section, name, value, settings
                )
                findings += [finding] if finding else []
        return findings

    # Names

    def tables(self, section: str) -> list[Mapping[str, Spec]]:
        """Return the dicts {property name: spec} of a section.

        The section `client` has three dicts (producer, consumer, admin), every other section has one.
        """
        return [self.sections[part] for part in (CLIENTS if section == "client" else (section,))]

    def spec(self, section: str, name: str, settings: Mapping[str, Any] | None = None) -> Spec | None:
        """Return the spec of a property; None if the product has no property of this name.

        In the section `client`, the spec is that of the first kind of client with this property: specs of the kinds
        differ only in their defaults. `settings` is {name: value} of the whole process; some settings of a broker allow
        further names, such as remote.log.storage.manager.impl.prefix.
        """
        tables = self.tables(section)
        for table in tables:
            if name in table and not name.endswith("."):
                return table[name]
        if section == "broker":
            listener = re.fullmatch(r"listener\.name\.[^.A-Z]+\.(.+)", name)
            if listener:
                return self.listener_spec(listener[1])
            ours = [f"remote.log.{part}.manager.impl.prefix" for part in ("storage", "metadata")]
            if any(name.startswith(str(prefix)) for prefix in map((settings or {}).get, ours) if prefix):
                return {"type": "string"}
        if section == "zookeeper" and re.match(r"(server|group|weight)\.", name):
            return {"type": "string"} if re.fullmatch(r"\w+\.[0-9]+", name) else None
        below = [
            table[prefix]
            for table in tables
            for prefix in table
            if prefix.endswith(".") and name.startswith(prefix) and name != prefix
        ]
        return below[0] if below else None

    def listener_spec(self, name: str) -> Spec | None:
        """Return the spec of the property that follows `listener.name.<listener>.` in a broker's settings.

        `name` is this property; it may begin with a SASL mechanism, as in `plain.sasl.jaas.config`. Returns None if the
        broker does not read the property for a listener.
        """
        broker = self.sections["broker"]
        mechanism, _, rest = name.partition(".")
        if name in broker and OF_LISTENER.fullmatch(name):
            return broker[name]
        return broker.get(rest) if mechanism == mechanism.lower() and OF_MECHANISM.fullmatch(rest) else None

    def name_finding(self, section: str, name: str, value: Any, settings: Mapping[str, Any]) -> Finding | None:
        """Return a Finding if the product has no property of this name; None if the product has it.

        `value` is only printed. `settings` is {name: value} of the whole process, and may allow further names (see
        `spec`).
        """
        spec = self.spec(section, name, settings)
        if spec and spec.get("jvm"):
            message = f"{self.title} reads it only as an option of its JVM, so it has no effect in zoo.cfg"
            return Finding("unknown", name, value, message, f"add -D{name}={text_of(value)} to zookeeper_java_options")
        if spec:
            return None
        kind = {"zookeeper": "server", "admin": "admin client"}.get(section, section)
        advice, meant = self.advice(section, name)
        hidden = SECRET.search(name) or (self.spec(section, meant or "") or {}).get("type") == "password"
        return Finding(
            "unknown", name, None if hidden else value, f"{self.title} has no {kind} property of that name", advice
        )

    def advice(self, section: str, name: str) -> tuple[str, str | None]:
        """Return (advice, intended name) for a property name that is unknown in this section.

        The advice is a text with the spelling or place to use instead. The intended name is the known property that the
        author probably meant, or None.
        """
        if section == "broker":
            mechanism = re.fullmatch(r"([\w-]+)\.(.+)", name)
            if mechanism and OF_MECHANISM.fullmatch(mechanism[2]) and mechanism[2] in self.sections["broker"]:
                listener_name = f"listener.name.<listener>.{mechanism[1].lower()}.{mechanism[2]}"
                return f"use {listener_name}: a broker reads it for a listener", mechanism[2]
            listener = re.fullmatch(r"(?i)(listener\.name\.[^.]+\.)(.+)", name)
            if listener:
                return self.listener_advice(listener[1].lower(), listener[2])
        elsewhere = self.elsewhere(section, name)
        if elsewhere:
            return elsewhere, None
        if self.product == "zookeeper" and self.spec(section, name.removeprefix("zookeeper.")):
            meant: str | None = name.removeprefix("zookeeper.")
        else:
            meant = nearest(
                name, [known for table in self.tables(section) for known in table if not known.endswith(".")]
            )
        return (f"did you mean {meant}?" if meant else f"see {self.page(section)}"), meant

    def listener_advice(self, prefix: str, rest: str) -> tuple[str, str | None]:
        """Return (advice, intended name) for an unknown broker property that begins with `listener.name.`.

        `prefix` is `listener.name.<listener>.` in lower case, `rest` is the text after the prefix. The intended name is
        the known property that the author probably meant, or None.
        """
        mechanism, _, below = rest.partition(".")
        if self.listener_spec(rest):
            return f"write {prefix}{rest}: a listener's name is in lower case here", rest
        if self.listener_spec(f"{mechanism.lower()}.{below}"):
            name = f"{prefix}{mechanism.lower()}.{below}"
            return f"write {name}: the name of a SASL mechanism is in lower case here", below
        if rest in self.sections["broker"]:
            return f"use {rest}: it applies to the whole broker", rest
        meant = nearest(rest, filter(OF_LISTENER.fullmatch, self.sections["broker"]))
        return (f"did you mean {prefix}{meant}?" if meant else f"see {self.page('broker')}"), meant

    def elsewhere(self, section: str, name: str) -> str | None:
        """Return the advice for a name that is a property of another section, such as a topic property set at a broker.

        Returns None if no other section has this name, or if the product is not Kafka.
        """
        if self.product != "kafka":
            return None
        if section == "topic" and name in self.topic_names:
            return f"use {self.topic_names[name]}, the topic's name for it"
        if section != "topic" and name in self.sections["topic"]:
            server = self.sections["topic"][name].get("server")
            broker_name = f", or use {server}, the broker's name for it" if server and section == "broker" else ""
            return f"move it to the topics{broker_name}"
        clients = [client for client in CLIENTS if name in self.sections[client]]
        if clients and section in ("broker", "topic"):
            return f"move it to the clients ({', '.join(clients)})"
        if clients:
            return f"move it to other clients ({', '.join(clients)})"
        return "move it to the brokers" if name in self.sections["broker"] else None

    @cached_property
    def topic_names(self) -> dict[str, str]:
        """{broker property: topic property} of the topic properties that have a broker property as their default."""
        return {spec["server"]: name for name, spec in self.sections["topic"].items() if "server" in spec}

    def page(self, section: str) -> str:
        """Return the URL of the product's documentation of one kind of property; `section` is a key of `sections`."""
        if self.product == "zookeeper":
            return f"https://zookeeper.apache.org/doc/r{self.version}/zookeeperAdmin.html#sc_configuration"
        return f"https://kafka.apache.org/{''.join(self.version.split('.')[:2])}/documentation.html#{ANCHORS[section]}"

    # Values

    def value_finding(self, section: str, name: str, value: Any, settings: Mapping[str, Any]) -> Finding | None:
        """Return a Finding if the product rejects the value of a known property; None if it accepts the value.

        `settings` is {name: value} of the whole process: some values are valid only together with other settings.
        """
        spec = self.spec(section, name, settings) or {}
        shown = None if spec["type"] == "password" else value
        migrates = text_of(settings.get("zookeeper.metadata.migration.enable")).lower() == "true"
        if section == "broker" and spec.get("kraft") and not migrates and text_of(value):
            return Finding("value", name, shown, "only for KRaft, this broker runs with ZooKeeper", "remove it")
        if self.product == "kafka" and settings.get("config.providers") and INDIRECT.search(text_of(value)):
            return None
        message = fault(spec, value)
        if message is None:
            message = with_zookeeper(section, name, value) if self.product == "kafka" else None
            return Finding("value", name, shown, message, "remove it (default: classic)") if message else None
        if isinstance(value, bool) and "yes" in spec.get("choices", ()):
            advice = f"write '{'yes' if value else 'no'}' in quotes: YAML reads an unquoted yes or no as a boolean"
        elif (number := amount(value, units_of(name))) is not None and not fault(spec, number):
            advice = f"write {number}: units are not supported here"
        else:
            default = self.default(section, name)
            advice = "correct it, or remove it" + ("" if default in (None, "") else f" (default: {text_of(default)})")
        return Finding("value", name, shown, message, advice)
