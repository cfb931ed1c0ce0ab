"""The declared hosts as objects: what every rule reads, and nothing is computed twice; no Ansible import."""

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
    """A host, whatever it does. Attributes are what is declared.

    None where nothing is, or where it is no such thing.
    """

    name: str
    inputs: Inputs
    written: frozenset[str]
    """Names of every variable that the host has, ours or not."""

    def problem(
        self, variable: str, code: str, value: Any, wrong: str, advice: str, *, warning: bool = False
    ) -> Problem:
        """Return a problem of this host."""
        return Problem((self.name,), variable, code, value, wrong, advice, warning)

    def report(
        self, kind: ProblemKind, variable: str, value: Any = None, *, warning: bool | None = None, **details: Any
    ) -> Problem:
        """Return a problem of this host."""
        return kind.problem((self.name,), variable, value, warning=warning, **details)

    def address(self, network: str) -> Any:
        """Return its address in a network (client, replication)."""
        return self.inputs.get(f"{network}_address")

    def network(self, network: str) -> Any:
        """Return the declared subnet of a network."""
        return self.inputs.get(f"{network}_network")

    @cached_property
    def addresses(self) -> list[Any]:
        """Its declared addresses."""
        return [found for network in NETWORKS if (found := self.address(network)) is not None]

    @cached_property
    def datacenter(self) -> str | None:
        """Where it stands, without blanks at its ends (reported as such)."""
        return _trimmed(self.inputs.text("datacenter"))

    @cached_property
    def rack(self) -> str | None:
        """The failure domain inside the datacenter, likewise."""
        return _trimmed(self.inputs.text("rack"))

    @cached_property
    def production(self) -> bool:
        """Whether it is no lab: what is not known refuses nothing less."""
        return bool(self.inputs.get("site_environment") != "lab")

    @cached_property
    def available(self) -> bool:
        """Whether writes may go on where records may be lost."""
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
        """Tell whether a variable is written and could not be computed, which is reported."""
        return name in self.written and name not in self.inputs.values


@dataclass(frozen=True)
class ZooKeeperServer(Machine):
    """A host of the group zookeeper."""

    @cached_property
    def number(self) -> int | None:
        """zookeeper_id."""
        return self.inputs.whole("zookeeper_id")

    @cached_property
    def servers(self) -> dict[int | None, tuple[Any, ...]]:
        """The ensemble as it is told: addresses by id."""
        told = self.inputs.mapping("zookeeper_servers")
        return {
            whole(number): (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
            for number, value in told.items()
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
        """The ids that it takes for observers."""
        return {number for item in self.inputs.sequence("zookeeper_observers") if (number := whole(item)) is not None}

    @cached_property
    def votes(self) -> bool:
        """Whether it votes."""
        return self.number not in self.observers

    @cached_property
    def ports(self) -> dict[str, int]:
        """{input: port} of the ports at which it listens for clients."""
        return {name: port for name in ZOOKEEPER_PORTS if (port := self.inputs.whole(name))}

    @cached_property
    def quorum_tls(self) -> bool:
        """Whether it speaks TLS to the other servers."""
        return self.inputs.on("zookeeper_quorum_tls")

    @cached_property
    def speaks_tls(self) -> bool:
        """Whether it speaks TLS to anybody."""
        return self.quorum_tls or ZOOKEEPER_PORTS[0] in self.ports

    @cached_property
    def config(self) -> Mapping[Any, Any]:
        """zookeeper_config, lists as the file has them."""
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
        """broker.rack, likewise, where it is made of the two as well."""
        value = self.inputs.values.get("kafka_rack")
        return re.sub(r"\s+(?=-|$)|(?:^|(?<=-))\s+", "", str(value)) if value else None

    @cached_property
    def listeners(self) -> list[Listener]:
        """Its listeners; entries that are none are left out (reported with the role's inputs)."""
        return [Listener.of(entry) for entry in self.inputs.entries("kafka_listeners")]

    @cached_property
    def encrypted(self) -> list[Listener]:
        """The listeners that speak TLS."""
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
        """kafka_config, overlaid by kafka_config_overrides."""
        return {name: value for _, layer in self.layers for name, value in layer.items()}

    @cached_property
    def layers(self) -> list[tuple[str, Mapping[Any, Any]]]:
        """The two dicts by their names, the stronger last; lists as the file has them."""
        return [(name, as_written(self.inputs.mapping(name))) for name in ("kafka_config", "kafka_config_overrides")]

    @cached_property
    def replication_factor(self) -> int | None:
        """Replicas of new topics."""
        return self.inputs.whole("kafka_replication_factor")

    @cached_property
    def super_users(self) -> list[str]:
        """super.users."""
        return [str(name) for name in self.inputs.sequence("kafka_super_users")]

    @cached_property
    def zookeeper_connect(self) -> list[str]:
        """host:port of the ZooKeeper servers that it is told of."""
        return [str(entry) for entry in self.inputs.sequence("kafka_zookeeper_connect")]

    def keystore(self, listener: Listener | None = None) -> str:
        """Return the keystore of a listener, or the broker's own."""
        return (listener.keystore if listener else "") or str(self.inputs.get("kafka_keystore") or "")

    def truststore(self, listener: Listener | None = None) -> str:
        """Return the truststore of a listener, or the broker's own."""
        return (listener.truststore if listener else "") or str(self.inputs.get("kafka_truststore") or "")

    @cached_property
    def zookeeper_keystore(self) -> str:
        """With it the broker speaks TLS to ZooKeeper."""
        return str(self.inputs.get("kafka_zookeeper_keystore") or "")


@dataclass(frozen=True)
class Job:
    """An entry of spark_job_jobs."""

    name: str
    kind: str
    """The job of the wheel: its name, unless another is declared."""
    config: Mapping[str, Any]
    """{} where it is none (reported with the role's inputs)."""
    configured: bool = True
    """Whether there is one."""
    migrate: Mapping[str, Any] = field(default_factory=dict)
    """Login of who may make tables in its database; {} where a run leaves them alone."""

    @property
    def variable(self) -> str:
        """Its place in the inventory."""
        return f"spark_job_jobs[{self.name}]"

    @property
    def kafka(self) -> Mapping[str, Any]:
        """Its client properties."""
        found = self.config.get("kafka")
        return found if isinstance(found, Mapping) else {}

    @property
    def user(self) -> str:
        """Whom it logs in as by password; '' where it does not."""
        text = self.kafka.get("sasl.jaas.config")
        found = re.search(r'username="((?:[^"\\]|\\.)*)"', text) if isinstance(text, str) else None
        return re.sub(r"\\(.)", r"\1", found.group(1)) if found else ""


@dataclass(frozen=True)
class SparkNode(Machine):
    """A host of the group spark."""

    @cached_property
    def jobs(self) -> list[Job]:
        """Its jobs, without those that are to be taken away."""
        entries = self.inputs.entries("spark_job_jobs")
        return [_job(entry) for entry in entries if entry.get("state") != "absent"]


def _job(entry: Mapping[str, Any]) -> Job:
    config, name = entry.get("config"), str(entry.get("name"))
    configured, migrate = isinstance(config, Mapping), entry.get("migrate")
    return Job(
        name, str(entry.get("job") or name), config if isinstance(config, Mapping) else {}, configured,
        migrate if isinstance(migrate, Mapping) else {},
    )  # fmt: skip
