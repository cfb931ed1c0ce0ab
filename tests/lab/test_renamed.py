"""A checkout that was moved or renamed while its lab stands, seen without a container."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import derive
import pytest
import up
from down import named, remove, remove_all
from millrace_lab.claims import absent, choose, claim, make_identity
from millrace_lab.containers import Lab
from millrace_lab.records import Claim, LabError, Process, identity

from .test_claims import stands
from .test_directories import inventory
from .test_neighbours import NETWORKS, Pretended, state

__all__ = ["state"]


class Renamed:
    """A checkout `millrace` that became `other` while its lab stands."""

    def __init__(self, folder: Path, holder: Process | None = None) -> None:
        self.before, self.after = folder / "millrace", folder / "other"
        inventory(self.before, "lab", "{{ inventory_dir }}/../../.lab/lab")
        self.made_as = self.before / ".lab" / "lab"
        self.id = make_identity(Pretended(), self.made_as)
        Claim(self.id, self.made_as, NETWORKS, NETWORKS, holder).write()
        self.before.rename(self.after)
        self.directory, self.source = self.after / ".lab" / "lab", self.after / "inventories" / "lab"
        self.machine = Removing(*stands(self.id, self.made_as, **NETWORKS))


class Removing(Pretended):
    """A machine whose containers and networks go when they are removed."""

    def run(self, *argv: str) -> str:
        if argv[1:3] in (("rm", "-f"), ("network", "rm")):
            self.entries = tuple(entry for entry in self.entries if entry["name"] not in argv)
        return super().run(*argv)


@pytest.fixture
def renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Renamed:
    found = Renamed(tmp_path)
    monkeypatch.setattr(derive, "Machine", lambda _: found.machine)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    return found


def test_who_would_make_its_lab_is_told_the_old_name_and_what_to_do(renamed: Renamed) -> None:
    machine, directory = renamed.machine, renamed.directory
    for ask in (
        lambda: derive.take(renamed.source),
        lambda: derive.settle(renamed.source, os.getpid()),
        lambda: choose(machine, directory, NETWORKS),
        lambda: claim(machine, directory, NETWORKS),
    ):
        with pytest.raises(LabError) as refused:
            ask()
        assert str(refused.value) == (
            f"the lab of {directory} was made as {renamed.made_as}, whose hosts stand and have that path in their "
            f"mounts: the checkout was moved or renamed. To go on with it, give the checkout its old name (mv "
            f"{renamed.after} {renamed.before}); to take it down: make lab-down i=lab, or make lab-down-all"
        )
    assert machine.actions == [] and len(machine.entries) == 3 and identity(directory) == renamed.id


def test_nothing_is_prepared_before_it_is_said(
    renamed: Renamed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["up.py", "--inventory", str(renamed.source)])
    monkeypatch.setattr(up, "prepare", lambda _: pytest.fail("something is made"))
    assert up.main() == 1
    assert f"was made as {renamed.made_as}" in capsys.readouterr().err


def test_an_old_name_that_another_has_now_is_not_advised(renamed: Renamed) -> None:
    renamed.before.mkdir()
    with pytest.raises(LabError, match=r"moved or renamed\. To take it down: make lab-down i=lab, or"):
        derive.take(renamed.source)


def test_back_under_its_old_name_it_goes_on(renamed: Renamed) -> None:
    renamed.after.rename(renamed.before)
    derive.take(renamed.before / "inventories" / "lab")
    assert choose(renamed.machine, renamed.made_as, NETWORKS) == NETWORKS
    assert renamed.machine.actions == []


@pytest.mark.parametrize("verb", ["lab-down", "lab-down-all", "lab-down-all elsewhere", "lab_replace"])
def test_it_is_taken_down_as_a_whole_and_made_anew(renamed: Renamed, state: Path, verb: str) -> None:
    machine, directory = renamed.machine, renamed.directory
    (state / renamed.id).mkdir()
    if verb == "lab-down":
        remove(machine, named(machine, renamed.source))
    elif verb == "lab_replace":
        parameters = {"config": "", "directory": str(directory), "image": "", "hosts": [], "disk_size": ""}
        networks = {f"{kind}_network": NETWORKS[kind] for kind in NETWORKS}
        lab = Lab({**parameters, **networks, "replace": True}, False)
        lab.machine = machine
        lab.clear_the_way()
    else:
        remove_all(machine, renamed.after / ".lab" if verb == "lab-down-all" else state / ".lab")
    assert machine.entries == () and not (state / renamed.id).exists()
    assert [action for action in machine.actions if action.startswith("remove") and f"host-{renamed.id}" in action]
    assert not [found for found in machine.claims() if found.directory == renamed.made_as]
    assert choose(machine, directory, NETWORKS) == NETWORKS


@pytest.fixture
def another() -> Iterator[Process]:
    """A process that is none of ours above."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield Process.of(process.pid)
        process.kill()


def test_a_lab_that_a_process_uses_under_the_old_name_is_left_alone(tmp_path: Path, another: Process) -> None:
    """As `make test` that was begun before."""
    renamed = Renamed(tmp_path, another)
    machine, directory = renamed.machine, renamed.directory
    asked: list[Callable[[], object]] = [
        lambda: absent(machine, directory),
        lambda: claim(machine, directory, NETWORKS),
        lambda: choose(machine, directory, NETWORKS, os.getpid()),
        lambda: remove_all(machine, renamed.after / ".lab"),
    ]
    for ask in asked:
        with pytest.raises(LabError, match=f"the lab of {directory} is in use by process {another.pid}"):
            ask()
    assert identity(directory) == renamed.id and machine.actions == []


def test_of_what_does_not_stand_any_more_nothing_is_said(renamed: Renamed) -> None:
    renamed.machine.entries = ()
    derive.take(renamed.source)
    assert choose(renamed.machine, renamed.directory, NETWORKS) == NETWORKS
