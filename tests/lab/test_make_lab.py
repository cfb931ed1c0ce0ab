"""`make lab`: the order of its steps, and the comparison of word counts, whose result is the exit code.

These tests start no container: the programs of each step are stand-ins.
"""

import subprocess
from pathlib import Path

import pytest
import up
import wordcount
from derive import Settled
from faults.inventory import ROOT

TEXT = "Größe, größe: half-life"
COUNTS = {"größe": 2, "half": 1, "life": 1}
INVENTORY = "molecule/datacenter/inventory"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run `make lab i=../molecule/datacenter/inventory` with stand-ins; return the command of each step."""
    found: list[str] = []

    def run(argv: tuple[str, ...], **_: object) -> subprocess.CompletedProcess[bytes]:
        found.append(" ".join(argv))
        return subprocess.CompletedProcess(argv, int("playbooks/site.yml" in argv and "fails" in found))

    directory = ROOT / ".lab" / "molecule-datacenter"
    monkeypatch.setattr("sys.argv", ["up.py", "--inventory", f"inventories/../{INVENTORY}", "--text", __file__])
    monkeypatch.setattr(up, "take", lambda source: None)
    monkeypatch.setattr(up, "settle", lambda source, holder: Settled(ROOT / "copy" / source.name, directory, {}))
    monkeypatch.setattr(up, "prepare", lambda steps: found.append("prepare"))
    monkeypatch.setattr(subprocess, "run", run)
    return found


def test_each_step_runs_on_the_inventory_that_has_free_networks(
    typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert up.main() == 0
    assert typed == [
        "prepare",
        "ansible-playbook -i copy/inventory lab/create.yml",
        "ansible-playbook -i copy/inventory playbooks/site.yml",
        f"python lab/wordcount.py --lab .lab/molecule-datacenter --text {__file__}",
    ]
    assert f"make lab-down i=../{INVENTORY} " in capsys.readouterr().out


def test_a_failed_step_is_the_last_one(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    typed.append("fails")
    assert up.main() == 1
    assert typed[-1] == "ansible-playbook -i copy/inventory playbooks/site.yml"
    assert "make lab: site failed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("counted", "code", "said"),
    [
        (COUNTS, 0, "EQUAL: 3 different words, 4 in all"),
        ({**COUNTS, "größe": 3}, 1, "größe: here 2, topic 3"),
        ({**COUNTS, "other": 1}, 1, "other: here 0, topic 1"),
        ({"größe": 2, "half": 1}, 1, "life: here 1, topic 0"),
        ({}, 1, "größe: here 2, topic 0"),
    ],
    ids=["equal", "counted twice", "a word too many", "a word is missing", "nothing is counted"],
)
def test_counts_that_differ_are_named(
    counted: dict[str, int],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The counts of the Spark job are stand-ins; the count on the control node is the real one."""

    class Output:
        def __init__(self, properties: object) -> None:
            self.counts = counted

        def read(self, seconds: float) -> None:
            """Nothing more arrives."""

    def publish(lab: Path, host: str, directory: str, files: list[Path]) -> None:
        for file in files:
            file.rename(lab / "texts" / file.name)

    (tmp_path / "text").write_text(TEXT)
    (tmp_path / "kcat.conf").touch()
    (tmp_path / "lab.json").write_text('{"producers": ["node"]}')
    arguments = ["wordcount.py", "--lab", str(tmp_path), "--text", str(tmp_path / "text"), "--timeout", "0"]
    monkeypatch.setattr("sys.argv", arguments)
    monkeypatch.setattr(wordcount, "Output", Output)
    monkeypatch.setattr(wordcount, "publish", publish)
    assert wordcount.main() == code
    printed = capsys.readouterr()
    assert said in printed.out + printed.err
    assert ("EQUAL" in printed.out) == (code == 0)
