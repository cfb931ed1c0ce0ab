"""Reads what the exporter's metrics are computed from."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter.metrics import Snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import watching
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends, Group, Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.mirrors import selected

At = tuple[Place, int]
"""A partition and an offset."""


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

    def read(self) -> Snapshot:
        """Read the state of the cluster. Raises AdminError if no broker answers."""
        self.admin.errors.clear()  # the causes of earlier failures
        metadata = self.admin.metadata()
        places = [(one.topic, one.number) for one in metadata.partitions if one.leader >= 0]
        earliest, latest, silent = watching.offsets(self.admin, places)
        names, absent = watching.names(self.admin)
        groups, failed = watching.groups(self.admin, selected(names, self.include, self.exclude))
        ends = Ends(earliest, latest)
        unread = self.first_unread(groups, ends)
        return Snapshot(metadata, ends, groups, unread, self.racks, time.time(), silent + absent + failed)

    def first_unread(self, groups: Mapping[str, Group], ends: Ends) -> dict[str, dict[Place, int | None]]:
        """Return {group: {partition: timestamp of the first record that the group has not read}}.

        A partition without such a record has None: only markers of transactions follow. Partitions whose records
        could not be read are left out. Each record is read once, also for several groups, and not again while a group
        waits at it.
        """
        waiting = {name: behind(group, ends) for name, group in groups.items()}
        wanted = {at for of_group in waiting.values() for at in of_group.items()}
        self.known = {at: when for at, when in self.known.items() if at in wanted and when is not None}
        left, deadline = wanted - self.known.keys(), time.monotonic() + self.seconds
        while left and time.monotonic() < deadline:
            begin = dict(sorted(left, reverse=True))  # of each partition, the lowest offset
            for place, when in self.records.times(begin, deadline - time.monotonic()).items():
                self.known[place, begin[place]] = when
            left -= begin.items()
        return {
            name: {at[0]: self.known[at] for at in of_group.items() if at in self.known}
            for name, of_group in waiting.items()
        }

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
