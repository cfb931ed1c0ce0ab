"""Lists and dicts that are said in two places of a host: Ansible takes one of them, and the other is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, project_variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topology import DATACENTER_GROUP, RACK_TWICE
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

SAID_ELSEWHERE = "kafka_config"  # as CONFIG_REPLACED
# What lacks of the vault is said where it is wanted; sources that replace others are documented as that.
WHOLE = ("vault", "firewall_extra_sources", SAID_ELSEWHERE)

TWO_PLACES = "in group {one_group}, which sets {other_place}, and in group {other_group}, which overrides it"
TWO_PLACES_ADVICE = "remove the host from {other_group} if it is in {other_place}, else remove it from {one_group}"
# What is reported of a host whose groups set two places, by the variable.
PLACES = {
    "datacenter": DATACENTER_GROUP.variant(message=TWO_PLACES, advice=TWO_PLACES_ADVICE),
    "rack": RACK_TWICE.variant(message=TWO_PLACES, advice=TWO_PLACES_ADVICE),
}

# What playbooks take from a broker.
LISTS = ("kafka_topics", "kafka_users", "kafka_acls", "kafka_quotas")


def rivals(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield what of one group's lists and dicts the other's does not have."""
    everything = {
        group: {
            name: value
            for name, value in found.items()
            if name in model.known - (project_variables() if group == "all" else set())
            and isinstance(value, (list, Mapping))
        }
        for group, found in reader.said_by_groups().items()
    }
    yield from _replaced(reader, model, {group: found for group, found in everything.items() if found})
    yield from _unread_by_brokers(reader, model, everything.get("all", {}))
    yield from _two_places(reader, model)
    said = {
        group: {name: value for name, value in found.items() if name != SAID_ELSEWHERE}
        for group, found in everything.items()
        if group != "all"
    }
    said = {group: found for group, found in said.items() if found}
    if len(said) < 2:
        return
    yield from _covered(reader, model, said)
    for host in model.function_hosts:
        raw = reader.raw(host)
        for one, other in reader.rivals(host):
            for name in said.get(one, {}).keys() & said.get(other, {}).keys():
                lost = _lost(said[one][name], said[other][name])
                if lost and raw.get(name) == said[other][name]:
                    wrong = f"groups {one} and {other} both write it, and {other} goes first: {_are_lost(lost)}"
                    advice = "write it for one of the two, with all that is meant, or for the host itself"
                    if _by_mistake(model, one, other):
                        advice = f"take the host out of {one} or {other}, or {advice}"
                    warning = isinstance(said[one][name], Mapping)
                    yield Problem((host,), name, "GROUP_RIVALS", None, wrong, advice, warning=warning)


def _by_mistake(model: Model, *groups: str) -> bool:
    """Tell whether a host is alone in two groups, of which none is one that hosts have besides others."""
    both = set.intersection(*(set(model.all_groups.get(group, ())) for group in groups))
    besides = any(group.startswith("rack_") or group in functions() for group in groups)
    return len(both) == 1 and not besides


def _two_places(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield hosts of two groups that say where it stands, each otherwise: the last by name goes before."""
    every = reader.said_by_groups()
    for name, kind in PLACES.items():
        said = {group: found[name] for group, found in every.items() if name in found and group != "all"}
        told = Counter(host for group in said for host in model.all_groups.get(group, ()))
        for host in (host for host in model.function_hosts if told[host] > 1):
            pairs = [(one, other) for one, other in reader.rivals(host) if one in said and other in said]
            for one, other in pairs:
                racks = one.startswith("rack_") and other.startswith("rack_")  # said as RACK_TWICE
                if said[one] != said[other] and reader.raw(host).get(name) == said[other] and not racks:
                    yield kind.problem(
                        (host,), name, said[other], one_group=one, other_group=other, other_place=said[one]
                    )


def _replaced(reader: Reader, model: Model, said: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield dicts of a group that a group inside it, or the host itself, says anew with less in them."""
    names = {name for found in said.values() for name, value in found.items() if isinstance(value, Mapping)} - {*WHOLE}
    for host in model.function_hosts if names else ():
        raw, rivals = reader.raw(host), set(reader.rivals(host))
        groups = [group for group in reader.groups_of(host) if group in said]
        for name in sorted(names & raw.keys()):
            places = [(group, said[group][name]) for group in groups if isinstance(said[group].get(name), Mapping)]
            if places and isinstance(raw[name], Mapping) and raw[name] != places[-1][1]:
                places.append(("", raw[name]))
            for (one, weaker), (other, stronger) in pairwise(places):
                lost = _keys(weaker, stronger)
                if lost and (one, other) not in rivals:
                    what = f"what group {other} says" if other else "what the host itself says"
                    wrong = f"{what} replaces all that group {one} says: {_are_lost(lost)}"
                    advice = f"repeat there what of it is meant, or take {name} out of one of the two"
                    yield Problem((host,), name, "DICT_REPLACED", None, wrong, advice, warning=True)


def _unread_by_brokers(reader: Reader, model: Model, of_all: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield lists of all hosts that the brokers have otherwise: playbooks take them from a broker, and from no other.

    What only joins lists by a template is no list as it is written.
    """
    for name in LISTS:
        lists = [(broker.name, reader.raw(broker.name).get(name)) for broker in model.brokers]
        found = [(host, _lost(of_all[name], value)) for host, value in lists if of_all.get(name) and _entries(value)]
        lost = next((names for _, names in found if names), [])
        hosts = tuple(host for host, names in found if names)
        if lost and len(hosts) == len(model.brokers):  # else BROKERS_DIFFER
            wrong = f"it takes the place of the list that all hosts have, and nobody reads that: {_are_lost(lost)}"
            yield Problem(hosts, name, "RESOURCES_REPLACED", None, wrong, "join the two, in group_vars/all")


def _are_lost(names: Sequence[str]) -> str:
    """Return `a is lost`, `a, b are lost`; of many the first three."""
    shown = f"{', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"
    return f"{shown} {'is' if len(names) == 1 else 'are'} lost"


def _entries(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value)


def _keys(weaker: Mapping[Any, Any], stronger: Mapping[Any, Any], above: str = "") -> list[str]:
    """Return what stands in the weaker alone, in dicts inside it too."""
    found = []
    for key, value in weaker.items():
        place = f"{above}[{key}]" if above else str(key)
        if key not in stronger:
            found.append(place)
        elif isinstance(value, Mapping) and isinstance(stronger[key], Mapping):
            found += _keys(value, stronger[key], place)
    return found


def _covered(reader: Reader, model: Model, said: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield lists of a group of which no host has the group's, because groups inside it all have their own."""
    for group, found in said.items():
        hosts = [host for host in model.all_groups.get(group, ()) if host in model.function_hosts]
        for name, value in found.items():
            entries = isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value)
            inner = [other for other, told in said.items() if name in told and other != group]
            inner = [other for other in inner if set(model.all_groups[other]) < set(hosts)]
            if entries and inner and hosts and all(reader.raw(host).get(name) != value for host in hosts):
                lost = ", ".join(_lost(value, None))
                wrong = f"groups {' and '.join(sorted(inner))} inside it have their own, so no host takes {lost}"
                advice = f"write {lost} there, or take it out"
                yield Problem(tuple(hosts), name, "GROUP_RIVALS", None, wrong, advice)


def _lost(weaker: Any, stronger: Any) -> list[str]:
    """Return what stands in the weaker alone; entries of a list by their names, a list of plain values has none."""
    if isinstance(weaker, Mapping):
        return [str(key) for key in weaker if not isinstance(stronger, Mapping) or key not in stronger]
    kept = [_identity(entry) for entry in stronger] if isinstance(stronger, list) else []
    entries = [entry for entry in weaker if isinstance(entry, Mapping) and _identity(entry) not in kept]
    return [
        str(next((entry[key] for key in ("name", "principal", "port", "path") if key in entry), "an entry"))
        for entry in entries
    ]


def _identity(entry: Any) -> Any:
    return entry.get("name", entry) if isinstance(entry, Mapping) else entry
