"""A copy of an inventory on other networks, without hosts: every lab's inventory of the project."""

import re
from pathlib import Path

import pytest
from derive import declared, derive
from faults.inventory import ROOT, load
from millrace_lab.records import LabError

INVENTORIES = sorted(
    file.parent
    for folder in ("inventories/lab*", "molecule/*/inventory")
    for file in ROOT.glob(f"{folder}/**/hosts.yml")
)


@pytest.mark.parametrize("source", INVENTORIES, ids=[str(path.relative_to(ROOT)) for path in INVENTORIES])
def test_a_copy_differs_in_its_networks_alone(source: Path, tmp_path: Path) -> None:
    before = load(source)
    some = next(iter(before.variables.values()))
    old, new = (
        [str(some[name]) for kind in ("client", "replication") if (name := f"{kind}_network") in some],
        ["198.19.10.0/24", "198.19.11.0/24"],
    )
    target = tmp_path / "deeper" / "copy"
    target.parent.mkdir()
    derive(source, target, dict(zip(old, new, strict=False)))
    after = load(target)
    assert after.groups == before.groups
    assert after.lab_directory == before.lab_directory

    def moved_back(value: object) -> str:
        text = str(value)
        for was, now in zip(old, new, strict=False):
            text = text.replace(now.rpartition(".")[0] + ".", was.rpartition(".")[0] + ".")
        return text

    for host, variables in after.variables.items():
        said = before.variables[host]
        literal = {name: value for name, value in variables.items() if "inventory_dir" not in str(said[name])}
        assert not [
            name for name, value in literal.items() if any(was.rpartition(".")[0] + "." in str(value) for was in old)
        ]
        for name, value in literal.items():
            assert moved_back(value) == str(said[name]), name
        assert Path(variables["archives"]) == ROOT / ".build" / "archives"
    assert not [
        file
        for file in target.rglob("*")
        if file.is_symlink() or (file.is_file() and re.search("inventory_dir", file.read_text()))
    ]


def test_the_networks_of_a_lab(tmp_path: Path) -> None:
    """A second network is settled only where the inventory declares one."""
    texts = ["client_network: 198.18.7.0/24\n", "client_network: 198.18.7.0/24\n  replication_network: 198.18.8.0/24\n"]
    assert [declared(text, tmp_path) for text in texts] == [
        {"client": "198.18.7.0/24"},
        {"client": "198.18.7.0/24", "replication": "198.18.8.0/24"},
    ]
    with pytest.raises(LabError, match="client_network"):
        declared("replication_network: 198.18.8.0/24\n", tmp_path)


def test_a_copy_moves_what_ansible_reads_and_addresses_alone(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "group_vars" / "all").mkdir(parents=True)
    stays = "oid: 1.3.6.1.4.198.18.1.21\nversion: 1.2.3.400\nzero: 198.18.1.021\n"
    moves = {
        "hosts.yml": "a: 198.18.1.21",
        "group_vars/kafka": "a: 198.18.1.21.",
        "group_vars/all/x.yaml": "[198.18.1.21]",
        "x.json": '"198.18.1.21:9092"',
    }
    for name, text in moves.items():
        (source / name).write_text(f"{stays}{text}\nhere: '{{{{inventory_dir}}}}/x'\n")
    other = {"store": b"\xff198.18.1.21", "note.md": b"198.18.1.21"}
    for name, data in other.items():
        (source / name).write_bytes(data)
    derive(source, target, {"198.18.1.0/24": "198.19.7.0/24"})
    for name, text in moves.items():
        assert (target / name).read_text() == f"{stays}{text.replace('198.18.1', '198.19.7')}\nhere: '{source}/x'\n"
    assert {name: (target / name).read_bytes() for name in other} == other
