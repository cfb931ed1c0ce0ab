"""Verifies, on the control node, the archives that hosts do not have yet."""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind


class VerifiedArchives:
    """The archives of one run. Each checksum and each archive is read once, and an archive only if a host has none."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        self._results: dict[tuple[Callable[..., Any], tuple[Any, ...]], Any] = {}

    def once(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of `function(*arguments)`; a second call returns, or raises, the result of the first.

        Raises ArchiveError if the function does.
        """
        key = (function, arguments)
        if key not in self._results:
            try:
                self._results[key] = function(*arguments)
            except ArchiveError as error:
                self._results[key] = error
        if isinstance(self._results[key], ArchiveError):
            raise self._results[key]
        return self._results[key]

    def path(self, source: str, checksum: str, installed: Collection[str]) -> Path | None:
        """Return the verified file, or None while every host so far has it.

        `installed` are the digests of the archives that a host has. Raises ArchiveError.
        """
        digest = self.once(expected, checksum)
        if digest in installed and (local, (source, digest)) not in self._results:
            return None
        path: Path = self.once(local, source, digest)
        return path


def archives(model: Model, machine: Machine) -> list[str]:
    """Return the inputs that name archives of a host, without wheels: preflight/job_configs.py checks those."""
    return [name for name in model.input_names(machine, "archives") if not name.endswith("_wheel")]


ARCHIVE = ProblemKind("ARCHIVE", "{error}", "{advice}")


def missing_archives(model: Model, probes: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield the errors of archives that a host does not have; an archive that every host has is not read."""
    verified = VerifiedArchives()
    for host, probe in probes.items():
        machine = model.machines[host]
        for name in archives(model, machine):
            source, checksum = machine.inputs.values.get(name), machine.inputs.values.get(f"{name}_checksum")
            if not source or not checksum:
                continue
            try:
                path = verified.path(source, checksum, probe["archives"].values())
                if path and name == "kafka_archive" and machine.inputs.get("kafka_zookeeper_keystore"):
                    yield from _client_version(machine, verified.once(zookeeper_client, path))
            except ArchiveError as error:
                text, _, advice = str(error).partition("; ")
                advice = advice or "correct the archive or its checksum"
                yield machine.report(ARCHIVE, name, error=text, advice=advice)


ZOOKEEPER_CLIENT = ProblemKind(
    "ZOOKEEPER_CLIENT",
    "the archive contains the ZooKeeper client {version}, which can deadlock while it connects with TLS "
    "(ZOOKEEPER-4293): the broker would hang",
    "use the archive of `make archives`, or replace the client in yours (docs/security.md)",
    warning=True,
)


def _client_version(machine: Machine, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield a warning if Kafka's archive has a ZooKeeper client that can deadlock; () is an unknown version."""
    if version and (version < (3, 8, 5) or (3, 9) <= version < (3, 9, 3)):
        yield machine.report(ZOOKEEPER_CLIENT, "kafka_archive", version=".".join(map(str, version)))
