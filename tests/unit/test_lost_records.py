"""Records that are given up with a disk: what is printed names all of them, and nothing more is given up."""

import re

from unit.fake_cluster import FakeCluster
from unit.replacing import LogDir, restarted

pytest_plugins = ["unit.replacing"]


def given_up(text: str) -> list[str]:
    """Return the partitions of a command that is printed."""
    found: list[str] = re.findall(r"-e lost=(\S+?)[ )]", text)
    return found[0].split(",")


def test_records_that_are_given_up(failed: FakeCluster, log_dir: LogDir) -> None:
    """All of them are named, also those that were said, so that what is printed is taken; so it is when it goes on."""
    late = [f"late-{number}" for number in range(4)]
    failed.topics["late"], failed.behind = [[1, 3]] * 4, failed.behind | {(1, "orders", 0)}
    failed.behind |= {(one, "late", number) for one in (1, 3) for number in range(4)}
    names = given_up(log_dir()["msg"])
    assert names == [*late, "orders-0"] == given_up(log_dir(lost=["orders-0"])["msg"])
    said = log_dir(lost=names)
    assert f"the records of {', '.join(names)} are given up" in said["plan"]
    other = log_dir(log_dir="/data/1")["msg"]
    assert f"(-e broker=3 -e log_dir=/data/2 -e lost={','.join(names)} -e rate=50MB), or -e" in other
    assert log_dir(lost=given_up(other))["restart"] is True


def test_what_is_given_up_is_given_up_once(failed: FakeCluster, log_dir: LogDir) -> None:
    """Once the broker has taken the disk in, what comes to it is none of that."""
    failed.behind |= {(1, "orders", 0)}
    log_dir(lost=["orders-0"])
    assert "waiting" in log_dir(new=restarted(failed), question="wait", pause=1)
    assert "(-e broker=3 -e log_dir=/data/2 -e rate=50MB), or" in log_dir(log_dir="/data/1")["msg"]
