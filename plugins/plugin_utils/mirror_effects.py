"""Compares the properties of MirrorMaker with the settings that its workers report that they use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import written

# Properties that no part of a worker logs under the same name.
NOT_LOGGED = ("clusters", "config.providers", "dedicated.mode.enable.internal.rest", "enabled")
# Each flow runs these three connectors; a property is not judged before all of them have started.
CONNECTORS = {"MirrorSourceConfig", "MirrorCheckpointConfig", "MirrorHeartbeatConfig"}
FLOW_OF_PART = ("source.cluster.alias", "target.cluster.alias")
SECRETS = "${secrets:"
CLIENTS = ("consumer.", "producer.", "admin.")
ONE_CLIENT = ("ConsumerConfig", "ProducerConfig")
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
    flow: str = ""
    """The flow, such as west->east, that alone uses the property."""

    def values(self, settings: Settings) -> set[str]:
        """Return the values of this name in the parts that could use the property; its own flow's if they are known."""
        parts = [part for part in self.parts(settings) if self.name in part["values"]]
        own = [part for part in parts if self.flow and flow_of(part) == self.flow]
        others = [part for part in parts if not self.flow or not flow_of(part)]
        return {part["values"][self.name] for part in own or others}

    def parts(self, settings: Settings) -> list[Mapping[str, Any]]:
        """Return the parts that could use the property."""
        return [
            part for part in settings
            if re.fullmatch(self.kinds, part["kind"]) and re.search(self.client, part["client"])
        ]  # fmt: skip


def flow_of(part: Mapping[str, Any]) -> str:
    """Return the flow of a part of a worker, such as west->east; '' if it is not known."""
    source, target = (part["values"].get(name) for name in FLOW_OF_PART)
    return f"{source}->{target}" if source and target else ""


def flows_of(properties: Mapping[str, Any]) -> list[str]:
    """Return the flows that are enabled, such as west->east."""
    split = {str(key): str(key).partition(".") for key in properties}
    return [
        pair for key, (pair, _, name) in split.items()
        if name == "enabled" and "->" in pair and properties[key] in (True, "true")
    ]  # fmt: skip


def wanted(properties: Mapping[str, Any]) -> Iterator[Wanted]:
    """Yield the properties whose effect can be read from the workers' logs."""
    aliases = [alias.strip() for alias in str(properties.get("clusters", "")).split(",")]
    pairs = {f"{source}->{target}" for source in aliases for target in aliases if source != target}
    flows = flows_of(properties)
    for key, value in properties.items():
        pair, _, name = str(key).partition(".")
        text = written(str(key), value)
        if value is None or str(text).startswith(SECRETS):
            continue
        if pair in flows:
            yield from _of_flow(str(key), pair, name, text)
        elif pair in aliases:
            plain = name.partition(".")[2] if name.startswith(CLIENTS) else name
            yield Wanted(str(key), plain, text, ".*Config", _clients(pair, flows))
        elif pair not in pairs and not str(key).startswith(NOT_LOGGED):
            yield Wanted(str(key), str(key), text, ".*Config")


def _clients(alias: str, flows: Sequence[str]) -> str:
    """Return the pattern of the client.ids of a cluster's clients; the workers themselves are those of the target."""
    at_source = r"->[^|]*\|.*(replication-consumer|-source-admin)$"
    if any(flow.startswith(f"{alias}->") for flow in flows):
        return f"^{re.escape(alias)}{at_source}"
    return f"^(?!.*{at_source})"


def _of_flow(key: str, flow: str, name: str, text: str) -> Iterator[Wanted]:
    if name.startswith("source.consumer."):
        client = rf"^{re.escape(flow)}\|.*replication-consumer"
        yield Wanted(key, name.removeprefix("source.consumer."), text, "ConsumerConfig", client)
    elif name.startswith("producer.override."):
        client = "^connector-producer-MirrorSourceConnector"
        yield Wanted(key, name.removeprefix("producer.override."), text, "ProducerConfig", client)
    elif name not in NOT_LOGGED:
        yield Wanted(key, name, text, "Mirror.*Config|(Source|Enriched)?ConnectorConfig|TaskConfig", flow=flow)


def names(properties: Mapping[str, Any]) -> list[str]:
    """Return the names under which workers log the properties, and those that tell the flow of a part."""
    return sorted({one.name for one in wanted(properties)} | {*FLOW_OF_PART})


def ineffective(properties: Mapping[str, Any], settings: Settings, leaders: Mapping[str, str]) -> list[str]:
    """Return an error text for each property that no part of any worker uses.

    `settings` are the parts of all workers together, `leaders` the URL of the leading worker by pair. A property is not
    judged before the parts that use it have started; the tasks of a flow without topics never do.
    """
    errors = [
        f"{pair}: the workers send each other no requests (leaderUrl is {NOT_USED}): several can copy nothing"
        for pair, leader in leaders.items()
        if leader == NOT_USED
    ]
    started = all(
        CONNECTORS <= {part["kind"] for part in settings if flow_of(part) == flow} for flow in flows_of(properties)
    )
    for one in wanted(properties):
        used = one.values(settings)
        if used and not any(same(one.value, value) for value in used):
            errors.append(f"{one.key} = {one.value} has no effect: {', '.join(sorted(used))} is used")
        elif not used and one.kinds.endswith(ONE_CLIENT) and one.parts(settings):
            errors.append(f"{one.key} has no effect: its client has no property of this name")
        elif not used and not one.kinds.endswith(ONE_CLIENT) and started:
            errors.append(f"{one.key} has no effect: no part of MirrorMaker uses a property of this name")
    return errors


def same(declared: str, logged: str) -> bool:
    """Tell whether a value in a properties file and a logged value are equal; hidden values are."""
    if logged == "[hidden]":
        return True
    if logged.startswith("[") and logged.endswith("]"):
        return [item.strip() for item in logged[1:-1].split(",")] == [item.strip() for item in declared.split(",")]
    return declared == logged.removeprefix("class ") or (declared == "" and logged == "null")
