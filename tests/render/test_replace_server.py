"""What replace_server.yml refuses and installs, of what a person types. No hosts, no ensemble."""

import re
from pathlib import Path

import pytest

from render.test_restart import ANSWERS, Played

OUT = {**ANSWERS, "zookeeper_ensemble": {"problems": ["dc1-zk2: down"]}}


def touched(run: Played) -> set[str]:
    """Return the hosts on which anything would be changed."""
    return {host for name, host, _ in run.calls if name == "host_state"}


def test_one_server_alone_is_installed(tmp_path: Path) -> None:
    """Nobody else is changed, and no broker is asked."""
    out = str(tmp_path / "out")
    run = Played(tmp_path, "replace_server", "-e", "server=dc1-zk3", answers=ANSWERS, render_directory=out)
    assert run.code == 0, run.output
    assert touched(run) == {"dc1-zk3"}
    assert not any(name.startswith("kafka_") for name, _, _ in run.calls)
    said = re.sub(r"\s+", " ", run.output)
    assert "dc1-zk3 takes part in the ensemble as server 3: follower; no other server and no broker was changed" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            (),
            "server is not a ZooKeeper server of the inventory: set one of dc1-zk1, dc1-zk2, dc1-zk3, for example "
            "-e server=",
        ),
        (("-e", "server=dc1-kafka1"), "server is not a ZooKeeper server of the inventory: set one of"),
        (("-e", "server=dc1-zk3", "--limit", "!dc1-zk3"), "dc1-zk3 is not reached: do not exclude it with -l"),
        (("-e", "server=dc1-zk3"), "dc1-zk2: down. An empty server would form a quorum with one that lags"),
    ],
)
def test_what_is_refused(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    run = Played(tmp_path, "replace_server", *options, answers=OUT)
    assert run.code != 0 and touched(run) == set()
    assert words in re.sub(r"\s+", " ", run.output)
