"""Lists the properties that change with an upgrade to the declared versions, before any host is upgraded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from ansible_collections.millrace.kafka.plugins.plugin_utils.definition_changes import (
    Change,
    changes,
    known_versions,
    sections_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import TITLES
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import place
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import ROLES_PATH

# The sections of definitions that servers read; clients have the versions of their applications.
SECTIONS = {"zookeeper": ("zookeeper",), "kafka": ("broker", "topic")}
# The files of roles whose mappings set properties of a server.
OURS = {"kafka": "vars/main/server_properties.yml", "zookeeper": "vars/main/zoo_cfg.yml"}
# By section, the variables in which a site sets properties.
VARIABLES = {
    "broker": ("kafka_config", "kafka_config_overrides", "kafka_dynamic_config", "kafka_dynamic_config_overrides"),
    "zookeeper": ("zookeeper_config",),
}
LISTENER = re.compile(r"listener\.name\.[^.]+\.(?:(?=[\w-]+\.sasl\.)[\w-]+\.)?")
WORDS = {
    "removed": "gone",
    "renamed": "renamed",
    "default": "other default",
    "taken": "takes other values",
    "new": "new",
}
WIDTH = 116


@dataclass(frozen=True)
class PropertyChange:
    """A change of a property between two versions, and the variables that set this property.

    `yours` are the variables with which the site sets the property; `ours` is whether the role sets it.
    """

    change: Change
    yours: tuple[str, ...] = ()
    ours: bool = False

    @property
    def idle(self) -> bool:
        """Whether the change has no effect here: only the default differs, and the site or the role sets a value."""
        return self.change.kind == "default" and bool(self.yours or self.ours)


@dataclass(frozen=True)
class Upgrade:
    """The upgrade of some hosts from the running version `before` to the declared version `after` of a product.

    `properties` are the properties that change. `unknown` are the versions, of `before` and `after`, whose properties
    are not known; then `properties` is empty.
    """

    product: str
    before: str
    after: str
    hosts: tuple[str, ...]
    unknown: tuple[str, ...]
    properties: tuple[PropertyChange, ...]


def upgrades(model: Model, probes: Mapping[str, Mapping[str, Any]]) -> list[Upgrade]:
    """Return one Upgrade for each product and pair of versions; [] if all hosts run their declared versions.

    `probes` is {host: result of the module host_probe}. A host without a result, or without an installed version, is
    left out.
    """
    hosts_of: dict[tuple[str, str, str], list[str]] = {}
    for product in SECTIONS:
        for host in model.groups.get(product, ()):
            release = probes.get(host, {}).get("releases", {}).get(product, {})
            before = str(release.get("running") or release.get("installed") or "")
            declared = str(model.machines[host].inputs.get(f"{product}_version"))
            after = (re.findall(r"^\d+\.\d+\.\d+", declared) or [declared])[0]
            if before and before != after:
                hosts_of.setdefault((product, before, after), []).append(host)
    return [upgrade(model, *pair, hosts) for pair, hosts in hosts_of.items()]


def upgrade(model: Model, product: str, before: str, after: str, hosts: Sequence[str]) -> Upgrade:
    """Return the Upgrade of `hosts` from the version `before` of a product (kafka or zookeeper) to `after`."""
    then, now = sections_of(product, before), sections_of(product, after)
    if then is None or now is None:
        unknown = tuple(version for version, known in ((before, then), (after, now)) if known is None)
        return Upgrade(product, before, after, tuple(hosts), unknown, ())
    values, ours = settings(model, [model.machines[host] for host in hosts]), own_settings(product)
    properties = []
    for change in changes(then, now, SECTIONS[product]):
        yours = values.get(change.section, {}).get(change.name, {})
        is_removed = yours and all(value is None for value in yours.values())
        names = tuple(name for name, value in yours.items() if value is not None)
        is_ours = change.section != "topic" and change.name in ours and not is_removed
        properties.append(PropertyChange(change, names, is_ours))
    return Upgrade(product, before, after, tuple(hosts), (), tuple(properties))


def settings(model: Model, machines: Sequence[Machine]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the properties that the site sets on these hosts: {section: {property: {variable: value}}}.

    - section: broker, topic or zookeeper;
    - variable: the inventory variable that sets the property, such as kafka_config;
    - value: as declared; None removes the value that the role sets.
    """
    values: dict[str, dict[str, dict[str, Any]]] = {}
    for machine in machines:
        for section, variables in VARIABLES.items():
            for variable in variables:
                for name, value in machine.inputs.mapping(variable).items():
                    known = values.setdefault(section, {}).setdefault(LISTENER.sub("", str(name)), {})
                    known[variable] = value if known.get(variable) is None else known[variable]
        for variable, topic in _topics(machine):
            config = topic.get("config")
            for name, value in config.items() if isinstance(config, Mapping) else ():
                values.setdefault("topic", {}).setdefault(str(name), {})[variable] = value
        for option in machine.inputs.sequence("zookeeper_java_options"):
            if flag := re.match(r"-D(?:zookeeper\.)?([^=]+)=?(.*)", str(option)):
                values.setdefault("zookeeper", {}).setdefault(flag[1], {})["zookeeper_java_options"] = flag[2]
    return values


def _topics(machine: Machine) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    yield "kafka_topic_defaults", machine.inputs.mapping("kafka_topic_defaults")
    for entry in machine.inputs.entries("kafka_topics"):
        yield f"kafka_topics[{entry.get('name')}]", entry


@cache
def own_settings(product: str) -> frozenset[str]:
    """Return the names of the properties that the role of a product (kafka or zookeeper) itself sets."""
    text = (ROLES_PATH / product / OURS[product]).read_text(encoding="utf-8")
    mappings = (value for value in yaml.safe_load(text).values() if isinstance(value, dict))
    return frozenset(str(name) for mapping in mappings for name in mapping)


def lines(found: Sequence[Upgrade], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the lines to print for the upgrades `found`: a headline for each upgrade, then its changed properties.

    `groups` is {group: hosts}.
    """
    return [text for item in found for text in _lines_of(item, groups)]


def _lines_of(item: Upgrade, groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    title = TITLES[item.product]
    head = f"{title} {item.before} -> {item.after}, {place(item.hosts, groups)}:"
    what = "brokers and topics" if item.product == "kafka" else "servers"
    if item.unknown:
        known = ", ".join(known_versions(item.product))
        versions = " and ".join(item.unknown)
        yield f"{head} the changes are unknown: no definitions of {versions} (there are those of {known})"
        return
    if not item.properties:
        yield f"{head} no property of {what} changes"
        return
    yield f"{head} properties of {what} that change"
    for kind, word in WORDS.items():
        of_kind = [changed for changed in item.properties if changed.change.kind == kind]
        listed = [changed for changed in of_kind if kind == "new" and not changed.yours]
        for changed in of_kind:
            if changed not in listed:
                yield f"  {word}: {_text_of(changed)}"
        yield from _wrapped(f"  {word}: ", [_named(changed.change) for changed in listed])
    yours = [changed for changed in item.properties if changed.yours and not changed.idle]
    names = ", ".join(dict.fromkeys(changed.change.name for changed in yours))
    yield f"  of these, the inventory sets {names}" if names else "  the inventory sets none of these"


def _named(change: Change) -> str:
    value = f" ({change.after})" if change.after else ""
    return f"{'topic ' if change.section == 'topic' else ''}{change.name}{value}"


def _text_of(changed: PropertyChange) -> str:
    change = changed.change
    name = f"{'topic ' if change.section == 'topic' else ''}{change.name}"
    if change.kind == "renamed":
        text = f"{name} is probably {change.after} now"
    elif change.kind == "new":
        text = _named(change)
    elif change.kind == "removed":
        text = f"{name}{f' (its default was {change.before})' if change.before else ''}"
    else:
        text = f"{name}: {change.before or 'nothing'} -> {change.after or 'nothing'}"
    setters = [*changed.yours, *(["the role"] if changed.ours else [])]
    if changed.idle:
        return f"{text}; no effect here, set by {' and '.join(setters)}"
    return f"{text}; yours: {', '.join(changed.yours)}" if changed.yours else text


def _wrapped(head: str, names: Sequence[str]) -> Iterator[str]:
    line = head
    for number, name in enumerate(names):
        item = name + (", " if number < len(names) - 1 else "")
        if len(line) + len(item) > WIDTH and line.strip() and line != head:
            yield line.rstrip()
            line = " " * len(head)
        line += item
    if names:
        yield line


def rows(found: Sequence[Upgrade]) -> list[dict[str, Any]]:
    """Return the upgrades `found` as dicts for JSON.

    The key `changes` of a property is false if the change has no effect on the hosts of the upgrade.
    """
    return [
        {
            "product": item.product,
            "before": item.before,
            "after": item.after,
            "hosts": list(item.hosts),
            "unknown": list(item.unknown),
            "properties": [
                {
                    "section": changed.change.section,
                    "name": changed.change.name,
                    "kind": changed.change.kind,
                    "before": changed.change.before,
                    "after": changed.change.after,
                    "yours": list(changed.yours),
                    "ours": changed.ours,
                    "changes": not changed.idle,
                }
                for changed in item.properties
            ],
        }
        for item in found
    ]
