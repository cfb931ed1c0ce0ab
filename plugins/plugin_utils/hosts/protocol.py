"""Checks inter.broker.protocol.version, the protocol between brokers, against the versions that brokers run.

A broker uses the protocol of its own version unless its server.properties pins an older one. An upgrade to another
minor version therefore has two steps: the binaries, with the protocol pinned to the old version, and then, in another
run, the protocol. The second step cannot be reverted (https://kafka.apache.org/39/documentation.html#upgrade).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

PROTOCOL = "inter.broker.protocol.version"
PLACE = f"kafka_config[{PROTOCOL}]"
Minor = tuple[int, int]
NONE: Minor = (0, 0)


def minor(version: Any) -> Minor:
    """Return (major, minor) of a version such as 3.9, 3.9.2 or 3.9-IV0; (0, 0) if the value is no version."""
    match = re.match(r"(\d+)\.(\d+)", str(version))
    return (int(match[1]), int(match[2])) if match else NONE


def text(version: Minor) -> str:
    """Return a (major, minor) pair as text for server.properties, such as 3.9."""
    return f"{version[0]}.{version[1]}"


@dataclass(frozen=True)
class BrokerVersions:
    """Version and inter-broker protocol of one broker, as declared and as running.

    `version` and `protocol` are the declared values. `running_version` is the version of the process or, if the broker
    is down, of the installed binaries. If nothing is installed, `running_version` is '' and `running_protocol` is (0,
    0).
    """

    broker: Broker
    version: str
    protocol: Minor
    running_version: str
    running_protocol: Minor

    @property
    def is_current(self) -> bool:
        """True if the broker already runs its declared version."""
        running = self.running_version
        return self.version == running or self.version.startswith((f"{running}-", f"{running}."))


def versions_of(broker: Broker, probe: Mapping[str, Any]) -> BrokerVersions:
    """Return the declared and the running versions of a broker; `probe` is the result of host_probe."""
    release = probe.get("releases", {}).get("kafka", {})
    running = str(release.get("running") or release.get("installed") or "")
    version, pinned = str(broker.inputs.get("kafka_version")), broker.config.get(PROTOCOL)
    running_protocol = minor(release.get("protocol") or running) if running else NONE
    return BrokerVersions(broker, version, minor(version if pinned is None else pinned), running, running_protocol)


PROTOCOL_UNKNOWN = ProblemKind(
    "PROTOCOL_UNKNOWN",
    "nothing is installed on this host, and the cluster exists already. The versions of {excluded} are unknown, since "
    "the run excludes these hosts (--limit)",
    "run for all brokers, without --limit, or include a broker that is up (-l {limit})",
)
KAFKA_ROLLBACK = ProblemKind(
    "KAFKA_ROLLBACK",
    "{other} already uses protocol {protocol}: this version could not read what was written with that protocol",
    "set kafka_version to {running}, or to another version from {protocol} on: a rollback below {protocol} is "
    "impossible",
)
PROTOCOL_LOWERED = ProblemKind(
    "PROTOCOL_LOWERED",
    "{other} uses {protocol}, and a protocol that was used cannot be lowered",
    'remove it, or set "{protocol}"',
)
PROTOCOL_TOO_NEW = ProblemKind(
    "PROTOCOL_TOO_NEW",
    "{other} runs {running}, and would not understand the first broker that is restarted",
    'first set kafka_config: {{inter.broker.protocol.version: "{pin}"}}, until all brokers run {version}. Then remove '
    "it",
)
PROTOCOL_WITH_BINARIES = ProblemKind(
    "PROTOCOL_WITH_BINARIES",
    "this run would raise the protocol, and also upgrade {other} from {running} to {version}",
    'keep "{protocol}" in kafka_config until all brokers run {declared}, then remove it in a separate run',
)
PROTOCOL_WITH_BINARIES_EXCLUDED = PROTOCOL_WITH_BINARIES.variant(
    message="this run would raise the protocol, and the versions of {excluded} are unknown, since the run excludes "
    "these hosts (--limit)",
    advice='raise it in a run for all brokers, without --limit. Until then set "{protocol}"',
)


def protocol_steps(
    model: Model, probes: Mapping[str, Mapping[str, Any]], registered: Collection[str] = ()
) -> Iterator[Problem]:
    """Yield a problem for each broker whose declared version or protocol is not a possible next step.

    A broker must not use a protocol that another broker does not understand, or a protocol older than the newest in
    use.
    `probes` is {host: result of host_probe}; versions of brokers that are not in it are unknown. `registered` are the
    ids of the brokers that are up.
    """
    checked = [versions_of(broker, probes[broker.name]) for broker in model.brokers if broker.name in probes]
    installed = [versions for versions in checked if minor(versions.running_version) != NONE]
    outside = (broker for broker in model.brokers if broker.name not in probes)
    excluded = [broker.name for broker in sorted(outside, key=lambda broker: str(broker.number) not in registered)]
    if not installed:
        if excluded and (registered or any(_has_served(probes[versions.broker.name]) for versions in checked)):
            for versions in checked:
                yield versions.broker.report(
                    PROTOCOL_UNKNOWN,
                    "kafka_version",
                    versions.version,
                    excluded=excluded,
                    limit=f"{versions.broker.name},{excluded[0]}",
                )
        return
    oldest = min(installed, key=lambda versions: minor(versions.running_version))
    newest = max(installed, key=lambda versions: versions.running_protocol)
    for versions in checked:
        declared = minor(versions.version)
        if NONE in (declared, versions.protocol) or versions.protocol > declared:
            continue  # the rules of the inventory report these
        if declared < newest.running_protocol:
            yield _rollback(versions, newest)
        elif versions.protocol < newest.running_protocol:
            yield _lowered(versions, newest)
        elif versions.protocol > minor(oldest.running_version):
            yield _too_new(versions, oldest)
        elif versions.running_protocol != NONE and versions.protocol > versions.running_protocol:
            yield from _with_binaries(versions, installed, excluded)


def _has_served(probe: Mapping[str, Any]) -> bool:
    """Tell whether the disks of a host contain data of a broker; the host may have been reinstalled since."""
    return any(meta.get("cluster.id") for meta in probe.get("meta_properties", {}).values())


def _rollback(versions: BrokerVersions, newest: BrokerVersions) -> Problem:
    return versions.broker.report(
        KAFKA_ROLLBACK,
        "kafka_version",
        versions.version,
        other=newest.broker.name,
        protocol=text(newest.running_protocol),
        running=newest.running_version,
    )


def _lowered(versions: BrokerVersions, newest: BrokerVersions) -> Problem:
    return versions.broker.report(
        PROTOCOL_LOWERED,
        PLACE,
        text(versions.protocol),
        other=newest.broker.name,
        protocol=text(newest.running_protocol),
    )


def _too_new(versions: BrokerVersions, oldest: BrokerVersions) -> Problem:
    return versions.broker.report(
        PROTOCOL_TOO_NEW,
        PLACE,
        text(versions.protocol),
        other=oldest.broker.name,
        running=oldest.running_version,
        pin=text(minor(oldest.running_version)),
        version=versions.version,
    )


def _with_binaries(versions: BrokerVersions, installed: list[BrokerVersions], excluded: list[str]) -> Iterator[Problem]:
    """Yield a problem if a broker's protocol is raised before all brokers run their declared version.

    `excluded` are the brokers outside this run, whose versions are unknown.
    """
    others = [other for other in installed if not other.is_current]
    broker, value, protocol = versions.broker, text(versions.protocol), text(versions.running_protocol)
    if others:
        yield broker.report(
            PROTOCOL_WITH_BINARIES,
            PLACE,
            value,
            other=others[0].broker.name,
            running=others[0].running_version,
            version=others[0].version,
            protocol=protocol,
            declared=versions.version,
        )
    elif excluded:
        yield broker.report(PROTOCOL_WITH_BINARIES_EXCLUDED, PLACE, value, excluded=excluded, protocol=protocol)
