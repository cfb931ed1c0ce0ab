"""Rules on properties that the roles write to configuration files as they are.

A property must be known, must have a value that the product accepts, and must be set only once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.live_config import SYNONYMS, UNITS
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine, ZooKeeperServer
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import in_seconds, members, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# Properties that a role derives from its inputs, by the input.
KAFKA_OWNED = {
    "broker.id": "kafka_broker_id",
    "node.id": "kafka_broker_id",
    "broker.id.generation.enable": "kafka_broker_id",
    "broker.rack": "kafka_rack",
    "log.dir": "kafka_log_dirs",
    "log.dirs": "kafka_log_dirs",
    "listeners": "kafka_listeners",
    "advertised.listeners": "kafka_listeners",
    "listener.security.protocol.map": "kafka_listeners",
    "inter.broker.listener.name": "kafka_inter_broker_listener",
    "security.inter.broker.protocol": "kafka_inter_broker_listener",
    "zookeeper.connect": "kafka_zookeeper_connect",
    "default.replication.factor": "kafka_replication_factor",
    "min.insync.replicas": "kafka_min_insync_replicas",
    "super.users": "kafka_super_users",
}
ZOOKEEPER_OWNED = {
    "dataDir": "zookeeper_data_dir",
    "dataLogDir": "zookeeper_data_log_dir",
    "clientPort": "zookeeper_client_port",
    "secureClientPort": "zookeeper_secure_client_port",
}
ZOOKEEPER_PATTERNS = {"server.": "zookeeper_servers", "group.": "zookeeper_groups", "weight.": "zookeeper_weights"}
UNBOUNDED = "queued.max.request.bytes"  # if it is 0 or less; no other of these can be switched off
# Kafka does not start unless the first is at most the second. Each with its default.
ORDERED = (
    ("replica.fetch.wait.max.ms", 100, "replica.lag.time.max.ms", 30000),  # roles/kafka/vars/main/server_properties.yml
    ("replica.fetch.wait.max.ms", 100, "replica.socket.timeout.ms", 30000),
    ("group.min.session.timeout.ms", 6000, "group.max.session.timeout.ms", 1800000),
    # org.apache.kafka.coordinator.group.GroupCoordinatorConfig
    ("group.consumer.min.heartbeat.interval.ms", 5000, "group.consumer.heartbeat.interval.ms", 5000),
    ("group.consumer.heartbeat.interval.ms", 5000, "group.consumer.max.heartbeat.interval.ms", 15000),
    ("group.consumer.min.session.timeout.ms", 45000, "group.consumer.session.timeout.ms", 45000),
    ("group.consumer.session.timeout.ms", 45000, "group.consumer.max.session.timeout.ms", 60000),
    ("socket.request.max.bytes", 104857600, UNBOUNDED, -1),
)


class PropertyKinds(NamedTuple):
    """The kinds of problems of a variable with properties: `unknown` for a name, `value` for a rejected value."""

    unknown: ProblemKind
    value: ProblemKind

    @property
    def unset(self) -> ProblemKind:
        """The kind of problem of a key that is a whole line: YAML reads "name:value" without a blank as a key."""
        return self.unknown.variant(
            message="not the name of a property, and it has no value",
            advice="write name: value, with a blank after the colon",
        )


KAFKA_PROPERTY = PropertyKinds(
    ProblemKind("KAFKA_PROPERTY_UNKNOWN", "{reason}", "{advice}"),
    ProblemKind("KAFKA_PROPERTY_VALUE", "{reason}", "{advice}"),
)
CLIENT_PROPERTY = PropertyKinds(
    ProblemKind("CLIENT_PROPERTY_UNKNOWN", "{reason}", "{advice}"),
    ProblemKind("CLIENT_PROPERTY_VALUE", "{reason}", "{advice}"),
)
ZOOKEEPER_PROPERTY = PropertyKinds(
    ProblemKind("ZOOKEEPER_PROPERTY_UNKNOWN", "{reason}", "{advice}"),
    ProblemKind("ZOOKEEPER_PROPERTY_VALUE", "{reason}", "{advice}"),
)
PROPERTY_TWICE = ProblemKind(
    "PROPERTY_TWICE", "{owner} already sets this property, to another value", "remove it here, and set {owner}"
)


def kafka(model: Model) -> Iterator[Problem]:
    """Yield a problem for each property in kafka_config that the declared version of Kafka does not know or rejects.

    Also yield a problem for each property that the role sets to another value. kafka_config_overrides and
    kafka_client_properties are checked too.
    """
    for broker in model.brokers:
        definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
        overrides = broker.inputs.mapping("kafka_config_overrides")
        for problem in check_properties(broker, definitions, "broker", "kafka_config", broker.config, KAFKA_PROPERTY):
            name = problem.variable.removeprefix("kafka_config")
            yield replace(problem, variable=f"kafka_config_overrides{name}") if name[1:-1] in overrides else problem
        for variable, layer in broker.layers:
            for name, value in layer.items():
                owned = name in KAFKA_OWNED and (name != "super.users" or broker.super_users)
                if owned and value is not None and text(_written_by_role(broker, name)) != text(value):
                    yield broker.report(PROPERTY_TWICE, f"{variable}[{name}]", value, owner=KAFKA_OWNED[name])
        yield from _synonyms(broker)
        yield from _order(broker)
        yield from _authorizer(broker)
        yield from _metadata(broker)
        tools = broker.inputs.mapping("kafka_client_properties")
        yield from check_properties(broker, definitions, "client", "kafka_client_properties", tools, CLIENT_PROPERTY)


CONFIG_REPLACED = ProblemKind(
    "CONFIG_REPLACED",
    "replaces the kafka_config of the other brokers, and does not set {missing}",
    "set only what differs, in kafka_config_overrides",
)


def replaced(model: Model) -> Iterator[Problem]:
    """Yield a problem for each broker whose kafka_config does not have all properties of most brokers' kafka_config.

    If a host sets a dict, Ansible replaces the group's dict instead of merging the two.
    """
    counts = Counter(frozenset(map(str, broker.inputs.mapping("kafka_config"))) for broker in model.brokers)
    most, number = max(counts.items(), key=lambda item: (item[1], len(item[0])), default=(frozenset[str](), 0))
    for broker in model.brokers:
        own = frozenset(map(str, broker.inputs.mapping("kafka_config")))
        missing = sorted(most - own)
        if missing and number > counts[own]:
            listed = [*missing[:3], *(["..."] if len(missing) > 3 else [])]
            yield broker.report(CONFIG_REPLACED, "kafka_config", missing=listed)


def zookeeper(model: Model) -> Iterator[Problem]:
    """Yield a problem for each property in zookeeper_config that the declared ZooKeeper does not know or rejects.

    Also yield a problem for each property that the role sets to another value.
    """
    for server in model.servers:
        definitions = Definitions.load("zookeeper", str(server.inputs.get("zookeeper_version")))
        for name, value in server.config.items():
            yield from _zookeeper_property(server, str(name), value)
        patterns = tuple(ZOOKEEPER_PATTERNS)
        ours = {name: value for name, value in server.config.items() if not str(name).startswith(patterns)}
        yield from check_properties(server, definitions, "zookeeper", "zookeeper_config", ours, ZOOKEEPER_PROPERTY)


ZOOKEEPER_MULTIADDRESS = ProblemKind(
    "ZOOKEEPER_MULTIADDRESS",
    "with this key alone the server does not start, because a JVM flag is also required",
    "remove it, and set several addresses of a server in zookeeper_servers: the role then sets the flag",
)
ZOOKEEPER_RECONFIG = ProblemKind(
    "ZOOKEEPER_RECONFIG",
    "ZooKeeper would rewrite its configuration file, which the role writes from the inventory",
    "remove it",
)


def _zookeeper_property(server: ZooKeeperServer, name: str, value: Any) -> Iterator[Problem]:
    variable = f"zookeeper_config[{name}]"
    by_pattern = (owner for prefix, owner in ZOOKEEPER_PATTERNS.items() if name.startswith(prefix))
    owner = ZOOKEEPER_OWNED.get(name) or next(by_pattern, None)
    if owner and value is not None and not _repeats_role(server, name, value):
        yield server.report(PROPERTY_TWICE, variable, value, owner=owner)
    elif name == "multiAddress.enabled":
        yield server.report(ZOOKEEPER_MULTIADDRESS, variable, value)
    elif name == "peerType" and value is not None and (str(value) == "observer") == server.votes:
        yield server.report(PROPERTY_TWICE, variable, value, owner="zookeeper_observers")
    elif name in ("reconfigEnabled", "dynamicConfigFile") and str(value).lower() not in ("false", "none"):
        yield server.report(ZOOKEEPER_RECONFIG, variable, value)


def check_properties(
    machine: Machine,
    definitions: Definitions,
    section: str,
    variable: str,
    config: Mapping[str, Any],
    kinds: PropertyKinds,
) -> Iterator[Problem]:
    """Yield a problem for each unknown name and rejected value in `config`, the value of `variable`.

    `definitions` are the properties of the product's version. `section` is the part of them to use, such as "broker" or
    "client". `kinds` has the kinds of problems to report.
    """
    known = {str(name) for name in machine.inputs.sequence("known_properties")}
    for name in (str(name) for name, value in config.items() if value is None and re.search(r"[\s:=]", str(name))):
        yield machine.report(kinds.unset, f"{variable}[{name}]")
    for finding in definitions.judge(section, {name: value for name, value in config.items() if name not in known}):
        kind = kinds.unknown if finding.kind == "unknown" else kinds.value
        place = f"{variable}[{finding.name}]"
        yield machine.report(kind, place, finding.shown, reason=finding.message, advice=finding.advice)


def _written_by_role(broker: Broker, name: str) -> Any:
    """Return the value that the role kafka writes for the property `name`, which it sets from its own inputs."""
    derived: dict[str, Any] = {
        "broker.id.generation.enable": False,
        "zookeeper.connect": ",".join(broker.zookeeper_connect) + (broker.inputs.text("kafka_zookeeper_chroot") or ""),
        "log.dirs": broker.log_dirs,
        "super.users": ";".join(broker.super_users),
        "listeners": [f"{item.name}://{item.address}:{item.port}" for item in broker.listeners],
        "listener.security.protocol.map": [f"{item.name}:{item.protocol}" for item in broker.listeners],
    }
    return derived.get(name, broker.inputs.get(KAFKA_OWNED[name]))


def _repeats_role(server: ZooKeeperServer, name: str, value: Any) -> bool:
    """Tell whether a property has the value that the role writes anyway; false for server.N."""
    if name in ZOOKEEPER_OWNED:
        return text(server.inputs.get(ZOOKEEPER_OWNED[name])) == text(value)
    groups = {f"group.{number}": ids for number, ids in server.groups.items()}
    return groups.get(name) == members(value)


def text(value: Any) -> str:
    """Return a value as a properties file contains it: a list with commas, true and false in lower case."""
    return (
        ",".join(map(text, value))
        if isinstance(value, (list, tuple))
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


PROPERTY_SYNONYM = ProblemKind(
    "PROPERTY_SYNONYM", "{others} sets another value, and Kafka uses {first}", "keep one of them"
)


def _synonyms(broker: Broker) -> Iterator[Problem]:
    """Yield a problem for properties that mean the same (as .ms and .hours) and have different values."""
    for names in SYNONYMS:
        given = [name for name in names if broker.config.get(name) is not None]
        values = {(whole(broker.config[name]) or 0) * UNITS[name.rpartition(".")[2]] for name in given}
        if len(values) > 1:
            layer_of = {name: variable for variable, layer in broker.layers for name in layer if name in given}
            of_host = [name for name in given if layer_of[name].endswith("_overrides")]
            name = (of_host or given)[0]
            others = [f"{layer_of[other]}[{other}] = {broker.config[other]}" for other in given if other != name]
            place, value = f"{layer_of[name]}[{name}]", broker.config[name]
            yield broker.report(PROPERTY_SYNONYM, place, value, others=" and ".join(others), first=given[0])


PROPERTY_ORDER = ProblemKind(
    "PROPERTY_ORDER", "more than {other} ({limit}), so Kafka would not start", "set at most {limit}, or raise {other}"
)
PROPERTY_ORDER_LESS = PROPERTY_ORDER.variant(
    message="less than {other} ({limit}), so Kafka would not start", advice="set at least {limit}, or lower {other}"
)
BOTH_SET = {"advice": "correct this property or {other}"}
SECONDS = {"advice": "write {number}000 if you mean seconds: the unit is milliseconds"}


def _order(broker: Broker) -> Iterator[Problem]:
    """Yield a problem for each property that must not be larger than another one, but is.

    Kafka compares these pairs when it starts. Each property is reported once.
    """
    reported = set[str]()
    for low, low_default, high, high_default in ORDERED:
        least, most = whole(broker.config.get(low, low_default)), whole(broker.config.get(high, high_default))
        if least is None or most is None or least <= most or (high == UNBOUNDED and most <= 0):
            continue
        own = {name: variable for variable, layer in broker.layers for name in layer if name in (low, high)}
        name, value, other, limit, kind = low, least, high, most, PROPERTY_ORDER
        if low not in own and high in own:  # the first is the role's value or Kafka's default
            name, value, other, limit, kind = high, most, low, least, PROPERTY_ORDER_LESS
        if name in reported:
            continue
        reported.add(name)
        default = Definitions.load("kafka", str(broker.inputs.get("kafka_version"))).default("broker", name)
        if in_seconds(name, value, default):
            kind = kind.variant(**SECONDS)
        elif low in own and high in own:
            kind = kind.variant(**BOTH_SET)
        place = f"{own.get(name, 'kafka_config')}[{name}]"
        yield broker.report(kind, place, value, other=other, limit=limit, number=value)


AUTHORIZER_SUPER_USERS = ProblemKind(
    "AUTHORIZER_SUPER_USERS",
    "without super.users the brokers themselves are denied, and the cluster does not start",
    "set kafka_super_users to the principals of the brokers and the admin, and remove super.users from kafka_config "
    "if it is set there",
)


def _authorizer(broker: Broker) -> Iterator[Problem]:
    """Yield a problem if a broker has an authorizer, but no super users: it would deny requests of the brokers."""
    name = "authorizer.class.name"
    super_users = broker.config.get("super.users", broker.super_users)
    if broker.config.get(name, broker.super_users) and not super_users:
        value, place = (broker.config[name], name) if name in broker.config else (None, "super.users")
        yield broker.report(AUTHORIZER_SUPER_USERS, f"kafka_config[{place}]", value)


KAFKA_MIGRATION = ProblemKind(
    "KAFKA_MIGRATION",
    "brokers would connect to KRaft controllers, which this project does not have, and not start",
    "remove it",
)
KAFKA_PROTOCOL = ProblemKind(
    "KAFKA_PROTOCOL",
    "later than kafka_version {version}, so Kafka would not start with ZooKeeper",
    'remove it, or set the version from which the brokers are upgraded, for example "3.8"',
)


def _metadata(broker: Broker) -> Iterator[Problem]:
    """Yield a problem for a migration to KRaft, and for a protocol version later than the broker's version."""
    migration, protocol = "zookeeper.metadata.migration.enable", "inter.broker.protocol.version"
    if text(broker.config.get(migration)).lower() == "true":
        yield broker.report(KAFKA_MIGRATION, f"kafka_config[{migration}]", True)
    version = broker.inputs.get("kafka_version")
    declared, own = (_release(value) for value in (broker.config.get(protocol), version))
    if declared and own and declared > own:
        yield broker.report(KAFKA_PROTOCOL, f"kafka_config[{protocol}]", broker.config[protocol], version=version)


def _release(value: Any) -> tuple[int, ...]:
    """Return (major, minor) of a version such as 3.9, 3.9.2 or 3.9-IV0; () for any other text."""
    match = re.match(r"(\d+)\.(\d+)", str(value))
    return tuple(int(part) for part in match.groups()) if match else ()
