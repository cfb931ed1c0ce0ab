"""What is written down of a lab: the id in its directory, and its claim on networks, one for each lab directory."""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

STATE = Path("/var/lib/millrace-lab")
CLAIMS = STATE / "claims"
ID = re.compile(r"[0-9a-f]{12}")


class LabError(Exception):
    """A step that failed, or must not be taken; the text says what and why."""


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


def lives(directory: Path, lab_id: str) -> bool:
    """Whether the lab directory of an id is still there; a lab without it is orphaned."""
    return lab_id != "" and identity(directory) == lab_id


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
        return claim_file(self.directory)

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
        if self.file.is_dir():
            shutil.rmtree(self.file)  # a damaged one
        self.file.with_suffix(".new").rename(self.file)

    @classmethod
    def read(cls, file: Path) -> Claim:
        """Read one. Raises OSError, ValueError, KeyError, TypeError or RecursionError where the file holds no claim."""
        data = json.loads(file.read_text())
        if not ID.fullmatch(data["id"]):
            raise ValueError(f"no lab's id: {data['id']}")
        declared, networks = dict(data["declared"]), dict(data["networks"])
        if not networks or declared.keys() != networks.keys():
            raise ValueError(f"networks {sorted(networks)}, declared {sorted(declared)}")
        for subnet in networks.values():
            ipaddress.IPv4Network(str(subnet))
        holder = Process(**data["holder"]) if data["holder"] else None
        if holder and (type(holder.pid), type(holder.start)) != (int, str):
            raise TypeError(f"no process: {holder}")
        claim = cls(data["id"], Path(data["directory"]), declared, networks, holder)
        if claim.file != file:
            raise ValueError(f"the file of {claim.directory} has another name, {claim.file.name}")
        return claim


@dataclass(frozen=True)
class Damaged:
    """A claim that cannot be read: whose it was, what stands can tell; which process has it, nobody."""

    file: Path
    why: str


def claim_file(directory: Path) -> Path:
    """Return the file of a lab directory's claim."""
    return CLAIMS / f"{hashlib.sha256(str(directory).encode()).hexdigest()[:16]}.json"


def read_claims() -> tuple[list[Claim], list[Damaged]]:
    """Read the claims of all checkouts; those apart that cannot be read, as after a power cut."""
    claims, damaged = list[Claim](), list[Damaged]()
    for file in sorted(CLAIMS.glob("*.json")):
        try:
            claims.append(Claim.read(file))
        except FileNotFoundError:
            continue  # removed meanwhile
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            damaged.append(Damaged(file, f"{type(error).__name__}: {error}"))
    return claims, damaged
