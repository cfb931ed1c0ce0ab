"""What labs of all checkouts share on one machine: podman's containers and networks, disks, claims, blackhole route.

Standard library only: `make lab-down-all` works after `git clean` has taken the control node's environment away.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import ipaddress
import json
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

RANGE = "198.18.0.0/15"
STATE = Path("/var/lib/millrace-lab")
CLAIMS = STATE / "claims"
LOCK = Path("/run/millrace-lab.lock")
ID = re.compile(r"[0-9a-f]{12}")


class LabError(Exception):
    """A step that failed, or must not be taken; the text says what and why."""


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


def identity(directory: Path) -> str:
    """Return the random id of a lab directory, '' where there is none, or another text.

    Raises LabError where that cannot be told.
    """
    try:
        text = (directory / "id").read_text().strip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, UnicodeDecodeError):
        return ""
    except OSError as error:
        raise LabError(
            f"{directory}/id cannot be read, so nobody knows whether its lab lives: {error.strerror}"
        ) from error
    return text if ID.fullmatch(text) else ""


def subnets(bridge: Mapping[str, Any]) -> list[ipaddress.IPv4Network]:
    """Return the IPv4 subnets of a network of podman; labs have no others."""
    return [ipaddress.IPv4Network(each["subnet"]) for each in bridge.get("subnets") or [] if ":" not in each["subnet"]]


@dataclass(frozen=True)
class Process:
    """A process that keeps a claim while it lives; its start tells it from a later one of the same number."""

    pid: int
    start: str

    @classmethod
    def of(cls, pid: int) -> Process:
        """Return a running process; start is '' where there is none."""
        try:
            return cls(pid, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        except (FileNotFoundError, ProcessLookupError):
            return cls(pid, "")

    def lives(self) -> bool:
        """Whether it still runs."""
        return self.start != "" and Process.of(self.pid) == self


def ancestors() -> Iterator[int]:
    """Yield the ids of this process, its parent, and so on."""
    pid = os.getpid()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # one ended meanwhile
        while pid:
            yield pid
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@dataclass(frozen=True)
class Claim:
    """Networks that belong to a lab directory, before its containers are made and until they are gone."""

    id: str
    directory: Path
    declared: Mapping[str, str]
    """Subnets that its inventory declares, by kind (client, replication)."""
    networks: Mapping[str, str]
    """Subnets that it uses instead, or the same."""
    holder: Process | None = None

    @property
    def file(self) -> Path:
        """Where it is written: one for each lab directory."""
        return CLAIMS / f"{hashlib.sha256(str(self.directory).encode()).hexdigest()[:16]}.json"

    @property
    def held(self) -> bool:
        """Whether a process that lives keeps it, with or without its lab directory."""
        return self.holder is not None and self.holder.lives()

    def stands(self) -> bool:
        """Whether its lab directory is there, or the process that asked for it."""
        return lives(self.directory, self.id) or self.held

    def write(self) -> None:
        """Write the file, whole."""
        CLAIMS.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**asdict(self), "directory": str(self.directory)})
        with self.file.with_suffix(".new").open("w") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        self.file.with_suffix(".new").rename(self.file)

    @classmethod
    def read(cls, file: Path) -> Claim:
        """Read one. Raises OSError, ValueError, KeyError or TypeError where the file holds no claim."""
        data = json.loads(file.read_text())
        if not ID.fullmatch(data["id"]):
            raise ValueError(f"no lab's id: {data['id']}")
        declared, networks = dict(data["declared"]), dict(data["networks"])
        for subnet in networks.values():
            ipaddress.IPv4Network(subnet)
        holder = Process(**data["holder"]) if data["holder"] else None
        return cls(data["id"], Path(data["directory"]), declared, networks, holder)


def lives(directory: Path, lab_id: str) -> bool:
    """Whether the lab directory of an id is still there; a lab without it is orphaned."""
    return lab_id != "" and identity(directory) == lab_id


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
        """List the claims of all checkouts. One that cannot be read, as after a power cut, holds what stands there."""
        found = []
        for file in sorted(CLAIMS.glob("*.json")):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                found.append(Claim.read(file))
        return found

    def tenants(self) -> list[Tenant]:
        """List who holds which network: by a claim that stands, or by a network that exists."""
        found = []
        for claim in self.claims():
            if claim.stands():
                found += [
                    Tenant(claim.id, claim.directory, ipaddress.IPv4Network(subnet), True)
                    for subnet in claim.networks.values()
                ]
        for bridge in self.bridges():
            lab_id, label = bridge["labels"]["millrace.id"], bridge["labels"].get("millrace.directory")
            living = not label or lives(
                Path(label), lab_id
            )  # whose directory nobody knows is left alone, under the network's own name
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
        """Refuse with LabError a lab directory whose claim another process holds: not this one, and none above it."""
        for claim in self.claims():
            user = claim.holder.pid if claim.holder and claim.held and claim.directory == directory else None
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
                self.run("podman", "network", "rm", bridge["name"])
        self.remove_disks(lab_id)
        for claim in self.claims():
            if claim.id == lab_id and not (keep_claim or claim.held or self.check_mode):
                claim.file.unlink()

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
        places, claims = self.places(), self.claims()
        living = {claim.id for claim in claims if claim.stands()} | {
            lab_id for lab_id, directory in places if lives(directory, lab_id)
        }
        disks = {path.name for path in STATE.glob("*")}
        found = {lab_id for lab_id, _ in places} | disks | {claim.id for claim in claims}
        return sorted(lab_id for lab_id in found - living if ID.fullmatch(lab_id))
