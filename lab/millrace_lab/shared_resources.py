"""What labs of all checkouts share on one machine: podman's containers and networks, disks, claims, blackhole route.

Standard library only: `make lab-down-all` works after `git clean` has taken the control node's environment away.
"""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .records import ID, STATE, Claim, Damaged, LabError, ancestors, claim_file, identity, lives, read_claims

RANGE = "198.18.0.0/15"
LOCK = Path("/run/millrace-lab.lock")


@contextmanager
def machine_lock() -> Iterator[None]:
    """Hold the machine's one lock over what all labs share; a process that ends gives it back.

    Raises LabError where this is not root.
    """
    if os.geteuid():
        raise LabError("labs need root, for networks and file systems of their own")
    with LOCK.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def prefix(bridge: str) -> str:
    """Return how interfaces are named that distance.py adds to a lab; `bridge` is the bridge of its client network."""
    return f"mr{bridge.removeprefix('podman')}"


def subnets(bridge: Mapping[str, Any]) -> list[ipaddress.IPv4Network]:
    """Return the IPv4 subnets of a network of podman; labs have no others."""
    return [ipaddress.IPv4Network(each["subnet"]) for each in bridge.get("subnets") or [] if ":" not in each["subnet"]]


@dataclass(frozen=True)
class Tenant:
    """A lab that holds a network."""

    id: str
    directory: Path
    subnet: ipaddress.IPv4Network
    living: bool

    def overlaps(self, networks: Collection[str]) -> bool:
        """Whether it stands on one of these networks."""
        return any(self.subnet.overlaps(ipaddress.IPv4Network(network)) for network in networks)


class Machine:
    """Looks at labs, and removes them. Everything that changes something is noted in `actions`."""

    def __init__(self, config: str, check_mode: bool = False) -> None:
        """`config` is podman's containers.conf; in check mode nothing is changed."""
        self.environment = {**os.environ, "CONTAINERS_CONF": config}
        self.check_mode = check_mode
        self.actions: list[str] = []

    def run(self, *argv: str) -> str:
        """Run a command; stop at the first that fails (a lab half made must not send traffic)."""
        try:
            done = subprocess.run(argv, capture_output=True, text=True, env=self.environment)
        except FileNotFoundError as error:
            raise LabError(f"{argv[0]} is not installed (make setup)") from error
        if done.returncode:
            raise LabError(f"{' '.join(argv)}: {done.stderr.strip() or done.stdout.strip() or done.returncode}")
        return done.stdout

    def act(self, what: str) -> bool:
        """Note a change; false in check mode, when it must not be made."""
        self.actions.append(what)
        return not self.check_mode

    def containers(self) -> list[dict[str, Any]]:
        """List every lab container of the machine, of any checkout."""
        found: list[dict[str, Any]] = json.loads(
            self.run("podman", "ps", "-a", "--filter", "label=millrace.id", "--format", "json")
        )
        return found

    def bridges(self) -> list[dict[str, Any]]:
        """List every lab network of the machine, of any checkout."""
        names = self.run("podman", "network", "ls", "--filter", "label=millrace.id", "--format", "{{.Name}}").split()
        found: list[dict[str, Any]] = json.loads(self.run("podman", "network", "inspect", *names)) if names else []
        return found

    def claims(self) -> list[Claim]:
        """List the claims of all checkouts, without those that are damaged."""
        return read_claims()[0]

    def damaged(self) -> dict[Path, Damaged]:
        """Return the damaged claims of labs of which something stands, by lab directory; others hold nothing."""
        damaged = read_claims()[1]
        standing = {claim_file(place): place for _, place in self.places()} if damaged else {}
        return {standing[each.file]: each for each in damaged if each.file in standing}

    def check_claim(self, directory: Path) -> None:
        """Refuse with LabError a lab directory whose claim is damaged, while something of its lab stands."""
        if each := self.damaged().get(directory):
            raise LabError(
                f"the claim of the lab of {directory}, {each.file}, is damaged ({each.why}), so nobody knows which "
                "process uses that lab, and it was left as it is: if no make lab, make test or make campaign does, "
                f"take the claim away (rm -r {each.file}) and do the same again"
            )

    def tenants(self) -> list[Tenant]:
        """List who holds which network: by a claim that stands, or by a network that exists."""
        found = []
        for claim in self.claims():
            if claim.stands():
                found += [
                    Tenant(claim.id, claim.directory, ipaddress.IPv4Network(subnet), True)
                    for subnet in claim.networks.values()
                ]
        damaged = self.damaged()
        for bridge in self.bridges():
            lab_id, label = bridge["labels"]["millrace.id"], bridge["labels"].get("millrace.directory")
            # Whose directory nobody knows is left alone, under the network's own name.
            living = not label or lives(Path(label), lab_id) or Path(label) in damaged
            found += [Tenant(lab_id, Path(label or bridge["name"]), subnet, living) for subnet in subnets(bridge)]
        return found

    def places(self) -> set[tuple[str, Path]]:
        """List the ids of containers and networks, each with the lab directory that it was made for."""
        labelled = [entry["Labels"] for entry in self.containers()] + [entry["labels"] for entry in self.bridges()]
        return {
            (labels["millrace.id"], Path(labels["millrace.directory"]))
            for labels in labelled
            if labels.get("millrace.directory")
        }

    def check_use(self, directory: Path, holder: int | None = None) -> None:
        """Refuse with LabError a lab directory whose claim another process holds: not this one, and none above it.

        One that was moved since is the same lab's. And one whose claim is damaged.
        """
        self.check_claim(directory)
        lab_id = identity(directory)
        for claim in self.claims():
            its = claim.directory == directory or (claim.id == lab_id and not lives(claim.directory, lab_id))
            user = claim.holder.pid if claim.holder and claim.held and its else None
            if user and user not in {holder, *ancestors()}:
                raise LabError(
                    f"the lab of {directory} is in use by process {user}, so it was left as it is: "
                    "wait for the end of that process, or end it"
                )

    def copied(self, directory: Path) -> bool:
        """Whether a lab directory has its id from another that lives, as after `cp -a`: what has it is not its own."""
        lab_id = identity(directory)
        living = {place for place in self.places() if lives(place[1], place[0])} | {
            (claim.id, claim.directory) for claim in self.claims() if claim.stands()
        }
        return any(place_id == lab_id and place != directory for place_id, place in living)

    def check_moved(self, directory: Path) -> None:
        """Refuse with LabError a lab directory that was moved while its lab stands: hosts mount what was below it."""
        lab_id = identity(directory)
        places = {place for place_id, place in self.places() if place_id == lab_id} if lab_id else set()
        for place in sorted(place for place in places - {directory} if not lives(place, lab_id)):
            old, new = place, directory
            while old.name == new.name:
                old, new = old.parent, new.parent
            go_on = (
                f"To go on with it, give the checkout its old name (mv {new} {old}); to" if not old.exists() else "To"
            )
            raise LabError(
                f"the lab of {directory} was made as {place}, whose hosts stand and have that path in their mounts: "
                f"the checkout was moved or renamed. {go_on} take it down: make lab-down i={directory.name}, or "
                "make lab-down-all"
            )

    def remove(self, lab_id: str, keep_claim: bool = False) -> None:
        """Remove the containers, networks, disks and claim of this id alone; a living holder keeps its claim."""
        if not ID.fullmatch(lab_id):
            raise LabError(f"'{lab_id}' is no lab's id (12 hexadecimal digits), so nothing was removed")
        mine = [c for c in self.containers() if c["Labels"]["millrace.id"] == lab_id]
        names = [c["Names"][0] for c in mine]
        if names and self.act(f"remove {len(names)} containers: {' '.join(sorted(names))}"):
            self.run("podman", "rm", "-f", "-t", "0", *names)
        for bridge in self.bridges():
            stood = " ".join(map(str, subnets(bridge)))
            if bridge["labels"]["millrace.id"] == lab_id and self.act(f"remove network {bridge['name']} {stood}"):
                self.remove_distance(bridge.get("network_interface", ""))
                self.run("podman", "network", "rm", bridge["name"])
        self.remove_disks(lab_id)
        for claim in self.claims():
            if claim.id == lab_id and not (keep_claim or claim.held or self.check_mode):
                claim.file.unlink()

    def remove_distance(self, bridge: str) -> None:
        """Remove the bridges that a killed relay of distance.py left, those named after a bridge of podman."""
        for link in json.loads(self.run("ip", "-j", "link", "show", "type", "bridge")) if bridge else ():
            if re.fullmatch(rf"{prefix(bridge)}[cr]\d+", link["ifname"]):
                self.run("ip", "link", "del", link["ifname"])

    def remove_disks(self, lab_id: str) -> None:
        """Unmount and remove the disks of this id."""
        root = STATE / lab_id
        if root.exists() and self.act(f"remove the disks {root}"):
            for line in Path("/proc/mounts").read_text().splitlines():
                if line.split()[1].startswith(f"{root}/"):
                    self.run("umount", line.split()[1])
            shutil.rmtree(root)

    def route(self) -> None:
        """Lead what is meant for labs nowhere while a network is missing; the networks win over it."""
        if not self.run("ip", "route", "show", "type", "blackhole", RANGE).strip() and self.act("blackhole route"):
            self.run("ip", "route", "replace", "blackhole", RANGE)

    def drop_route(self) -> None:
        """Remove the blackhole route with the last lab."""
        route = self.run("ip", "route", "show", "type", "blackhole", RANGE).strip()
        if route and not self.containers() and not self.bridges() and self.act("remove the blackhole route"):
            self.run("ip", "route", "del", "blackhole", RANGE)

    def orphans(self) -> list[str]:
        """List the ids of labs whose directory is gone: of containers, networks, disks and claims."""
        places, claims, damaged = self.places(), self.claims(), self.damaged()
        living = {claim.id for claim in claims if claim.stands()} | {
            lab_id for lab_id, directory in places if lives(directory, lab_id) or directory in damaged
        }
        disks = {path.name for path in STATE.glob("*")}
        found = {lab_id for lab_id, _ in places} | disks | {claim.id for claim in claims}
        return sorted(lab_id for lab_id in found - living if ID.fullmatch(lab_id))
