"""What hosts still lack, verified on the control node before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.archives import (
    ArchiveError,
    expected,
    local,
    zookeeper_client,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem


class Verified:
    """The archives of a run: each, and each checksum, is read once, and an archive only if some host lacks it."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[tuple[Callable[..., Any], tuple[Any, ...]], Any] = {}

    def once(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns, or raise the ArchiveError that it raises, as it was the first time."""
        key = (function, arguments)
        if key not in self._known:
            try:
                self._known[key] = function(*arguments)
            except ArchiveError as error:
                self._known[key] = error
        if isinstance(self._known[key], ArchiveError):
            raise self._known[key]
        return self._known[key]

    def path(self, source: str, checksum: str, there: Collection[str]) -> Path | None:
        """Return the verified file; None where nobody so far lacks it. Raises ArchiveError."""
        digest = self.once(expected, checksum)
        if digest in there and (local, (source, digest)) not in self._known:
            return None
        path: Path = self.once(local, source, digest)
        return path


def archives(model: Model, machine: Machine) -> list[str]:
    """Return the inputs that name archives of a host; wheels are checked with the jobs (preflight/job_configs.py)."""
    return [name for name in model.input_names(machine, "archives") if not name.endswith("_wheel")]


def verified(model: Model, probes: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield what is wrong with archives that some host lacks; what every host has needs no reading of large files."""
    found = Verified()
    for host, probe in probes.items():
        machine = model.machines[host]
        for name in archives(model, machine):
            source, checksum = machine.inputs.values.get(name), machine.inputs.values.get(f"{name}_checksum")
            if not source or not checksum:
                continue
            try:
                path = found.path(source, checksum, probe["archives"].values())
                if path and name == "kafka_archive" and machine.inputs.get("kafka_zookeeper_keystore"):
                    yield from _client(machine, found.once(zookeeper_client, path))
            except ArchiveError as error:
                wrong, _, advice = str(error).partition("; ")
                yield machine.problem(name, "ARCHIVE", None, wrong, advice or "correct the archive or its checksum")


def _client(machine: Machine, client: tuple[int, ...]) -> Iterator[Problem]:
    """Judge the version of ZooKeeper's client in an archive of Kafka, () where it is not known."""
    if client and (client < (3, 8, 5) or (3, 9) <= client < (3, 9, 3)):
        held = f"it holds ZooKeeper's client {'.'.join(map(str, client))}"
        wrong = f"{held}, which can deadlock over TLS while it connects (ZOOKEEPER-4293): the broker hangs then"
        advice = "use the archive of `make archives`, or exchange the client in yours (docs/security.md)"
        yield machine.problem("kafka_archive", "ZOOKEEPER_CLIENT", None, wrong, advice, warning=True)
