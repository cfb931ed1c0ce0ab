"""Rules on rebalance_timer: the systemd timer of the admin host that moves replicas to balance brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts
from ansible_collections.millrace.kafka.plugins.plugin_utils.calendar_events import faults, occurs
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

TIMER = "rebalance_timer"

TIMER_NOWHERE = ProblemKind(
    "TIMER_NOWHERE",
    "no host is in the group admin, so no host has the timer",
    "put a host that may connect to brokers into the group admin (docs/control_node.md), or remove rebalance_timer",
)
TIMER_NOWHERE_FIRST = TIMER_NOWHERE.variant(
    message="not set for {admin}, the first host of the group admin: only this host has the timer",
    advice="set it for all hosts, or for the group admin",
)
TIMER_NOWHERE_BROKERS = TIMER_NOWHERE.variant(
    message="this inventory has no brokers", advice="declare the brokers, or remove it"
)
TIMER_LISTENERS = ProblemKind(
    "TIMER_LISTENERS",
    "differs from the value of the brokers: the timer on {admin} would connect to other brokers than the playbooks do",
    "set one value in group all",
)


def rebalance(model: Model) -> Iterator[Problem]:
    """Yield a problem for each rebalance_timer without a host, a valid time, a rate, or a limit of bytes.

    The limit is required only if the timer moves replicas (run: true).
    """
    machines = [machine for machine in model.machines.values() if machine.inputs.mapping(TIMER)]
    admins = model.all_groups.get("admin", [])
    if machines and not admins:
        yield TIMER_NOWHERE.problem(names(machines), TIMER)
    elif machines and admins[0] not in names(machines):
        yield TIMER_NOWHERE_FIRST.problem(names(machines), TIMER, admin=admins[0])
    elif machines and not model.brokers:
        yield TIMER_NOWHERE_BROKERS.problem(names(machines), TIMER)
    elif machines and (own := _listeners(model.machines[admins[0]])) and own != _listeners(model.brokers[0]):
        yield TIMER_LISTENERS.problem((admins[0],), "kafka_admin_listeners", admin=admins[0])
    for machine in machines:
        for key, rule in (("on_calendar", _time), ("rate", _rate), ("at_most", _limit)):
            value = machine.inputs.mapping(TIMER).get(key)
            if not isinstance(value, (bool, Mapping, list, tuple)):  # reported with the variable
                yield from rule(machine, None if value is None else str(value))


def _listeners(machine: Machine) -> Mapping[Any, Any]:
    return machine.inputs.mapping("kafka_admin_listeners")


TIMER_CALENDAR = ProblemKind(
    "TIMER_CALENDAR",
    "not set: the timer has no time",
    "use a calendar event of systemd.time(7), such as Sun 03:00",
)
TIMER_CALENDAR_FORM = TIMER_CALENDAR.variant(message="{reasons}")
TIMER_CALENDAR_NEVER = TIMER_CALENDAR.variant(message="never occurs: no such day is in the future")


def _time(machine: Machine, text: str | None) -> Iterator[Problem]:
    reasons = list(faults(text)) if text is not None else []
    kind = TIMER_CALENDAR if text is None else TIMER_CALENDAR_FORM if reasons else None
    if text and not reasons and not occurs(text, datetime.now(UTC).date()):
        kind = TIMER_CALENDAR_NEVER
    if kind:
        yield machine.report(kind, f"{TIMER}.on_calendar", text, reasons=" and ".join(reasons))


TIMER_RATE = ProblemKind(
    "TIMER_RATE",
    "not set: moving replicas could use the whole capacity of disks and networks",
    "set the bytes per second that each broker may send and receive, such as 50MB",
)
TIMER_RATE_FORM = TIMER_RATE.variant(message="not a rate that brokers can throttle to")


def _rate(machine: Machine, text: str | None) -> Iterator[Problem]:
    kind = TIMER_RATE
    if text is not None:
        try:
            amounts.rate(text)
            return
        except ValueError:
            kind = TIMER_RATE_FORM
    yield machine.report(kind, f"{TIMER}.rate", text)


TIMER_LIMIT = ProblemKind(
    "TIMER_LIMIT",
    "not set, but with run: true the timer moves replicas without a limit",
    "set how many bytes one run may copy, such as 20GB",
)
TIMER_LIMIT_ZERO = TIMER_LIMIT.variant(message="too little to copy anything")
TIMER_LIMIT_FORM = TIMER_LIMIT.variant(message="not a number of bytes")


def _limit(machine: Machine, text: str | None) -> Iterator[Problem]:
    kind = TIMER_LIMIT if text is None and machine.inputs.mapping(TIMER).get("run") else None
    try:
        if text is not None and amounts.bytes_of(text) < 1:
            kind = TIMER_LIMIT_ZERO
    except ValueError:
        kind = TIMER_LIMIT_FORM
    if kind:
        yield machine.report(kind, f"{TIMER}.at_most", text)
