"""Compares the properties of MirrorMaker with the settings that its workers report that they use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import written

# Properties that no part of a worker logs under the same name.
NOT_LOGGED = ("clusters", "config.providers", "dedicated.mode.enable.internal.rest", "enabled")
SECRETS = "${secrets:"
CLIENTS = ("consumer.", "producer.", "admin.")
NOT_USED = "NOTUSED"
Settings = Sequence[Mapping[str, Any]]
"""Parts of workers with their `kind`, `client` and `values`, as the module mirror_maker_worker returns them."""


@dataclass(frozen=True)
class Wanted:
    """A property, and the parts of workers that use it: classes of settings, and a pattern of their client.id."""

    key: str
    name: str
    value: str
    kinds: str
    client: str = ""

    def parts(self, settings: Settings) -> list[Mapping[str, Any]]:
        """Return the parts that could use the property."""
        return [
            part for part in settings
            if re.fullmatch(self.kinds, part["kind"]) and re.search(self.client, part["client"])
        ]  # fmt: skip


def wanted(properties: Mapping[str, Any]) -> Iterator[Wanted]:
    """Yield the properties whose effect can be read from the workers' logs."""
    aliases = [alias.strip() for alias in str(properties.get("clusters", "")).split(",")]
    pairs = {f"{source}->{target}" for source in aliases for target in aliases if source != target}
    for key, value in properties.items():
        pair, _, name = str(key).partition(".")
        text = written(str(key), value)
        if value is None or str(text).startswith(SECRETS):
            continue
        if pair in pairs and properties.get(f"{pair}.enabled") in (True, "true"):
            yield from _of_pair(str(key), pair, name, text)
        elif pair in aliases:
            plain = name.partition(".")[2] if name.startswith(CLIENTS) else name
            yield Wanted(str(key), plain, text, ".*Config")
        elif pair not in pairs and not str(key).startswith(NOT_LOGGED):
            yield Wanted(str(key), str(key), text, ".*Config")


def _of_pair(key: str, pair: str, name: str, text: str) -> Iterator[Wanted]:
    if name.startswith("source.consumer."):
        client = rf"^{re.escape(pair)}\|.*replication-consumer"
        yield Wanted(key, name.removeprefix("source.consumer."), text, "ConsumerConfig", client)
    elif name.startswith("producer.override."):
        client = "^connector-producer-MirrorSourceConnector"
        yield Wanted(key, name.removeprefix("producer.override."), text, "ProducerConfig", client)
    elif name not in NOT_LOGGED:
        yield Wanted(key, name, text, "Mirror.*Config|(Source|Enriched)?ConnectorConfig|TaskConfig")


def names(properties: Mapping[str, Any]) -> list[str]:
    """Return the names under which workers log the properties."""
    return sorted({one.name for one in wanted(properties)})


def ineffective(properties: Mapping[str, Any], settings: Settings, leaders: Mapping[str, str]) -> list[str]:
    """Return an error text for each property that no part of any worker uses.

    `settings` are the parts of all workers together, `leaders` the URL of the leading worker by pair. A property of
    parts that do not run, such as the tasks of a flow without topics, is not judged.
    """
    errors = [
        f"{pair}: the workers send each other no requests (leaderUrl is {NOT_USED}): several can copy nothing"
        for pair, leader in leaders.items()
        if leader == NOT_USED
    ]
    for one in wanted(properties):
        parts = one.parts(settings)
        used = {part["values"][one.name] for part in parts if one.name in part["values"]}
        if used and not any(same(one.value, value) for value in used):
            errors.append(f"{one.key} = {one.value} has no effect: {', '.join(sorted(used))} is used")
        elif not used and any(part["kind"].startswith("Mirror") for part in settings) and not one.client:
            errors.append(f"{one.key} has no effect: no part of MirrorMaker uses a property of this name")
        elif not used and parts:
            errors.append(f"{one.key} has no effect: its client has no property of this name")
    return errors


def same(declared: str, logged: str) -> bool:
    """Tell whether a value in a properties file and a logged value are equal; hidden values are."""
    if logged == "[hidden]":
        return True
    if logged.startswith("[") and logged.endswith("]"):
        return [item.strip() for item in logged[1:-1].split(",")] == [item.strip() for item in declared.split(",")]
    return declared == logged.removeprefix("class ") or (declared == "" and logged == "null")
