"""What a layout survives: quorum, writes and data after each failure, computed from the layout alone; no Ansible import.

A cell says yes only if it holds for every placement of replicas that Kafka may have chosen while all brokers were registered.
Before a failure all servers are up and every ISR is full; only `zero_loss` reckons with an ISR that has shrunk to min.insync.replicas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations, count, zip_longest

from .health import table

NOBODY = "nobody"
MEND = "operator: mend the network"
NOUNS = {"zookeeper": "ZooKeeper server", "kafka": "broker", "both": "server"}
# More pairs than this, where no shape means them exactly, are counted instead of named.
MOST_NAMES = 6
HEADLINE = ("what fails", "quorum", "writable", "zero loss", "who acts")


@dataclass(frozen=True)
class Server:
    """One process of the cluster; a host with both functions is two servers of one name."""

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


@dataclass(frozen=True)
class Layout:
    """The servers of one cluster, brokers in the order of their ids, and what the survival of their data depends on."""

    servers: tuple[Server, ...]
    replication_factor: int
    min_insync_replicas: int
    quorum_on_both_networks: bool
    """Whether each ZooKeeper server has several addresses, one on each network."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every host once."""
        return tuple(dict.fromkeys(server.name for server in self.servers))

    @property
    def brokers(self) -> tuple[Server, ...]:
        """The brokers, in the order of their ids."""
        return tuple(server for server in self.servers if server.function == "kafka")

    @property
    def voters(self) -> tuple[Server, ...]:
        """The ZooKeeper servers without the observers."""
        return tuple(server for server in self.servers if server.function == "zookeeper" and server.voter)

    @property
    def min_isr(self) -> int:
        """min.insync.replicas as Kafka applies it: never more than the replicas that there are."""
        return min(self.min_insync_replicas, self.replication_factor)


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
    """Every partition takes records with acks=all, after leaders have moved. Without a quorum that holds for producers that run already:
    a new idempotent one asks a broker for an id, and brokers get ids from the ensemble."""
    zero_loss: bool
    """Nothing acknowledged is gone, records and metadata, though what is lost never comes back."""
    who: str
    """Who has to act until all is writable with a quorum."""
    shape: tuple[tuple[str, str, str], ...] = ()
    """Function, datacenter and failure domain of each server of a pair."""

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of a pair's servers."""
        return tuple(function for function, _, _ in self.shape)

    @property
    def datacenters(self) -> tuple[str, ...]:
        """The datacenters of a pair's servers."""
        return tuple(datacenter for _, datacenter, _ in self.shape)

    @property
    def cells(self) -> tuple[str, ...]:
        """Everything but the name, as the tables show it."""
        return (*("yes" if cell else "no" for cell in (self.quorum, self.writable, self.zero_loss)), self.who)


def survival(layout: Layout) -> list[Row]:
    """Return a row for each failure: servers, racks, datacenters, cuts, networks, pairs of servers.

    A cut is judged from the side of all other datacenters. Raises ValueError where Kafka would refuse to create a topic.
    """
    outcome, names = _Outcome(layout), layout.names
    rows = [outcome.of(name, "server", frozenset({name})) for name in names]
    rows += [outcome.of(f"rack {name}", "rack", lost) for name, lost in _racks(layout)]
    sites = _sites(layout)
    for datacenter, members in sites.items():
        witness = any(server.name in members for server in layout.voters) and not any(server.name in members for server in layout.brokers)
        if witness and layout.brokers:
            rows.append(outcome.of(f"witness {' + '.join(sorted(members, key=names.index))}", "witness", members))
        else:
            rows.append(outcome.of(f"datacenter {datacenter}", "datacenter", members))
    if len(sites) > 1:
        rows += [outcome.of(f"{datacenter} cut off from the rest", "cut", members) for datacenter, members in sites.items()]
    rows += _networks(layout)
    shapes = {name: _shape(layout, name) for name in names}
    rows += [
        outcome.of(f"{one} + {other}", "pair", frozenset({one, other}), tuple(sorted((shapes[one], shapes[other]), key=_by_function)))
        for one, other in combinations(names, 2)
    ]
    return rows


def quorum(layout: Layout, alive: AbstractSet[str]) -> bool:
    """Tell whether these servers hold a quorum of the ensemble.

    Without groups it is more than half of the voters; with groups more than half of the weight in more than half of the groups,
    where groups without weight are not counted (ZooKeeper: Hierarchical Quorums).
    """
    voters = layout.voters
    if all(voter.group is None for voter in voters):
        return 2 * sum(voter.name in alive for voter in voters) > len(voters)
    whole, there = Counter[int | None](), Counter[int | None]()
    for voter in voters:
        whole[voter.group] += voter.weight
        there[voter.group] += voter.weight if voter.name in alive else 0
    counted = [group for group, weight in whole.items() if weight > 0]
    return 2 * sum(2 * there[group] > whole[group] for group in counted) > len(counted)


def placements(brokers: Mapping[int, str | None], replication_factor: int) -> set[frozenset[int]]:
    """Return every replica set that Kafka 3.9 can give to a partition of a new topic; `brokers` maps ids to broker.rack.

    AdminUtils puts the brokers into one ring, racks taking turns, and starts each partition's walk at the next broker. The followers'
    distance from the leader is random at first and grows with each turn of the ring, by the number of racks; the walk skips racks that
    have a replica while others have none. Without racks this is the walk of a single rack. Raises ValueError where Kafka would.
    """
    racks = sorted(set(brokers.values()), key=str)
    if not 1 <= replication_factor <= len(brokers):
        raise ValueError(f"replication factor {replication_factor} with {len(brokers)} brokers: Kafka creates no such topic")
    if None in racks and len(racks) > 1:
        raise ValueError("some brokers have a rack and some have none: Kafka creates no topic")
    turns = zip_longest(*([broker for broker in sorted(brokers) if brokers[broker] == rack] for rack in racks))
    ring = [broker for turn in turns for broker in turn if broker is not None]
    others = max(len(ring) - 1, 1)
    shifts = {number * len(racks) % others for number in range(others)}
    return {_replicas(ring, brokers, replication_factor, start, shift) for start in range(len(ring)) for shift in shifts}


def _replicas(ring: Sequence[int], racks: Mapping[int, str | None], replication_factor: int, start: int, shift: int) -> frozenset[int]:
    chosen, used, number = {ring[start]}, {racks[ring[start]]}, len(set(racks.values()))
    for step in count(shift):
        if len(chosen) == replication_factor:
            break
        broker = ring[(start + 1 + step % (len(ring) - 1)) % len(ring)]
        if broker not in chosen and (racks[broker] not in used or len(used) == number):
            chosen.add(broker)
            used.add(racks[broker])
    return frozenset(chosen)


class _Outcome:
    """The outcome of losing servers, with the replica sets computed once."""

    def __init__(self, layout: Layout) -> None:
        self.layout, brokers = layout, layout.brokers
        sets = placements({number: broker.broker_rack for number, broker in enumerate(brokers)}, layout.replication_factor) if brokers else set()
        self.replica_sets = [frozenset(brokers[number].name for number in numbers) for numbers in sets]
        self.together = {frozenset(pair) for numbers in self.replica_sets for pair in combinations(numbers, 2)}
        self.broker_names = frozenset(broker.name for broker in brokers)
        self.voter_names = frozenset(voter.name for voter in layout.voters)
        self.quorums: dict[frozenset[str], tuple[bool, bool]] = {}

    def of(self, failure: str, kind: str, lost: frozenset[str], shape: tuple[tuple[str, str, str], ...] = ()) -> Row:
        """Return the row of losing these servers for good, or of being cut off from them."""
        most, serves, metadata_kept = self._most(lost), *self._quorum(lost & self.voter_names)
        left = self.layout.replication_factor - most
        writable = left >= self.layout.min_isr if serves else most == 0
        zero_loss = kind == "cut" or (metadata_kept and most < self.layout.min_isr)
        who = NOBODY if serves and writable else _advice(self.layout, kind, lost, serves, left)
        return Row(failure, kind, lost, serves, writable, zero_loss, who, shape)

    def _most(self, lost: frozenset[str]) -> int:
        """Return the most replicas that one partition may have among these servers; each broker has replicas of some partition."""
        brokers = lost & self.broker_names
        if len(brokers) == 2:
            return 2 if brokers in self.together else 1
        return len(brokers) if len(brokers) < 2 else max(len(brokers & replicas) for replicas in self.replica_sets)

    def _quorum(self, lost: frozenset[str]) -> tuple[bool, bool]:
        """Tell whether the rest has a quorum, and whether each quorum that may have acknowledged metadata has a member in the rest."""
        if lost not in self.quorums:
            self.quorums[lost] = quorum(self.layout, self.voter_names - lost), not quorum(self.layout, lost)
        return self.quorums[lost]


def _advice(layout: Layout, kind: str, lost: frozenset[str], serves: bool, left: int) -> str:
    """Return what the operator does; `left` replicas are alive in the partition that has the fewest."""
    lower = serves and left >= 1
    if kind == "cut":
        return MEND + (f", or lower min.insync.replicas to {left}" if lower else "")
    if lost >= set(layout.names):
        return "operator: restore from a mirror"
    survivor = _surviving_group(layout, lost)
    if not serves and survivor and left >= 1:
        isr = f", min.insync.replicas to {left}" if left < layout.min_isr else ""
        return f"operator: failover to {survivor} (ZooKeeper to its group{isr})"
    back = f"bring {_needed(layout, lost, serves, left)} back"
    return f"operator: lower min.insync.replicas to {left}, or {back}" if lower else f"operator: {back}"


def _surviving_group(layout: Layout, lost: frozenset[str]) -> str:
    """Return the datacenter of a group that lost no member while another lost all; '' where there is none."""
    groups: dict[int, list[Server]] = {}
    for voter in layout.voters:
        if voter.group is not None and voter.weight > 0:
            groups.setdefault(voter.group, []).append(voter)
    if any(all(voter.name in lost for voter in members) for members in groups.values()):
        for members in groups.values():
            if not any(voter.name in lost for voter in members):
                return " and ".join(dict.fromkeys(voter.datacenter for voter in members))
    return ""


def _needed(layout: Layout, lost: frozenset[str], serves: bool, left: int) -> str:
    """Return the fewest servers that bring quorum and writes back, in words."""
    down = [voter.name for voter in layout.voters if voter.name in lost]
    alive = set(layout.names) - lost
    enough = (number for number in range(1, len(down) + 1) if any(quorum(layout, alive | {*some}) for some in combinations(down, number)))
    parts = [(next(enough, 0), "ZooKeeper server")] if not serves else []
    parts += [(layout.min_isr - left, "broker")]
    return " and ".join(f"a {noun}" if number == 1 else f"{number} {noun}s" for number, noun in parts if number > 0)


def _networks(layout: Layout) -> Iterator[Row]:
    """One network is down everywhere.

    Clients reach brokers on the one. On the other followers fetch, and leaders ask the controller to shrink an ISR: even with a min ISR
    of 1 only the partitions led by the controller's own broker would go on.
    """
    for network, serves, writable in (
        ("client", True, False),
        ("replication", layout.quorum_on_both_networks, layout.replication_factor == 1),
    ):
        yield Row(f"{network} network", "network", frozenset(), serves, writable, True, NOBODY if serves and writable else MEND)


def _sites(layout: Layout) -> dict[str, frozenset[str]]:
    """Return the hosts of each datacenter."""
    return {
        datacenter: frozenset(server.name for server in layout.servers if server.datacenter == datacenter)
        for datacenter in dict.fromkeys(server.datacenter for server in layout.servers)
    }


def _racks(layout: Layout) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the racks that hold several hosts, and not their whole datacenter."""
    sites = _sites(layout)
    for datacenter, rack in sorted({(server.datacenter, server.rack) for server in layout.servers if server.rack is not None}):
        members = frozenset(server.name for server in layout.servers if (server.datacenter, server.rack) == (datacenter, rack))
        if len(members) > 1 and members < sites[datacenter]:
            yield f"{datacenter}-{rack}", members


def _shape(layout: Layout, name: str) -> tuple[str, str, str]:
    """Return function, datacenter and failure domain of a host; a broker's is the one that Kafka goes by."""
    servers = [server for server in layout.servers if server.name == name]
    function = servers[0].function if len(servers) == 1 else "both"
    domain = next((server.broker_rack for server in servers if server.broker_rack), f"{servers[0].datacenter}-{servers[0].rack}")
    return function, servers[0].datacenter, domain


def _by_function(shape: tuple[str, str, str]) -> tuple[int, str, str]:
    return list(NOUNS).index(shape[0]), *shape[1:]


# Tables


def text_table(layout_name: str, rows: Sequence[Row]) -> str:
    """Return the rows for a terminal, under the layout's name; pairs are summarised, and named by their shape where that is exact."""
    return "\n".join([layout_name, *table(HEADLINE, [cells for cells, _ in _lines(rows)]), *(f"  {line}" for line in _totals(rows))])


def markdown_table(rows: Sequence[Row], seen: Callable[[Sequence[Row]], str] | None = None) -> str:
    """Return the same as Markdown, with a column more where `seen` tells what was seen of the failures that a line means."""
    headline = (*HEADLINE, "seen") if seen else HEADLINE
    cells = [(*cells, seen(members)) if seen else cells for cells, members in _lines(rows)]
    lines = [f"| {' | '.join(line)} |" for line in (headline, ("---",) * len(headline), *cells)]
    return "\n".join([*lines, *(f"\n{line[0].upper()}{line[1:]}." for line in _totals(rows))])


def _totals(rows: Sequence[Row]) -> list[str]:
    pairs = [row for row in rows if row.kind == "pair"]
    kept = f"{sum(row.quorum for row in pairs)} keep the quorum, {sum(row.writable for row in pairs)} stay writable"
    return [f"of {len(pairs)} pairs of servers {kept}, {sum(row.zero_loss for row in pairs)} lose nothing"] if pairs else []


def _lines(rows: Sequence[Row]) -> list[tuple[tuple[str, ...], list[Row]]]:
    """Return the cells of the tables with the rows that each line means: single failures, pairs by outcome, those without any harm last."""
    pairs, fine = [row for row in rows if row.kind == "pair"], list[Row]()
    outcomes: dict[tuple[str, ...], list[Row]] = {}
    for row in pairs:
        if row.quorum and row.writable and row.zero_loss:
            fine.append(row)
        else:
            outcomes.setdefault(row.cells, []).append(row)
    harmed = [((name, *cells), meant) for cells, members in outcomes.items() for name, meant in _names(members, pairs)]
    rest = f"any{' other' if harmed else ''} two servers ({len(fine)})"
    single = [((row.failure, *row.cells), [row]) for row in rows if row.kind != "pair"]
    return single + harmed + ([((rest, "yes", "yes", "yes", NOBODY), fine)] if fine else [])


def _names(members: Sequence[Row], pairs: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield names that mean `members` among `pairs` and no other pair, and whom each means: by function, then by datacenter, then by the servers."""
    for functions in dict.fromkeys(row.functions for row in members):
        wanted = {row.failure for row in members if row.functions == functions}
        alike = [row for row in pairs if row.functions == functions]
        one, other = (NOUNS[function] for function in functions)
        every, two = (f"any two {one}s", f"two {one}s") if one == other else (f"any {one} and any {other}", f"a {one} and a {other}")
        if name := _exact(wanted, alike, every, two):
            yield name, [row for row in alike if row.failure in wanted]
            continue
        for places in dict.fromkeys(row.datacenters for row in alike):
            here = [row for row in alike if row.datacenters == places]
            some, two = {row.failure for row in here} & wanted, f"a {one} of {places[0]} and {'one' if one == other else f'a {other}'} of {places[1]}"
            if one == other and places[0] == places[1]:
                two = f"two {one}s of {places[0]}"
            meant = sorted((row for row in here if row.failure in some), key=lambda row: row.failure)
            if name := _exact(some, here, two, two):
                yield name, meant
            elif len(some) > MOST_NAMES:
                yield f"some {two}, such as {min(some)} ({len(some)})", meant
            else:
                yield from ((row.failure, [row]) for row in meant)


def _exact(wanted: set[str], alike: Sequence[Row], every: str, two: str) -> str:
    """Return a name for `wanted` if it is all of `alike`, or all that share a datacenter or rack, or all that do not; '' if none is exact."""
    names = {
        every: {row.failure for row in alike},
        f"{two} in one datacenter": {row.failure for row in alike if len(set(row.datacenters)) == 1},
        f"{two} in different datacenters": {row.failure for row in alike if len(set(row.datacenters)) == 2},
        f"{two} in one rack": {row.failure for row in alike if len({rack for _, _, rack in row.shape}) == 1},
        f"{two} in different racks": {row.failure for row in alike if len({rack for _, _, rack in row.shape}) == 2},
    }
    return next((f"{name} ({len(wanted)})" for name, meant in names.items() if wanted and meant == wanted), "")
