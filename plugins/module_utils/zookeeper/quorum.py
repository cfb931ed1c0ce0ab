"""Who holds a quorum of an ensemble, and may these servers stop now? Pure functions; no Ansible import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

SERVES = ("leader", "follower", "observer", "standalone")
IDLE = ("not serving", "read-only")
"""What servers say that take no part: a read-only one has lost the others, and answers readers alone."""


@dataclass(frozen=True)
class Voter:
    """A server that votes."""

    name: str
    group: int | None = None
    """Its group in a hierarchical ensemble."""
    weight: int = 1


@dataclass(frozen=True)
class Ensemble:
    """One look at an ensemble."""

    modes: Mapping[str, str]
    """By server leader, follower, observer, standalone; `not serving`, `read-only`; `down` where it did not answer."""
    voters: Sequence[Voter]
    followers: int = 0
    observers: int = 0
    """How many of each the leader counts as in sync; -1 where it does not tell."""
    has: Collection[str] | None = None
    """Whom the leader has, by name; None where it tells numbers alone, or was not asked."""

    def of(self, *modes: str) -> list[str]:
        """Return the servers of some modes."""
        return [name for name, mode in self.modes.items() if mode in modes]


@dataclass(frozen=True)
class Block:
    """One reason why servers may not stop."""

    what: str
    why: str
    cure: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.what}: {self.why}; {self.cure}"


def quorum(voters: Sequence[Voter], alive: Collection[str]) -> bool:
    """Tell whether these servers hold a quorum of the ensemble.

    Without groups it is more than half of the voters; with groups more than half of the weight in more than half of
    the groups, where groups without weight are not counted (ZooKeeper: Hierarchical Quorums).
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
    """Return the servers that take no part, so that a stop takes nothing from anybody.

    Those that say that they do not serve. One that is silent may serve others: it is idle only where the leader says
    whom it has, and that is none of them. Numbers do not tell: a follower that it no longer has may make up for it.
    """
    known = ensemble.has is not None and len(ensemble.of("leader")) == 1
    silent = set(ensemble.of("down")) - set(ensemble.has or ()) if known else set[str]()
    return [name for name, mode in ensemble.modes.items() if mode in IDLE or name in silent]


def blocks(ensemble: Ensemble, stop: Collection[str]) -> list[Block]:
    """Return why these servers may not stop together; [] where they may.

    A quorum of those that answer stays without them, of whom the leader has where it says that, and all whom it has are
    in sync. Where one is silent, it has to say. What takes no part may always stop, and only what answers counts as
    alive.
    """
    stopping = sorted(set(stop) - set(idle(ensemble)))
    if not stopping:
        return []
    leaders = ensemble.of("leader", "standalone")
    if len(leaders) != 1:
        silent = [name for name in stopping if ensemble.modes.get(name) == "down"]
        more = f", and {', '.join(silent)} may serve others though silent here" if silent else ""
        return [Block("ensemble", f"{len(leaders)} leaders answer{more}", "wait for an election, or start servers")]
    found = []
    leader, led, stays = leaders[0], set(ensemble.of("follower")), set(ensemble.of(*SERVES)) - set(stopping)
    left = stays if ensemble.has is None else stays & {leader, *ensemble.has}
    if not quorum(ensemble.voters, left) and len(ensemble.voters) > 1:
        down = sorted(set(ensemble.of("down", *IDLE)) - set(stop))
        lost = sorted((stays - left) & led)
        cures = [f"start {', '.join(down)}"] if down else []
        cures += [f"wait until {leader} has {', '.join(lost)}"] if lost else []
        answered = f"{', '.join(sorted(left & {v.name for v in ensemble.voters})) or 'nobody'} would be left"
        cure = ", or ".join(cures) or "stop fewer at once"
        found.append(Block(", ".join(stopping), f"no quorum without: {answered}", cure))
    if ensemble.of("leader"):
        found += _of_leader(ensemble, leader, led)
    return found


def _of_leader(ensemble: Ensemble, leader: str, led: Collection[str]) -> Iterator[Block]:
    """Yield what the leader has to tell, and does not, or who lags."""
    silent = ", ".join(ensemble.of("down"))
    if ensemble.followers < 0:
        why = "it does not tell how many of its followers are in sync (mntr)"
        yield Block(leader, why, "look whether 4lw.commands.whitelist has mntr")
    elif ensemble.followers < max(len(led), len({voter.name for voter in ensemble.voters} & set(ensemble.has or ()))):
        yield Block(leader, "not all of its followers are in sync", "wait until they are")
    elif silent and ensemble.has is None:
        why = f"it does not tell whom it has (mntr), and {silent}, which is silent here, may be one of them"
        yield Block(leader, why, f"start {silent}, or look why it is silent")


def order(modes: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Return in which order servers are restarted, one at a time: who does not serve first, the leader last."""
    ranks = {**dict.fromkeys(IDLE, 0), "down": 0, "leader": 2, "standalone": 2}
    return sorted(names, key=lambda name: ranks.get(modes.get(name, "down"), 1))
