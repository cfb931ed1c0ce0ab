"""The waits of a server's restart: until it may stop, and until it serves again; no Ansible import."""

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
"""How often whom it has is asked a leader again, each half a second: it has to ping within, as with tickTime 2000."""
SAME = 10.0
"""Seconds for which the same has to lack before anything is stopped: in an election nobody serves for a while."""


def seen(
    servers: Mapping[str, str],
    port: int,
    voters: Sequence[Voter],
    tls: Tls | None = None,
    ids: Mapping[str, str] | None = None,
) -> Ensemble:
    """Look once at an ensemble; with the `ids` of its servers, whom its leader has. Raises OwnFileError.

    That takes a tick, so that it is asked only where somebody is silent: all others say themselves whether they serve.
    """
    modes = state(servers, port, tls)
    leaders = [name for name, mode in modes.items() if mode == "leader"]

    def ask() -> str:
        return four_letter_word(servers[leaders[0]], port, "mntr", tls) if len(leaders) == 1 else ""

    said = ask()
    counts = {kind: int(number) for kind, number in re.findall(SYNCED, said, re.MULTILINE)}
    has = whom_it_has(ask, said, ids, sum(counts.values())) if ids and "down" in modes.values() else None
    return Ensemble(modes, voters, counts.get("follower", -1), counts.get("observer", -1), has)


def whom_it_has(ask: Callable[[], str], said: str, ids: Mapping[str, str], synced: int) -> set[str] | None:
    """Return whom a leader sends something (mntr); None if it names nobody. As many as it counts as in sync suffice.

    It pings each that it has twice a tick, and counts what it sends by id (LearnerHandler, from ZooKeeper 3.6 on).
    """
    before, found = sent(said), set[str]()
    for _ in range(PINGS if before else 0):
        waits.rest(0.5)
        found = {number for number, count in sent(ask()).items() if count > before.get(number, 0)}
        if len(found) >= synced:
            break
    return {name for name, number in ids.items() if number in found} if before else None


def sent(said: str) -> dict[str, int]:
    """Return by id how much a leader has sent, as mntr says it."""
    return {number: int(count) for number, count in re.findall(SENT, said, re.MULTILINE)}


def lacking(ensemble: Ensemble) -> dict[str, list[str]]:
    """Return what is not whole, {} where everything is: `servers` that do not serve, `leaders`, `followers`."""
    leaders = ensemble.of("leader", "standalone")
    behind = ensemble.of("leader") and ensemble.followers < len(ensemble.of("follower"))
    how = "not all in sync" if ensemble.followers >= 0 or leaders[1:] else "not told by the leader (mntr)"
    found = {
        "servers": ensemble.of("down", *IDLE),
        "leaders": [] if len(leaders) == 1 else [f"{len(leaders)} leaders"],
        "followers": [how] if behind else [],
    }
    return {kind: names for kind, names in found.items() if names}


def words(found: Lacking, modes: Mapping[str, str]) -> str:
    """Return what is not whole in words."""
    silent = [f"{name} is {modes[name]}" for name in found.get("servers", ())]
    return "; ".join([*silent, *found.get("leaders", ()), *(f"followers: {one}" for one in found.get("followers", ()))])


def before_stop(
    look: Callable[[], Ensemble], stop: Sequence[str], patience: Patience, stopped: Collection[str] = ()
) -> Verdict:
    """Wait until servers may be stopped together; that the run itself has `stopped` some of them needs no patience."""

    def once() -> Look:
        ensemble = look()
        found = lacking(ensemble)
        left = [name for name in found.pop("servers", ()) if name not in stopped]
        found = ({"servers": left} if left else {}) | found

        def settle() -> Verdict:
            if ways := blocks(ensemble, stop):
                return Verdict(False, found, "; ".join(map(str, ways)))
            gone = f"{', '.join(stop)} may be stopped though the ensemble is not whole: "
            return Verdict(True, found, gone + words(found, ensemble.modes) if found else "")

        return Look(found, words(found, ensemble.modes), settle)

    return watch(once, patience)


def after_start(look: Callable[[], Ensemble], started: Sequence[str], before: Lacking, patience: Patience) -> Verdict:
    """Wait until servers that were started serve, with one leader that has all whom we hear in sync.

    Those that did not serve `before` are not waited for. Where those that may serve hold no quorum together, nobody
    can: then it is enough that those that were started answer.
    """

    def once() -> Look:
        ensemble = look()
        found = lacking(ensemble)

        def settle() -> Verdict:
            why = words(found, ensemble.modes)
            if not found:
                return Verdict(True, found)
            others = set(found.get("servers", ())) - set(started)
            if not possible(ensemble, others):
                up = all(ensemble.modes.get(name) != "down" for name in started)
                return Verdict(up, found, f"no quorum without {', '.join(sorted(others))}: {why}")
            waited = set(found) - {"servers"} or (set(found.get("servers", ())) - set(before.get("servers", ())))
            missing = [name for name in started if ensemble.modes.get(name) not in SERVES]
            return Verdict(not waited and not missing, found, why)

        return Look(found, words(found, ensemble.modes), settle)

    return watch(once, patience)


def possible(ensemble: Ensemble, without: Collection[str]) -> bool:
    """Tell whether there can be a quorum without some servers."""
    return quorum(ensemble.voters, {voter.name for voter in ensemble.voters} - set(without))
