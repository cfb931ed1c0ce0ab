"""Checks broker properties that Kafka accepts, but that do not have the intended effect, or exclude clients."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import below_minimum
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions, nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.properties import text
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import in_seconds, seconds, tiny, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# Kafka reads any number below 0 as "unlimited" (KafkaConfig.getLogRetentionTimeMillis, UnifiedLog).
UNLIMITED = ("log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.retention.bytes")
SPANS = ("log.retention.ms", "log.roll.ms", "log.cleaner.delete.retention.ms", "log.cleaner.max.compaction.lag.ms")
# Durations that make no sense below one second.
TINY = ("log.retention.ms", "log.local.retention.ms", "log.roll.ms")
# The least values that Kafka accepts, which its definitions do not tell (KafkaConfig.validateValues).
LEAST = {"log.roll.ms": 1, "log.roll.jitter.ms": 0}
MESSAGE = "message.max.bytes"
SEGMENT, REQUEST = "log.segment.bytes", "socket.request.max.bytes"
# Defaults of the largest batch, and of the properties that have to hold it.
BATCH_DEFAULTS = {MESSAGE: 1048588, SEGMENT: 1073741824, REQUEST: 104857600}
# Times with rules of their own, and the values that replace the default of a time that follows another.
JUDGED = ("zookeeper.session.timeout.ms",)
FOLLOWING = {"zookeeper.connection.timeout.ms": 30_000}
REAUTH = re.compile(r"(listener\.name\.[^.]+\.([\w-]+\.)?)?connections\.max\.reauth\.ms")
LEAST_REAUTH = 60_000
# session.timeout.ms of consumers (KIP-735; librdkafka has the same), and whether a property is an upper bound of it.
SESSION = 45_000
SESSIONS = {"group.min.session.timeout.ms": False, "group.max.session.timeout.ms": True}
MOST_INT = 2**31 - 1  # of Java's int
AUTO_CREATE, PER_ADDRESS = "auto.create.topics.enable", "max.connections.per.ip"
OF_LISTENER = re.compile(r"listener\.name\.([^.]+)\.(.+)")
# Properties that the role sets for each listener, which overrides the value for all, and the setting to use instead.
COVERED = {
    "ssl.client.auth": "client_auth of the listener",
    "ssl.keystore.location": "kafka_keystore, or keystore of the listener",
    "ssl.truststore.location": "kafka_truststore, or truststore of the listener",
    "ssl.principal.mapping.rules": "principal_mapping_rules of the listener",
    "sasl.enabled.mechanisms": "sasl_mechanisms of the listener",
}

# The kinds of a property whose value has another effect than intended.
LIMIT_MEANT = ProblemKind(
    "LIMIT_MEANT",
    "Kafka reads every number below 0 as -1, which means unlimited",
    "write -1 if you mean unlimited, or a limit above 0",
)
LIMIT_MEANT_ZERO = LIMIT_MEANT.variant(
    message="Kafka would not start with 0", advice="set at least 1, or -1 for unlimited"
)
LIMIT_MEANT_LEAST = LIMIT_MEANT.variant(
    message="Kafka would not start with less than {minimum}", advice="set at least {minimum}"
)
LIMIT_MEANT_SECONDS = LIMIT_MEANT.variant(
    message="the unit is milliseconds: as seconds it would be {duration}",
    advice="write {number}000 if you mean seconds",
)
LIMIT_MEANT_TINY = LIMIT_MEANT.variant(
    message="the unit is milliseconds: this is less than a second",
    advice="write {days} if you mean days, or {hours} for hours",
)
LIMIT_MEANT_NO_CONNECTION = LIMIT_MEANT.variant(
    message="no client and no other broker could connect",
    advice=f"remove it, or name exceptions in {PER_ADDRESS}.overrides",
)
LIMIT_MEANT_DANGER = LIMIT_MEANT.variant(message="{consequence}", advice="remove it, or set at least {minimum}")
LIMIT_MEANT_SHUTDOWN = LIMIT_MEANT.variant(
    message="leaders would not move before a broker stops: each restart would leave partitions without a leader",
    advice="remove it (default: true)",
)
LIMIT_MEANT_USUAL = LIMIT_MEANT.variant(
    message="the unit is milliseconds: the default is {default}",
    advice="write {number}000 if you mean seconds, or keep it if milliseconds are intended",
)
LIMIT_MEANT_REAUTH = LIMIT_MEANT.variant(
    message="the unit is milliseconds: every client would log in again and again",
    advice="write {number}000 if you mean seconds, or for example 3600000 for an hour",
)
LIMIT_MEANT_PRODUCER = LIMIT_MEANT.variant(
    message="less than {other} ({least}): a producer that retries after a pause would write a record twice",
    advice="raise it to at least {least}, or remove it",
)
LIMIT_MEANT_TRANSACTION = LIMIT_MEANT_PRODUCER.variant(
    message="less than {other} ({least}): brokers would forget a transactional id while its producer pauses "
    "between transactions"
)
LIMIT_MEANT_SESSION_MOST = LIMIT_MEANT.variant(
    message="consumers request session.timeout.ms {session} by default: brokers would reject them from every group",
    advice="remove it, or set session.timeout.ms to at most {number} in every client",
)
LIMIT_MEANT_SESSION_LEAST = LIMIT_MEANT_SESSION_MOST.variant(
    advice="remove it, or set session.timeout.ms to at least {number} in every client"
)
LIMIT_MEANT_REQUEST = LIMIT_MEANT.variant(
    message="{other} is {limit}: the largest batch would not fit into a request, and brokers would close "
    "the connection",
    advice=f"lower {MESSAGE}, or raise {REQUEST}",
)
LIMIT_MEANT_SEGMENT = LIMIT_MEANT_REQUEST.variant(
    message="{other} is {limit}: the largest batch would not fit into a segment, and brokers would reject it",
    advice=f"lower {MESSAGE}, or raise {SEGMENT}",
)
LIMIT_MEANT_BOTH = LIMIT_MEANT_REQUEST.variant(
    message="{limits}: the largest batch would fit neither into a segment nor into a request",
    advice=f"lower {MESSAGE}, or raise {SEGMENT} and {REQUEST}",
)
# What a batch has to fit into.
HOLDERS = {SEGMENT: LIMIT_MEANT_SEGMENT, REQUEST: LIMIT_MEANT_REQUEST}


@dataclass(frozen=True)
class Expiry:
    """The minimum of a broker property that decides how long a broker remembers an idle producer or a transaction."""

    least: int
    """The minimum in milliseconds, if the broker does not set `other`."""
    other: str
    """The setting of clients or brokers that the property must not be less than."""
    kind: ProblemKind


EXPIRIES = {
    "producer.id.expiration.ms": Expiry(120_000, "delivery.timeout.ms of producers", LIMIT_MEANT_PRODUCER),
    "transactional.id.expiration.ms": Expiry(900_000, "transaction.max.timeout.ms", LIMIT_MEANT_TRANSACTION),
}
PAUSE = "remove it (default: {default})"
# The smallest values that clients need by default (clients of Java and librdkafka, unless one is named), or that are
# longer than a pause of the garbage collector or of a disk; and the kind for smaller values.
REQUIRED: dict[str, tuple[int, ProblemKind]] = {
    "transaction.max.timeout.ms": (
        60_000,
        LIMIT_MEANT.variant(
            message="producers request a timeout of 60000 ms by default, and could begin no transaction",
            advice="remove it, or set transaction.timeout.ms to at most {number} in every producer with transactions",
        ),
    ),
    MESSAGE: (
        1_000_000,
        LIMIT_MEANT.variant(
            message="librdkafka fills batches up to 1000000 bytes by default, and does not split a rejected batch: its "
            "records would be lost",
            advice="remove it, or set batch.size to at most {number} in every client of librdkafka",
        ),
    ),
    REQUEST: (
        1 << 20,
        LIMIT_MEANT.variant(
            message="producers send up to 1 MiB in a request by default, and brokers would close the connection",
            advice="remove it, or set max.request.size to less than {number} in every producer",
        ),
    ),
    "log.message.timestamp.before.max.ms": (
        120_000,
        LIMIT_MEANT.variant(
            message="producers retry for 120000 ms by default, and brokers would reject a record that arrives "
            "that late",
            advice="remove it, or set delivery.timeout.ms to at most {number} in every producer",
        ),
    ),
    "replica.lag.time.max.ms": (
        5_000,
        LIMIT_MEANT.variant(
            message="a pause of this length (garbage collector, disk) removes followers from the ISR, and writes "
            "stop if too few remain",
            advice=PAUSE,
        ),
    ),
    "replica.socket.timeout.ms": (
        5_000,
        LIMIT_MEANT.variant(
            message="a garbage collection of this length closes the connections of followers, which then fall behind",
            advice=PAUSE,
        ),
    ),
    "controller.socket.timeout.ms": (
        5_000,
        LIMIT_MEANT.variant(
            message="if a broker pauses for this time, the controller closes its connection to the broker and has "
            "to repeat its requests",
            advice=PAUSE,
        ),
    ),
    "request.timeout.ms": (
        5_000,
        LIMIT_MEANT.variant(
            message="if a broker pauses for this time, requests of the other brokers to this broker fail", advice=PAUSE
        ),
    ),
}


def limits(model: Model) -> Iterator[Problem]:
    """Yield a problem for each broker property whose value is probably not what was intended.

    Examples: a number of seconds where Kafka reads milliseconds, a limit below the default of clients, or two limits
    that contradict each other.
    """
    for broker in model.brokers:
        for variable, layer in broker.layers:
            yield from _numbers(broker, variable, layer)
            if whole(layer.get(PER_ADDRESS)) == 0 and not broker.config.get(f"{PER_ADDRESS}.overrides"):
                yield broker.report(LIMIT_MEANT_NO_CONNECTION, f"{variable}[{PER_ADDRESS}]", 0)
            yield from _dangers(broker, variable, layer)
            if text(layer.get("controlled.shutdown.enable")).lower() == "false":
                yield broker.report(LIMIT_MEANT_SHUTDOWN, f"{variable}[controlled.shutdown.enable]", False)
            yield from _seconds(broker, variable, layer)
            yield from _expiries(broker, variable, layer)
            yield from _leftovers(broker, variable, layer)
            yield from _sessions(broker, variable, layer)
            yield from _required(broker, variable, layer)
        yield from _largest_batch(broker)


def _dangers(broker: Broker, variable: str, layer: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield a problem for each limit with which no cluster can run, as 0 for max.connections, though Kafka accepts it.

    Properties with a rule of their own are left out.
    """
    definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
    for name, value in layer.items():
        limit = None if name in (PER_ADDRESS, SEGMENT, *EXPIRIES, *REQUIRED) else below_minimum(str(name), value)
        if limit and not list(definitions.judge("broker", {str(name): value})):
            minimum, consequence = limit
            yield broker.report(
                LIMIT_MEANT_DANGER, f"{variable}[{name}]", value, minimum=minimum, consequence=consequence
            )


def _numbers(broker: Broker, variable: str, layer: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield a problem for a limit below -1 or of 0, and for a duration that seems not to be in milliseconds.

    `layer` has the properties that `variable` sets, as kafka_config.
    """
    for name in UNLIMITED:
        number = whole(layer.get(name))
        if number is not None and (number < -1 or (number == 0 and not name.endswith("bytes"))):
            yield broker.report(LIMIT_MEANT if number else LIMIT_MEANT_ZERO, f"{variable}[{name}]", number)
    for name, minimum in LEAST.items():
        number = whole(layer.get(name))
        if number is not None and number < minimum:
            yield broker.report(LIMIT_MEANT_LEAST, f"{variable}[{name}]", number, minimum=minimum)
    for name in SPANS:
        if duration := seconds(layer.get(name)):
            value = layer[name]
            yield broker.report(LIMIT_MEANT_SECONDS, f"{variable}[{name}]", value, duration=duration, number=value)
    for name in TINY:
        if tiny(layer.get(name)):
            number = whole(layer[name]) or 0
            days, hours = number * 86_400_000, number * 3_600_000
            yield broker.report(LIMIT_MEANT_TINY, f"{variable}[{name}]", layer[name], days=days, hours=hours)


def _seconds(broker: Broker, variable: str, layer: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield a warning for each property in milliseconds whose number would fit the usual value in seconds."""
    definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
    for name in (str(name) for name in layer if str(name).endswith(".ms") and name not in (*SPANS, *JUDGED)):
        number, default = whole(layer[name]), FOLLOWING.get(name, definitions.default("broker", name))
        if in_seconds(name, number, default):
            place = f"{variable}[{name}]"
            yield broker.report(LIMIT_MEANT_USUAL, place, number, warning=True, default=default, number=number)


def _expiries(broker: Broker, variable: str, layer: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield a problem for times after which brokers forget a producer or transaction that is still in use.

    Also yield a problem if clients must log in again too often (connections.max.reauth.ms).
    """
    for name, expiry in EXPIRIES.items():
        least = (whole(broker.config.get(expiry.other)) if "." in expiry.other else None) or expiry.least
        number = whole(layer.get(name))
        if number is not None and 0 < number < least:
            yield broker.report(expiry.kind, f"{variable}[{name}]", number, other=expiry.other, least=least)
    for name in (str(name) for name in layer if REAUTH.fullmatch(str(name))):
        number = whole(layer[name])
        if number is not None and 0 < number < LEAST_REAUTH:
            yield broker.report(LIMIT_MEANT_REAUTH, f"{variable}[{name}]", number, warning=True, number=number)


def _sessions(broker: Broker, variable: str, layer: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield a warning if the allowed session timeouts of consumer groups do not include the clients' default, 45 s."""
    least, longest = (
        whole(broker.config.get(name, default)) for name, default in zip(SESSIONS, (6000, 1_800_000), strict=True)
    )
    if least is None or longest is None or least > longest:
        return  # reported as PROPERTY_ORDER
    for name, is_upper in SESSIONS.items():
        number = whole(layer.get(name))
        if number is not None and (number < SESSION if is_upper else number > SESSION):
            kind = LIMIT_MEANT_SESSION_MOST if is_upper else LIMIT_MEANT_SESSION_LEAST
            yield broker.report(kind, f"{variable}[{name}]", number, warning=True, session=SESSION, number=number)


def _required(broker: Broker, variable: str, layer: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield a warning for each property below its minimum in REQUIRED.

    Below it, clients with default settings are rejected, or a short pause of a broker has consequences.
    """
    definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
    for name in (str(name) for name in layer if name in REQUIRED):
        number, default = whole(layer[name]), definitions.default("broker", name)
        least, kind = REQUIRED[name]
        if number is None or not 0 < number < least or in_seconds(name, number, default):
            continue  # a number of seconds is reported as such
        yield broker.report(kind, f"{variable}[{name}]", number, warning=True, number=number, default=default)


TOPICS_UNDECLARED = ProblemKind(
    "TOPICS_UNDECLARED",
    "brokers create a topic for each unknown name that a client requests, even for a misspelt one",
    "remove it (default: false), and declare topics in kafka_topics",
    warning=True,
)
PROTOCOL_OLD = ProblemKind(
    "PROTOCOL_OLD",
    "brokers run without the features of newer versions: an old version is only for the time of an upgrade",
    "remove it once all brokers run {version}",
    warning=True,
)
PROTOCOL_OLD_FORMAT = PROTOCOL_OLD.variant(
    message="left over from an upgrade: it has no effect, or brokers convert every batch"
)
PROTOCOLS = {"inter.broker.protocol.version": PROTOCOL_OLD, "log.message.format.version": PROTOCOL_OLD_FORMAT}


def _leftovers(broker: Broker, variable: str, layer: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield a problem if brokers create topics automatically.

    Also yield a problem if a protocol version is still the version of an older Kafka, as it is during an upgrade.
    """
    if text(layer.get(AUTO_CREATE)).lower() == "true":
        yield broker.report(TOPICS_UNDECLARED, f"{variable}[{AUTO_CREATE}]", True)
    version = str(broker.inputs.get("kafka_version"))
    installed = re.match(r"(\d+)\.(\d+)", version)
    for name, kind in PROTOCOLS.items():
        protocol = re.match(r"(\d+)\.(\d+)", text(layer.get(name)))
        # The previous minor version is accepted: a rollback needs it.
        if installed and protocol and (int(protocol[1]), int(protocol[2]) + 1) < (int(installed[1]), int(installed[2])):
            yield broker.report(kind, f"{variable}[{name}]", layer[name], version=version)


def _largest_batch(broker: Broker) -> Iterator[Problem]:
    """Yield a problem if a batch of message.max.bytes does not fit into a broker's segment or request size."""
    largest = whole(broker.config.get(MESSAGE, BATCH_DEFAULTS[MESSAGE]))
    if largest is None or largest > MOST_INT:
        return  # reported as KAFKA_PROPERTY_VALUE
    defaults = [name for name in HOLDERS if name not in broker.config and BATCH_DEFAULTS[name] < largest]
    for name in HOLDERS:
        most = whole(broker.config.get(name))
        if most is not None and most < largest:
            yield broker.report(HOLDERS[name], f"kafka_config[{name}]", most, other=MESSAGE, limit=largest)
    if defaults:
        kind = HOLDERS[defaults[0]] if len(defaults) == 1 else LIMIT_MEANT_BOTH
        other, limit_of_other = defaults[0], BATCH_DEFAULTS[defaults[0]]
        limits = " and ".join(f"{name} is {BATCH_DEFAULTS[name]}" for name in defaults)
        yield broker.report(kind, f"kafka_config[{MESSAGE}]", largest, limits=limits, other=other, limit=limit_of_other)


def limit(broker: Broker, name: str) -> int:
    """Return the value in bytes of a size property of a broker, such as message.max.bytes.

    `name` must be a key of BATCH_DEFAULTS. Return Kafka's default if the broker does not set the property to a number.
    """
    number = whole(broker.config.get(name))
    return BATCH_DEFAULTS[name] if number is None else number


PROPERTY_LISTENER = ProblemKind(
    "PROPERTY_LISTENER",
    "no listener has this name: kafka_listeners has only {listeners}, which Kafka expects here in lower case",
    "write the name of one of these listeners, in lower case",
)
PROPERTY_LISTENER_TYPO = PROPERTY_LISTENER.variant(advice="did you mean listener.name.{near}.{property}?")
PROPERTY_LISTENER_COVERED = PROPERTY_LISTENER.variant(
    message="has no effect: the role sets this property for each listener, which overrides this value",
    advice="remove it, and use {instead}",
)


def listeners(model: Model) -> Iterator[Problem]:
    """Yield a problem for each property listener.name.X.* if the broker has no listener X.

    Also yield a problem for each property that has no effect, because every listener has its own value.
    """
    for broker in model.brokers:
        names = {item.name.lower(): item for item in broker.listeners}
        for variable, layer in broker.layers:
            for key, value in layer.items() if names else ():
                of_listener = OF_LISTENER.fullmatch(str(key))
                if of_listener and of_listener[1].lower() not in names:  # upper case: KAFKA_PROPERTY_UNKNOWN
                    near = nearest(of_listener[1], names)
                    yield broker.report(
                        PROPERTY_LISTENER_TYPO if near else PROPERTY_LISTENER,
                        f"{variable}[{key}]",
                        listeners=[item.name for item in names.values()],
                        near=near,
                        property=of_listener[2],
                    )
                elif key in COVERED and value is not None and all_covered(broker, str(key)):
                    instead = COVERED[str(key)]
                    yield broker.report(PROPERTY_LISTENER_COVERED, f"{variable}[{key}]", value, instead=instead)


def all_covered(broker: Broker, name: str) -> bool:
    """Tell whether the property `name` of a broker has no effect.

    This is so if every listener that would use the property has its own value.
    """
    if name == "ssl.principal.mapping.rules":
        return all(item.rules for item in broker.encrypted if item.asks_for_certificates)
    return bool(broker.encrypted) if name.startswith("ssl.") else True
