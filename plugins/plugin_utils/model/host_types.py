"""The classes of declared hosts (Machine, ZooKeeperServer, Broker, SparkNode) and jobs, which all rules read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.job_wheel import UNKNOWN, Answers, Uses, ask
from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import Inputs, as_written, members, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

NETWORKS = ("client", "replication")
ZOOKEEPER_PORTS = ("zookeeper_secure_client_port", "zookeeper_client_port")
WHEEL = "spark_job_wheel"
QUORUM_PORT, ELECTION_PORT = (port["port"] for port in functions()["zookeeper"].ports if "what" in port)


def _trimmed(text: str | None) -> str | None:
    return None if text is None else text.strip()


@dataclass(frozen=True)
class Machine:
    """A host of the inventory. Its attributes are values of variables; None if a variable is not set or not valid."""

    name: str
    inputs: Inputs
    written: frozenset[str]
    """Names of all variables of the host, also of those that this project does not know."""

    def report(
        self, kind: ProblemKind, variable: str, value: Any = None, *, warning: bool | None = None, **details: Any
    ) -> Problem:
        """Return a Problem of this host in `variable`, whose value is `value`; `kind` is the kind of problem.

        `details` fill the placeholders in the message of `kind`; `warning` overrides the severity of `kind`.
        """
        return kind.problem((self.name,), variable, value, warning=warning, **details)

    def address(self, network: str) -> Any:
        """Return the value of <network>_address, the address of the host in a network: "client" or "replication".

        Return None for "replication" if the host has one network: by default replication_address is client_address.
        """
        value = self.inputs.get(f"{network}_address")
        return None if network == "replication" and (value == "" or self._is_client_address(value)) else value

    def _is_client_address(self, value: Any) -> bool:
        return str(value or "") == str(self.inputs.get("client_address") or "")

    @property
    def inner_address(self) -> Any:
        """The address for replication and the quorum: that in the replication network, or else client_address."""
        return self.address("replication") or self.address("client")

    def network(self, network: str) -> Any:
        """Return the value of <network>_network, the subnet of a network: "client" or "replication"; None if empty."""
        value = self.inputs.get(f"{network}_network")
        return None if value == "" else value

    @cached_property
    def addresses(self) -> list[Any]:
        """[client_address, replication_address]; only the first if the host has one network."""
        return [address for network in NETWORKS if (address := self.address(network)) is not None]

    @cached_property
    def datacenter(self) -> str | None:
        """The variable `datacenter`, without blanks at its ends (another rule reports such blanks)."""
        return _trimmed(self.inputs.text("datacenter"))

    @cached_property
    def rack(self) -> str | None:
        """The variable `rack`, the failure domain inside the datacenter, without blanks at its ends."""
        return _trimmed(self.inputs.text("rack"))

    @cached_property
    def production(self) -> bool:
        """True unless site_environment is lab; an invalid value counts as production."""
        return bool(self.inputs.get("site_environment") != "lab")

    @cached_property
    def available(self) -> bool:
        """True if `promise` is "available": writes continue even if that may lose acknowledged records."""
        return bool(self.inputs.get("promise") == "available")

    @cached_property
    def certificates(self) -> list[Mapping[str, Any]]:
        """The entries of pki_certificates: the certificates that the role pki makes for the host."""
        return self.inputs.entries("pki_certificates")

    @cached_property
    def truststores(self) -> list[Mapping[str, Any]]:
        """The entries of pki_truststores: the truststores that the role pki writes on the host."""
        return self.inputs.entries("pki_truststores")

    def failed(self, name: str) -> bool:
        """Tell whether a variable is set, but its value could not be computed (another rule reports that)."""
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
        """The variable zookeeper_servers as {server id: its addresses}; an id that is no number becomes None."""
        ensemble = self.inputs.mapping("zookeeper_servers")
        return {
            whole(number): (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
            for number, value in ensemble.items()
        }

    @cached_property
    def groups(self) -> dict[Any, list[int | None]]:
        """The variable zookeeper_groups (the hierarchical quorum) as {name of the group: server ids}."""
        return {name: members(value) for name, value in self.inputs.mapping("zookeeper_groups").items()}

    @cached_property
    def weights(self) -> Mapping[Any, Any]:
        """The variable zookeeper_weights, {server id: weight of its vote}, unchecked."""
        return self.inputs.mapping("zookeeper_weights")

    @cached_property
    def observers(self) -> set[int]:
        """The server ids in zookeeper_observers."""
        return {number for item in self.inputs.sequence("zookeeper_observers") if (number := whole(item)) is not None}

    @cached_property
    def votes(self) -> bool:
        """True unless the server is an observer."""
        return self.number not in self.observers

    @cached_property
    def ports(self) -> dict[str, int]:
        """{variable: port number} of those client ports that are set.

        The variables are zookeeper_secure_client_port (TLS) and zookeeper_client_port.
        """
        return {name: port for name in ZOOKEEPER_PORTS if (port := self.inputs.whole(name))}

    @cached_property
    def quorum_tls(self) -> bool:
        """True if connections between ZooKeeper servers use TLS."""
        return self.inputs.on("zookeeper_quorum_tls")

    @cached_property
    def speaks_tls(self) -> bool:
        """True if connections between ZooKeeper servers use TLS, or the server has a TLS port for clients."""
        return self.quorum_tls or ZOOKEEPER_PORTS[0] in self.ports

    @cached_property
    def config(self) -> Mapping[Any, Any]:
        """The variable zookeeper_config, with lists as comma-separated text."""
        return as_written(self.inputs.mapping("zookeeper_config"))

    @cached_property
    def data_dirs(self) -> tuple[Any, Any]:
        """(zookeeper_data_dir, zookeeper_data_log_dir), unchecked."""
        return self.inputs.get("zookeeper_data_dir"), self.inputs.get("zookeeper_data_log_dir")


@dataclass(frozen=True)
class Broker(Machine):
    """A host of the group kafka."""

    @cached_property
    def number(self) -> int | None:
        """The broker id (kafka_broker_id)."""
        return self.inputs.whole("kafka_broker_id")

    @cached_property
    def kafka_rack(self) -> str | None:
        """The variable kafka_rack, which sets broker.rack, without blanks at its ends or around its hyphens."""
        value = self.inputs.values.get("kafka_rack")
        return re.sub(r"\s+(?=-|$)|(?:^|(?<=-))\s+", "", str(value)) if value else None

    @cached_property
    def listeners(self) -> list[Listener]:
        """The entries of kafka_listeners as Listener objects; invalid entries are left out and reported elsewhere."""
        return [Listener.of(entry) for entry in self.inputs.entries("kafka_listeners")]

    @cached_property
    def encrypted(self) -> list[Listener]:
        """The listeners that use TLS."""
        return [listener for listener in self.listeners if listener.encrypted]

    @cached_property
    def inter_broker(self) -> Any:
        """The variable kafka_inter_broker_listener: the name of the listener between brokers."""
        return self.inputs.get("kafka_inter_broker_listener")

    @cached_property
    def log_dirs(self) -> list[str]:
        """The directories in kafka_log_dirs."""
        return [str(path) for path in self.inputs.sequence("kafka_log_dirs")]

    @cached_property
    def config(self) -> dict[Any, Any]:
        """The broker properties {name: value}: kafka_config, overridden by kafka_config_overrides."""
        return {name: value for _, layer in self.layers for name, value in layer.items()}

    @cached_property
    def layers(self) -> list[tuple[str, Mapping[Any, Any]]]:
        """The broker properties by variable: [("kafka_config", properties), ("kafka_config_overrides", properties)].

        Properties in kafka_config_overrides override those in kafka_config. Lists in values are converted to text.
        """
        return [(name, as_written(self.inputs.mapping(name))) for name in ("kafka_config", "kafka_config_overrides")]

    @cached_property
    def replication_factor(self) -> int | None:
        """The variable kafka_replication_factor: the number of replicas of new topics that set no number themselves."""
        return self.inputs.whole("kafka_replication_factor")

    @cached_property
    def super_users(self) -> list[str]:
        """The principals in kafka_super_users, such as "User:admin"."""
        return [str(name) for name in self.inputs.sequence("kafka_super_users")]

    @cached_property
    def zookeeper_connect(self) -> list[str]:
        """The entries "host:port" of kafka_zookeeper_connect."""
        return [str(entry) for entry in self.inputs.sequence("kafka_zookeeper_connect")]

    def keystore(self, listener: Listener | None = None) -> str:
        """Return the path of the keystore of `listener`, or kafka_keystore if the listener has none.

        Return "" if neither is set.
        """
        return (listener.keystore if listener else "") or str(self.inputs.get("kafka_keystore") or "")

    def truststore(self, listener: Listener | None = None) -> str:
        """Return the path of the truststore of `listener`, or kafka_truststore if the listener has none.

        Return "" if neither is set.
        """
        return (listener.truststore if listener else "") or str(self.inputs.get("kafka_truststore") or "")

    @cached_property
    def zookeeper_keystore(self) -> str:
        """The path of the keystore for connections to ZooKeeper; "" if the broker does not use TLS to ZooKeeper."""
        return str(self.inputs.get("kafka_zookeeper_keystore") or "")


@dataclass(frozen=True)
class Job:
    """An entry of spark_job_jobs: a Spark job on one host."""

    name: str
    kind: str
    """The job's name in the Python wheel: `job` of the entry, by default its name."""
    config: Mapping[str, Any]
    """The config of the entry; {} if it is not a dict, which another rule reports."""
    configured: bool = True
    """False if the config of the entry is not a dict."""
    migrate: Mapping[str, Any] = field(default_factory=dict)
    """The database login with which a run creates the job's tables; {} if a run does not create them."""
    cluster: Mapping[str, Any] = field(default_factory=dict)
    """The key `cluster` of the entry; {} if all of the job runs on its host."""
    uses: Uses = UNKNOWN
    """The topics and directories that the job uses, by the wheel."""

    @property
    def variable(self) -> str:
        """The entry's place in the inventory for messages, such as spark_job_jobs[averages]."""
        return f"spark_job_jobs[{self.name}]"

    @property
    def kafka(self) -> Mapping[str, Any]:
        """The job's Kafka client properties (config.kafka); {} if there are none."""
        settings = self.config.get("kafka")
        return settings if isinstance(settings, Mapping) else {}

    @property
    def reads(self) -> list[str]:
        """The names of all topics that the job reads."""
        return list(self.uses.reads)

    @property
    def writes(self) -> list[str]:
        """The names of all topics that the job writes, without dead-letter topics."""
        return list(self.uses.writes)

    @property
    def dead_letters(self) -> list[str]:
        """The names of the dead-letter topics, to which the job sends records that it cannot process."""
        return list(self.uses.dead_letters)

    @property
    def user(self) -> str:
        """The user name in sasl.jaas.config, with which the job logs in to Kafka; "" if there is none."""
        text = self.kafka.get("sasl.jaas.config")
        match = re.search(r'username="((?:[^"\\]|\\.)*)"', text) if isinstance(text, str) else None
        return re.sub(r"\\(.)", r"\1", match.group(1)) if match else ""


@dataclass(frozen=True)
class SparkNode(Machine):
    """A host of the group spark."""

    @cached_property
    def wheel(self) -> str | None:
        """The path of the wheel on the control node; None if it is not set, or no such file exists."""
        path = self.inputs.text(WHEEL)
        return path if path and Path(path).is_file() else None

    @cached_property
    def _entries(self) -> list[Job]:
        entries = self.inputs.entries("spark_job_jobs")
        return [_job(entry) for entry in entries if entry.get("state") != "absent"]

    @cached_property
    def answers(self) -> Answers:
        """What the wheel answers of the jobs in `jobs`, in their order."""
        jobs = [(job.kind, job.config) for job in self._entries]
        return ask(self.wheel, jobs) if self.wheel and jobs else Answers(uses=[UNKNOWN] * len(jobs))

    @cached_property
    def jobs(self) -> list[Job]:
        """The entries of spark_job_jobs of this host whose state is not absent, as Job objects."""
        return [replace(job, uses=uses) for job, uses in zip(self._entries, self.answers.uses, strict=True)]


def _job(entry: Mapping[str, Any]) -> Job:
    config, name = entry.get("config"), str(entry.get("name"))
    configured, migrate, cluster = isinstance(config, Mapping), entry.get("migrate"), entry.get("cluster")
    return Job(
        name, str(entry.get("job") or name), config if isinstance(config, Mapping) else {}, configured,
        migrate if isinstance(migrate, Mapping) else {}, cluster if isinstance(cluster, Mapping) else {},
    )  # fmt: skip
