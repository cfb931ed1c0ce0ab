"""Filters for what Prometheus collects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def metrics_targets(
    hosts: Sequence[str],
    endpoints: Sequence[str],
    modules: Sequence[Mapping[str, int]],
    labels: Sequence[Mapping[str, str]],
) -> list[dict[str, Any]]:
    """Return the exporters of hosts as entries of prometheus_targets, sorted by module.

    `endpoints`, `modules` and `labels` have one item for each host: the address and port at which the role metrics
    serves it, the names of its exporters, and labels of all its metrics. Empty labels are left out.
    """
    found = [
        {"module": module, "target": endpoint, "labels": {"instance": host, **{k: v for k, v in own.items() if v}}}
        for host, endpoint, names, own in zip(hosts, endpoints, modules, labels, strict=True)
        for module in names
    ]
    return sorted(found, key=lambda one: str(one["module"]))


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {"metrics_targets": metrics_targets}
