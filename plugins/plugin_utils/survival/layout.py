"""Describes a layout: the servers of one cluster, and the settings that decide which failures it survives."""

from __future__ import annotations

from dataclasses import dataclass

CLIENT, REPLICATION = "client", "replication"
BOTH = frozenset((CLIENT, REPLICATION))


@dataclass(frozen=True)
class Server:
    """One process of the cluster, ZooKeeper or Kafka; a host with both functions is two Servers with the same name."""

    name: str
    function: str
    """zookeeper or kafka."""
    datacenter: str
    rack: str | None
    """The failure domain inside the datacenter."""
    broker_rack: str | None = None
    """broker.rack, over which Kafka spreads replicas."""
    group: int | None = None
    """The ZooKeeper server's group in a hierarchical ensemble."""
    weight: int = 1
    voter: bool = True
    """False for an observer."""
    connects_to: frozenset[str] | None = None
    """The ZooKeeper servers in a broker's zookeeper.connect; None: all."""
    networks: frozenset[str] = BOTH
    """The networks in which other servers reach this one: `client`, `replication`, or both.

    Of a ZooKeeper server these are the networks of its addresses in the ensemble, of a broker the network of the
    listener between brokers.
    """


@dataclass(frozen=True)
class Layout:
    """The servers of one cluster (brokers ordered by id), and the settings that decide which failures it survives."""

    servers: tuple[Server, ...]
    replication_factor: int
    min_insync_replicas: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all hosts, each once."""
        return tuple(dict.fromkeys(server.name for server in self.servers))

    @property
    def brokers(self) -> tuple[Server, ...]:
        """The Kafka brokers, in the order of their ids."""
        return tuple(server for server in self.servers if server.function == "kafka")

    @property
    def voters(self) -> tuple[Server, ...]:
        """The ZooKeeper servers that vote (all but the observers)."""
        return tuple(server for server in self.servers if server.function == "zookeeper" and server.voter)

    @property
    def one_network(self) -> bool:
        """Whether all servers use only the client network: the cluster has one network."""
        return bool(self.servers) and all(server.networks == {CLIENT} for server in self.servers)

    @property
    def min_isr(self) -> int:
        """min.insync.replicas as Kafka applies it: at most the replication factor."""
        return min(self.min_insync_replicas, self.replication_factor)
