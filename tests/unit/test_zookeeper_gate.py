"""May servers of an ensemble stop: a table of situations, each with what is in the way."""

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import (
    Ensemble,
    Voter,
    blocks,
    idle,
    order,
)

MODES = {"l": "leader", "f": "follower", "o": "observer", "d": "down", "n": "not serving", "s": "standalone"}


def ensemble(letters: str, followers: int | None = None, groups: str = "", weights: str = "") -> Ensemble:
    """Servers zk1, zk2, ... with the mode, the group and the weight that a letter each says."""
    modes = {f"zk{number}": MODES[letter] for number, letter in enumerate(letters, 1)}
    voters = [
        Voter(name, int(groups[place]) if groups else None, int(weights[place]) if weights else 1)
        for place, (name, mode) in enumerate(modes.items())
        if mode != "observer"
    ]
    heard = letters.count("f") if followers is None else followers
    return Ensemble(modes, voters, heard, letters.count("o"))


@pytest.mark.parametrize(
    ("found", "stop", "answer"),
    [
        (ensemble("lff"), "1", []),
        (ensemble("lff"), "2", []),
        (ensemble("lff"), "23", ["zk2, zk3: no quorum without: zk1 would be left; stop fewer at once"]),
        (ensemble("lfd"), "2", ["zk2: no quorum without: zk1 would be left; start zk3"]),
        (ensemble("lfd"), "3", []),
        (ensemble("lfn"), "3", []),
        (ensemble("lffdf"), "2", []),
        (ensemble("lffdf"), "1", []),
        (ensemble("lffdd"), "2", ["zk2: no quorum without: zk1, zk3 would be left; start zk4, zk5"]),
        (ensemble("lff", 1), "2", ["zk1: not all of its followers are in sync; wait until they are"]),
        (ensemble("llf"), "3", ["ensemble: 2 leaders answer; wait for an election, or start servers"]),
        (ensemble("nnn"), "1", []),
        (ensemble("ddd"), "1", ["ensemble: 0 leaders answer, and zk1 may serve others though silent here; wait for an "
                                "election, or start servers"]),
        (ensemble("lfd", 2), "3", []),
        (ensemble("ldd", 1), "3", ["zk3: no quorum without: zk1 would be left; start zk2"]),
        (ensemble("lffo"), "4", []),
        (ensemble("lfdo"), "2", ["zk2: no quorum without: zk1 would be left; start zk3"]),
        (ensemble("lfffff", groups="111222"), "2", []),
        (ensemble("lffffd", groups="111222"), "5", ["zk5: no quorum without: zk1, zk2, zk3, zk4 would be left; start "
                                                    "zk6"]),
        (ensemble("lffffd", groups="111222"), "2", []),
        (ensemble("lff", groups="111", weights="311"), "1", ["zk1: no quorum without: zk2, zk3 would be left; stop "
                                                             "fewer at once"]),
        (ensemble("lff", groups="111", weights="311"), "23", []),
        (ensemble("s"), "1", []),
    ],
)  # fmt: skip
def test_what_is_in_the_way(found: Ensemble, stop: str, answer: list[str]) -> None:
    assert [str(block) for block in blocks(found, [f"zk{number}" for number in stop])] == answer


@pytest.mark.parametrize(
    ("found", "names"),
    [
        (ensemble("lfn"), ["zk3"]),
        (ensemble("lfd"), ["zk3"]),
        (ensemble("lfd", 2), []),
        (ensemble("lfdo"), ["zk3"]),
        (ensemble("lddo", 1), []),
        (ensemble("ndd"), ["zk1"]),
        (ensemble("ddd"), []),
        (ensemble("lff"), []),
    ],
)
def test_silence_alone_is_no_idleness(found: Ensemble, names: list[str]) -> None:
    assert idle(found) == names


def test_who_does_not_serve_goes_first_and_the_leader_last() -> None:
    modes = {"a": "leader", "b": "follower", "c": "not serving", "d": "observer", "e": "down"}
    assert order(modes, list("abcde")) == list("cebda")
