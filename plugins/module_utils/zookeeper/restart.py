"""Waits during the restart of a ZooKeeper server: until it may stop, and until it serves again."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.waits import Lacking, Look, Patience, Verdict, watch
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.ensemble import Tls, four_letter_word, state
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import (
    IDLE,
    SERVES,
    Ensemble,
    Voter,
    blocks,
    quorum,
)

SYNCED = r"^zk_synced_(follower|observer)s\t(\d+)"
SENT = r"^zk_cnt_(\d+)_learner_handler_qp_size\t(\d+)"
PINGS = 6
"""How often the leader is asked again, every half second; within that time it pings each server (tickTime 2000)."""
SAME = 10.0
"""Seconds for which nothing may change before a server is stopped: during an election no server serves for a while."""


def seen(
    servers: Mapping[str, str],
    port: int,
    voters: Sequence[Voter],
    tls: Tls | None = None,
    ids: Mapping[str, str] | None = None,
) -> Ensemble:
    """Return the present state of an ensemble; `servers` is {server: address}.

    If `ids` ({server: its id}) is given and a server does not answer, the leader is asked which servers are connected,
    for up to 3 seconds. Raises OwnFileError if a file of `tls` cannot be read on this host.
    """
    modes = state(servers, port, tls)
    leaders = [name for name, mode in modes.items() if mode == "leader"]

    def ask() -> str:
        return four_letter_word(servers[leaders[0]], port, "mntr", tls) if len(leaders) == 1 else ""

    answer = ask()
    counts = {kind: int(number) for kind, number in re.findall(SYNCED, answer, re.MULTILINE)}
    has = servers_of_leader(ask, answer, ids, sum(counts.values())) if ids and "down" in modes.values() else None
    return Ensemble(modes, voters, counts.get("follower", -1), counts.get("observer", -1), has)


def servers_of_leader(ask: Callable[[], str], answer: str, ids: Mapping[str, str], synced: int) -> set[str] | None:
    """Return the names of the servers that are connected to the leader; None if it does not report them.

    The leader pings each connected server twice per tick, and counts the packets sent to each server id
    (LearnerHandler, from ZooKeeper 3.6 on). `ask` returns the leader's present answer to mntr, `answer` is its first
    answer, `ids` is {server: id}. The search ends once as many servers are found as the leader reports as in sync
    (`synced`).
    """
    before, active = sent(answer), set[str]()
    for _ in range(PINGS if before else 0):
        waits.rest(0.5)
        active = {number for number, count in sent(ask()).items() if count > before.get(number, 0)}
        if len(active) >= synced:
            break
    return {name for name, number in ids.items() if number in active} if before else None


def sent(answer: str) -> dict[str, int]:
    """Return {server id: number of packets that the leader has sent to it}; `answer` is the leader's answer to mntr."""
    return {number: int(count) for number, count in re.findall(SENT, answer, re.MULTILINE)}


def lacking(ensemble: Ensemble) -> dict[str, list[str]]:
    """Return {kind: texts} of what keeps the ensemble from being healthy; {} if nothing does.

    `servers`: names of the servers that do not serve. `leaders`: a text if there is not exactly one leader.
    `followers`: a text if followers are not in sync.
    """
    leaders = ensemble.of("leader", "standalone")
    behind = ensemble.of("leader") and ensemble.followers < len(ensemble.of("follower"))
    how = "not all in sync" if ensemble.followers >= 0 or leaders[1:] else "not reported by the leader (mntr)"
    missing = {
        "servers": ensemble.of("down", *IDLE),
        "leaders": [] if len(leaders) == 1 else [f"{len(leaders)} leaders"],
        "followers": [how] if behind else [],
    }
    return {kind: names for kind, names in missing.items() if names}


def message(found: Lacking, modes: Mapping[str, str]) -> str:
    """Return `found`, {kind: texts} of what is missing, as one sentence; `modes` is {server: its mode}."""
    silent = [f"{name} is {modes[name]}" for name in found.get("servers", ())]
    return "; ".join([*silent, *found.get("leaders", ()), *(f"followers: {one}" for one in found.get("followers", ()))])


def before_stop(
    look: Callable[[], Ensemble], stop: Sequence[str], patience: Patience, stopped: Collection[str] = ()
) -> Verdict:
    """Wait until the servers in `stop` may be stopped together, within the limits of `patience`.

    `look` returns the present state. Servers in `stopped`, which this run has stopped itself, are not waited for.
    """

    def once() -> Look:
        """Observe the ensemble once, and return a Look for watch() (module_utils/waits.py)."""
        ensemble = look()
        found = lacking(ensemble)
        left = [name for name in found.pop("servers", ()) if name not in stopped]
        found = ({"servers": left} if left else {}) | found

        def settle() -> Verdict:
            """Return the decision: whether the servers in `stop` may be stopped."""
            if reasons := blocks(ensemble, stop):
                return Verdict(False, found, "; ".join(map(str, reasons)))
            warning = f"{', '.join(stop)} may be stopped although the ensemble is not healthy: "
            return Verdict(True, found, warning + message(found, ensemble.modes) if found else "")

        return Look(found, message(found, ensemble.modes), settle)

    return watch(once, patience)


def after_start(look: Callable[[], Ensemble], started: Sequence[str], before: Lacking, patience: Patience) -> Verdict:
    """Wait until the servers in `started` serve, with one leader and all answering followers in sync.

    `before` is {kind: texts} of what was missing before the restart; servers that did not serve then are not waited
    for. If the ensemble cannot have a quorum without those servers, no server can serve: then the servers in `started`
    only have to answer.
    """

    def once() -> Look:
        """Observe the ensemble once, and return a Look for watch() (module_utils/waits.py)."""
        ensemble = look()
        found = lacking(ensemble)

        def settle() -> Verdict:
            """Return the decision: whether the servers in `started` serve again."""
            why = message(found, ensemble.modes)
            if not found:
                return Verdict(True, found)
            others = set(found.get("servers", ())) - set(started)
            if not possible(ensemble, others):
                up = all(ensemble.modes.get(name) != "down" for name in started)
                return Verdict(up, found, f"no quorum without {', '.join(sorted(others))}: {why}")
            waited = set(found) - {"servers"} or (set(found.get("servers", ())) - set(before.get("servers", ())))
            missing = [name for name in started if ensemble.modes.get(name) not in SERVES]
            return Verdict(not waited and not missing, found, why)

        return Look(found, message(found, ensemble.modes), settle)

    return watch(once, patience)


def possible(ensemble: Ensemble, without: Collection[str]) -> bool:
    """Tell whether the ensemble can have a quorum without the servers in `without`."""
    return quorum(ensemble.voters, {voter.name for voter in ensemble.voters} - set(without))
