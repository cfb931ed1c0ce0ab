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


def ensemble(
    letters: str, followers: int | None = None, groups: str = "", weights: str = "", has: str | None = "heard"
) -> Ensemble:
    """Servers zk1, zk2, ... with the mode, the group and the weight that a letter each says.

    The leader has whom we hear, or those of these numbers, or does not say whom (None).
    """
    modes = {f"zk{number}": MODES[letter] for number, letter in enumerate(letters, 1)}
    voters = [
        Voter(name, int(groups[place]) if groups else None, int(weights[place]) if weights else 1)
        for place, (name, mode) in enumerate(modes.items())
        if mode != "observer"
    ]
    heard = letters.count("f") if followers is None else followers
    whom = [name for name, mode in modes.items() if mode in ("follower", "observer")]
    if has != "heard":
        whom = [f"zk{number}" for number in has or ""]
    return Ensemble(modes, voters, heard, letters.count("o"), None if has is None else whom)


@pytest.mark.parametrize(
    ("found", "stop", "answer"),
    [
        (ensemble("lff"), "1", []),
        (ensemble("lff"), "2", []),
        (ensemble("lff"), "23", ["zk2, zk3: no quorum without: zk1 would remain; stop fewer at once"]),
        (ensemble("lfd"), "2", ["zk2: no quorum without: zk1 would remain; start zk3"]),
        (ensemble("lfd"), "3", []),
        (ensemble("lfn"), "3", []),
        (ensemble("lffdf"), "2", []),
        (ensemble("lffdf"), "1", []),
        (ensemble("lffdd"), "2", ["zk2: no quorum without: zk1, zk3 would remain; start zk4, zk5"]),
        (ensemble("lff", 1), "2", ["zk1: not all of its followers are in sync; wait until they are"]),
        (ensemble("llf"), "3", ["ensemble: 2 leaders answer; wait for an election, or start servers"]),
        (ensemble("nnn"), "1", []),
        (ensemble("ddd"), "1", ["ensemble: 0 leaders answer, and zk1 may serve although not answering here; wait for "
                                "an election, or start servers"]),
        (ensemble("lfd", 2, has="23"), "3", []),
        (ensemble("lfd", 1, has="3"), "3", ["zk3: no quorum without: zk1 would remain; wait until zk1 has zk2"]),
        (ensemble("lffdd", 2, has="24"), "4", ["zk4: no quorum without: zk1, zk2 would remain; start zk5, or wait "
                                               "until zk1 has zk3"]),
        (ensemble("lffdd", 2, has="24"), "5", []),
        (ensemble("lffdd", 2, has="234"), "4", ["zk1: not all of its followers are in sync; wait until they are"]),
        (ensemble("lfd", has=None), "3", ["zk1: it does not list its followers (mntr), and zk3, which does not answer "
                                          "here, may be one of them; start zk3, or find out why it does not answer"]),
        (ensemble("lff", has=None), "3", []),
        (ensemble("lff", -1), "2", ["zk1: it does not report how many of its followers are in sync (mntr); check that "
                                    "4lw.commands.whitelist has mntr"]),
        (ensemble("ldd", 1, has="2"), "3", []),
        (ensemble("ldd", 1, has="3"), "3", ["zk3: no quorum without: zk1 would remain; start zk2"]),
        (ensemble("lffo"), "4", []),
        (ensemble("lfdo"), "2", ["zk2: no quorum without: zk1 would remain; start zk3"]),
        (ensemble("lfffff", groups="111222"), "2", []),
        (ensemble("lffffd", groups="111222"), "5", ["zk5: no quorum without: zk1, zk2, zk3, zk4 would remain; start "
                                                    "zk6"]),
        (ensemble("lffffd", groups="111222"), "2", []),
        (ensemble("lff", groups="111", weights="311"), "1", ["zk1: no quorum without: zk2, zk3 would remain; stop "
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
        (ensemble("lfd", 2, has="23"), []),
        (ensemble("lfd", 1, has="3"), []),
        (ensemble("lfd", has=None), []),
        (ensemble("lfdo"), ["zk3"]),
        (ensemble("lddo", 1, has="24"), ["zk3"]),
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
