"""Rules on what a timer of the admin host does by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts
from ansible_collections.millrace.kafka.plugins.plugin_utils.calendar_events import comes, faults
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

WORD = "rebalance_timer"


def rebalance(model: Model) -> Iterator[Problem]:
    """A timer has a host, a time, a rate, and a limit where it moves replicas by itself."""
    said = [machine for machine in model.machines.values() if machine.inputs.mapping(WORD)]
    admins = model.all_groups.get("admin", [])
    if said and not admins:
        wrong = "no host is in the group admin, so no timer is anywhere"
        advice = "put a host there that may ask brokers (docs/control_node.md), or take it out"
        yield Problem(names(said), WORD, "TIMER_NOWHERE", None, wrong, advice)
    elif said and admins[0] not in names(said):
        wrong = f"is not said for {admins[0]}, the first host of the group admin, which alone has the timer"
        yield Problem(names(said), WORD, "TIMER_NOWHERE", None, wrong, "say it for all hosts, or for the group admin")
    elif said and not model.brokers:
        wrong = "there is no broker in this inventory"
        yield Problem(names(said), WORD, "TIMER_NOWHERE", None, wrong, "declare the brokers, or take it out")
    elif said and (asks := _asks(model.machines[admins[0]])) and asks != _asks(model.brokers[0]):
        wrong = f"not what brokers have, and {admins[0]} would ask others than all playbooks do"
        yield Problem((admins[0],), "kafka_admin_listeners", "TIMER_LISTENERS", None, wrong, "say it for all hosts")
    for machine in said:
        for key, judge in (("on_calendar", _time), ("rate", _rate), ("at_most", _limit)):
            told = machine.inputs.mapping(WORD).get(key)
            if not isinstance(told, (bool, Mapping, list, tuple)):  # reported with the word
                yield from judge(machine, None if told is None else str(told))


def _asks(machine: Machine) -> Mapping[Any, Any]:
    return machine.inputs.mapping("kafka_admin_listeners")


def _time(machine: Machine, text: str | None) -> Iterator[Problem]:
    wrong = "; ".join(faults(text)) if text is not None else "it does not say when"
    if text and not wrong and not comes(text, datetime.now(UTC).date()):
        wrong = "never comes: no such day is ahead"
    if wrong:
        advice = "write a calendar event of systemd.time(7), as Sun 03:00"
        yield machine.problem(f"{WORD}.on_calendar", "TIMER_CALENDAR", text, wrong, advice)


def _rate(machine: Machine, text: str | None) -> Iterator[Problem]:
    wrong = "not said, and moving replicas can take all that disks and networks have"
    if text is not None:
        try:
            amounts.rate(text)
            return
        except ValueError:
            wrong = "no rate that brokers can keep to"
    advice = "write how many bytes a second each broker may send, and take, as 50MB"
    yield machine.problem(f"{WORD}.rate", "TIMER_RATE", text, wrong, advice)


def _limit(machine: Machine, text: str | None) -> Iterator[Problem]:
    wrong = ""
    if text is None and machine.inputs.mapping(WORD).get("run"):
        wrong = "it is to move replicas by itself, and nothing says how many bytes it may copy"
    try:
        if text is not None and amounts.bytes_of(text) < 1:
            wrong = "it could never copy anything"
    except ValueError:
        wrong = "no number of bytes"
    if wrong:
        advice = "write how many bytes one run may copy, as 20GB"
        yield machine.problem(f"{WORD}.at_most", "TIMER_LIMIT", text, wrong, advice)
