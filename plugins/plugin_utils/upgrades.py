"""What declared versions change on hosts that run others, said before it is done; no Ansible import."""

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

# What a server of each product reads: of clients, each application has its own version.
SECTIONS = {"zookeeper": ("zookeeper",), "kafka": ("broker", "topic")}
# Where roles say settings of a server themselves: the mappings of this file.
OURS = {"kafka": "vars/main/server_properties.yml", "zookeeper": "vars/main/zoo_cfg.yml"}
# Where a site says them, by section.
SAID = {
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
class Noted:
    """A change, and whom it concerns: `yours` are variables that say the property, `ours` whether the role does."""

    change: Change
    yours: tuple[str, ...] = ()
    ours: bool = False

    @property
    def idle(self) -> bool:
        """Whether it changes nothing here: another default of what is said."""
        return self.change.kind == "default" and bool(self.yours or self.ours)


@dataclass(frozen=True)
class Upgrade:
    """Hosts that run another version than is declared, and what is otherwise; `unknown` are versions without a list."""

    product: str
    before: str
    after: str
    hosts: tuple[str, ...]
    unknown: tuple[str, ...]
    noted: tuple[Noted, ...]


def upgrades(model: Model, probes: Mapping[str, Mapping[str, Any]]) -> list[Upgrade]:
    """Return one for each product and pair of versions; [] where all hosts run what they are to run.

    `probes` holds the answers of host_probe; a host that has none, or runs nothing yet, is in no pair.
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    for product in SECTIONS:
        for host in model.groups.get(product, ()):
            release = probes.get(host, {}).get("releases", {}).get(product, {})
            before = str(release.get("running") or release.get("installed") or "")
            declared = str(model.machines[host].inputs.get(f"{product}_version"))
            after = (re.findall(r"^\d+\.\d+\.\d+", declared) or [declared])[0]
            if before and before != after:
                found.setdefault((product, before, after), []).append(host)
    return [upgrade(model, *pair, hosts) for pair, hosts in found.items()]


def upgrade(model: Model, product: str, before: str, after: str, hosts: Sequence[str]) -> Upgrade:
    """Return what is otherwise for these hosts."""
    then, now = sections_of(product, before), sections_of(product, after)
    if then is None or now is None:
        unknown = tuple(version for version, known in ((before, then), (after, now)) if known is None)
        return Upgrade(product, before, after, tuple(hosts), unknown, ())
    said, ours = settings(model, [model.machines[host] for host in hosts]), own_settings(product)
    noted = []
    for change in changes(then, now, SECTIONS[product]):
        yours = said.get(change.section, {}).get(change.name, {})
        taken_out = yours and all(value is None for value in yours.values())
        names = tuple(name for name, value in yours.items() if value is not None)
        noted.append(Noted(change, names, change.section != "topic" and change.name in ours and not taken_out))
    return Upgrade(product, before, after, tuple(hosts), (), tuple(noted))


def settings(model: Model, machines: Sequence[Machine]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return by section and property the variables that say it, with their values; None takes the role's out."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for machine in machines:
        for section, variables in SAID.items():
            for variable in variables:
                for name, value in machine.inputs.mapping(variable).items():
                    known = found.setdefault(section, {}).setdefault(LISTENER.sub("", str(name)), {})
                    known[variable] = value if known.get(variable) is None else known[variable]
        for variable, topic in _topics(machine):
            config = topic.get("config")
            for name, value in config.items() if isinstance(config, Mapping) else ():
                found.setdefault("topic", {}).setdefault(str(name), {})[variable] = value
        for option in machine.inputs.sequence("zookeeper_java_options"):
            if flag := re.match(r"-D(?:zookeeper\.)?([^=]+)=?(.*)", str(option)):
                found.setdefault("zookeeper", {}).setdefault(flag[1], {})["zookeeper_java_options"] = flag[2]
    return found


def _topics(machine: Machine) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    yield "kafka_topic_defaults", machine.inputs.mapping("kafka_topic_defaults")
    for entry in machine.inputs.entries("kafka_topics"):
        yield f"kafka_topics[{entry.get('name')}]", entry


@cache
def own_settings(product: str) -> frozenset[str]:
    """Return the properties that the role of a product writes by itself."""
    text = (ROLES_PATH / product / OURS[product]).read_text(encoding="utf-8")
    said = (value for value in yaml.safe_load(text).values() if isinstance(value, dict))
    return frozenset(str(name) for names in said for name in names)


def lines(found: Sequence[Upgrade], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what is printed: a headline for each pair of versions, and below it what is otherwise."""
    return [text for one in found for text in _of(one, groups)]


def _of(one: Upgrade, groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    title = TITLES[one.product]
    head = f"{title} {one.before} -> {one.after}, {place(one.hosts, groups)}:"
    what = "brokers and topics" if one.product == "kafka" else "servers"
    if one.unknown:
        known = ", ".join(known_versions(one.product))
        yield f"{head} what changes is not known: no list of properties of {' and '.join(one.unknown)} ({known} are)"
        return
    if not one.noted:
        yield f"{head} no property of {what} changes"
        return
    yield f"{head} properties of {what} that change"
    for kind, word in WORDS.items():
        told = [noted for noted in one.noted if noted.change.kind == kind]
        plain = [noted for noted in told if kind == "new" and not noted.yours]
        for noted in told:
            if noted not in plain:
                yield f"  {word}: {_words(noted)}"
        yield from _wrapped(f"  {word}: ", [_named(noted.change) for noted in plain])
    yours = [noted for noted in one.noted if noted.yours and not noted.idle]
    names = ", ".join(dict.fromkeys(noted.change.name for noted in yours))
    yield f"  of these, the inventory says {names}" if names else "  the inventory says none of these"


def _named(change: Change) -> str:
    value = f" ({change.after})" if change.after else ""
    return f"{'topic ' if change.section == 'topic' else ''}{change.name}{value}"


def _words(noted: Noted) -> str:
    change = noted.change
    name = f"{'topic ' if change.section == 'topic' else ''}{change.name}"
    if change.kind == "renamed":
        text = f"{name} is probably {change.after} now"
    elif change.kind == "new":
        text = _named(change)
    elif change.kind == "removed":
        text = f"{name}{f' (its default was {change.before})' if change.before else ''}"
    else:
        text = f"{name}: {change.before or 'nothing'} -> {change.after or 'nothing'}"
    by = [*noted.yours, *(["the role"] if noted.ours else [])]
    if noted.idle:
        return f"{text}; nothing here, {' and '.join(by)} says it"
    return f"{text}; yours: {', '.join(noted.yours)}" if noted.yours else text


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
    """Return the same for programs."""
    return [
        {
            "product": one.product,
            "before": one.before,
            "after": one.after,
            "hosts": list(one.hosts),
            "unknown": list(one.unknown),
            "properties": [
                {
                    "section": noted.change.section,
                    "name": noted.change.name,
                    "kind": noted.change.kind,
                    "before": noted.change.before,
                    "after": noted.change.after,
                    "yours": list(noted.yours),
                    "ours": noted.ours,
                    "changes": not noted.idle,
                }
                for noted in one.noted
            ],
        }
        for one in found
    ]
