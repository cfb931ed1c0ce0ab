"""The declared hosts as objects, which every rule reads; each attribute is computed once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import Inputs, as_written, members, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

NETWORKS = ("client", "replication")
ZOOKEEPER_PORTS = ("zookeeper_secure_client_port", "zookeeper_client_port")
QUORUM_PORT, ELECTION_PORT = (port["port"] for port in functions()["zookeeper"].ports if "what" in port)


def _trimmed(text: str | None) -> str | None:
    return None if text is None else text.strip()


@dataclass(frozen=True)
class Machine:
    """A host of any function. Attributes are declared values; None if a value is not declared or not valid."""

    name: str
    inputs: Inputs
    written: frozenset[str]
    """Names of all variables of the host, of this project or not."""

    def report(
        self, kind: ProblemKind, variable: str, value: Any = None, *, warning: bool | None = None, **details: Any
    ) -> Problem:
        """Return a problem of this host; `details` fill the templates of its kind."""
        return kind.problem((self.name,), variable, value, warning=warning, **details)

    def address(self, network: str) -> Any:
        """Return the host's address in a network (client, replication)."""
        return self.inputs.get(f"{network}_address")

    def network(self, network: str) -> Any:
        """Return the declared subnet of a network."""
        return self.inputs.get(f"{network}_network")

    @cached_property
    def addresses(self) -> list[Any]:
        """The declared addresses."""
        return [address for network in NETWORKS if (address := self.address(network)) is not None]

    @cached_property
    def datacenter(self) -> str | None:
        """The datacenter, without blanks at its ends (which are reported)."""
        return _trimmed(self.inputs.text("datacenter"))

    @cached_property
    def rack(self) -> str | None:
        """The failure domain inside the datacenter, without blanks at its ends."""
        return _trimmed(self.inputs.text("rack"))

    @cached_property
    def production(self) -> bool:
        """Whether the site is not a lab; an invalid site_environment counts as production."""
        return bool(self.inputs.get("site_environment") != "lab")

    @cached_property
    def available(self) -> bool:
        """Whether writes may continue when acknowledged records could be lost."""
        return bool(self.inputs.get("promise") == "available")

    @cached_property
    def certificates(self) -> list[Mapping[str, Any]]:
        """Entries of pki_certificates."""
        return self.inputs.entries("pki_certificates")

    @cached_property
    def truststores(self) -> list[Mapping[str, Any]]:
        """Entries of pki_truststores."""
        return self.inputs.entries("pki_truststores")

    def failed(self, name: str) -> bool:
        """Tell whether a variable is set and could not be computed (which is reported)."""
        return name in self.written and name not in self.inputs.values


@dataclass(frozen=True)
class ZooKeeperServer(Machine):
    """A host of the group zookeeper."""

    @cached_property
    def number(self) -> int | None:
        """The server's id, zookeeper_id."""
        return self.inputs.whole("zookeeper_id")

    @cached_property
    def servers(self) -> dict[int | None, tuple[Any, ...]]:
        """The ensemble in the server's configuration: addresses by id."""
        ensemble = self.inputs.mapping("zookeeper_servers")
        return {
            whole(number): (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
            for number, value in ensemble.items()
        }

    @cached_property
    def groups(self) -> dict[Any, list[int | None]]:
        """The ids of each group of the hierarchical quorum."""
        return {name: members(value) for name, value in self.inputs.mapping("zookeeper_groups").items()}

    @cached_property
    def weights(self) -> Mapping[Any, Any]:
        """Weights by id, as declared."""
        return self.inputs.mapping("zookeeper_weights")

    @cached_property
    def observers(self) -> set[int]:
        """The ids of observers in the server's configuration."""
        return {number for item in self.inputs.sequence("zookeeper_observers") if (number := whole(item)) is not None}

    @cached_property
    def votes(self) -> bool:
        """Whether the server votes."""
        return self.number not in self.observers

    @cached_property
    def ports(self) -> dict[str, int]:
        """{input: port} of the ports for clients."""
        return {name: port for name in ZOOKEEPER_PORTS if (port := self.inputs.whole(name))}

    @cached_property
    def quorum_tls(self) -> bool:
        """Whether the server uses TLS to the other servers."""
        return self.inputs.on("zookeeper_quorum_tls")

    @cached_property
    def speaks_tls(self) -> bool:
        """Whether the server uses TLS to the other servers or to clients."""
        return self.quorum_tls or ZOOKEEPER_PORTS[0] in self.ports

    @cached_property
    def config(self) -> Mapping[Any, Any]:
        """zookeeper_config, with lists as text."""
        return as_written(self.inputs.mapping("zookeeper_config"))

    @cached_property
    def data_dirs(self) -> tuple[Any, Any]:
        """dataDir and dataLogDir."""
        return self.inputs.get("zookeeper_data_dir"), self.inputs.get("zookeeper_data_log_dir")


@dataclass(frozen=True)
class Broker(Machine):
    """A host of the group kafka."""

    @cached_property
    def number(self) -> int | None:
        """broker.id."""
        return self.inputs.whole("kafka_broker_id")

    @cached_property
    def kafka_rack(self) -> str | None:
        """broker.rack, without blanks at its ends or around hyphens: it may be made of datacenter and rack."""
        value = self.inputs.values.get("kafka_rack")
        return re.sub(r"\s+(?=-|$)|(?:^|(?<=-))\s+", "", str(value)) if value else None

    @cached_property
    def listeners(self) -> list[Listener]:
        """The broker's listeners, without invalid entries (reported with the role's inputs)."""
        return [Listener.of(entry) for entry in self.inputs.entries("kafka_listeners")]

    @cached_property
    def encrypted(self) -> list[Listener]:
        """The listeners that use TLS."""
        return [listener for listener in self.listeners if listener.encrypted]

    @cached_property
    def inter_broker(self) -> Any:
        """inter.broker.listener.name."""
        return self.inputs.get("kafka_inter_broker_listener")

    @cached_property
    def log_dirs(self) -> list[str]:
        """log.dirs."""
        return [str(path) for path in self.inputs.sequence("kafka_log_dirs")]

    @cached_property
    def config(self) -> dict[Any, Any]:
        """kafka_config, overridden by kafka_config_overrides."""
        return {name: value for _, layer in self.layers for name, value in layer.items()}

    @cached_property
    def layers(self) -> list[tuple[str, Mapping[Any, Any]]]:
        """The two dicts by name, the one with the higher precedence last; lists as text."""
        return [(name, as_written(self.inputs.mapping(name))) for name in ("kafka_config", "kafka_config_overrides")]

    @cached_property
    def replication_factor(self) -> int | None:
        """The number of replicas of new topics."""
        return self.inputs.whole("kafka_replication_factor")

    @cached_property
    def super_users(self) -> list[str]:
        """super.users."""
        return [str(name) for name in self.inputs.sequence("kafka_super_users")]

    @cached_property
    def zookeeper_connect(self) -> list[str]:
        """The entries host:port of zookeeper.connect."""
        return [str(entry) for entry in self.inputs.sequence("kafka_zookeeper_connect")]

    def keystore(self, listener: Listener | None = None) -> str:
        """Return the keystore of a listener, or the broker's own."""
        return (listener.keystore if listener else "") or str(self.inputs.get("kafka_keystore") or "")

    def truststore(self, listener: Listener | None = None) -> str:
        """Return the truststore of a listener, or the broker's own."""
        return (listener.truststore if listener else "") or str(self.inputs.get("kafka_truststore") or "")

    @cached_property
    def zookeeper_keystore(self) -> str:
        """The keystore for ZooKeeper; if it is set, the broker uses TLS to ZooKeeper."""
        return str(self.inputs.get("kafka_zookeeper_keystore") or "")


@dataclass(frozen=True)
class Job:
    """An entry of spark_job_jobs."""

    name: str
    kind: str
    """The job in the wheel: by default the entry's name."""
    config: Mapping[str, Any]
    """{} if it is not a dict (reported with the role's inputs)."""
    configured: bool = True
    """Whether `config` is a dict."""
    migrate: Mapping[str, Any] = field(default_factory=dict)
    """Login that may create tables in the job's database; {} if a run does not create them."""

    @property
    def variable(self) -> str:
        """The entry's place in the inventory."""
        return f"spark_job_jobs[{self.name}]"

    @property
    def kafka(self) -> Mapping[str, Any]:
        """The job's client properties."""
        settings = self.config.get("kafka")
        return settings if isinstance(settings, Mapping) else {}

    @property
    def user(self) -> str:
        """The user of its login by password; '' without one."""
        text = self.kafka.get("sasl.jaas.config")
        match = re.search(r'username="((?:[^"\\]|\\.)*)"', text) if isinstance(text, str) else None
        return re.sub(r"\\(.)", r"\1", match.group(1)) if match else ""


@dataclass(frozen=True)
class SparkNode(Machine):
    """A host of the group spark."""

    @cached_property
    def jobs(self) -> list[Job]:
        """The node's jobs, without those of state absent."""
        entries = self.inputs.entries("spark_job_jobs")
        return [_job(entry) for entry in entries if entry.get("state") != "absent"]


def _job(entry: Mapping[str, Any]) -> Job:
    config, name = entry.get("config"), str(entry.get("name"))
    configured, migrate = isinstance(config, Mapping), entry.get("migrate")
    return Job(
        name, str(entry.get("job") or name), config if isinstance(config, Mapping) else {}, configured,
        migrate if isinstance(migrate, Mapping) else {},
    )  # fmt: skip
