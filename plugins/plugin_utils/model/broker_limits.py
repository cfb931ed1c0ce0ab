"""Rules on broker properties that Kafka takes and that do not do what is written, or shut somebody out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions, nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.properties import text
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import in_seconds, seconds, tiny, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# Kafka takes any number below 0 for "for ever" (KafkaConfig.getLogRetentionTimeMillis, UnifiedLog).
UNLIMITED = ("log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.retention.bytes")
SPANS = ("log.retention.ms", "log.roll.ms", "log.cleaner.delete.retention.ms", "log.cleaner.max.compaction.lag.ms")
TINY = ("log.retention.ms", "log.local.retention.ms", "log.roll.ms")  # of which nobody means less than a second
MESSAGE, USUAL_MESSAGE = "message.max.bytes", 1048588
# What has to hold the largest batch: its default, and what comes of one that does not.
HOLDING = {
    "log.segment.bytes": (1073741824, "a batch has to fit into a segment: larger ones are refused"),
    "socket.request.max.bytes": (
        104857600,
        "a batch comes in one request, and brokers end the connection of a larger one",
    ),
}
# Times that have rules of their own, and what stands for the default of one that follows another.
JUDGED = ("zookeeper.session.timeout.ms",)
FOLLOWING = {"zookeeper.connection.timeout.ms": 30_000}
# Times after which something is forgotten that others still use: the least, whose it is, what comes of less.
FORGOTTEN = {
    "producer.id.expiration.ms": (
        120_000, "delivery.timeout.ms of producers", "one that sends again after a pause writes a record twice",
    ),
    "transactional.id.expiration.ms": (
        900_000, "transaction.max.timeout.ms", "one that is still allowed to go on is no longer known",
    ),
}  # fmt: skip
REAUTH = re.compile(r"(listener\.name\.[^.]+\.([\w-]+\.)?)?connections\.max\.reauth\.ms")
LEAST_REAUTH = 60_000
# session.timeout.ms of consumers (KIP-735; librdkafka has the same), and whether it may not be above what is written.
SESSION = 45_000
SESSIONS = {"group.min.session.timeout.ms": False, "group.max.session.timeout.ms": True}
# What clients ask for where they say nothing, those of Java and librdkafka alike unless one is named: the least that
# lets them, what comes of less, what they would have to say.
ASKED = {
    "transaction.max.timeout.ms": (
        60_000, "producers ask for 60000 where they say nothing, and would be let into no transaction",
        "transaction.timeout.ms of {} at most into every producer with transactions",
    ),
    MESSAGE: (
        1_000_000, "librdkafka fills batches up to 1000000 bytes where it is told nothing, and parts none that is "
        "refused: its records would be lost", "batch.size of {} at most into every client of librdkafka",
    ),
    "socket.request.max.bytes": (
        1 << 20, "producers send up to 1 MiB in a request where they say nothing, and brokers would end the connection",
        "max.request.size of less than {} into every producer",
    ),
    "log.message.timestamp.before.max.ms": (
        120_000, "producers try again for 120000 where they say nothing, and a record that comes so late would be "
        "refused", "delivery.timeout.ms of {} at most into every producer",
    ),
}  # fmt: skip
# Times that a pause of the garbage collector or of a disk exceeds: the least, and what comes of less.
PAUSES = {
    "replica.lag.time.max.ms": (
        5_000, "a pause of the garbage collector or of a disk that is as long takes followers out of the ISR, and "
        "writers stop where too few are left",
    ),
    "replica.socket.timeout.ms": (
        5_000, "a pause of the garbage collector that is as long ends the connections of followers, which fall behind",
    ),
    "controller.socket.timeout.ms": (
        5_000, "a pause of a broker that is as long ends the connection of the controller, which begins anew",
    ),
    "request.timeout.ms": (
        5_000, "a pause of a broker that is as long ends the requests of the others",
    ),
}  # fmt: skip
AUTO_CREATE = "auto.create.topics.enable"
PROTOCOLS = {
    "inter.broker.protocol.version": "brokers do without what came since, which is for the time of an upgrade alone",
    "log.message.format.version": "left over from an upgrade: it does nothing, or every batch is converted",
}
PER_ADDRESS = "max.connections.per.ip"
OF_LISTENER = re.compile(r"listener\.name\.([^.]+)\.(.+)")
# What the role writes for each listener, which goes before what is said for all.
COVERED = {
    "ssl.client.auth": "client_auth of the listener",
    "ssl.keystore.location": "kafka_keystore, or keystore of the listener",
    "ssl.truststore.location": "kafka_truststore, or truststore of the listener",
    "ssl.principal.mapping.rules": "principal_mapping_rules of the listener",
    "sasl.enabled.mechanisms": "sasl_mechanisms of the listener",
}


def limits(model: Model) -> Iterator[Problem]:
    """Properties mean what is written, and leave room for one another."""
    for broker in model.brokers:
        for variable, layer in broker.layers:
            for name in UNLIMITED:
                number = whole(layer.get(name))
                if number is not None and (number < -1 or (number == 0 and not name.endswith("bytes"))):
                    wrong = "Kafka takes every number below 0 for -1, for ever" if number else "Kafka would not start"
                    advice = "write -1 where it is meant, or how long" if number else "write 1 at least, or -1"
                    yield broker.problem(f"{variable}[{name}]", "LIMIT_MEANT", number, wrong, advice)
            for name in SPANS:
                if meant := seconds(layer.get(name)):
                    wrong = f"milliseconds, and as seconds it would be {meant}"
                    advice = f"write {layer[name]}000 if seconds were meant"
                    yield broker.problem(f"{variable}[{name}]", "LIMIT_MEANT", layer[name], wrong, advice)
            for name in TINY:
                if tiny(layer.get(name)):
                    wrong, number = "milliseconds, less than a second", whole(layer[name]) or 0
                    advice = f"write {number * 86_400_000} if days were meant, or {number * 3_600_000} for hours"
                    yield broker.problem(f"{variable}[{name}]", "LIMIT_MEANT", layer[name], wrong, advice)
            if whole(layer.get(PER_ADDRESS)) == 0 and not broker.config.get(f"{PER_ADDRESS}.overrides"):
                wrong = "nobody could connect, the other brokers neither"
                advice = f"leave it out, or name exceptions in {PER_ADDRESS}.overrides"
                yield broker.problem(f"{variable}[{PER_ADDRESS}]", "LIMIT_MEANT", 0, wrong, advice)
            if text(layer.get("controlled.shutdown.enable")).lower() == "false":
                wrong = "leaders would not move before a broker stops: every restart leaves partitions without one"
                place = f"{variable}[controlled.shutdown.enable]"
                yield broker.problem(place, "LIMIT_MEANT", False, wrong, "leave it out: true")
            yield from _hasty(broker, variable, layer)
            yield from _forgotten(broker, variable, layer)
            yield from _meant(broker, variable, layer)
            yield from _sessions(broker, variable, layer)
            yield from _asked(broker, variable, layer)
        yield from _holding(broker)


def _hasty(broker: Broker, variable: str, layer: Mapping[Any, Any]) -> Iterator[Problem]:
    """Milliseconds that are about the usual number of seconds were meant as these."""
    definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
    for name in (str(name) for name in layer if str(name).endswith(".ms") and name not in (*SPANS, *JUDGED)):
        number, usual = whole(layer[name]), FOLLOWING.get(name, definitions.default("broker", name))
        if in_seconds(name, number, usual):
            wrong = f"milliseconds, and {usual} is usual"
            advice = f"write {number}000 if seconds were meant, or leave it if that is meant"
            yield broker.problem(f"{variable}[{name}]", "LIMIT_MEANT", number, wrong, advice, warning=True)


def _forgotten(broker: Broker, variable: str, layer: Mapping[Any, Any]) -> Iterator[Problem]:
    """Nothing is forgotten, and nobody has to log in again, while it is in use."""
    for name, (usual, of, wrong) in FORGOTTEN.items():
        least = (whole(broker.config.get(of)) if "." in of else None) or usual
        number = whole(layer.get(name))
        if number is not None and 0 < number < least:
            shown = f"less than {of} ({least}): {wrong}"
            yield broker.problem(f"{variable}[{name}]", "LIMIT_MEANT", number, shown, "raise it, or leave it out")
    for name in (str(name) for name in layer if REAUTH.fullmatch(str(name))):
        number = whole(layer[name])
        if number is not None and 0 < number < LEAST_REAUTH:
            wrong = "milliseconds, and every client would log in again all the time"
            advice = f"write {number}000 if seconds were meant; 3600000 is an hour"
            yield broker.problem(f"{variable}[{name}]", "LIMIT_MEANT", number, wrong, advice, warning=True)


def _sessions(broker: Broker, variable: str, layer: Mapping[Any, Any]) -> Iterator[Problem]:
    """Members of groups may ask for the session that clients ask for by default."""
    least, longest = (
        whole(broker.config.get(name, usual)) for name, usual in zip(SESSIONS, (6000, 1_800_000), strict=True)
    )
    if least is None or longest is None or least > longest:
        return  # said as PROPERTY_ORDER
    for name, most in SESSIONS.items():
        number = whole(layer.get(name))
        if number is not None and (number < SESSION if most else number > SESSION):
            wrong = f"clients ask for {SESSION} where they say nothing, and would be let into no group"
            bound = f"{number} at {'most' if most else 'least'}"
            advice = f"leave it out, or write session.timeout.ms of {bound} into every client"
            yield broker.problem(f"{variable}[{name}]", "LIMIT_MEANT", number, wrong, advice, warning=True)


def _asked(broker: Broker, variable: str, layer: Mapping[Any, Any]) -> Iterator[Problem]:
    """Clients have what they ask for by default, and a broker may pause for as long as one does."""
    definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
    for name in (str(name) for name in layer if name in ASKED or name in PAUSES):
        number, usual = whole(layer[name]), definitions.default("broker", name)
        least, wrong, *words = ASKED.get(name) or PAUSES[name]
        if number is None or not 0 < number < least or in_seconds(name, number, usual):
            continue  # seconds are said as such
        advice = f"leave it out, or write {words[0].format(number)}" if words else f"leave it out: {usual} is usual"
        yield broker.problem(f"{variable}[{name}]", "LIMIT_MEANT", number, wrong, advice, warning=True)


def _meant(broker: Broker, variable: str, layer: Mapping[Any, Any]) -> Iterator[Problem]:
    """Topics are made by who declares them, and brokers speak as their version does when an upgrade is over."""
    if text(layer.get(AUTO_CREATE)).lower() == "true":
        wrong = "each misspelt name that a client asks for becomes a topic, without profile and declaration"
        advice = "leave it out, and declare topics"
        yield broker.problem(f"{variable}[{AUTO_CREATE}]", "TOPICS_UNDECLARED", True, wrong, advice, warning=True)
    own = re.match(r"(\d+)\.(\d+)", str(broker.inputs.get("kafka_version")))
    for name, wrong in PROTOCOLS.items():
        said = re.match(r"(\d+)\.(\d+)", text(layer.get(name)))
        if own and said and (int(said[1]), int(said[2]) + 1) < (int(own[1]), int(own[2])):  # one is the way back
            advice = f"take it out once all brokers run {broker.inputs.get('kafka_version')}"
            yield broker.problem(f"{variable}[{name}]", "PROTOCOL_OLD", layer[name], wrong, advice, warning=True)


def _holding(broker: Broker) -> Iterator[Problem]:
    largest = whole(broker.config.get(MESSAGE, USUAL_MESSAGE))
    for name, (usual, wrong) in HOLDING.items():
        most = whole(broker.config.get(name, usual))
        if largest is not None and most is not None and most < largest:
            place, shown = (name, most) if name in broker.config else (MESSAGE, largest)
            wrong = f"{wrong} ({MESSAGE} is {largest})" if place == name else f"{wrong} ({name} is {most})"
            yield broker.problem(f"kafka_config[{place}]", "LIMIT_MEANT", shown, wrong, "correct one of the two")


def limit(broker: Broker, name: str) -> int:
    """Return one of HOLDING, or what it holds, as a broker has it; Kafka's own where it says no number."""
    number = whole(broker.config.get(name))
    return (
        {MESSAGE: USUAL_MESSAGE, **{of: usual for of, (usual, _) in HOLDING.items()}}[name]
        if number is None
        else number
    )


def listeners(model: Model) -> Iterator[Problem]:
    """Properties of a listener are of one that is there, and those of all are not covered by each listener's own."""
    for broker in model.brokers:
        names = {item.name.lower(): item for item in broker.listeners}
        for variable, layer in broker.layers:
            for key, value in layer.items() if names else ():
                found = OF_LISTENER.fullmatch(str(key))
                if found and found[1].lower() not in names:  # of capitals KAFKA_PROPERTY_UNKNOWN is said
                    near = nearest(found[1], names)
                    wrong = f"kafka_listeners has only {', '.join(item.name for item in names.values())}"
                    wrong += ", and Kafka looks for their names in lower case"
                    advice = f"did you mean listener.name.{near}.{found[2]}?" if near else "name one of them"
                    yield broker.problem(f"{variable}[{key}]", "PROPERTY_LISTENER", None, wrong, advice)
                elif key in COVERED and value is not None and all_covered(broker, str(key)):
                    wrong = "does nothing: the role writes it for each listener, and that goes before"
                    advice = f"take it out, and use {COVERED[str(key)]}"
                    yield broker.problem(f"{variable}[{key}]", "PROPERTY_LISTENER", value, wrong, advice)


def all_covered(broker: Broker, name: str) -> bool:
    """Tell whether every listener that has a use for a property has its own."""
    if name == "ssl.principal.mapping.rules":
        return all(item.rules for item in broker.encrypted if item.asks_for_certificates)
    return bool(broker.encrypted) if name.startswith("ssl.") else True
