"""Computes the properties of MirrorMaker 2 from flows: which topics are copied from which cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import mirrors
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts
from ansible_collections.millrace.kafka.plugins.plugin_utils.client_login import scram_login
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import REFERENCE

Flow = Mapping[str, Any]
Properties = dict[str, Any]

INTERNAL = (r".*[\-\.]internal", r".*\.replica", "__.*", r".*-changelog", r".*-repartition", r"_confluent-ksql-.*")
"""Topics that no flow copies: those of Kafka, of MirrorMaker, and the state of stream applications."""
SECRET = re.compile(r"(jaas\.config|password|keystore\.key)$")
"""Ends of the names of properties that are secrets."""
ALL_CLIENTS = ("ssl.", "sasl.")
"""Begin of the names of properties without a prefix that MirrorMaker gives to the clients of all clusters."""
FIXED = re.compile(
    r"(topics|topics\.exclude|enabled|clusters|replication\.policy\..*|offset-syncs\.topic\.location|bootstrap\.servers)"
)
"""Properties that `config` and `client` of a flow, and mirror_maker_config, must not set: inputs of the role do."""
GROUPS_LEFT_OUT = ("console-consumer-.*", "connect-.*", "__.*")
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
SYNC_INTERVAL = 5
"""Seconds between two runs of each of MirrorMaker's periodic tasks; it also limits what a group reads again."""
HEARTBEAT = "emit.heartbeats.interval.seconds"
# Not that of topics' settings: MirrorMaker writes them to ZooKeeper at each run, changed or not, for each topic.
INTERVALS = (
    "refresh.topics.interval.seconds",
    "refresh.groups.interval.seconds",
    "sync.group.offsets.interval.seconds",
    "emit.checkpoints.interval.seconds",
    HEARTBEAT,
)
FETCH = (4 * 2**20, 32 * 2**20)
"""Limits of max.partition.fetch.bytes: enough for short distances, and little enough for the heap."""


@dataclass(frozen=True)
class Worker:
    """What the workers on all hosts have in common.

    `cluster` is the alias of the cluster to which flows copy, `client` the connection to it under the names of Java
    clients, `truststore` the PEM file with CAs on the host, `secrets` the file on the host that has the passwords, and
    `settings` are properties of Kafka Connect's workers, which MirrorMaker reads with the prefix of this cluster alone.
    """

    cluster: str
    client: Mapping[str, Any]
    truststore: str
    secrets: str
    settings: Mapping[str, Any]
    exactly_once: bool = True
    residency: Sequence[str] = ()
    """Labels of the data that the cluster may hold; empty if it has no border."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """mirror_maker_config: properties that override the others."""


def properties(flows: Sequence[Flow], worker: Worker) -> dict[str, Properties]:
    """Return {"properties": of mirror-maker.properties, "secrets": those of the secrets file}.

    `flows` are entries of mirror_maker_flows. The value of a secret in `properties` refers to the secrets file, because
    MirrorMaker stores properties of clusters, flows and all clients in a topic. Others, for example `listeners.*` of
    its REST server, stay as they are.
    """
    found: Properties = {"clusters": ",".join([worker.cluster, *(str(flow["source"]) for flow in flows)])}
    for alias, client in [(worker.cluster, worker.client), *((str(flow["source"]), _client(flow)) for flow in flows)]:
        for name, value in _with_truststore(client, worker.truststore).items():
            found[f"{alias}.{name}"] = value
    found |= {f"{worker.cluster}.{name}": value for name, value in worker.settings.items()}
    for flow in flows:
        pair = f"{flow['source']}->{worker.cluster}"
        found |= {f"{pair}.{name}": value for name, value in _of_flow(flow, worker)}
        back = f"{worker.cluster}->{flow['source']}"
        found |= {f"{back}.enabled": False, f"{back}.emit.heartbeats.enabled": False}
    found |= worker.config
    aliases = (worker.cluster, *(str(flow["source"]) for flow in flows))
    prefixes = tuple(f"{alias}{end}" for alias in aliases for end in (".", "->"))
    secrets = {
        key: value
        for key, value in found.items()
        if SECRET.search(key)
        and key.startswith((*prefixes, *ALL_CLIENTS))
        and value is not None
        and not REFERENCE.fullmatch(str(value))
    }
    hidden = {key: f"${{secrets:{worker.secrets}:{key}}}" for key in secrets}
    return {"properties": {**found, **hidden}, "secrets": secrets}


def _client(flow: Flow) -> Properties:
    """Return the connection to the source of a flow, under the names of Java clients."""
    login: Properties = {}
    if flow.get("user"):
        mechanism = flow.get("mechanism") or "SCRAM-SHA-512"
        login = {"security.protocol": "SASL_SSL"} | scram_login(str(flow["password"]), str(flow["user"]), mechanism)
    return {"bootstrap.servers": flow["bootstrap"], **login, **(flow.get("client") or {})}


def librdkafka_client(flow: Flow, ca: str) -> Properties:
    """Return the connection to the source of a flow, from the control node, under the names of librdkafka.

    `ca` is the file of the control node with this site's CAs, for a flow without CAs of its own.
    """
    found: Properties = {"bootstrap.servers": flow["bootstrap"]}
    if flow.get("user"):
        mechanism = flow.get("mechanism") or "SCRAM-SHA-512"
        login = {"sasl.mechanism": mechanism, "sasl.username": flow["user"], "sasl.password": flow["password"]}
        found |= {"security.protocol": "SASL_SSL", **login}
        if flow.get("ca") or ca:
            found["ssl.ca.location"] = flow.get("ca") or ca
    return found


def _with_truststore(client: Mapping[str, Any], truststore: str) -> Properties:
    if "SSL" not in str(client.get("security.protocol", "")) or "ssl.truststore.location" in client:
        return dict(client)
    return {**client, "ssl.truststore.type": "PEM", "ssl.truststore.location": truststore}


def _of_flow(flow: Flow, worker: Worker) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of the properties of one flow, without the prefix `source->target`."""
    yield "enabled", True
    yield "topics", topics_of(flow, worker.residency)
    yield "topics.exclude", [*INTERNAL, *(flow.get("topics_exclude") or ())]
    yield "groups", list(flow.get("groups") or [".*"])
    yield "groups.exclude", [*GROUPS_LEFT_OUT, *(flow.get("groups_exclude") or ())]
    if flow.get("policy") == "identity":
        yield "replication.policy.class", IDENTITY
    yield "tasks.max", int(4 if flow.get("tasks") is None else flow["tasks"])
    # Only this cluster is written to: the source's user needs no right to write.
    yield "offset-syncs.topic.location", "target"
    yield "sync.group.offsets.enabled", True
    yield "sync.topic.acls.enabled", False
    interval = int(flow.get("sync_interval") or SYNC_INTERVAL)
    for name in INTERVALS:
        yield name, interval
    yield from buffers(flow).items()
    if worker.exactly_once:
        yield "source.consumer.isolation.level", "read_committed"
    yield from (flow.get("config") or {}).items()


def heartbeat_interval(flow: Flow) -> Any:
    """Return the seconds between two heartbeats of the workers of a flow."""
    return (flow.get("config") or {}).get(HEARTBEAT) or flow.get("sync_interval") or SYNC_INTERVAL


def has_border(flow: Flow, residency: Sequence[str]) -> bool:
    """Tell whether a flow may carry only some labels, because both sides do not hold the same ones.

    `residency` are the labels of the cluster to which the flow copies.
    """
    return {*residency} != {*(flow.get("residency") or ())}


def may_cross(label: str | None, flow: Flow, residency: Sequence[str]) -> bool:
    """Tell whether a flow may carry a topic with this label; `residency` are the labels of the flow's target."""
    sides = [labels for labels in (residency, flow.get("residency") or ()) if labels]
    return not has_border(flow, residency) or (bool(label) and all(label in labels for labels in sides))


def selected(flow: Flow, names: Iterable[str]) -> list[str]:
    """Return those of the topics `names` that the patterns of a flow select, sorted."""
    left_out = (*INTERNAL, *(flow.get("topics_exclude") or ()))
    return mirrors.selected(names, flow.get("topics") or (), left_out)


def topics_of(flow: Flow, residency: Sequence[str]) -> list[str]:
    """Return the regular expressions of the topics that a flow carries.

    At a border, these are the names of the source's declared topics that may cross it: a topic that somebody creates
    later does not cross it, although a pattern matches its name.
    """
    if not has_border(flow, residency):
        return list(flow["topics"])
    present = (topic for topic in flow.get("source_topics") or () if topic.get("state") != "absent")
    labels = {str(topic.get("name")): topic.get("residency") for topic in present}
    return [re.escape(name) for name in selected(flow, labels) if may_cross(labels[name], flow, residency)]


def window(flow: Flow) -> int:
    """Return the bytes that are on the way at the declared bandwidth (bytes a second) and round trip (ms) of a flow."""
    if not flow.get("bandwidth") or not flow.get("round_trip_ms"):
        return 0
    return int(amounts.bytes_of(str(flow["bandwidth"])) * float(flow["round_trip_ms"]) / 1000)


def buffers(flow: Flow) -> Properties:
    """Return the properties of a flow's consumer and producer that let it use the declared bandwidth.

    A consumer has one request at a time on its way to each broker, so an answer must carry what the link carries in a
    round trip. The kernel sizes the buffers of connections itself (-1).
    """
    fetch = min(max(window(flow), FETCH[0]), FETCH[1])
    return {
        "source.consumer.receive.buffer.bytes": -1,
        "source.consumer.max.partition.fetch.bytes": fetch,
        "source.consumer.fetch.max.bytes": max(50 * 2**20, 2 * fetch),
        "source.consumer.max.poll.records": 4000,
        "producer.override.batch.size": 262144,
        "producer.override.linger.ms": 20,
        "producer.override.buffer.memory": 64 * 2**20,
    }


def identity_refusals(
    asked: Sequence[Mapping[str, Any]], flows: Sequence[Mapping[str, Any]], cluster: str
) -> list[str]:
    """Return an error text for each reason why flows that keep the names of topics may not start.

    `asked` are the flows as the module kafka_mirrors returns them, `flows` those of mirror_maker_flows with policy
    identity, `cluster` is the alias of the target. In both directions, each record would be copied in a circle,
    thousands of times a second. From two sources, the records of two topics would be mixed.
    """
    sure = {str(flow["source"]) for flow in flows if flow.get("one_way")}
    others = {str(flow["source"]) for flow in asked if not flow["itself"] and not flow["silent"]}
    problems = []
    for flow in asked:
        source = flow["source"]
        if flow["itself"]:
            problems.append(
                f"the brokers of {source} are those of {cluster}, under another address: correct bootstrap of the flow"
            )
        if source in sure:
            continue
        for alias in flow["copies_from"]:
            if alias == cluster:
                problems.append(
                    f"{source} copies from {cluster}, too: each record would be copied in a circle, if the flow there "
                    "keeps names, too. If it does not, set one_way of the flow here to true. If it was removed, delete "
                    f"its topic mm2-configs.{alias}.internal there"
                )
            elif alias not in others:
                problems.append(
                    f"{source} copies from {alias}. If that is another name of {cluster}, each record would be copied "
                    "in a circle. If it is another cluster, set one_way of the flow here to true"
                )
        if flow["silent"]:
            problems.append(
                f"{source} cannot be asked whether it copies from {cluster}, too: {flow['silent']}. Correct that, or "
                "set one_way of the flow to true if it does not"
            )
    sources: dict[str, list[str]] = {}
    for flow in asked:
        for topic in flow["topics"]:
            sources.setdefault(topic["topic"], []).append(str(flow["source"]))
    problems += [
        f"{topic} is a topic of {' and '.join(of)}, whose records would be mixed. Exclude it from all flows but one "
        "(topics_exclude), or use policy default"
        for topic, of in sorted(sources.items())
        if len(of) > 1
    ]
    return problems
