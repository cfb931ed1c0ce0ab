"""Claims that are damaged, seen without a container: held while something of their lab stands, replaced else."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from down import remove, remove_all
from millrace_lab.claims import absent, choose, claim, make_identity
from millrace_lab.containers import Lab
from millrace_lab.records import Claim, LabError, Process, claim_file

from .test_neighbours import NETWORKS, Pretended, entry, state

__all__ = ["state"]
SPARE = {"client": "198.19.7.0/24", "replication": "198.19.8.0/24"}
# What becomes of the text of a good claim, and what is said of it.
DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a list": (lambda _: [], "TypeError"),
    "a text": (lambda _: "text", "TypeError"),
    "a number": (lambda _: 5, "TypeError"),
    "nothing": (lambda _: {}, "KeyError: 'id'"),
    "of an older version": (lambda good: {key: good[key] for key in good if key != "holder"}, "KeyError: 'holder'"),
    "no id": (lambda good: {**good, "id": ""}, "ValueError: no lab's id: "),
    "no networks": (lambda good: {**good, "networks": []}, "ValueError: networks [], declared ['client'"),
    "one network": (lambda good: {**good, "networks": {"client": "198.18.1.0/24"}}, "ValueError: networks ['client']"),
    "half a network": (lambda good: {**good, "networks": {**NETWORKS, "client": "198.18.1"}}, "AddressValueError"),
    "a network's number": (lambda good: {**good, "networks": {**NETWORKS, "client": 5.5}}, "AddressValueError"),
    "another directory": (lambda good: {**good, "directory": "/\0"}, "ValueError: the file of /\0 has another name"),
    "a holder's name": (lambda good: {**good, "holder": {"pid": "x", "start": "1"}}, "TypeError: no process: "),
    "a holder's number": (lambda good: {**good, "holder": 5}, "TypeError"),
}


def lab_of(checkout: Path) -> tuple[Path, str]:
    """Make a lab directory; return it and its id."""
    directory = checkout / ".lab" / "lab"
    return directory, make_identity(Pretended(), directory)


def stands(lab_id: str, directory: Path, **networks: str) -> list[dict[str, Any]]:
    """Return what podman knows of a lab: a container, and its networks."""
    bridges = [
        entry(lab_id, directory, network=1, subnets=[{"subnet": subnet}]) | {"name": f"lab-{lab_id[:6]}-{kind}"}
        for kind, subnet in networks.items()
    ]
    return [entry(lab_id, directory), *bridges]


def damage(directory: Path, lab_id: str, kind: str = "nothing") -> Path:
    """Write a damaged claim of a lab; return its file."""
    Claim(lab_id, directory, NETWORKS, NETWORKS).write()
    file = claim_file(directory)
    file.write_text(json.dumps(DAMAGE[kind][0](json.loads(file.read_text()))))
    return file


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_claim_is_named_by_who_makes_or_removes_its_lab_while_that_stands(tmp_path: Path, kind: str) -> None:
    mine, lab_id = lab_of(tmp_path)
    file, machine = damage(mine, lab_id, kind), Pretended(*stands(lab_id, mine, **NETWORKS))
    said = f"the claim of the lab of {mine}, {file}, is damaged ({DAMAGE[kind][1]}"
    asked: list[Callable[[], object]] = [
        lambda: choose(machine, mine, NETWORKS),
        lambda: choose(machine, mine, NETWORKS, os.getpid()),
        lambda: claim(machine, mine, NETWORKS),
        lambda: absent(machine, mine),
        lambda: remove(machine, [mine]),
        lambda: remove_all(machine, mine.parent),
    ]
    for ask in asked:
        with pytest.raises(LabError) as refused:
            ask()
        assert said in str(refused.value) and f"take the claim away (rm -r {file})" in str(refused.value)
    assert (mine / "id").exists() and machine.actions == []


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000, None])
def test_what_is_no_json_is_damaged(tmp_path: Path, text: bytes | None) -> None:
    mine, lab_id = lab_of(tmp_path)
    file, machine = damage(mine, lab_id), Pretended(entry(lab_id, mine))
    file.unlink()
    file.mkdir() if text is None else file.write_bytes(text)
    with pytest.raises(LabError, match=r"is damaged \(\w+Error: "):
        choose(machine, mine, NETWORKS)
    assert choose(Pretended(), mine, NETWORKS) == NETWORKS, "nothing of it stands"
    assert [found.directory for found in machine.claims()] == [mine]


def test_the_networks_of_a_lab_stay_its_own_though_its_claim_is_damaged(tmp_path: Path) -> None:
    """Even where its directory is gone, too: a process may use it."""
    there, lab_id = lab_of(tmp_path / "a")
    damage(there, lab_id)
    machine = Pretended(*stands(lab_id, there, **NETWORKS))
    (there / "id").unlink()
    mine, _ = lab_of(tmp_path / "b")
    assert set(choose(machine, mine, NETWORKS).values()).isdisjoint(NETWORKS.values())
    with pytest.raises(LabError, match=rf"the lab of {there} holds 198\.18\.1\.0/24"):
        claim(machine, mine, NETWORKS)
    parameters = {"config": "", "directory": str(mine), "image": "", "hosts": [], "disk_size": "", "replace": True}
    replacing = Lab({**parameters, **{f"{kind}_network": NETWORKS[kind] for kind in NETWORKS}}, False)
    replacing.machine = machine
    with pytest.raises(LabError, match=rf"the claim of the lab of {there}, .* is damaged"):
        replacing.clear_the_way()
    with pytest.raises(LabError, match=f"^{there} is not removed: the claim of the lab of {there}, .* is damaged"):
        remove_all(machine, mine.parent)
    assert not [action for action in machine.actions if lab_id in action]


def test_a_damaged_claim_of_which_nothing_stands_holds_nothing_and_is_removed(tmp_path: Path, state: Path) -> None:
    gone, lab_id = lab_of(tmp_path / "a")
    file = damage(gone, lab_id)
    (state / lab_id).mkdir()
    (gone / "id").unlink()
    mine, _ = lab_of(tmp_path / "b")
    machine = Pretended()
    assert choose(machine, mine, NETWORKS) == NETWORKS
    remove_all(machine, tmp_path / "c" / ".lab")
    assert not file.exists() and not (state / lab_id).exists()
    assert machine.actions == [f"remove the disks {state / lab_id}", f"remove the damaged claim {file}"]
    assert [found.directory for found in machine.claims()] == [mine]


def test_once_its_damaged_claim_is_taken_away_a_lab_goes_on_where_it_was(tmp_path: Path) -> None:
    """On spare networks, which its claim alone had said."""
    mine, lab_id = lab_of(tmp_path)
    file, machine = damage(mine, lab_id), Pretended(*stands(lab_id, mine, **SPARE))
    file.unlink()
    assert choose(machine, mine, NETWORKS, os.getpid()) == SPARE
    assert [(found.declared, found.networks) for found in machine.claims()] == [(NETWORKS, SPARE)]
    smaller = {**NETWORKS, "client": "198.18.1.0/25"}
    file.unlink()
    assert choose(machine, mine, smaller) == smaller, "they would not do for its inventory"


def test_a_good_claim_is_read_as_it_was_written(tmp_path: Path) -> None:
    mine, lab_id = lab_of(tmp_path)
    written = Claim(lab_id, mine, NETWORKS, SPARE, Process.of(os.getpid()))
    written.write()
    assert Pretended().claims() == [written] and written.held
