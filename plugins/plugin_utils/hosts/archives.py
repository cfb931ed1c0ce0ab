"""Verifies, on the control node, the archives that some hosts do not have yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.archives import (
    ArchiveError,
    expected,
    local,
    metrics_provider,
    zookeeper_client,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind


class VerifiedArchives:
    """Reads and verifies the archives of one run on the control node; each checksum and archive is read once."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        self._results: dict[tuple[Callable[..., Any], tuple[Any, ...]], Any] = {}

    def once(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return `function(*arguments)`, called only the first time; later calls return or raise the same again.

        Only an ArchiveError is stored and raised again.
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
        """Return the path of the archive `source` on the control node, after its checksum was verified.

        Return None if this host and all hosts before it have the archive installed. `checksum` is the declared
        checksum, `installed` are the SHA-512 digests of the archives on the host.
        Raises ArchiveError if the archive or its checksum cannot be read, or if the archive has another checksum.
        """
        digest = self.once(expected, checksum)
        if digest in installed and (local, (source, digest)) not in self._results:
            return None
        path: Path = self.once(local, source, digest)
        return path


def archives(model: Model, machine: Machine) -> list[str]:
    """Return the names of those role inputs of a host whose values are archives.

    Wheels are left out, because preflight/job_configs.py checks them.
    """
    return [name for name in model.input_names(machine, "archives") if not name.endswith("_wheel")]


ARCHIVE = ProblemKind("ARCHIVE", "{error}", "{advice}")


def missing_archives(model: Model, probes: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield a problem for each archive that a host needs and that the control node cannot provide.

    `probes` is {host: result of host_probe}. An archive that every host has installed is not read.
    """
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
                if name == "zookeeper_archive" and machine.inputs.whole("zookeeper_metrics_port"):
                    yield from _provider(machine, path or Path(str(source)), verified)
            except ArchiveError as fault:
                yield machine.report(ARCHIVE, name, error=fault.message, advice=fault.advice)


ZOOKEEPER_PROVIDER = ProblemKind(
    "ZOOKEEPER_PROVIDER",
    "the archive has no zookeeper-prometheus-metrics jar: with zookeeper_metrics_port, the server would not start",
    "run `make archives` again, or use the archive of the ZooKeeper project",
)


def _provider(machine: Machine, path: Path, verified: VerifiedArchives) -> Iterator[Problem]:
    """Yield a problem if a ZooKeeper archive on the control node has no provider of metrics.

    Also of an archive that all hosts have, which may have been built before the provider was a part of it.
    """
    with suppress(ArchiveError):  # unreadable: not this rule's problem
        if path.is_file() and not verified.once(metrics_provider, path):
            yield machine.report(ZOOKEEPER_PROVIDER, "zookeeper_archive")


ZOOKEEPER_CLIENT = ProblemKind(
    "ZOOKEEPER_CLIENT",
    "the archive contains the ZooKeeper client {version}, which can deadlock while it connects with TLS "
    "(ZOOKEEPER-4293): the broker would hang",
    "use the archive of `make archives`, or replace the client in yours (docs/security.md)",
    warning=True,
)


def _client_version(machine: Machine, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield a warning if the ZooKeeper client in Kafka's archive can deadlock; `version` () means unknown."""
    if version and (version < (3, 8, 5) or (3, 9) <= version < (3, 9, 3)):
        yield machine.report(ZOOKEEPER_CLIENT, "kafka_archive", version=".".join(map(str, version)))
