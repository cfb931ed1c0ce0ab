"""Compares the properties of MirrorMaker with the settings that its workers report that they use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.mirror_maker.effects import (
    Settings,
    Wanted,
    flow_of,
    wrong,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import written

# Properties that no part of a worker logs under the same name.
NOT_LOGGED = ("clusters", "config.providers", "dedicated.mode.enable.internal.rest", "enabled")
# Settings of topics, which workers use when they create one, and do not log.
OF_TOPICS = re.compile(r"(config|offset|status)\.storage\.(?!(topic|partitions|replication\.factor)$)")
# Each flow runs these three connectors; a property is not judged before all of them have started.
CONNECTORS = {"MirrorSourceConfig", "MirrorCheckpointConfig", "MirrorHeartbeatConfig"}
SECRETS = "${secrets:"
CLIENTS = ("consumer.", "producer.", "admin.")
OVERRIDE = "producer.override."
ONE_CLIENT = ("ConsumerConfig", "ProducerConfig")
NOT_USED = "NOTUSED"


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
        if pair in flows and name.startswith(OVERRIDE) and len(flows) > 1:
            continue  # the producers of all flows have the same names
        if pair in flows:
            yield from _of_flow(str(key), pair, name, text)
        elif OF_TOPICS.match(name if pair in aliases else str(key)):
            continue
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
    elif name.startswith(OVERRIDE):
        client = "^connector-producer-MirrorSourceConnector"
        yield Wanted(key, name.removeprefix(OVERRIDE), text, "ProducerConfig", client)
    elif name not in NOT_LOGGED:
        yield Wanted(key, name, text, "Mirror.*Config|(Source|Enriched)?ConnectorConfig|TaskConfig", flow=flow)


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
        {part["kind"] for part in settings if flow_of(part) == flow} >= CONNECTORS for flow in flows_of(properties)
    )
    errors += wrong(wanted(properties), settings, len(flows_of(properties)) > 1)
    for one in wanted(properties):
        if one.values(settings):
            continue
        if one.kinds.endswith(ONE_CLIENT) and one.parts(settings):
            errors.append(f"{one.key} has no effect: its client has no property of this name")
        elif not one.kinds.endswith(ONE_CLIENT) and started:
            errors.append(f"{one.key} has no effect: no part of MirrorMaker uses a property of this name")
    return errors
