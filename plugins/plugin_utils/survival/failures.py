"""Enumerates the failures of a layout, and what is left after each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.advice import MEND, NOBODY, advice
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.quorum import quorum
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.replicas import placements

TELL = "operator: bring back a ZooKeeper server that brokers are told of"
FUNCTIONS = ("zookeeper", "kafka", "both")


@dataclass(frozen=True)
class Row:
    """One failure and what is left."""

    failure: str
    kind: str
    """server, rack, datacenter, witness (a datacenter of voters without brokers), cut, network or pair."""
    lost: frozenset[str]
    quorum: bool
    """ZooKeeper serves."""
    writable: bool
    """Every partition takes records with acks=all, after leaders have moved.

    Without a quorum that holds for producers that run already: a new idempotent one asks a broker for an id, and
    brokers get ids from the ensemble."""
    zero_loss: bool
    """Nothing acknowledged is gone, records and metadata, though what is lost never comes back."""
    who: str
    """Who has to act until all is writable with a quorum."""
    shape: tuple[tuple[str, str, str], ...] = ()
    """Function, datacenter and failure domain of a server, or of each server of a pair."""

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of a server, or of both servers of a pair."""
        return tuple(function for function, _, _ in self.shape)

    @property
    def datacenters(self) -> tuple[str, ...]:
        """The datacenters of a server, or of both servers of a pair."""
        return tuple(datacenter for _, datacenter, _ in self.shape)

    @property
    def cells(self) -> tuple[str, ...]:
        """All fields but the name, in the order of the columns."""
        return (*("yes" if cell else "no" for cell in (self.quorum, self.writable, self.zero_loss)), self.who)


def survival(layout: Layout) -> list[Row]:
    """Return a row for each failure: servers, racks, datacenters, cuts, networks, pairs of servers.

    A cut is judged from the side of all other datacenters. Raises ValueError if Kafka would refuse to create a topic.
    """
    outcome, names = _Outcome(layout), layout.names
    shapes = {name: _shape(layout, name) for name in names}
    rows = [outcome.of(name, "server", frozenset({name}), (shapes[name],)) for name in names]
    rows += [outcome.of(f"rack {name}", "rack", lost) for name, lost in _racks(layout)]
    sites = _sites(layout)
    for datacenter, members in sites.items():
        witness = any(server.name in members for server in layout.voters) and not any(
            server.name in members for server in layout.brokers
        )
        if witness and layout.brokers:
            rows.append(outcome.of(f"witness {' + '.join(sorted(members, key=names.index))}", "witness", members))
        else:
            rows.append(outcome.of(f"datacenter {datacenter}", "datacenter", members))
    if len(sites) > 1:
        rows += [
            outcome.of(f"{datacenter} cut off from the rest", "cut", members) for datacenter, members in sites.items()
        ]
    rows += _networks(layout)
    rows += [
        outcome.of(
            f"{one} + {other}",
            "pair",
            frozenset({one, other}),
            tuple(sorted((shapes[one], shapes[other]), key=_by_function)),
        )
        for one, other in combinations(names, 2)
    ]
    return rows


class _Outcome:
    """The outcome of losing servers, with the replica sets computed once."""

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
        """Return the row for losing these servers for good, or for being cut off from them."""
        most, serves, metadata_kept = self._most(lost), *self._quorum(lost & self.voter_names)
        gone = self._most(lost | self._without_session(lost)) if serves else most
        left = self.layout.replication_factor - gone
        writable = left >= self.layout.min_isr if serves else most == 0
        zero_loss = kind == "cut" or (metadata_kept and most < self.layout.min_isr)
        who = NOBODY if serves and writable else advice(self.layout, kind, lost, serves, left)
        if serves and not writable and kind != "cut" and self.layout.replication_factor - most >= self.layout.min_isr:
            who = TELL
        return Row(failure, kind, lost, serves, writable, zero_loss, who, shape)

    def _without_session(self, lost: frozenset[str]) -> frozenset[str]:
        """Return the brokers that can reach no remaining ZooKeeper server: the cluster continues without them."""
        return frozenset(broker.name for broker in self.layout.brokers if broker.told and broker.told <= lost)

    def _most(self, lost: frozenset[str]) -> int:
        """Return the most replicas of one partition that may be on these servers.

        Each broker has replicas of some partition.
        """
        brokers = lost & self.broker_names
        if len(brokers) == 2:
            return 2 if brokers in self.together else 1
        return len(brokers) if len(brokers) < 2 else max(len(brokers & replicas) for replicas in self.replica_sets)

    def _quorum(self, lost: frozenset[str]) -> tuple[bool, bool]:
        """Tell whether the rest has a quorum, and whether every quorum that may have acknowledged has a member left."""
        if lost not in self.quorums:
            self.quorums[lost] = quorum(self.layout, self.voter_names - lost), not quorum(self.layout, lost)
        return self.quorums[lost]


def _networks(layout: Layout) -> Iterator[Row]:
    """Return the rows for the loss of one network everywhere.

    Clients reach brokers over the client network. Over the replication network followers fetch, and leaders ask the
    controller to shrink an ISR: even with a min ISR of 1 only partitions led by the controller would accept writes.
    """
    for network, serves, writable in (
        ("client", True, False),
        ("replication", layout.quorum_on_both_networks, layout.replication_factor == 1),
    ):
        yield Row(
            f"{network} network",
            "network",
            frozenset(),
            serves,
            writable,
            True,
            NOBODY if serves and writable else MEND,
        )


def _sites(layout: Layout) -> dict[str, frozenset[str]]:
    """Return the hosts of each datacenter."""
    return {
        datacenter: frozenset(server.name for server in layout.servers if server.datacenter == datacenter)
        for datacenter in dict.fromkeys(server.datacenter for server in layout.servers)
    }


def _racks(layout: Layout) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the racks that hold several hosts, and not their whole datacenter."""
    sites = _sites(layout)
    for datacenter, rack in sorted(
        {(server.datacenter, server.rack) for server in layout.servers if server.rack is not None}
    ):
        members = frozenset(
            server.name for server in layout.servers if (server.datacenter, server.rack) == (datacenter, rack)
        )
        if len(members) > 1 and members < sites[datacenter]:
            yield f"{datacenter}-{rack}", members


def _shape(layout: Layout, name: str) -> tuple[str, str, str]:
    """Return function, datacenter and failure domain of a host; the domain of a broker is its broker.rack."""
    servers = [server for server in layout.servers if server.name == name]
    function = servers[0].function if len(servers) == 1 else "both"
    domain = next(
        (server.broker_rack for server in servers if server.broker_rack), f"{servers[0].datacenter}-{servers[0].rack}"
    )
    return function, servers[0].datacenter, domain


def _by_function(shape: tuple[str, str, str]) -> tuple[int, str, str]:
    return FUNCTIONS.index(shape[0]), *shape[1:]
