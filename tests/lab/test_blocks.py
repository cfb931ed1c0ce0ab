"""The networks of tests/lab in two checkouts at once, seen without a container."""

from pathlib import Path

from millrace_lab.claims import make_identity
from millrace_lab.records import Claim

from .small import claimed_block
from .test_neighbours import Pretended, state

__all__ = ["state"]


def test_two_checkouts_get_blocks_of_their_own_and_keep_them(tmp_path: Path) -> None:
    one, two = (tmp_path / checkout / ".lab" / "tests" / "networks" for checkout in ("one", "two"))
    assert [claimed_block(Pretended(), place) for place in (one, two, one, two)] == [96, 112, 96, 112]


def test_a_block_that_a_strangers_lab_stands_on_is_left_alone_and_one_of_a_killed_run_is_not(tmp_path: Path) -> None:
    tests = tmp_path / "one" / ".lab" / "tests"
    for place, network in ((tmp_path / "other" / ".lab" / "lab", 99), (tests / "checkouts" / "left", 113)):
        networks = {"client": f"198.18.{network}.0/24"}
        Claim(make_identity(Pretended(), place), place, networks, networks).write()
    assert claimed_block(Pretended(), tests / "networks") == 112
