"""Who holds a quorum of an ensemble, and may these servers stop now? Pure functions; no Ansible import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

SERVES = ("leader", "follower", "observer", "standalone")


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
    """By server leader, follower, observer, standalone; `not serving`, or `down` where it did not answer."""
    voters: Sequence[Voter]
    followers: int = 0
    observers: int = 0
    """How many of each the leader counts as in sync."""

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

    Those that say that they do not serve. One that is silent may serve others: it is idle only where the leader has all
    whom we hear in sync, and nobody else.
    """
    silent = ensemble.of("down")
    heard = (len(ensemble.of("follower")), len(ensemble.of("observer")))
    counted = len(ensemble.of("leader")) == 1 and (ensemble.followers, ensemble.observers) == heard
    return [name for name, mode in ensemble.modes.items() if mode == "not serving" or (counted and name in silent)]


def blocks(ensemble: Ensemble, stop: Collection[str]) -> list[Block]:
    """Return why these servers may not stop together; [] where they may.

    A quorum of those that answer stays without them, and all whom the leader has are in sync. What takes no part may
    always stop, and only what answers counts as alive.
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
    left = set(ensemble.of(*SERVES)) - set(stopping)
    if not quorum(ensemble.voters, left) and len(ensemble.voters) > 1:
        down = sorted(set(ensemble.of("down", "not serving")) - set(stop))
        cure = f"start {', '.join(down)}" if down else "stop fewer at once"
        answered = f"{', '.join(sorted(left & {v.name for v in ensemble.voters})) or 'nobody'} would be left"
        found.append(Block(", ".join(stopping), f"no quorum without: {answered}", cure))
    if ensemble.of("leader") and ensemble.followers < len(ensemble.of("follower")):
        found.append(Block(leaders[0], "not all of its followers are in sync", "wait until they are"))
    return found


def order(modes: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Return in which order servers are restarted, one at a time: who does not serve first, the leader last."""
    ranks = {"not serving": 0, "down": 0, "leader": 2, "standalone": 2}
    return sorted(names, key=lambda name: ranks.get(modes.get(name, "down"), 1))
