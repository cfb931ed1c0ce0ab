"""Decides whether servers of a ZooKeeper ensemble may stop now, by its quorum. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

SERVES = ("leader", "follower", "observer", "standalone")
IDLE = ("not serving", "read-only")
"""Modes of servers that do not take part. A read-only server has no connection to the others and serves only reads."""


@dataclass(frozen=True)
class Voter:
    """A server that votes in its ensemble."""

    name: str
    group: int | None = None
    """Its group in a hierarchical ensemble."""
    weight: int = 1


@dataclass(frozen=True)
class Ensemble:
    """The state of an ensemble at one time, as its servers reported it."""

    modes: Mapping[str, str]
    """Mode of each server: leader, follower, observer, standalone, `not serving`, `read-only` or `down` (no answer)."""
    voters: Sequence[Voter]
    followers: int = 0
    observers: int = 0
    """How many followers and observers the leader reports as in sync; -1 if it does not report the number."""
    has: Collection[str] | None = None
    """The names of the servers connected to the leader; None if the leader does not list them, or was not asked."""

    def of(self, *modes: str) -> list[str]:
        """Return the names of the servers that are in one of these modes."""
        return [name for name, mode in self.modes.items() if mode in modes]


@dataclass(frozen=True)
class Block:
    """One reason why servers may not stop: `what` is affected, `why` they may not stop, and what to do (`cure`)."""

    what: str
    why: str
    cure: str

    def __str__(self) -> str:
        """Return the reason as one text: what is affected, why, and the remedy."""
        return f"{self.what}: {self.why}; {self.cure}"


def quorum(voters: Sequence[Voter], alive: Collection[str]) -> bool:
    """Tell whether the servers in `alive` hold a quorum of the voters.

    Without groups, a quorum is more than half of the voters. With groups, it is more than half of the weight in more
    than half of the groups; groups without weight do not count (ZooKeeper: Hierarchical Quorums).
    """
    if all(voter.group is None for voter in voters):
        return 2 * sum(voter.name in alive for voter in voters) > len(voters)
    whole, there = Counter[int | None](), Counter[int | None]()
    for voter in voters:
        whole[voter.group] += voter.weight
        there[voter.group] += voter.weight if voter.name in alive else 0
    counted = [group for group, weight in whole.items() if weight > 0]
    return 2 * sum(2 * there[group] > whole[group] for group in counted) > len(counted)


def idle(ensemble: Ensemble) -> list[str]:
    """Return the servers that do not take part in the ensemble, so that stopping them has no effect.

    A server is idle if it reports that it does not serve. A server that does not answer here may still serve others; it
    is idle only if the leader lists the connected servers, and this server is not among them. The number of connected
    servers proves nothing, since another follower may have been lost meanwhile.
    """
    known = ensemble.has is not None and len(ensemble.of("leader")) == 1
    silent = set(ensemble.of("down")) - set(ensemble.has or ()) if known else set[str]()
    return [name for name, mode in ensemble.modes.items() if mode in IDLE or name in silent]


def blocks(ensemble: Ensemble, stop: Collection[str]) -> list[Block]:
    """Return the reasons why the servers in `stop` may not stop together; [] if they may.

    The servers that remain, answer, and are connected to the leader (if it lists them) need a quorum. All servers
    connected to the leader have to be in sync. If a server does not answer, the leader has to list the connected
    servers. Servers that do not take part in the ensemble may always stop.
    """
    stopping = sorted(set(stop) - set(idle(ensemble)))
    if not stopping:
        return []
    leaders = ensemble.of("leader", "standalone")
    if len(leaders) != 1:
        silent = [name for name in stopping if ensemble.modes.get(name) == "down"]
        more = f", and {', '.join(silent)} may serve although not answering here" if silent else ""
        return [Block("ensemble", f"{len(leaders)} leaders answer{more}", "wait for an election, or start servers")]
    reasons = []
    leader, led, stays = leaders[0], set(ensemble.of("follower")), set(ensemble.of(*SERVES)) - set(stopping)
    left = stays if ensemble.has is None else stays & {leader, *ensemble.has}
    if not quorum(ensemble.voters, left) and len(ensemble.voters) > 1:
        down = sorted(set(ensemble.of("down", *IDLE)) - set(stop))
        lost = sorted((stays - left) & led)
        cures = [f"start {', '.join(down)}"] if down else []
        cures += [f"wait until {leader} has {', '.join(lost)}"] if lost else []
        remaining = ", ".join(sorted(left & {v.name for v in ensemble.voters})) or "no server"
        cure = ", or ".join(cures) or "stop fewer at once"
        reasons.append(Block(", ".join(stopping), f"no quorum without: {remaining} would remain", cure))
    if ensemble.of("leader"):
        reasons += _of_leader(ensemble, leader, led)
    return reasons


def _of_leader(ensemble: Ensemble, leader: str, led: Collection[str]) -> Iterator[Block]:
    """Yield a reason against a stop if followers are out of sync, or if the leader does not report whether they are.

    `led` are the servers that report that they are followers.
    """
    silent = ", ".join(ensemble.of("down"))
    if ensemble.followers < 0:
        why = "it does not report how many of its followers are in sync (mntr)"
        yield Block(leader, why, "check that 4lw.commands.whitelist has mntr")
    elif ensemble.followers < max(len(led), len({voter.name for voter in ensemble.voters} & set(ensemble.has or ()))):
        yield Block(leader, "not all of its followers are in sync", "wait until they are")
    elif silent and ensemble.has is None:
        why = f"it does not list its followers (mntr), and {silent}, which does not answer here, may be one of them"
        yield Block(leader, why, f"start {silent}, or find out why it does not answer")


def order(modes: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Return the servers in the order of a rolling restart: servers that do not serve first, the leader last."""
    ranks = {**dict.fromkeys(IDLE, 0), "down": 0, "leader": 2, "standalone": 2}
    return sorted(names, key=lambda name: ranks.get(modes.get(name, "down"), 1))
