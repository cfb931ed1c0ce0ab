"""The protocol that brokers speak among themselves (inter.broker.protocol.version), beside the binaries that they run.

A broker speaks the protocol of its own version unless its file pins an older one. So over minors an upgrade has two
steps: the binaries with the protocol pinned to that of the old ones, and then, in a run of its own, the protocol. The
second cannot be taken back (https://kafka.apache.org/39/documentation.html#upgrade).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

PROTOCOL = "inter.broker.protocol.version"
PLACE = f"kafka_config[{PROTOCOL}]"
Minor = tuple[int, int]
NONE: Minor = (0, 0)


def minor(version: Any) -> Minor:
    """Return major and minor of a version, as 3.9, 3.9.2 or 3.9-IV0; (0, 0) for what is none."""
    found = re.match(r"(\d+)\.(\d+)", str(version))
    return (int(found[1]), int(found[2])) if found else NONE


def text(version: Minor) -> str:
    """Return it as a file says it."""
    return f"{version[0]}.{version[1]}"


@dataclass(frozen=True)
class Standing:
    """One broker: what it is to run and speak after this run, and what it runs and speaks now, '' and (0, 0) for none.

    `runs` is the version of its process, or where it is down the one that it would start.
    """

    broker: Broker
    version: str
    protocol: Minor
    runs: str
    speaks: Minor

    @property
    def settled(self) -> bool:
        """Whether it runs already what it is to run."""
        return self.version == self.runs or self.version.startswith((f"{self.runs}-", f"{self.runs}."))


def standing(broker: Broker, probe: Mapping[str, Any]) -> Standing:
    """Return how a broker stands, by what its host answered."""
    found = probe.get("releases", {}).get("kafka", {})
    runs = str(found.get("running") or found.get("installed") or "")
    version, said = str(broker.inputs.get("kafka_version")), broker.config.get(PROTOCOL)
    speaks = minor(found.get("protocol") or runs) if runs else NONE
    return Standing(broker, version, minor(version if said is None else said), runs, speaks)


def protocols(
    model: Model, probes: Mapping[str, Mapping[str, Any]], registered: Collection[str] = ()
) -> Iterator[Problem]:
    """No broker speaks what another does not understand, and none forgets what it has written.

    Brokers that are not of this run, or of which nothing is installed, are known by name alone. `registered` is what
    kafka_cluster answers: ids of brokers that live.
    """
    found = [standing(broker, probes[broker.name]) for broker in model.brokers if broker.name in probes]
    there = [one for one in found if minor(one.runs) != NONE]
    absent = (broker for broker in model.brokers if broker.name not in probes)
    strangers = [broker.name for broker in sorted(absent, key=lambda one: str(one.number) not in registered)]
    if not there:
        if strangers and (registered or any(_served(probes[one.broker.name]) for one in found)):
            yield from (_unknown(one, strangers) for one in found)
        return
    oldest = min(there, key=lambda one: minor(one.runs))
    latest = max(there, key=lambda one: one.speaks)
    for one in found:
        declared = minor(one.version)
        if NONE in (declared, one.protocol) or one.protocol > declared:
            continue  # said of the inventory
        if declared < latest.speaks:
            yield _no_way_back(one, latest)
        elif one.protocol < latest.speaks:
            yield _lowered(one, latest)
        elif one.protocol > minor(oldest.runs):
            yield _not_understood(one, oldest)
        elif one.speaks != NONE and one.protocol > one.speaks:
            yield from _with_binaries(one, there, strangers)


def _served(probe: Mapping[str, Any]) -> bool:
    """Tell whether a broker has served from the disks of a host, which may have been installed anew since."""
    return any(meta.get("cluster.id") for meta in probe.get("meta_properties", {}).values())


def _unknown(one: Standing, strangers: list[str]) -> Problem:
    names = ", ".join(strangers)
    wrong = (
        f"nothing is installed here, the cluster is there already, and what {names} runs is not known: not of this "
        "run (--limit)"
    )
    advice = f"run for all brokers, without --limit, or for one that runs as well (-l {one.broker.name},{strangers[0]})"
    return one.broker.problem("kafka_version", "PROTOCOL_UNKNOWN", one.version, wrong, advice)


def _no_way_back(one: Standing, latest: Standing) -> Problem:
    wrong = f"{_who(latest)} speaks protocol {text(latest.speaks)}, and this version could not read what was written"
    advice = f"there is no way back below {text(latest.speaks)}: stay with {latest.runs}, or another from there on"
    return one.broker.problem("kafka_version", "KAFKA_ROLLBACK", one.version, wrong, advice)


def _lowered(one: Standing, latest: Standing) -> Problem:
    wrong = f"{_who(latest)} speaks {text(latest.speaks)}, and a protocol is not taken back once it was spoken"
    advice = f'take it out, or write "{text(latest.speaks)}"'
    return one.broker.problem(PLACE, "PROTOCOL_LOWERED", text(one.protocol), wrong, advice)


def _not_understood(one: Standing, oldest: Standing) -> Problem:
    wrong = f"{_who(oldest)} runs {oldest.runs}, and would not understand the first broker that is restarted"
    pin = text(minor(oldest.runs))
    advice = f'pin it first, kafka_config: {{{PROTOCOL}: "{pin}"}}, until all run {one.version}; then take it out'
    return one.broker.problem(PLACE, "PROTOCOL_TOO_NEW", text(one.protocol), wrong, advice)


def _with_binaries(one: Standing, there: list[Standing], strangers: list[str]) -> Iterator[Problem]:
    """A protocol is raised when all brokers run what they are to run, and in a run that changes nothing of that."""
    others = [other for other in there if not other.settled]
    if others:
        wrong = f"{_who(others[0])} still runs {others[0].runs}, and this run would bring {others[0].version} as well"
    elif strangers:
        names = ", ".join(strangers)
        wrong = f"it would be raised, and what {names} runs is not known: not of this run (--limit)"
    else:
        return
    kept = text(one.speaks)
    advice = f'leave "{kept}" in kafka_config until all brokers run {one.version}, then take it out in a run of its own'
    if strangers and not others:
        advice = f'raise it in a run for all brokers, without --limit; until then write "{kept}"'
    yield one.broker.problem(PLACE, "PROTOCOL_WITH_BINARIES", text(one.protocol), wrong, advice)


def _who(one: Standing) -> str:
    return one.broker.name
