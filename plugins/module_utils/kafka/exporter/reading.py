"""Reads what the exporter's metrics are computed from."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter.metrics import Snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import coordinators, watching
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends, Group, Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.mirrors import selected

At = tuple[Place, int]
"""A partition and an offset."""
KEPT = 3
"""Readings for which a group is kept that does not answer."""


class Reader:
    """Reads one cluster again and again, and remembers the times of records that groups still have to read."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """`settings` are those of the role lag_exporter. Raises ClientError."""
        self.admin, self.records = Admin(settings["client"]), watching.FirstRecords(settings["client"])
        self.include, self.exclude = settings["groups"], settings["groups_exclude"]
        self.racks = {int(one): str(rack) for one, rack in settings["racks"].items()}
        self.seconds = float(settings["interval"])
        """How long one search for times of records may take."""
        self.known: dict[At, int | None] = {}
        self.groups: dict[str, tuple[Group, int]] = {}
        """The groups, and for how many readings they have not answered."""

    def read(self) -> Snapshot:
        """Read the state of the cluster. Raises AdminError if no broker answers."""
        self.admin.errors.clear()  # the causes of earlier failures
        metadata = self.admin.metadata()
        places = [(one.topic, one.number) for one in metadata.partitions]
        led = [(one.topic, one.number) for one in metadata.partitions if one.leader >= 0]
        earliest, latest = watching.offsets(self.admin, led)
        names, absent = watching.names(self.admin)
        found, failed = coordinators.read(self.admin, selected(names, self.include, self.exclude))
        groups, ends = self.with_silent(found, absent + len(failed)), Ends(earliest, latest)
        unread, silent = self.first_unread(groups, ends, places)
        unanswered = len(places) - len(latest) + absent + len(failed) + silent
        return Snapshot(metadata, ends, groups, unread, self.racks, time.time(), unanswered)

    def first_unread(
        self, groups: Mapping[str, Group], ends: Ends, places: Collection[Place]
    ) -> tuple[dict[str, dict[Place, int | None]], int]:
        """Return {group: {partition: timestamp of its first unread record}}, and how many records were not found.

        A partition without such a record has None: only markers of transactions follow. Partitions whose records
        could not be read are left out. Each record is read once, also for several groups, and not again while a group
        waits at it. Of a partition without known ends (no leader), what was read before is kept.
        """
        waiting = {name: behind(group, ends) | self.before(group, ends, places) for name, group in groups.items()}
        wanted = {at for of_group in waiting.values() for at in of_group.items()}
        self.known = {at: when for at, when in self.known.items() if at in wanted and when is not None}
        left, deadline, denied = wanted - self.known.keys(), time.monotonic() + self.seconds, set[Place]()
        while left and time.monotonic() < deadline:
            begin = dict(sorted(left, reverse=True))  # of each partition, the lowest offset
            found, refused = self.records.times(begin, min(self.seconds / 3, deadline - time.monotonic()))
            for place, when in found.items():
                self.known[place, begin[place]] = when
            denied |= refused
            left = {at for at in left - begin.items() if at[0] not in denied}
        unread = {
            name: {at[0]: self.known[at] for at in of_group.items() if at in self.known}
            for name, of_group in waiting.items()
        }
        return unread, sum(at not in self.known and at[0] not in denied for at in wanted)

    def with_silent(self, found: Mapping[str, Group], silent: int) -> dict[str, Group]:
        """Return the groups that were found, and those of the last readings whose coordinators may be `silent` now."""
        kept = {
            name: (group, readings + 1)
            for name, (group, readings) in self.groups.items()
            if silent and name not in found and readings < KEPT
        }
        self.groups = {**kept, **{name: (group, 0) for name, group in found.items()}}
        return {name: group for name, (group, _) in self.groups.items()}

    def before(self, group: Group, ends: Ends, places: Collection[Place]) -> dict[Place, int]:
        """Return the offsets at which a group was behind, of partitions whose ends are not known now."""
        unknown = group.offsets.keys() & set(places) - ends.latest.keys()
        return {place: group.offsets[place] for place in unknown if (place, group.offsets[place]) in self.known}

    def close(self) -> None:
        """Close the connections."""
        self.records.close()
        self.admin.close()


def behind(group: Group, ends: Ends) -> dict[Place, int]:
    """Return the offset from which a group has to read each partition in which it has not read everything."""
    return {
        place: max(offset, ends.earliest[place])
        for place, offset in group.offsets.items()
        if place in ends.latest and offset < ends.latest[place]
    }
