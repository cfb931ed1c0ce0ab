"""What labs of several checkouts leave each other, seen without a container: claims, ids and disks in a folder."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import down
import pytest
from derive import settle
from down import known, remove_all
from faults.inventory import ROOT
from millrace_lab import records
from millrace_lab import shared_resources as shared
from millrace_lab.claims import absent, choose, claim, make_identity
from millrace_lab.records import Claim, LabError, identity
from millrace_lab.shared_resources import Machine

from .small import CONTAINERS_CONF

NETWORKS = {"client": "198.18.1.0/24", "replication": "198.18.2.0/24"}


class Pretended(Machine):
    """A machine whose containers and networks are a list of labels; commands do nothing, one may fail."""

    def __init__(self, *entries: Mapping[str, Any], failing: str = "no command") -> None:
        super().__init__(CONTAINERS_CONF)
        self.entries, self.failing = entries, failing

    def run(self, *argv: str) -> str:
        if self.failing in " ".join(argv):
            raise LabError(f"{self.failing} failed")
        return ""

    def containers(self) -> list[dict[str, Any]]:
        return [{"Names": [entry["name"]], "Labels": entry["labels"]} for entry in self.entries]

    def bridges(self) -> list[dict[str, Any]]:
        return [dict(entry) for entry in self.entries if "network" in entry]


def entry(lab_id: str, directory: Path | None, **more: Any) -> dict[str, Any]:
    labels = {"millrace.id": lab_id, **({"millrace.directory": str(directory)} if directory else {})}
    return {"name": f"host-{lab_id}", "labels": labels, **more}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of disks and claims."""
    folder = tmp_path / "state"
    (folder / "claims").mkdir(parents=True)
    monkeypatch.setattr(shared, "STATE", folder)
    monkeypatch.setattr(records, "CLAIMS", folder / "claims")
    monkeypatch.setattr(shared, "LOCK", tmp_path / "lock")
    return folder


@pytest.mark.parametrize("lab_id", ["", "..", "claims", "0123456789AB", "0123456789ab/"])
def test_what_is_no_id_removes_nothing(state: Path, lab_id: str) -> None:
    (state / "0123456789ab").mkdir()
    with pytest.raises(LabError, match="is no lab's id"):
        Pretended().remove(lab_id)
    assert (state / "0123456789ab").is_dir() and (state / "claims").is_dir()


@pytest.mark.parametrize("text", [b"", b"..\n", b"\xff\xfe", b"0123456789abc\n"])
def test_a_lab_whose_id_is_damaged_is_removed_without_its_neighbours(tmp_path: Path, state: Path, text: bytes) -> None:
    mine, neighbour = tmp_path / "a" / ".lab" / "lab", tmp_path / "b" / ".lab" / "lab"
    kept, damaged = make_identity(Pretended(), neighbour), make_identity(Pretended(), mine)
    for lab_id in (kept, damaged):
        (state / lab_id).mkdir()
    (mine / "id").write_bytes(text)
    machine = Pretended(entry(kept, neighbour), entry(damaged, mine))
    remove_all(machine, mine.parent)
    assert (state / kept).is_dir() and neighbour.is_dir()
    assert not (state / damaged).exists() and not mine.exists()
    assert f"host-{kept}" not in "\n".join(machine.actions)


def test_an_id_is_written_whole(tmp_path: Path) -> None:
    make_identity(Pretended(), tmp_path / "lab")
    inode = (tmp_path / "lab" / "id").stat().st_ino
    (tmp_path / "lab" / "id").write_text("half")
    made = make_identity(Pretended(), tmp_path / "lab")
    assert identity(tmp_path / "lab") == made and (tmp_path / "lab" / "id").stat().st_ino != inode
    assert os.listdir(tmp_path / "lab") == ["id"]


@pytest.mark.parametrize("known_by", ["claim", "container"])
def test_a_copied_checkout_gets_an_id_of_its_own_and_leaves_the_original_alone(
    tmp_path: Path, state: Path, known_by: str
) -> None:
    original, copy = tmp_path / "a" / ".lab" / "lab", tmp_path / "b" / ".lab" / "lab"
    lab_id = make_identity(Pretended(), original)
    (state / lab_id).mkdir()
    shutil.copytree(original, copy)
    machine = Pretended(*([entry(lab_id, original)] if known_by == "container" else []))
    if known_by == "claim":
        Claim(lab_id, original, NETWORKS, NETWORKS).write()
    assert machine.copied(copy) and not machine.copied(original)
    remove_all(machine, copy.parent)
    assert not copy.exists() and original.exists() and (state / lab_id).is_dir()
    assert machine.actions == [f"remove {copy}"]
    shutil.copytree(original, copy)
    claim(machine, copy, {"client": "198.18.3.0/24", "replication": "198.18.4.0/24"})
    assert identity(original) == lab_id != identity(copy)
    assert not machine.copied(copy)


def test_a_moved_checkout_keeps_its_id(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    lab_id = make_identity(Pretended(), before)
    before.rename(after)
    assert make_identity(Pretended(entry(lab_id, before)), after) == lab_id


def test_networks_of_others_need_no_label_and_no_subnet(tmp_path: Path) -> None:
    mine = tmp_path / "lab"
    make_identity(Pretended(), mine)
    subnets = [{"subnet": "fd00::/64"}, {"subnet": "198.18.9.0/24"}]
    machine = Pretended(
        entry("strange", None, network=1, subnets=subnets),
        entry("0123456789ab", None, network=1, subnets=None),
        entry("fedcba987654", None, network=1),
    )
    assert machine.orphans() == []
    assert choose(machine, mine, NETWORKS) == NETWORKS
    with pytest.raises(LabError, match=r"host-strange holds 198\.18\.9\.0/24, and has no label"):
        claim(machine, mine, {**NETWORKS, "client": "198.18.9.0/24"})
    machine.remove("0123456789ab")


def test_one_lab_that_cannot_be_removed_does_not_keep_the_others(tmp_path: Path, state: Path) -> None:
    labs = [tmp_path / ".lab" / name for name in ("a", "b", "c")]
    ids = [make_identity(Pretended(), lab) for lab in labs]
    machine = Pretended(*(entry(lab_id, lab) for lab_id, lab in zip(ids, labs, strict=True)), failing=f"host-{ids[1]}")
    with pytest.raises(LabError, match=f"^{labs[1]} is not removed: host-{ids[1]} failed$"):
        remove_all(machine, tmp_path / ".lab")
    assert [lab.exists() for lab in labs] == [False, True, False]


def test_asked_again_without_a_holder_a_lab_keeps_the_one_that_lives(tmp_path: Path) -> None:
    machine, lab = Pretended(), tmp_path / "lab"
    choose(machine, lab, NETWORKS, os.getpid())
    choose(machine, lab, NETWORKS)
    assert [found.held for found in machine.claims()] == [True]


@pytest.fixture
def another() -> Iterator[int]:
    """A process that is none of ours above."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process.pid
        process.kill()


def test_a_lab_that_another_process_uses_is_neither_taken_nor_removed(tmp_path: Path, another: int) -> None:
    """Two of `make test` in one checkout."""
    machine, labs = Pretended(), tmp_path / ".lab"
    choose(machine, labs / "lab", NETWORKS, another)
    refused = rf"^the lab of {labs}/lab is in use by process {another}, so it was left as it is: wait for"
    with pytest.raises(LabError, match=refused):
        choose(machine, labs / "lab", NETWORKS, os.getpid())
    with pytest.raises(LabError, match=refused):
        claim(machine, labs / "lab", NETWORKS)
    with pytest.raises(LabError, match=refused):
        absent(machine, labs / "lab")
    with pytest.raises(LabError, match=refused.replace("^", f"^{labs}/lab is not removed: ")):
        remove_all(machine, labs)
    assert (labs / "lab" / "id").exists() and [claim.holder.pid for claim in machine.claims() if claim.holder] == [
        another
    ]


def test_a_process_and_those_below_it_use_its_lab_until_it_ends(tmp_path: Path, another: int) -> None:
    machine, lab = Pretended(), tmp_path / "lab"
    choose(machine, lab, NETWORKS, os.getppid())
    choose(machine, lab, NETWORKS, os.getppid())
    claim(machine, lab, NETWORKS)
    absent(machine, lab)
    choose(machine, lab, NETWORKS, another)
    os.kill(another, 9)
    os.waitpid(another, 0)
    choose(machine, lab, NETWORKS, os.getpid())
    assert [found.held for found in machine.claims()] == [True]


def test_labs_below_a_folder_are_found_however_they_are_known(tmp_path: Path) -> None:
    labs = {name: tmp_path / ".lab" / name for name in ("a/.lab/container", "a/.lab/claim", "a/folder")}
    ids = {name: make_identity(Pretended(), directory) for name, directory in labs.items()}
    Claim(ids["a/.lab/claim"], labs["a/.lab/claim"], NETWORKS, NETWORKS).write()
    machine = Pretended(
        entry(ids["a/.lab/container"], labs["a/.lab/container"]), entry("0123456789ab", tmp_path / ".lab" / "ab")
    )
    assert known(machine, tmp_path / ".lab" / "a") == sorted(labs.values())
    assert known(machine, labs["a/folder"]) == [labs["a/folder"]]


@pytest.mark.parametrize(
    ("name", "said"),
    [("inventories/labb", "labb holds no hosts.yml; name one of: lab, "), ("inventories/dc1", "sets no lab_directory")],
)
def test_what_is_no_labs_inventory_is_not_taken_down(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["down.py", str(ROOT / name)])
    assert down.main() == 2
    assert said in capsys.readouterr().err


def inventory(folder: Path, **changes: str) -> Path:
    values = {
        "lab_directory": f"{folder}/.lab/lab",
        **{f"{kind}_network": subnet for kind, subnet in NETWORKS.items()},
        **changes,
    }
    (folder / "hosts.yml").write_text(
        "all:\n  vars:\n" + "".join(f"    {name}: {value}\n" for name, value in values.items())
    )
    return folder


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("client_network", "198.18.1.0"),
        ("client_network", "198.18.1.5/24"),
        ("client_network", "198.18.1.0/255.255.255.0"),
        ("client_network", "10.0.0.0/24"),
        ("client_network", "fd00::/64"),
        ("client_network", '"{{ net }}"'),
        ("replication_network", "198.18.0.0/16"),
        ("lab_directory", "some/where"),
        ("lab_directory", '"{{ playbook_dir }}/lab"'),
        ("lab_directory", '"{{ inventory_dir }}/{{ name }}"'),
        ("lab_directory", '"/lab/it\'s"'),
    ],
)
def test_what_is_no_labs_network_or_directory_is_refused_before_it_is_claimed(
    tmp_path: Path, state: Path, name: str, value: str
) -> None:
    with pytest.raises(LabError) as refused:
        settle(inventory(tmp_path, **{name: value}))
    assert f"{tmp_path}/hosts.yml: {name} = " in str(refused.value)
    assert not list((state / "claims").iterdir())


@pytest.mark.parametrize("here", ["{{inventory_dir}}", "{{ inventory_dir }}", "{{inventory_dir }}"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_values_are_read_with_either_quote_and_without_blanks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str, quote: str
) -> None:
    monkeypatch.setattr("derive.Machine", lambda _: Pretended())
    values = {
        "client_network": f"{quote}198.18.1.0/24{quote}   # one",
        "lab_directory": f"{quote}{here}/../a lab{quote}",
    }
    (tmp_path / "inventory").mkdir()
    settled = settle(inventory(tmp_path / "inventory", **values))
    assert (settled.directory, settled.networks) == (tmp_path / "a lab", NETWORKS)
