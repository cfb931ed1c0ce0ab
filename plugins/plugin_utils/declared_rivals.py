"""Lists and dicts that two groups of a host both write: Ansible takes one of them, and the other is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

SAID_ELSEWHERE = "kafka_config"  # as CONFIG_REPLACED


def rivals(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield what of one group's lists and dicts the other's does not have."""
    said = {
        group: {
            name: value
            for name, value in found.items()
            if name in model.known - {SAID_ELSEWHERE} and isinstance(value, (list, Mapping))
        }
        for group, found in reader.said_by_groups().items()
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
                    wrong = f"groups {one} and {other} both write it, and {other} goes first: {', '.join(lost)} is lost"
                    advice = "write it for one of the two, with all that is meant, or for the host itself"
                    warning = isinstance(said[one][name], Mapping)
                    yield Problem((host,), name, "GROUP_RIVALS", None, wrong, advice, warning=warning)


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
