"""Decides from what ZooKeeper servers, brokers and a probe write report whether a datacenter is lost. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import SERVES, Voter, quorum

DOWN = "down"
NO_DISASTER = "no disaster"
DEGRADED = "degraded"
HEALS = "heals by itself"
POSSIBLE = "failover possible"
FORBIDDEN = "failover forbidden"
UNKNOWN = "unknown"
VERDICTS = (NO_DISASTER, DEGRADED, HEALS, POSSIBLE, FORBIDDEN, UNKNOWN)
"""All verdicts. Only `failover possible` allows playbooks/failover.yml."""
LEADS = ("leader", "standalone")
STATES = ENSEMBLE, LOWERED, RETURNING = ("ensemble", "lowered", "returning")
"""States of the record of a failover while one datacenter may serve alone (plugin_utils/failover_record.py)."""


@dataclass(frozen=True)
class Server:
    """A ZooKeeper server: its datacenter, its mode (`leader`, `not serving`, `down`, ...), and whether it votes."""

    datacenter: str
    mode: str
    votes: bool = True
    group: int | None = None
    """Its group in a hierarchical ensemble."""


@dataclass(frozen=True)
class Seen:
    """What one look at a cluster returned."""

    servers: Mapping[str, Server]
    brokers: Mapping[str, str]
    """{broker: its datacenter}"""
    answering: Collection[str]
    """The brokers whose listener accepts connections."""
    probe: str
    """Why the probe write (acks=all) failed, '' if it was acknowledged."""
    refusing: Collection[str] = ()
    """Servers and brokers whose host refuses connections: the host runs, and only its service does not."""
    registered: Collection[str] | None = None
    """The brokers that are registered, as the metadata of a broker list them; None if no broker reports them.

    Without a quorum, brokers report what was registered before the outage.
    """
    rejecting: Collection[str] = ()
    """Topics that reject writes although the probe write succeeded, because brokers of a datacenter are missing."""
    helped: Collection[str] = ()
    """Those of `rejecting` that accept writes if min.insync.replicas is lowered as a failover does."""
    unwritten: bool = False
    """Whether the probe write was not made, because its topic does not exist; `probe` is the reason."""
    taken_over: str = ""
    """The datacenter that has taken over already, as the record of a failover has it; '' without one."""
    state: str = LOWERED
    """One of STATES, how far the failover to `taken_over` and its failback are."""

    def datacenters(self) -> list[str]:
        """Return the names of all datacenters, sorted."""
        return sorted({server.datacenter for server in self.servers.values()} | set(self.brokers.values()))

    def silent(self) -> list[str]:
        """Return the datacenters in which no host of a ZooKeeper server or broker answers or refuses a connection."""
        alive = {one.datacenter for name, one in self.servers.items() if one.mode != DOWN or name in self.refusing}
        alive |= {self.brokers[name] for name in self.brokers if name in {*self.answering, *self.refusing}}
        return [name for name in self.datacenters() if name not in alive]

    def has_witness(self) -> bool:
        """Tell whether a datacenter has ZooKeeper servers and no brokers."""
        return not {server.datacenter for server in self.servers.values()} <= {*self.brokers.values()}

    def in_mode(self, *modes: str) -> list[str]:
        """Return the servers in one of these modes."""
        return [name for name, server in self.servers.items() if server.mode in modes]


@dataclass(frozen=True)
class Decision:
    """A verdict (one of VERDICTS), its reason, and what to do; `survivors` are datacenters that could take over."""

    verdict: str
    reason: str
    advice: str
    survivors: Sequence[str] = field(default=())


def alone(seen: Seen, datacenter: str) -> bool:
    """Tell whether the answering servers of a datacenter are a majority of the servers there.

    This is the quorum of the ensemble that a failover would form: each server has one vote there.
    """
    voters = [Voter(name) for name, one in seen.servers.items() if one.datacenter == datacenter and one.votes]
    return bool(voters) and quorum(voters, set(seen.servers) - set(seen.in_mode(DOWN)))


def together(seen: Seen, servers: Collection[str]) -> bool:
    """Tell whether these servers are a quorum of the whole ensemble, with its groups."""
    voters = [Voter(name, one.group) for name, one in seen.servers.items() if one.votes]
    return bool(voters) and quorum(voters, servers)


def survivor_of(seen: Seen, silent: Collection[str]) -> str:
    """Return the only datacenter with brokers that is not silent, if a broker answers there, else ''.

    Return '' also if no datacenter with brokers is silent.
    """
    places = {*seen.brokers.values()}
    left = places - {*silent}
    answering = {seen.brokers[name] for name in seen.answering}
    return left.pop() if len(left) == 1 and left != places and left <= answering else ""


def remaining(registered: Collection[int], places: Mapping[int, str]) -> set[int]:
    """Return all brokers of the datacenters in which one is registered; `places` is {broker: its datacenter}."""
    left = {places[one] for one in registered if one in places}
    return {one for one, place in places.items() if place in left}


def out_of_sync(
    partitions: Iterable[tuple[str, Collection[int], Collection[int]]],
    registered: Collection[int],
    places: Mapping[int, str],
) -> dict[str, int]:
    """Return {topic: fewest in-sync replicas} of partitions with a replica in a datacenter that lost all its brokers.

    `partitions` are (topic, replicas, in-sync replicas) each, `places` is {broker: its datacenter}. Only replicas on
    registered brokers count. A partition without any in sync has no leader, whatever min.insync.replicas is: it is left
    out.
    """
    gone = {*places} - remaining(registered, places)
    found: dict[str, int] = {}
    for topic, replicas, isr in partitions:
        number = len({*isr} & {*registered})
        if number and gone & ({*replicas} - {*isr}):
            found[topic] = min(number, found.get(topic, number))
    return found


def some(names: Collection[str]) -> str:
    """Return at most five names, and how many more there are."""
    more = f", and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join([*names][:5]) + more


def decide(seen: Seen) -> Decision:
    """Return the verdict on what was seen.

    Metadata of brokers are used with a quorum only: without it, brokers report the leaders, in-sync replicas and the
    controller from before the outage.
    """
    leaders, silent = seen.in_mode(*LEADS), seen.silent()
    if len(seen.in_mode(DOWN)) == len(seen.servers) and not seen.answering:
        return Decision(
            UNKNOWN,
            "no ZooKeeper server and no broker answers here",
            "check the network of the host that asks, then run this again; look from inside each datacenter",
        )
    if leaders:
        return _with_quorum(seen, leaders, silent)
    followers = seen.in_mode(*SERVES)
    if followers or not seen.probe:
        followed = (
            f"{', '.join(followers)} follows a leader that does not answer here" if followers else "no server leads"
        )
        return Decision(
            HEALS,
            f"{followed}, and a write with acks=all {'failed' if seen.probe else 'succeeded'}: a datacenter is cut off "
            "from this host, or an election is under way",
            "wait at least 60 s, and ask from a host of each datacenter; a failover now could stop a working cluster",
        )
    if not silent:
        return Decision(
            HEALS,
            "no ZooKeeper server serves, but hosts of every datacenter answer here: the datacenters are cut off from "
            "each other, services are down, or an election is under way",
            "repair the network between the datacenters, start the services that are down, and wait at least 60 s; a "
            "failover now could lose records. If a failover is recorded, run playbooks/failback.yml",
        )
    return _without_quorum(seen, silent)


def _with_quorum(seen: Seen, leaders: Sequence[str], silent: Sequence[str]) -> Decision:
    """Return the verdict if a ZooKeeper server leads; `silent` are the datacenters that do not answer."""
    serving = sorted({one.datacenter for one in seen.servers.values() if one.mode in SERVES})
    down = [*seen.in_mode(DOWN), *sorted(set(seen.brokers) - set(seen.answering))]
    if len(leaders) > 1:
        return Decision(
            FORBIDDEN,
            f"{', '.join(leaders)} lead at the same time: two ensembles serve",
            "stop the ZooKeeper servers and brokers of one datacenter at once (docs/disaster.md#split-brain)",
        )
    stays = survivor_of(seen, silent) and together(seen, seen.in_mode(*SERVES))
    rejecting = seen.rejecting if stays or seen.has_witness() else ()
    wrote = not seen.probe or seen.unwritten
    if wrote and not rejecting:
        done = f"no topic rejects writes ({seen.probe})" if seen.probe else "a write with acks=all succeeded"
        if seen.taken_over:
            return _during_failover(seen, done, down)
        if not down:
            return Decision(NO_DISASTER, f"ZooKeeper has a leader, and {done}", "nothing to do")
        return Decision(
            DEGRADED,
            f"{done}, but {', '.join(down)} do not answer",
            "no failover is needed: start them, or replace them (docs/runbooks)",
        )
    if stays:
        return _with_witness(seen, silent)
    if seen.taken_over:
        return Decision(HEALS, f"{seen.taken_over} has taken over, and {_failed(seen, rejecting)}", _next_step(seen))
    where = f"no host of {', '.join(silent)} answers here, but " if silent else ""
    return Decision(
        HEALS,
        f"{where}ZooKeeper serves in {', '.join(serving)}, and {_failed(seen, rejecting)}: the leader has a quorum, so "
        "servers that do not answer here may serve",
        f"wait 60 s, repair the network of the host that asks, or start {', '.join(down)}"
        if down
        else "wait 60 s, then read docs/runbooks/under-replicated.md",
    )


def _failed(seen: Seen, rejecting: Collection[str]) -> str:
    """Return which writes fail: the probe write, or writes to the topics that are `rejecting`."""
    if seen.probe and not seen.unwritten:
        return f"a write with acks=all failed ({seen.probe})"
    return f"min.insync.replicas rejects writes to these topics: {some(rejecting)}"


def _during_failover(seen: Seen, done: str, down: Sequence[str]) -> Decision:
    """Return the verdict if writes succeed (`done`) while one datacenter serves; `down` do not answer.

    Without a witness, some topics can reject writes all the same.
    """
    but = f", but these topics reject writes: {some(seen.rejecting)}" if seen.rejecting else ""
    more = f"; {', '.join(down)} do not answer" if down else ""
    return Decision(
        DEGRADED, f"{seen.taken_over} has taken over, and {done}{but}{more}", _next_step(seen, bool(seen.rejecting))
    )


def _next_step(seen: Seen, fails: bool = True) -> str:
    """Return what to do next while one datacenter serves; `fails` tells whether writes fail."""
    if seen.state == ENSEMBLE:
        return (
            f"the failover was interrupted: run playbooks/failover.yml -e survivor={seen.taken_over} -e fenced=power "
            "(or network) again; if it refuses because the other datacenter has returned, run playbooks/failback.yml"
        )
    if seen.state == RETURNING:
        return "the failback was interrupted: run playbooks/failback.yml again"
    back = "when the other datacenter returns, run playbooks/failback.yml"
    return f"{_more_replicas(seen, seen.taken_over)}. Then, {back}" if fails else back


def _more_replicas(seen: Seen, survivor: str) -> str:
    """Return the advice for topics that reject writes because too few replicas in `survivor` are in sync."""
    down = [name for name, place in seen.brokers.items() if place == survivor and name not in seen.answering]
    return (
        (f"start {', '.join(down)}" if down else f"wait until the replicas in {survivor} are in sync")
        + f". Otherwise run playbooks/failover.yml -e survivor={survivor} -e fenced=power (or network) "
        "-e min_isr=1, which accepts the loss of a record if one more broker is lost"
    )


def _with_witness(seen: Seen, silent: Sequence[str]) -> Decision:
    """Return the verdict if ZooKeeper has a quorum without the datacenters in `silent`, and writes fail.

    A broker that runs and reaches a ZooKeeper server is registered, so a registered broker is not lost.
    """
    survivor, gone = survivor_of(seen, silent), ", ".join(silent)
    helps = bool(seen.helped) or bool(seen.probe and not seen.unwritten)
    reason = f"no host of {gone} answers, ZooKeeper serves without {gone}, and {_failed(seen, seen.rejecting)}"
    there = [name for name in seen.registered or () if seen.brokers[name] in silent]
    if seen.registered is None or there:
        are = f"{', '.join(there)} {'are' if len(there) > 1 else 'is'} registered with ZooKeeper"
        return Decision(
            HEALS,
            f"{reason}, but {are if there else 'no broker reports the registered brokers'}",
            "wait at least 60 s, in which the sessions of lost brokers expire; a broker that stays registered runs, "
            "and is only cut off from here",
        )
    # A failback that was interrupted may have restored min.insync.replicas: the failover lowers it again.
    if seen.taken_over == survivor and seen.state == LOWERED:
        return Decision(HEALS, f"{reason}. {survivor} has already taken over", _next_step(seen))
    if not helps:
        return Decision(HEALS, f"{reason}. Too few replicas are in sync", _more_replicas(seen, survivor))
    return _possible(seen, reason, silent, survivor)


def _without_quorum(seen: Seen, silent: Sequence[str]) -> Decision:
    """Return the verdict if no ZooKeeper server leads, and no host of the datacenters in `silent` answers.

    A failover would give the survivor an ensemble of its own. This is only safe if the other servers never have a
    quorum without the survivor. With such a quorum, they could have committed changes that the survivor does not have,
    and would serve as a second ensemble when they start again.
    """
    left = [name for name in seen.datacenters() if name not in silent]
    down = [name for name in seen.in_mode(DOWN) if seen.servers[name].datacenter in left]
    gone, survivor = ", ".join(silent), survivor_of(seen, silent)
    start = f", and start {', '.join(down)}, with their data" if down else ""
    if together(seen, [name for name in seen.servers if seen.servers[name].datacenter in left]):
        return Decision(
            HEALS,
            f"no host of {gone} answers, and no ZooKeeper server serves, but {', '.join(left)} have enough servers for "
            "a quorum: an election is under way, servers are down, or the fence of an earlier failover separates them "
            "(a host has /etc/nftables.d/millrace-fence.nft)",
            f"wait at least 60 s{start}. If a failover is recorded, run playbooks/failback.yml",
        )
    if not survivor or not alone(seen, survivor):
        return Decision(
            UNKNOWN,
            f"no host of {gone} answers, and in {', '.join(left)}, too few ZooKeeper servers answer for a quorum, or "
            "no broker answers",
            f"start {', '.join(down)}, with their data, then run this again"
            if down
            else "start brokers there, then run this again",
        )
    there = [name for name, one in seen.servers.items() if one.datacenter == survivor and one.mode != DOWN]
    others = [name for name in seen.servers if name not in there]
    if together(seen, others):
        return Decision(
            FORBIDDEN,
            f"no host of {gone} answers, and ZooKeeper does not serve in {survivor}. But {', '.join(others)} have a "
            f"quorum without {survivor}: they may have accepted changes that {survivor} does not have, and when "
            f"they start, they serve beside {survivor}",
            f"bring ZooKeeper servers of {' or '.join(silent)} back, with their data, until ZooKeeper serves, and run "
            "this again. Nothing else is safe (docs/disaster.md#with-a-witness)",
        )
    reason = f"no host of {gone} answers, and ZooKeeper does not serve in {survivor}"
    return _possible(seen, reason, silent, survivor)


def _possible(seen: Seen, reason: str, silent: Sequence[str], survivor: str) -> Decision:
    """Return the verdict that `survivor` may take over, unless another datacenter has newer data."""
    if seen.taken_over not in ("", survivor):
        return Decision(
            FORBIDDEN,
            f"{reason}. But {seen.taken_over} took over: {survivor} does not have what was written since",
            f"bring {seen.taken_over} back, and run playbooks/failback.yml if it has not ended",
        )
    return Decision(POSSIBLE, reason, _if_lost(silent, survivor), [survivor])


def _if_lost(silent: Sequence[str], survivor: str) -> str:
    return (
        f"if {', '.join(silent)} is really lost, and not only cut off from here: "
        f"playbooks/failover.yml -e survivor={survivor} -e fenced=power (or network)"
    )
