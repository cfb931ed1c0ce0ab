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
