"""A directory that an inventory names for its lab, and is none: nothing in it is removed, whatever is asked.

And the texts of a lab, which are recorded once they are sent.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import up
from derive import settle, take
from down import named, remove
from millrace_lab import records
from millrace_lab import shared_resources as shared
from millrace_lab.claims import absent, make_identity
from millrace_lab.records import LabError
from wordcount import collect, publish

from .test_neighbours import Pretended, entry


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pretended]:
    """A machine of nobody else."""
    (tmp_path / "state" / "claims").mkdir(parents=True)
    for module, name, path in (
        (shared, "STATE", "state"),
        (records, "CLAIMS", "state/claims"),
        (shared, "LOCK", "lock"),
    ):
        monkeypatch.setattr(module, name, tmp_path / path)
    pretended = Pretended()
    monkeypatch.setattr("derive.Machine", lambda _: pretended)
    yield pretended


def inventory(site: Path, name: str, lab_directory: str, client: str = "198.18.1.0/24") -> Path:
    """Write an inventory of a lab."""
    folder = site / "inventories" / name
    folder.mkdir(parents=True)
    lines = [f"client_network: {client}", "replication_network: 198.18.2.0/24", f'lab_directory: "{lab_directory}"']
    (folder / "hosts.yml").write_text("all:\n  vars:\n" + "".join(f"    {line}\n" for line in lines))
    return folder


@pytest.mark.parametrize("place", ["", "/..", "/../.."])
@pytest.mark.parametrize("asked", ["make lab", "make lab-down"])
def test_a_directory_with_other_files_is_no_labs(tmp_path: Path, machine: Pretended, place: str, asked: str) -> None:
    source = inventory(tmp_path / "site", "mine", f"{{{{ inventory_dir }}}}{place}")
    (tmp_path / "site" / "precious").touch()
    there = sorted((tmp_path / "site").rglob("*"))
    with pytest.raises(LabError, match=r"is no lab's, it holds .*write \{\{ inventory_dir \}\}/../../.lab/<name"):
        if asked == "make lab":
            settle(source)
        else:
            remove(machine, named(machine, source))
    assert sorted((tmp_path / "site").rglob("*")) == there


def test_the_folder_of_all_labs_is_no_labs(tmp_path: Path, machine: Pretended) -> None:
    source = inventory(tmp_path / "site", "mine", "{{ inventory_dir }}/../../.lab")
    other = tmp_path / "site" / ".lab" / "lab"
    make_identity(machine, other)
    with pytest.raises(LabError, match="it holds lab:"):
        remove(machine, named(machine, source))
    assert (other / "id").exists()


def test_what_runs_of_playbooks_left_before_the_lab_is_its_own(tmp_path: Path, machine: Pretended) -> None:
    source = inventory(tmp_path / "site", "mine", "{{ inventory_dir }}/../../.lab/mine")
    directory = tmp_path / "site" / ".lab" / "mine"
    (directory / "secrets").mkdir(parents=True)
    (directory / "millrace-198.18.1.11.lock").touch()
    assert settle(source).directory == directory
    (directory / "id").unlink()
    absent(machine, directory)
    assert not directory.exists()


def test_an_inventory_where_a_copy_would_stand_is_nobodys_copy(tmp_path: Path, machine: Pretended) -> None:
    """`.lab` forgotten: beside the lab, inventories/mine would be the copy of inventories/mine."""
    source = inventory(tmp_path / "site", "mine", "{{ inventory_dir }}/../../mine")
    assert settle(source).inventory == source
    elsewhere = tmp_path / "other" / ".lab" / "lab"
    machine.entries = (
        entry(make_identity(machine, elsewhere), elsewhere, network="n", subnets=[{"subnet": "198.18.1.0/24"}]),
    )
    with pytest.raises(LabError, match="is in the way of a copy"):
        settle(source)
    machine.entries = ()
    remove(machine, named(machine, source))
    assert (source / "hosts.yml").exists() and not (tmp_path / "site" / "mine").exists()


def test_a_copied_inventory_does_not_get_the_lab_of_the_first(tmp_path: Path) -> None:
    place = "{{ inventory_dir }}/../../.lab/first"
    first, copied = (
        inventory(tmp_path / "site", "first", place),
        inventory(tmp_path / "site", "copied", place, client="198.18.7.0/24"),
    )
    take(first)
    take(first)
    with pytest.raises(LabError, match=f"is the lab of {first}: give this inventory one of its own, .*/.lab/copied"):
        take(copied)
    (first / "hosts.yml").unlink()
    take(copied)


def lab_of_texts(tmp_path: Path, ssh: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lab whose ssh is a script."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ssh").write_text(f"#!/bin/sh\n{ssh}\n")
    (tmp_path / "bin" / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "lab").mkdir()
    return tmp_path / "lab"


def test_texts_are_recorded_once_they_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = lab_of_texts(tmp_path, '[ ! -e "$0.refuses" ] && tar -xf - -C "$(dirname "$0")"', monkeypatch)
    source, long = tmp_path / "source", "x" * 240 + ".txt"
    (source / "deeper").mkdir(parents=True)
    (source / "a").write_text("one")
    (source / "deeper" / "a").write_text("two")
    (source / long).write_text("three")
    (source / "loop").symlink_to("loop")
    (tmp_path / "bin" / "ssh.refuses").touch()
    with pytest.raises(SystemExit, match="did not take the files"):
        publish(lab, "node", "/srv", collect(source, lab / "texts"))
    assert os.listdir(lab / "texts") == [], "nobody has them"
    (tmp_path / "bin" / "ssh.refuses").unlink()
    publish(lab, "node", "/srv", collect(source, lab / "texts"))
    names = sorted(os.listdir(lab / "texts"))
    assert sorted((lab / "texts" / name).read_text() for name in names) == ["one", "three", "two"]
    assert sorted(os.listdir(tmp_path / "bin")) == sorted([*names, "ssh"])
    assert collect(source, lab / "texts") == []


@pytest.mark.parametrize("text", ["nothing", "empty folder"])
def test_a_text_that_is_not_there_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (tmp_path / "empty folder").mkdir()
    monkeypatch.setattr("sys.argv", ["up.py", "--text", str(tmp_path / text)])
    for name in ("take", "prepare", "settle"):
        monkeypatch.setattr(up, name, lambda *_: pytest.fail("something is made"))
    assert up.main() == 1
    assert f"TEXT={tmp_path / text}: no such file, and no folder with a file in it" in capsys.readouterr().err


def test_the_environment_is_made_anew_for_another_python_and_in_another_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    class Noted(up.Steps):
        def run(self, name: str, what: str, *argv: str, shown: bool = False) -> None:
            made.append(argv[-1])

    def asked(checkout: str, version: str, executable: str) -> int:
        (tmp_path / checkout / ".venv").mkdir(parents=True, exist_ok=True)
        (tmp_path / checkout / "requirements.lock").touch()
        for module, name, value in (
            (up, "ROOT", tmp_path / checkout),
            (up, "VENV", tmp_path / checkout / ".venv"),
            (sys, "version", version),
            (sys, "executable", executable),
        ):
            monkeypatch.setattr(module, name, value)
        up.make_venv(Noted())
        return len(made)

    assert [asked("one", "3.11.2", "/usr/bin/python3.11") for _ in range(2)] == [1, 1]
    assert asked("one", "3.13.5", "/usr/bin/python3.13") == 2
    assert asked("one", "3.13.5", "/opt/python") == 3
    (tmp_path / "one").rename(tmp_path / "renamed")
    assert asked("renamed", "3.13.5", "/opt/python") == 4
