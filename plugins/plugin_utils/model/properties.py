"""Rules on properties that go into files as they are.

Known names, values that the product takes, nothing said twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.live_config import SYNONYMS, UNITS
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine, ZooKeeperServer
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import in_seconds, members, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# Properties that a role derives from its inputs.
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
UNBOUNDED = "queued.max.request.bytes"  # where it is 0 or less; nothing else of these can be switched off
# Kafka refuses to start unless the first is at most the second.
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


def kafka(model: Model) -> Iterator[Problem]:
    """Judge kafka_config and kafka_config_overrides by the definitions of that Kafka."""
    for broker in model.brokers:
        definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
        overrides = broker.inputs.mapping("kafka_config_overrides")
        for problem in judged(broker, definitions, "broker", "kafka_config", broker.config, "KAFKA"):
            name = problem.variable.removeprefix("kafka_config")
            yield replace(problem, variable=f"kafka_config_overrides{name}") if name[1:-1] in overrides else problem
        for variable, layer in broker.layers:
            for name, value in layer.items():
                own = name in KAFKA_OWNED and (name != "super.users" or broker.super_users)
                if own and value is not None and text(_of_broker(broker, name)) != text(value):
                    yield _twice(broker, f"{variable}[{name}]", value, KAFKA_OWNED[name])
        yield from _synonyms(broker)
        yield from _order(broker)
        yield from _authorizer(broker)
        yield from _metadata(broker)
        tools = broker.inputs.mapping("kafka_client_properties")
        yield from judged(broker, definitions, "client", "kafka_client_properties", tools, "CLIENT")


def replaced(model: Model) -> Iterator[Problem]:
    """No host drops the cluster's properties by a kafka_config of its own: Ansible replaces a dict, it adds nothing."""
    told = Counter(frozenset(map(str, broker.inputs.mapping("kafka_config"))) for broker in model.brokers)
    most, number = max(told.items(), key=lambda item: (item[1], len(item[0])), default=(frozenset[str](), 0))
    for broker in model.brokers:
        own = frozenset(map(str, broker.inputs.mapping("kafka_config")))
        lost = sorted(most - own)
        if lost and number > told[own]:
            shown = f"{', '.join(lost[:3])}{', ...' if len(lost) > 3 else ''}"
            wrong = f"replaces that of the other brokers, and leaves out {shown}"
            advice = "say what differs in kafka_config_overrides"
            yield broker.problem("kafka_config", "CONFIG_REPLACED", None, wrong, advice)


def zookeeper(model: Model) -> Iterator[Problem]:
    """Judge zookeeper_config by the definitions of that ZooKeeper."""
    for server in model.servers:
        definitions = Definitions.load("zookeeper", str(server.inputs.get("zookeeper_version")))
        for name, value in server.config.items():
            yield from _zookeeper_property(server, str(name), value)
        patterns = tuple(ZOOKEEPER_PATTERNS)
        ours = {name: value for name, value in server.config.items() if not str(name).startswith(patterns)}
        yield from judged(server, definitions, "zookeeper", "zookeeper_config", ours, "ZOOKEEPER")


def _zookeeper_property(server: ZooKeeperServer, name: str, value: Any) -> Iterator[Problem]:
    variable = f"zookeeper_config[{name}]"
    by_pattern = (owner for prefix, owner in ZOOKEEPER_PATTERNS.items() if name.startswith(prefix))
    owner = ZOOKEEPER_OWNED.get(name) or next(by_pattern, None)
    if owner and value is not None and not _of_server(server, name, value):
        yield _twice(server, variable, value, owner)
    elif name == "multiAddress.enabled":
        wrong = "this key alone makes the server refuse to start: it takes a flag of the JVM"
        advice = "give several addresses in zookeeper_servers, and the role sets the flag"
        yield server.problem(variable, "ZOOKEEPER_MULTIADDRESS", value, wrong, advice)
    elif name == "peerType" and value is not None and (str(value) == "observer") == server.votes:
        yield _twice(server, variable, value, "zookeeper_observers")
    elif name in ("reconfigEnabled", "dynamicConfigFile") and str(value).lower() not in ("false", "none"):
        wrong = "ZooKeeper would rewrite its own configuration, and the ensemble is what the inventory says"
        yield server.problem(variable, "ZOOKEEPER_RECONFIG", value, wrong, "take it out")


def _twice(machine: Machine, variable: str, value: Any, owner: str) -> Problem:
    wrong, advice = f"{owner} says it already, and otherwise", f"take it out, and set {owner}"
    return machine.problem(variable, "PROPERTY_TWICE", value, wrong, advice)


def judged(
    machine: Machine, definitions: Definitions, section: str, variable: str, config: Mapping[str, Any], code: str
) -> Iterator[Problem]:
    """Yield what the product's own definitions say against a dict of properties."""
    known = {str(name) for name in machine.inputs.sequence("known_properties")}
    for name in (str(name) for name, value in config.items() if value is None and re.search(r"[\s:=]", str(name))):
        wrong, advice = (
            "no name of a property, with nothing behind it",
            "write name: value, with a blank after the colon",
        )
        yield machine.problem(f"{variable}[{name}]", f"{code}_PROPERTY_UNKNOWN", None, wrong, advice)
    for finding in definitions.judge(section, {name: value for name, value in config.items() if name not in known}):
        kind = "PROPERTY_UNKNOWN" if finding.kind == "unknown" else "PROPERTY_VALUE"
        place = f"{variable}[{finding.name}]"
        yield machine.problem(place, f"{code}_{kind}", finding.shown, finding.wrong, finding.advice)


def _of_broker(broker: Broker, name: str) -> Any:
    """Return what the role writes of a property that is its own."""
    derived: dict[str, Any] = {
        "broker.id.generation.enable": False,
        "zookeeper.connect": ",".join(broker.zookeeper_connect) + (broker.inputs.text("kafka_zookeeper_chroot") or ""),
        "log.dirs": broker.log_dirs,
        "super.users": ";".join(broker.super_users),
        "listeners": [f"{item.name}://{item.address}:{item.port}" for item in broker.listeners],
        "listener.security.protocol.map": [f"{item.name}:{item.protocol}" for item in broker.listeners],
    }
    return derived.get(name, broker.inputs.get(KAFKA_OWNED[name]))


def _of_server(server: ZooKeeperServer, name: str, value: Any) -> bool:
    """Tell whether a property repeats what the role would write anyway; what is told of another server never does."""
    if name in ZOOKEEPER_OWNED:
        return text(server.inputs.get(ZOOKEEPER_OWNED[name])) == text(value)
    groups = {f"group.{number}": found for number, found in server.groups.items()}
    return groups.get(name) == members(value)


def text(value: Any) -> str:
    """Return a value as a properties file has it."""
    return (
        ",".join(map(text, value))
        if isinstance(value, (list, tuple))
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


def _synonyms(broker: Broker) -> Iterator[Problem]:
    """One meaning, one property."""
    for names in SYNONYMS:
        given = [name for name in names if broker.config.get(name) is not None]
        values = {(whole(broker.config[name]) or 0) * UNITS[name.rpartition(".")[2]] for name in given}
        if len(values) > 1:
            others = " and ".join(f"{name} = {broker.config[name]}" for name in given[1:])
            wrong, first = f"{others} says otherwise, and Kafka takes {given[0]}", broker.config[given[0]]
            yield broker.problem(f"kafka_config[{given[0]}]", "PROPERTY_SYNONYM", first, wrong, "keep one of them")


def _order(broker: Broker) -> Iterator[Problem]:
    """What Kafka compares is in order: each word is named once, whatever it is compared with."""
    said = set[str]()
    for low, low_default, high, high_default in ORDERED:
        one, two = whole(broker.config.get(low, low_default)), whole(broker.config.get(high, high_default))
        if one is not None and two is not None and one > two and not (high == UNBOUNDED and two <= 0):
            own = {name: variable for variable, layer in broker.layers for name in layer if name in (low, high)}
            name, value, wrong = (low, one, f"more than {high} ({two})")
            if low not in own and high in own:  # the other is the role's, or Kafka's own
                name, value, wrong = (high, two, f"less than {low} ({one})")
            if name in said:
                continue
            said.add(name)
            usual = Definitions.load("kafka", str(broker.inputs.get("kafka_version"))).default("broker", name)
            advice = "correct one of the two" if low in own and high in own else "correct it"
            if in_seconds(name, value, usual):
                advice = f"write {value}000 if seconds were meant"
            place = f"{own.get(name, 'kafka_config')}[{name}]"
            yield broker.problem(place, "PROPERTY_ORDER", value, f"{wrong}, and Kafka would refuse to start", advice)


def _authorizer(broker: Broker) -> Iterator[Problem]:
    """An authorizer without super users locks out the brokers themselves."""
    name = "authorizer.class.name"
    theirs = broker.config.get("super.users", broker.super_users)
    if broker.config.get(name, broker.super_users) and not theirs:
        told, place = (broker.config[name], name) if name in broker.config else (None, "super.users")
        wrong = "without super.users the brokers themselves are denied, and the cluster does not come up"
        advice = "set super.users to the brokers' and the admin's principals"
        yield broker.problem(f"kafka_config[{place}]", "AUTHORIZER_SUPER_USERS", told, wrong, advice)


def _metadata(broker: Broker) -> Iterator[Problem]:
    """Brokers stay with ZooKeeper, and write no version that is later than they are."""
    migration, version = "zookeeper.metadata.migration.enable", "inter.broker.protocol.version"
    if text(broker.config.get(migration)).lower() == "true":
        wrong = "brokers would look for KRaft controllers, of which this project has none, and not start"
        yield broker.problem(f"kafka_config[{migration}]", "KAFKA_MIGRATION", True, wrong, "take it out")
    told, own = (_release(value) for value in (broker.config.get(version), broker.inputs.get("kafka_version")))
    if told and own and told > own:
        wrong = f"later than kafka_version {broker.inputs.get('kafka_version')}, and it would not start with ZooKeeper"
        advice = "leave it out, or name the version that the brokers come from"
        yield broker.problem(f"kafka_config[{version}]", "KAFKA_PROTOCOL", broker.config[version], wrong, advice)


def _release(value: Any) -> tuple[int, ...]:
    """Return major and minor of a version, as 3.9, 3.9.2 or 3.9-IV0; () for what is none."""
    found = re.match(r"(\d+)\.(\d+)", str(value))
    return tuple(int(part) for part in found.groups()) if found else ()
