"""Finds lists and dicts that two groups of a host set: Ansible uses only one, and the entries of the other are lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, project_variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topology import DATACENTER_GROUP, RACK_TWICE
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind, written
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import same

CONFIG = "kafka_config"  # reported as CONFIG_REPLACED
# Dicts that may be replaced: a missing key of the vault is reported where it is used, and the sources are documented.
MAY_BE_REPLACED = ("vault", "firewall_extra_sources", CONFIG)

TWO_PLACES = (
    "the host is in group {weaker}, which sets {other_place}, and in group {stronger}, which overrides this value"
)
TWO_PLACES_ADVICE = "remove the host from {stronger} if it is in {other_place}, else remove it from {weaker}"
# By variable, the kind of the problem of a host in two places; `groups` is a detail of both.
PLACES = {
    "datacenter": DATACENTER_GROUP.variant(message=TWO_PLACES, advice=TWO_PLACES_ADVICE),
    "rack": RACK_TWICE.variant(message=TWO_PLACES, advice=TWO_PLACES_ADVICE),
}

# Lists that playbooks read from a broker.
BROKER_LISTS = ("kafka_topics", "kafka_users", "kafka_acls", "kafka_quotas")

Values = Mapping[str, Mapping[str, Any]]
"""{group: {variable: list or dict}}."""


def conflicts(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield a problem for each list or dict of a group whose entries are lost because another value overrides it.

    The overriding value belongs to another group or to a host.
    """
    values = {
        group: {
            name: value
            for name, value in variables.items()
            if name in model.known - (project_variables() if group == "all" else set())
            and isinstance(value, (list, Mapping))
        }
        for group, variables in reader.values_by_group().items()
    }
    yield from _replaced_dicts(reader, model, {group: variables for group, variables in values.items() if variables})
    yield from _unread_by_brokers(reader, model, values.get("all", {}))
    yield from _two_places(reader, model)
    values = {
        group: {name: value for name, value in variables.items() if name != CONFIG}
        for group, variables in values.items()
        if group != "all"
    }
    values = {group: variables for group, variables in values.items() if variables}
    if len(values) < 2:
        return
    yield from _covered_lists(reader, model, values)
    yield from _rivals(reader, model, values)


GROUP_RIVALS = ProblemKind(
    "GROUP_RIVALS",
    "groups {weaker} and {stronger} both set this variable, and {stronger} overrides {weaker}: the host loses {lost}",
    "set it in one of the two groups, with all entries, or for the host itself",
)
GROUP_RIVALS_HOST = GROUP_RIVALS.variant(
    advice="remove the host from {weaker} or {stronger}, or set it in one of the two groups, with all entries, or for "
    "the host itself"
)
GROUP_RIVALS_COVERED = GROUP_RIVALS.variant(
    message="groups {inner} inside this group set their own value, so no host has {lost}",
    advice="set {lost} in these groups, or remove it",
)


def _rivals(reader: Reader, model: Model, values: Values) -> Iterator[Problem]:
    """Yield a problem for each list or dict that two groups set, where neither group contains the other.

    `values` is {group: {variable: list or dict}}.
    """
    for host in model.function_hosts:
        raw = reader.raw(host)
        for weaker, stronger in reader.unrelated_groups(host):
            for name in values.get(weaker, {}).keys() & values.get(stronger, {}).keys():
                lost = _lost_entries(values[weaker][name], values[stronger][name])
                if lost and raw.get(name) == values[stronger][name]:
                    kind = GROUP_RIVALS_HOST if _is_misplaced(model, weaker, stronger) else GROUP_RIVALS
                    warning = isinstance(values[weaker][name], Mapping)
                    yield kind.problem(
                        (host,), name, warning=warning, weaker=weaker, stronger=stronger, lost=_first(lost)
                    )


def _is_misplaced(model: Model, *groups: str) -> bool:
    """Tell whether exactly one host is in all these groups, probably by mistake.

    Groups of racks and of functions do not count: a host is in such a group in addition to other groups.
    """
    both = set.intersection(*(set(model.all_groups.get(group, ())) for group in groups))
    is_additional = any(group.startswith("rack_") or group in functions() for group in groups)
    return len(both) == 1 and not is_additional


def _two_places(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield a problem for each host that is in two groups with different datacenters or racks."""
    every = reader.values_by_group()
    for name, kind in PLACES.items():
        places = {group: variables[name] for group, variables in every.items() if name in variables and group != "all"}
        count = Counter(host for group in places for host in model.all_groups.get(group, ()))
        for host in (host for host in model.function_hosts if count[host] > 1):
            for weaker, stronger in reader.unrelated_groups(host):
                if weaker not in places or stronger not in places:
                    continue
                are_racks = weaker.startswith("rack_") and stronger.startswith("rack_")  # topology.rack_groups
                is_value = reader.raw(host).get(name) == places[stronger]
                if places[weaker] != places[stronger] and is_value and not are_racks:
                    yield kind.problem(
                        (host,),
                        name,
                        places[stronger],
                        groups=(weaker, stronger),
                        weaker=weaker,
                        stronger=stronger,
                        other_place=places[weaker],
                    )


DICT_REPLACED = ProblemKind(
    "DICT_REPLACED",
    "{stronger} replaces the whole dict of group {weaker}, and loses {lost}",
    "add the keys that you need to that value, or remove {name} from one of the two",
    warning=True,
)


def _replaced_dicts(reader: Reader, model: Model, values: Values) -> Iterator[Problem]:
    """Yield a warning for each dict of a group that a child group, or the host itself, overrides without all its keys.

    `values` is {group: {variable: list or dict}}.
    """
    names = {
        name for variables in values.values() for name, value in variables.items() if isinstance(value, Mapping)
    } - {*MAY_BE_REPLACED}
    for host in model.function_hosts if names else ():
        raw, unrelated = reader.raw(host), set(reader.unrelated_groups(host))
        groups = [group for group in reader.groups_of(host) if group in values]
        for name in sorted(names & raw.keys()):
            places = [(group, values[group][name]) for group in groups if isinstance(values[group].get(name), Mapping)]
            if places and isinstance(raw[name], Mapping) and not same(raw[name], places[-1][1]):
                places.append(("", raw[name]))
            for (weaker, weak_value), (stronger, strong_value) in pairwise(places):
                lost = _missing_keys(weak_value, strong_value)
                if lost and (weaker, stronger) not in unrelated:
                    yield DICT_REPLACED.problem(
                        (host,),
                        name,
                        stronger=f"the value of group {stronger}" if stronger else "the value of the host",
                        weaker=weaker,
                        lost=_first(lost),
                        name=name,
                    )


RESOURCES_REPLACED = ProblemKind(
    "RESOURCES_REPLACED",
    "this list overrides the list of all hosts, and playbooks read the list of a broker, which does not contain {lost}",
    "join the two lists, in group_vars/all",
)


def _unread_by_brokers(reader: Reader, model: Model, of_all: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each list of group `all` that every broker overrides: playbooks read it from a broker only.

    `of_all` is {variable: list or dict} of group `all`. A value that is a template is not a list yet, so it is skipped.
    """
    for name in BROKER_LISTS:
        lists = [(broker.name, reader.raw(broker.name).get(name)) for broker in model.brokers]
        lost_by_host = [
            (host, _lost_entries(of_all[name], value))
            for host, value in lists
            if of_all.get(name) and _has_entries(value)
        ]
        lost = next((names for _, names in lost_by_host if names), [])
        hosts = tuple(host for host, names in lost_by_host if names)
        if lost and len(hosts) == len(model.brokers):  # else BROKERS_DIFFER
            yield RESOURCES_REPLACED.problem(hosts, name, lost=_first(lost))


def _first(names: Sequence[str]) -> str:
    """Return the first three names as text, followed by `...` if there are more."""
    return f"{', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"


def _has_entries(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value)


def _missing_keys(weaker: Mapping[Any, Any], stronger: Mapping[Any, Any], above: str = "") -> list[str]:
    """Return the keys of `weaker` that `stronger` does not have, also in nested dicts, as paths such as `a[b]`.

    `above` is the path of the two dicts.
    """
    missing = []
    for key, value in weaker.items():
        place = f"{above}[{key}]" if above else str(key)
        if key not in stronger:
            missing.append(place)
        elif isinstance(value, Mapping) and isinstance(stronger[key], Mapping):
            missing += _missing_keys(value, stronger[key], place)
    return missing


def _covered_lists(reader: Reader, model: Model, values: Values) -> Iterator[Problem]:
    """Yield a problem for each list of a group that no host gets, because child groups set their own list.

    `values` is {group: {variable: list or dict}}.
    """
    for group, variables in values.items():
        hosts = [host for host in model.all_groups.get(group, ()) if host in model.function_hosts]
        for name, value in variables.items():
            inner = [other for other, others in values.items() if name in others and other != group]
            inner = [other for other in inner if set(model.all_groups[other]) < set(hosts)]
            if not (value and _has_entries(value) and inner and hosts):
                continue
            if not any(same(reader.raw(host).get(name), value) for host in hosts):
                lost = _lost_entries(value, None)
                yield GROUP_RIVALS_COVERED.problem(tuple(hosts), name, inner=sorted(inner), lost=lost)


def _lost_entries(weaker: Any, stronger: Any) -> list[str]:
    """Return names of the entries of a list, or keys of a dict, that `weaker` has and `stronger` does not.

    Only entries that are dicts count.
    """
    if isinstance(weaker, Mapping):
        return [str(key) for key in weaker if not isinstance(stronger, Mapping) or key not in stronger]
    kept = [_identity(entry) for entry in stronger] if isinstance(stronger, list) else []
    entries = [entry for entry in weaker if isinstance(entry, Mapping) and _identity(entry) not in kept]
    return list(dict.fromkeys(map(_title, entries)))


def _identity(entry: Any) -> Any:
    """Return what identifies an entry of a list.

    This is its name, the user and client of a quota, or the whole entry of an ACL, whose name is that of its resource.
    """
    if not isinstance(entry, Mapping) or "principal" in entry:
        return entry
    quota = {key: entry[key] for key in ("user", "client_id") if key in entry}
    return entry.get("name", quota or entry)


def _title(entry: Mapping[str, Any]) -> str:
    """Return a text that names an entry: an ACL by its principal and resource, a quota by its user and client."""
    if "principal" in entry:
        resource = " ".join(str(entry[key]) for key in ("resource", "name") if entry.get(key))
        return f"{entry['principal']}{f' on {resource}' if resource else ''}"
    if own := next((entry[key] for key in ("name", "port", "path") if key in entry), None):
        return str(own)
    of_quota = " ".join(f"{key.replace('_', ' ')} {entry[key]}" for key in ("user", "client_id") if entry.get(key))
    return of_quota or written(entry)
