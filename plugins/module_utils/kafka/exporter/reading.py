"""Reads what the exporter's metrics are computed from."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter.metrics import Snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends, Group, Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.mirrors import first_records, selected


def snapshot(
    admin: Admin, wanted: Sequence[str], left_out: Sequence[str], racks: Mapping[int, str], clock: float | None = None
) -> Snapshot:
    """Read the state of a cluster. Raises AdminError if it does not answer.

    `wanted` and `left_out` are regular expressions of the names of groups, `racks` is {id of a broker: its rack}.
    """
    taken = time.time() if clock is None else clock
    metadata = admin.metadata()
    places = [(one.topic, one.number) for one in metadata.partitions if one.leader >= 0]
    ends = groups.ends(admin, places)
    found = groups.groups(admin, selected(groups.names(admin), wanted, left_out))
    return Snapshot(metadata, ends, found, _unread(admin, found, ends), racks, taken)


def _unread(admin: Admin, found: Mapping[str, Group], ends: Ends) -> dict[str, dict[Place, int]]:
    """Return the timestamps of the first unread records of groups, without groups whose topics could not be read.

    Each record is read once, also if several groups wait at it.
    """
    begins: dict[str, dict[Place, int]] = {}
    for name, group in found.items():
        begins[name] = {
            place: max(offset, ends.earliest[place])
            for place, offset in group.offsets.items()
            if place in ends.latest and offset < ends.latest[place]
        }
    times: dict[tuple[Place, int], int] = {}
    unread: dict[str, dict[Place, int]] = {}
    for name, begin in begins.items():
        left = {place: offset for place, offset in begin.items() if (place, offset) not in times}
        try:
            for place, (_, at) in first_records(admin, left, ends.latest).items():
                times[place, left[place]] = at
        except AdminError:  # records were deleted meanwhile, or the user may not read them: the next run tries again
            continue
        unread[name] = {place: times[place, begin[place]] for place in begin if (place, begin[place]) in times}
    return unread
