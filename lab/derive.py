"""Gives an inventory of a lab networks that no other checkout's lab holds, and prints the path of the inventory to use.

That is the given one while its networks are free. Where a living lab of another checkout holds them, it is a copy with
spare networks of 198.18.0.0/15, in .lab/inventories/<lab>; asked again, the lab keeps what it had. Standard library
only: survival and molecule use it too.
"""

from __future__ import annotations

import argparse
import ipaddress
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from millrace_lab.claims import COPY, check_networks, check_own, choose, derived
from millrace_lab.records import LabError
from millrace_lab.shared_resources import Machine, machine_lock

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("client", "replication")
READ = ("", ".yml", ".yaml", ".json")  # endings of the files that Ansible reads as variables
SOURCE = "inventory"  # in a lab's directory: the inventory that declares it
HERE = r"\{\{-?\s*inventory_dir\s*-?\}\}"
ADDRESS = r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)"


@dataclass(frozen=True)
class Settled:
    """The inventory to use, and its networks by kind: client, and replication unless the lab has one network."""

    inventory: Path
    directory: Path
    networks: Mapping[str, str]


def settle(source: Path, holder: int | None = None) -> Settled:
    """Claim networks for the lab of an inventory; derive a copy of it where its own are held by another checkout's lab.

    The claim stands while the lab's directory does, and while the process `holder` lives. Raises LabError where a lab
    of the same checkout holds the networks, and where what the inventory declares is no lab's.
    """
    directory, subnets = lab_directory(source), declared(hosts_file(source), source)
    try:
        check_networks(subnets)
    except LabError as error:
        raise LabError(f"{source}/hosts.yml: {error}") from error
    target = derived(directory)
    with machine_lock():
        check_own(directory)
        networks = choose(Machine(str(ROOT / "lab" / "podman.conf")), directory, subnets, holder)
        if networks == subnets:
            return Settled(source, directory, networks)
        if target.exists() and not (target / COPY).exists():
            raise LabError(f"{target} is in the way of a copy of {source}, and nobody's copy itself: move it away")
        shutil.rmtree(target, ignore_errors=True)
        derive(source, target, dict(zip(subnets.values(), networks.values(), strict=True)))
    return Settled(target, directory, networks)


def take(source: Path) -> None:
    """Note whose lab it is that an inventory declares; refuse that of another one that is still there: raises LabError.

    One of the two was copied from the other, and their labs would be one, with the hosts of whichever came last. Refuse
    as well a lab that stands under an old name of the checkout.
    """
    directory = lab_directory(source)
    file = directory / SOURCE
    other = Path(file.read_text().strip()) if file.exists() else source
    if other != source and (other / "hosts.yml").exists() and lab_directory(other) == directory:
        raise LabError(
            f"{source}/hosts.yml: lab_directory = {directory} is the lab of {other}: give this inventory one of its "
            f"own, as {{{{ inventory_dir }}}}/../../.lab/{source.name}, or remove that lab first (make lab-down)"
        )
    check_own(directory)
    if shutil.which("podman"):  # without it no lab stands, and `make lab` installs it
        Machine(str(ROOT / "lab" / "podman.conf")).check_moved(directory)
    directory.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{source}\n")


def hosts_file(source: Path) -> str:
    """Return the text of an inventory's hosts.yml. Raises LabError."""
    try:
        return (source / "hosts.yml").read_text()
    except (OSError, ValueError) as error:
        raise LabError(f"{source}/hosts.yml cannot be read, so it is no lab's inventory: {error}") from error


def lab_directory(source: Path) -> Path:
    """Return the lab directory of an inventory. Raises LabError where it has none."""
    place = Path(resolved(word(hosts_file(source), "lab_directory", source), source))
    if not place.is_absolute() or re.search("[\"']|\\{[{%]", str(place)):
        raise LabError(
            f"{source}/hosts.yml: lab_directory = {place}: write it as an absolute path, "
            "or one that begins with {{ inventory_dir }}"
        )
    return place.resolve()


def members(inventory: Path) -> list[Path]:
    """Return the inventory itself, or those of a family (inventories/lab_mirrored), one directory for each cluster.

    Raises LabError where there is none.
    """
    found = sorted(path.parent for path in inventory.rglob("hosts.yml"))
    if not found:
        known = ", ".join(sorted(path.name for path in (ROOT / "inventories").glob("lab*")))
        raise LabError(f"{inventory} holds no hosts.yml; name one of: {known}")
    return found


def derive(source: Path, target: Path, networks: Mapping[str, str], directory: Path | None = None) -> None:
    """Copy an inventory with what its links point to: every address of the networks moved, paths absolute.

    With another lab directory if given. `networks` maps old subnets to new ones of the same size; a host keeps its
    place in them.
    """
    shutil.copytree(source, target)
    (target / COPY).touch()
    moves = [(ipaddress.IPv4Network(old), ipaddress.IPv4Network(new)) for old, new in networks.items()]

    def move(match: re.Match[str]) -> str:
        try:
            address = ipaddress.IPv4Address(match[0])
        except ValueError:
            return match[0]  # 1.2.3.400, or a part with a leading zero: a version, a number
        for old, new in moves:
            if address in old:
                return str(new[int(address) - int(old[0])])
        return match[0]

    for file in (file for file in target.rglob("*") if file.is_file() and file.suffix in READ):
        try:
            before = file.read_bytes().decode()
        except UnicodeDecodeError:
            continue  # a key store, say
        text = re.sub(ADDRESS, move, before)
        text = re.sub(HERE + r"[^\"'\s]*", lambda match: resolved(match[0], source), text)
        if directory and file == target / "hosts.yml":
            text = re.sub(r"(?m)^(\s*lab_directory:\s*).*$", lambda match: f"{match[1]}{directory}", text)
        if text != before:
            file.write_bytes(text.encode())


def word(text: str, name: str, source: Path) -> str:
    """Return a literal value of hosts.yml, without its quotes."""
    found = re.search(
        rf"^[ \t]*{name}:[ \t]*(?:\"([^\"\n]*)\"|'([^'\n]*)'|(\S.*?))[ \t]*(?:[ \t]#.*)?$", text, re.MULTILINE
    )
    if not found:
        raise LabError(f"{source}/hosts.yml sets no {name}, so it is no lab's inventory")
    return next(value for value in found.groups() if value is not None)


def declared(text: str, source: Path) -> dict[str, str]:
    """Return the subnets that hosts.yml sets, by kind. Raises LabError without client_network."""
    second = re.search(r"^[ \t]*replication_network:", text, re.MULTILINE)
    return {kind: word(text, f"{kind}_network", source) for kind in KINDS[: 2 if second else 1]}


def resolved(path: str, source: Path) -> str:
    """Return a path of an inventory as an absolute one."""
    return os.path.normpath(re.sub(HERE, lambda match: str(source.resolve()), path))


def main() -> int:
    """Print the inventory to use; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inventory", type=Path)
    parser.add_argument(
        "--holder",
        type=int,
        metavar="PID",
        help="a process that keeps the networks while it lives, also while the lab is made anew",
    )
    arguments = parser.parse_args()
    try:
        print(settle(arguments.inventory.resolve(), arguments.holder).inventory)
    except LabError as error:
        print(f"derive: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
