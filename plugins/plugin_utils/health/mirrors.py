"""The section of the health page about mirrors: how far each flow is behind, and what it copies from where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import Section, table

BEHIND = 60.0
"""Seconds that a flow may be behind before the page reports a problem."""
SILENT, BEATS_MISSED = 60.0, 3
"""Seconds, and intervals of heartbeats, without a heartbeat of the workers before the page reports a problem."""


def mirrors(answer: Mapping[str, Any]) -> Section:
    """Return (lines of the section on mirrors, problems). `answer` is the result of the module kafka_mirrors.

    A flow is a problem if its source does not answer, its workers write no heartbeats, or its oldest record that is not
    copied yet is older than BEHIND seconds. Without flows, both lists are empty.
    """
    flows = answer.get("flows")
    if flows is None:
        return ([], [f"the progress of mirrors is not known: {answer['msg']}"]) if answer.get("msg") else ([], [])
    rows, problems = [], []
    for flow in flows:
        name, beat = f"mirror from {flow['source']}", flow["heartbeat"]
        problems += [f"{name}: {problem}" for problem in flow["problems"]]
        if flow["seconds"] > BEHIND:
            problems.append(
                f"{name} is {flow['seconds']:.0f} s behind ({flow['behind']} records): look at mirror-maker.service on "
                "its hosts"
            )
        if beat is None or beat > max(SILENT, BEATS_MISSED * flow["interval"]):
            since = "" if beat is None else f" for {beat:.0f} s"
            problems.append(f"{name}: its workers have written no heartbeat{since}")
        shown = "-" if beat is None else f"{beat:.0f} s ago"
        for topic in flow["topics"]:
            rows.append((flow["source"], topic["topic"], topic["behind"], f"{topic['seconds']:.1f} s", shown))
        if not flow["topics"]:
            rows.append((flow["source"], "?" if flow["silent"] else "none", "-", "-", shown))
    return ["Mirrors", *table(("from", "topic", "records behind", "time behind", "heartbeat"), rows)], problems
