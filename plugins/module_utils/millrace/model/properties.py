"""Rules on properties that go into files as they are: known names, values that the product takes, nothing said twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..definitions import Definitions
from ..problems import Problem
from .base import Model, whole
from .ensemble import members

# Properties that a role derives from its inputs.
KAFKA_OWNED = {
    "broker.id": "kafka_broker_id",
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
}
ZOOKEEPER_OWNED = {
    "dataDir": "zookeeper_data_dir",
    "dataLogDir": "zookeeper_data_log_dir",
    "clientPort": "zookeeper_client_port",
    "secureClientPort": "zookeeper_secure_client_port",
}
ZOOKEEPER_PATTERNS = {"server.": "zookeeper_servers", "group.": "zookeeper_groups", "weight.": "zookeeper_weights"}
# The first that is set wins in Kafka.
SYNONYMS = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
)
UNITS = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}
# Kafka refuses to start unless the first is at most the second.
ORDERED = (
    ("replica.fetch.wait.max.ms", 500, "replica.lag.time.max.ms", 30000),
    ("replica.fetch.wait.max.ms", 500, "replica.socket.timeout.ms", 30000),
    ("group.min.session.timeout.ms", 6000, "group.max.session.timeout.ms", 1800000),
)


def kafka(model: Model) -> Iterator[Problem]:
    """Judge kafka_config and kafka_config_overrides by the definitions of that Kafka."""
    for host in model.kafka:
        definitions = Definitions.load("kafka", str(model.get(host, "kafka_version")))
        overrides = model.mapping(host, "kafka_config_overrides")
        both = {**model.mapping(host, "kafka_config"), **overrides}
        for problem in judged(model, host, definitions, "broker", "kafka_config", both, "KAFKA"):
            name = problem.variable.removeprefix("kafka_config")
            yield replace(problem, variable=f"kafka_config_overrides{name}") if name[1:-1] in overrides else problem
        for variable in ("kafka_config", "kafka_config_overrides"):
            config = model.mapping(host, variable)
            for name in config:
                if name in KAFKA_OWNED and config[name] is not None and not same(model, host, name, config[name]):
                    yield Problem(
                        (host,),
                        f"{variable}[{name}]",
                        "PROPERTY_TWICE",
                        config[name],
                        f"{KAFKA_OWNED[name]} says it already, and otherwise",
                        f"take it out, and set {KAFKA_OWNED[name]}",
                    )
        yield from synonyms(host, both)
        for low, low_default, high, high_default in ORDERED:
            one, two = whole(both.get(low, low_default)), whole(both.get(high, high_default))
            if one is not None and two is not None and one > two:
                yield Problem(
                    (host,),
                    f"kafka_config[{low}]",
                    "PROPERTY_ORDER",
                    one,
                    f"more than {high} ({two}), and Kafka would refuse to start",
                    "correct one of the two",
                )
        yield from authorizer(host, both)
        yield from judged(model, host, definitions, "client", "kafka_client_properties", model.mapping(host, "kafka_client_properties"), "CLIENT")


def zookeeper(model: Model) -> Iterator[Problem]:
    """Judge zookeeper_config by the definitions of that ZooKeeper."""
    for host in model.zookeeper:
        definitions = Definitions.load("zookeeper", str(model.get(host, "zookeeper_version")))
        config = model.mapping(host, "zookeeper_config")
        for name, value in config.items():
            owner = ZOOKEEPER_OWNED.get(name) or next((v for prefix, v in ZOOKEEPER_PATTERNS.items() if str(name).startswith(prefix)), None)
            if owner and value is not None and not same(model, host, name, value):
                yield Problem(
                    (host,),
                    f"zookeeper_config[{name}]",
                    "PROPERTY_TWICE",
                    value,
                    f"{owner} says it already, and otherwise",
                    f"take it out, and set {owner}",
                )
            elif name == "multiAddress.enabled":
                yield Problem(
                    (host,),
                    f"zookeeper_config[{name}]",
                    "ZOOKEEPER_MULTIADDRESS",
                    value,
                    "this key alone makes the server refuse to start: it takes a flag of the JVM",
                    "give several addresses in zookeeper_servers, and the role sets the flag",
                )
            elif name in ("reconfigEnabled", "dynamicConfigFile") and str(value).lower() not in ("false", "none"):
                yield Problem(
                    (host,),
                    f"zookeeper_config[{name}]",
                    "ZOOKEEPER_RECONFIG",
                    value,
                    "ZooKeeper would rewrite its own configuration, and the ensemble is what the inventory says",
                    "take it out",
                )
        ours = {name: value for name, value in config.items() if not str(name).startswith(tuple(ZOOKEEPER_PATTERNS))}
        yield from judged(model, host, definitions, "zookeeper", "zookeeper_config", ours, "ZOOKEEPER")


def judged(model: Model, host: str, definitions: Definitions, section: str, variable: str, config: Mapping[str, Any], code: str) -> Iterator[Problem]:
    """Yield what the product's own definitions say against a dict of properties."""
    known = {str(name) for name in model.sequence(host, "known_properties")}
    for finding in definitions.judge(section, {name: value for name, value in config.items() if name not in known}):
        kind = "PROPERTY_UNKNOWN" if finding.kind == "unknown" else "PROPERTY_VALUE"
        yield Problem((host,), f"{variable}[{finding.name}]", f"{code}_{kind}", finding.shown, finding.wrong, finding.advice)


def same(model: Model, host: str, name: str, value: Any) -> bool:
    """Whether a property repeats what the role would write anyway."""
    listeners = model.listeners(host)
    bound = [f"{item.get('name')}://{item.get('address')}:{item.get('port')}" for item in listeners]
    derived: dict[str, Any] = {
        "broker.id.generation.enable": False,
        "log.dirs": model.sequence(host, "kafka_log_dirs"),
        "listeners": bound,
        "listener.security.protocol.map": [f"{item.get('name')}:{item.get('protocol')}" for item in listeners],
    }
    wanted = derived.get(name, model.get(host, {**KAFKA_OWNED, **ZOOKEEPER_OWNED}.get(name, "")))
    for prefix, variable in ZOOKEEPER_PATTERNS.items():
        if name.startswith(prefix):
            entry = {str(key): item for key, item in model.mapping(host, variable).items()}.get(name.removeprefix(prefix))
            return variable == "zookeeper_groups" and entry is not None and members(entry) == members(value)
    return text(wanted) == text(value)


def text(value: Any) -> str:
    """Return a value as a properties file has it."""
    return ",".join(map(text, value)) if isinstance(value, (list, tuple)) else str(value).lower() if isinstance(value, bool) else str(value)


def synonyms(host: str, config: Mapping[str, Any]) -> Iterator[Problem]:
    """One meaning, one property."""
    for names in SYNONYMS:
        given = [name for name in names if config.get(name) is not None]
        values = {(whole(config[name]) or 0) * UNITS[name.rpartition(".")[2]] for name in given}
        if len(values) > 1:
            others = " and ".join(f"{name} = {config[name]}" for name in given[1:])
            wrong = f"{others} says otherwise, and Kafka takes {given[0]}"
            yield Problem((host,), f"kafka_config[{given[0]}]", "PROPERTY_SYNONYM", config[given[0]], wrong, "keep one of them")


def authorizer(host: str, config: Mapping[str, Any]) -> Iterator[Problem]:
    """An authorizer without super users locks out the brokers themselves."""
    if config.get("authorizer.class.name") and not config.get("super.users"):
        wrong = "without super.users the brokers themselves are denied, and the cluster does not come up"
        yield Problem(
            (host,),
            "kafka_config[authorizer.class.name]",
            "AUTHORIZER_SUPER_USERS",
            config["authorizer.class.name"],
            wrong,
            "set super.users to the brokers' and the admin's principals",
        )
