"""Lists the possible failures of a layout, and what still works after each failure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.advice import NOBODY, REPAIR, advice
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import CLIENT, REPLICATION, Layout
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.quorum import quorum
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.replicas import placements

RECONNECT = "operator: bring back a ZooKeeper server of the brokers' zookeeper.connect"
ONLY_NETWORK = "the only network (single point of failure)"
FUNCTIONS = ("zookeeper", "kafka", "both")


@dataclass(frozen=True)
class Row:
    """One possible failure of a layout, and what still works after the failure."""

    failure: str
    kind: str
    """server, rack, datacenter, witness (a datacenter of voters without brokers), cut, network or pair."""
    lost: frozenset[str]
    quorum: bool
    """Whether ZooKeeper has a quorum."""
    writable: bool
    """Whether every partition accepts records with acks=all, after leaders have moved.

    Without a quorum this is true only of producers that already run: a new idempotent producer asks a broker for an id,
    and brokers get ids from the ensemble.
    """
    zero_loss: bool
    """Whether no acknowledged record or metadata is lost, even if the lost servers never return."""
    who: str
    """What the operator must do to restore the quorum and writes to all partitions."""
    shape: tuple[tuple[str, str, str], ...] = ()
    """Function, datacenter and failure domain of a server, or of each server of a pair."""

    @property
    def functions(self) -> tuple[str, ...]:
        """The function (zookeeper, kafka or both) of the lost server, or of each of the two servers of a pair."""
        return tuple(function for function, _, _ in self.shape)

    @property
    def datacenters(self) -> tuple[str, ...]:
        """The datacenter of the lost server, or of each of the two servers of a pair."""
        return tuple(datacenter for _, datacenter, _ in self.shape)

    @property
    def cells(self) -> tuple[str, ...]:
        """The table's cells after the failure's name: quorum, writable, zero loss (yes or no), operator's action."""
        return (*("yes" if cell else "no" for cell in (self.quorum, self.writable, self.zero_loss)), self.who)


def survival(layout: Layout) -> list[Row]:
    """Return a Row for each failure: of a server, rack, datacenter or network, and of each pair of servers.

    A datacenter that is cut off from the network is a failure too; its Row tells what works in the other datacenters.
    Raises ValueError if Kafka could not create a topic with the replication factor of the layout.
    """
    outcome, names = _Outcome(layout), layout.names
    shapes = {name: _shape(layout, name) for name in names}
    rows = [outcome.of(name, "server", frozenset({name}), (shapes[name],)) for name in names]
    rows += [outcome.of(f"rack {name}", "rack", lost) for name, lost in _racks(layout)]
    datacenters = _datacenters(layout)
    for datacenter, members in datacenters.items():
        witness = any(server.name in members for server in layout.voters) and not any(
            server.name in members for server in layout.brokers
        )
        if witness and layout.brokers:
            rows.append(outcome.of(f"witness {' + '.join(sorted(members, key=names.index))}", "witness", members))
        else:
            rows.append(outcome.of(f"datacenter {datacenter}", "datacenter", members))
    if len(datacenters) > 1:
        rows += [
            outcome.of(f"{datacenter} cut off from the rest", "cut", members)
            for datacenter, members in datacenters.items()
        ]
    rows += outcome.networks()
    rows += [
        outcome.of(
            f"{first} + {second}",
            "pair",
            frozenset({first, second}),
            tuple(sorted((shapes[first], shapes[second]), key=_by_function)),
        )
        for first, second in combinations(names, 2)
    ]
    return rows


def survival_now(layout: Layout, down: frozenset[str]) -> list[Row]:
    """Return a Row for the present state, in which the hosts `down` are lost, and one for each other host lost, too.

    Raises ValueError if Kafka could not create a topic with the replication factor of the layout.
    """
    outcome = _Outcome(layout)
    rows = [outcome.of("nothing more", "server", down & frozenset(layout.names))]
    rows += [outcome.of(name, "server", down | {name}) for name in layout.names if name not in down]
    return rows


class _Outcome:
    """Computes the Row of each failure; the possible replica sets of the layout are computed once."""

    def __init__(self, layout: Layout) -> None:
        self.layout, brokers = layout, layout.brokers
        sets = (
            placements({number: broker.broker_rack for number, broker in enumerate(brokers)}, layout.replication_factor)
            if brokers
            else set()
        )
        self.replica_sets = [frozenset(brokers[number].name for number in numbers) for numbers in sets]
        self.together = {frozenset(pair) for numbers in self.replica_sets for pair in combinations(numbers, 2)}
        self.broker_names = frozenset(broker.name for broker in brokers)
        self.voter_names = frozenset(voter.name for voter in layout.voters)
        self.quorums: dict[frozenset[str], tuple[bool, bool]] = {}

    def of(self, failure: str, kind: str, lost: frozenset[str], shape: tuple[tuple[str, str, str], ...] = ()) -> Row:
        """Return the Row for losing the servers `lost` for good, or for being cut off from them (kind "cut").

        `failure` is the name to print; `kind` and `shape` are fields of the Row.
        """
        replicas_lost, has_quorum, metadata_kept = self._most(lost), *self._quorum(lost & self.voter_names)
        replicas_out = self._most(lost | self._without_session(lost)) if has_quorum else replicas_lost
        replicas_left = self.layout.replication_factor - replicas_out
        writable = replicas_left >= self.layout.min_isr if has_quorum else replicas_lost == 0
        zero_loss = kind == "cut" or (metadata_kept and replicas_lost < self.layout.min_isr)
        action = NOBODY if has_quorum and writable else advice(self.layout, kind, lost, has_quorum, replicas_left)
        replicas_alive = self.layout.replication_factor - replicas_lost
        if has_quorum and not writable and kind != "cut" and replicas_alive >= self.layout.min_isr:
            action = RECONNECT
        return Row(failure, kind, lost, has_quorum, writable, zero_loss, action, shape)

    def networks(self) -> Iterator[Row]:
        """Yield the Row for losing each network on all hosts; a cluster with one network has one Row.

        Clients reach brokers over the client network. Over the network of the listener between brokers followers fetch,
        and leaders ask the controller to shrink an ISR. Without that network, even with a min ISR of 1, only partitions
        led by the controller accept writes.
        """
        if self.layout.one_network:
            yield Row(ONLY_NETWORK, "network", frozenset(), False, False, True, REPAIR)
            return
        for network in (CLIENT, REPLICATION):
            unreached = frozenset(server.name for server in self.layout.voters if server.networks == {network})
            serves, _ = self._quorum(unreached)
            inner = any(network in server.networks for server in self.layout.brokers)
            writable = network != CLIENT and (self.layout.replication_factor == 1 or not inner) and serves
            action = NOBODY if serves and writable else REPAIR
            yield Row(f"{network} network", "network", frozenset(), serves, writable, True, action)

    def _without_session(self, lost: frozenset[str]) -> frozenset[str]:
        """Return the brokers that can reach no remaining ZooKeeper server; the cluster continues without these."""
        return frozenset(
            broker.name for broker in self.layout.brokers if broker.connects_to and broker.connects_to <= lost
        )

    def _most(self, lost: frozenset[str]) -> int:
        """Return the largest number of replicas of one partition that may be on the servers `lost`."""
        brokers = lost & self.broker_names
        if len(brokers) == 2:
            return 2 if brokers in self.together else 1
        return len(brokers) if len(brokers) < 2 else max(len(brokers & replicas) for replicas in self.replica_sets)

    def _quorum(self, lost: frozenset[str]) -> tuple[bool, bool]:
        """Return (whether the remaining servers have a quorum, whether no acknowledged metadata is lost).

        Metadata is kept if the servers `lost` alone are no quorum: then a server of every quorum remains.
        """
        if lost not in self.quorums:
            self.quorums[lost] = quorum(self.layout, self.voter_names - lost), not quorum(self.layout, lost)
        return self.quorums[lost]


def _datacenters(layout: Layout) -> dict[str, frozenset[str]]:
    """Return {datacenter: names of its hosts}."""
    return {
        datacenter: frozenset(server.name for server in layout.servers if server.datacenter == datacenter)
        for datacenter in dict.fromkeys(server.datacenter for server in layout.servers)
    }


def _racks(layout: Layout) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield (name, hosts) of each rack that holds several hosts, but not all hosts of its datacenter."""
    datacenters = _datacenters(layout)
    for datacenter, rack in sorted(
        {(server.datacenter, server.rack) for server in layout.servers if server.rack is not None}
    ):
        members = frozenset(
            server.name for server in layout.servers if (server.datacenter, server.rack) == (datacenter, rack)
        )
        if len(members) > 1 and members < datacenters[datacenter]:
            yield f"{datacenter}-{rack}", members


def _shape(layout: Layout, name: str) -> tuple[str, str, str]:
    """Return (function, datacenter, failure domain) of a host; the failure domain of a broker is its broker.rack."""
    servers = [server for server in layout.servers if server.name == name]
    function = servers[0].function if len(servers) == 1 else "both"
    domain = next(
        (server.broker_rack for server in servers if server.broker_rack), f"{servers[0].datacenter}-{servers[0].rack}"
    )
    return function, servers[0].datacenter, domain


def _by_function(shape: tuple[str, str, str]) -> tuple[int, str, str]:
    return FUNCTIONS.index(shape[0]), *shape[1:]
