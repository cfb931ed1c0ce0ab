"""The waits of a server's restart: until it may stop, and until it serves again; no Ansible import."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from ansible_collections.millrace.kafka.plugins.module_utils.waits import Lacking, Look, Patience, Verdict, watch
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.ensemble import Tls, four_letter_word, state
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import (
    SERVES,
    Ensemble,
    Voter,
    blocks,
    quorum,
)

SAME = 10.0
"""Seconds for which the same has to lack before anything is stopped: in an election nobody serves for a while."""


def seen(servers: Mapping[str, str], port: int, voters: Sequence[Voter], tls: Tls | None = None) -> Ensemble:
    """Look once at an ensemble. Raises OwnFileError."""
    modes = state(servers, port, tls)
    leaders = [name for name, mode in modes.items() if mode == "leader"]
    said = four_letter_word(servers[leaders[0]], port, "mntr", tls) if len(leaders) == 1 else ""
    counts = dict(re.findall(r"^zk_synced_(follower|observer)s\t(\d+)", said, re.MULTILINE))
    # A leader that does not say whom it has may have somebody whom we do not hear: -1 equals no number.
    return Ensemble(modes, voters, int(counts.get("follower", -1)), int(counts.get("observer", -1)))


def lacking(ensemble: Ensemble) -> dict[str, list[str]]:
    """Return what is not whole, {} where everything is: `servers` that do not serve, `leaders`, `followers`."""
    leaders = ensemble.of("leader", "standalone")
    behind = ensemble.of("leader") and ensemble.followers < len(ensemble.of("follower"))
    found = {
        "servers": ensemble.of("down", "not serving"),
        "leaders": [] if len(leaders) == 1 else [f"{len(leaders)} leaders"],
        "followers": ["not all in sync"] if behind else [],
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
