"""Reads consumer groups from their coordinators, with kafka-python.

librdkafka 2.16.1 ends the whole process if the connection to a coordinator breaks while such a request is sent
(github.com/confluentinc/librdkafka/issues/4605).
"""

from __future__ import annotations

import struct
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin, AdminError, refused
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Group

STATES = {"PreparingRebalance": "PREPARING_REBALANCING", "CompletingRebalance": "COMPLETING_REBALANCING"}
"""Names of states that are not those of the protocol in capital letters."""
MOVING = (14, 15, 16)
"""Codes of a coordinator that loads, is not available, or is another broker now (org.apache.kafka Errors)."""
PAUSE = 0.3
"""Seconds until a coordinator that moves is asked again."""


def read(admin: Admin, wanted: Iterable[str], seconds: float = ASK) -> tuple[dict[str, Group], dict[str, AdminError]]:
    """Return {name: group with its members and committed offsets}, and {name: why it could not be read}.

    An unknown name gets a group in the state DEAD. Groups whose coordinator moves or does not answer are asked for
    again within `seconds`. Raises ImportError without kafka-python.
    """
    found, failed, deadline = dict[str, Group](), dict[str, AdminError](), time.monotonic() + seconds
    left = list(dict.fromkeys(wanted))
    while left:
        some, errors = _once(admin, left, deadline)
        found |= some
        failed = {name: error for name, error in (failed | errors).items() if name not in found}
        left = [name for name, error in errors.items() if error.unsure]
        if left:
            with suppress(AdminError):
                admin.close()  # the next request makes new connections
            if time.monotonic() + PAUSE > deadline:
                break
            time.sleep(PAUSE)
    return found, failed


def _once(admin: Admin, names: list[str], deadline: float) -> tuple[dict[str, Group], dict[str, AdminError]]:
    """Ask once for groups; `unsure` is set in errors after which the same request may succeed."""
    from kafka.protocol.metadata import FindCoordinatorRequest

    def ask(request: Any, broker: int | None = None, parts: int = 1) -> Any:
        """Wait for an answer for one of `parts` equal parts of the time that is left, at least for a second."""
        seconds = max(1.0, (deadline - time.monotonic()) / parts)
        try:
            return kafka_python.of(admin).ask(request, min(ASK, seconds), broker)
        except AdminError as error:
            error.unsure = True
            raise

    found, failed, places = dict[str, Group](), dict[str, AdminError](), defaultdict[int, list[str]](list)
    try:
        places_found = ask(FindCoordinatorRequest(key_type=0, coordinator_keys=names, min_version=4)).coordinators
    except AdminError as error:
        return {}, dict.fromkeys(names, error)
    for one in places_found:
        if one.error_code:
            failed[one.key] = _refused(one)
        else:
            places[one.node_id].append(one.key)
    for number, (broker, its) in enumerate(places.items()):
        try:
            some, errors = _of_broker(partial(ask, parts=len(places) - number), broker, its)
        except AdminError as error:
            some, errors = {}, dict.fromkeys(its, error)
        found |= some
        failed |= errors
    return found, failed


def _of_broker(ask: Any, broker: int, names: list[str]) -> tuple[dict[str, Group], dict[str, AdminError]]:
    """Ask the coordinator of groups for them, with two requests."""
    from kafka.protocol.admin import DescribeGroupsRequest
    from kafka.protocol.consumer import OffsetFetchRequest

    kind = OffsetFetchRequest.OffsetFetchRequestGroup
    described = ask(DescribeGroupsRequest(groups=names, max_version=5), broker).groups
    asked = [kind(group_id=name, topics=None) for name in names]
    fetched = ask(OffsetFetchRequest(groups=asked, min_version=8, max_version=8), broker).groups
    failed = {one.group_id: _refused(one) for one in (*described, *fetched) if one.error_code}
    offsets = {one.group_id: one for one in fetched}
    found = {
        one.group_id: Group(one.group_id, _state(one.group_state), _members(one), _offsets(offsets[one.group_id]))
        for one in described
        if one.group_id not in failed
    }
    return found, failed


def _refused(entry: Any) -> AdminError:
    """Return the error of a coordinator, or of a group; `unsure` if the coordinator moves."""
    from kafka.errors import for_code

    message = getattr(entry, "error_message", None) or "the coordinator refuses the request"
    error = refused(f"{message} ({for_code(entry.error_code).__name__})")
    error.unsure = entry.error_code in MOVING
    return error


def _state(name: str) -> str:
    return STATES.get(name, name.upper())


def _members(group: Any) -> list[Mapping[str, Any]]:
    return [
        {
            "client_id": member.client_id,
            "host": member.client_host.lstrip("/"),
            "assigned": _assigned(member.member_assignment) if group.protocol_type == "consumer" else [],
        }
        for member in group.members
    ]


def _assigned(data: bytes | None) -> list[tuple[str, int]]:
    """Return the partitions of an assignment; one that cannot be read, as of another kind of client, has none."""
    from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

    if not data:
        return []
    try:
        return [(place.topic, place.partition) for place in ConsumerProtocolAssignment.decode(data).partitions()]
    except (struct.error, ValueError, IndexError):
        return []


def _offsets(group: Any) -> dict[tuple[str, int], int]:
    return {
        (topic.name, one.partition_index): one.committed_offset
        for topic in group.topics
        for one in topic.partitions
        if not one.error_code and one.committed_offset >= 0
    }
