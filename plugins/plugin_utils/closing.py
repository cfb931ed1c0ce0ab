"""Builds the last line that a run prints: the number of changes that its tasks report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

COLLECTION = "millrace.kafka."
RESOURCES = {f"{COLLECTION}kafka_{name}" for name in ("access", "groups", "live_config", "quotas", "topics")}
"""Actions whose changes are lines of `Change`: verb, kind, name."""
MAY_CHANGE = RESOURCES | {
    f"{COLLECTION}{name}" for name in ("host_state", "kafka_certificates", "kafka_log_dir", "kafka_reassign")
}
"""Every run that may change something has one of these actions; a run without them prints no line."""
TOPIC_CHANGES = {"deleted": "emptied topic", "made": "recreated topic"}
"""{key that the result of kafka_topic has if the module changed something: name of the counted change}."""
READ_RESULTS = {f"{COLLECTION}kafka_groups": "groups"}
"""{action: key that its result has if the action only read}."""
COUNTED_RESULTS = {
    f"{COLLECTION}certificates": ("changes", "certificate file"),
    f"{COLLECTION}install_archives": ("missing", "archive"),
    f"{COLLECTION}kafka_certificates": ("changes", "reloaded listener"),
    f"{COLLECTION}kafka_controller": ("elected", "elected controller"),
    f"{COLLECTION}kafka_gate": ("moved", "elected leader"),
    f"{COLLECTION}kafka_leaders": ("moved", "elected leader"),
    f"{COLLECTION}kafka_log_dir": ("moved", "recopied replica"),
    f"{COLLECTION}kafka_reassign": ("moved", "moved partition"),
    f"{COLLECTION}zookeeper_ensemble": ("changes", "ACL"),
}
"""{other action: (key of its result whose entries are counted, name of what is counted)}."""
UNITS = {"restart": "restarted", "start": "started", "stop": "stopped"}
KIND_NAMES = {"settings": "broker with new settings"}
"""Kinds of `Change` that are counted under another name."""
COUNTED = {
    "file": "file",
    "block": "file",
    "remove": "removed file",
    "directory": "directory",
    "attributes": "owner or mode",
    "link": "link",
    "user": "system user",
    "sysctl": "kernel setting",
    "load": "firewall",
    "mark": "mark",
    "unmark": "removed mark",
    "enable": "enabled unit",
    "disable": "disabled unit",
}
PLURALS = {
    "broker with new settings": "brokers with new settings",
    "directory": "directories",
    "owner or mode": "owners or modes",
    "partly changed topic": "partly changed topics",
}


class Closing:
    """Counts the changes that the tasks of a run report, and builds the last line of the run."""

    def __init__(self) -> None:
        """Start with no changes."""
        self.may_change = False
        self.units: dict[tuple[str, str], list[str]] = {}
        self.numbers: dict[str, int] = {}
        self.other_changes = 0

    def note(self, action: str, host: str, result: Mapping[str, Any]) -> None:
        """Count the changes that one task on one host reports; `result` is the task's result.

        `action` is the full name of the task's module. All changed tasks with modules of other collections have one
        common counter, "other tasks".
        """
        self.may_change = self.may_change or (action in MAY_CHANGE and READ_RESULTS.get(action) not in result)
        changes = [str(change) for change in result.get("changes") or ()]
        if action == f"{COLLECTION}host_state":
            for change in changes:
                self.count_host_change(change, host)
        elif action in RESOURCES:
            self.count_cluster_changes(changes, result)
        elif action == f"{COLLECTION}kafka_topic":
            changed = bool(result.get("changed"))
            self.may_change = self.may_change or changed or not TOPIC_CHANGES.keys().isdisjoint(result)
            kind = next((kind for key, kind in TOPIC_CHANGES.items() if key in result), "partly changed topic")
            self.count(kind, int(changed))
        elif action in COUNTED_RESULTS:
            key, kind = COUNTED_RESULTS[action]
            self.count(kind, len(result.get(key) or ()))
        elif result.get("changed"):
            self.other_changes += 1

    def count_host_change(self, change: str, host: str) -> None:
        """Count one change on a host; `change` is a text of the module host_state, such as `restart kafka.service`."""
        verb, _, target = change.partition(" ")
        if verb in UNITS:
            self.units.setdefault((UNITS[verb], target.removesuffix(".service")), []).append(host)
        else:
            self.count("firewall" if target.startswith("table ") else COUNTED.get(verb, "change"), 1)

    def count_cluster_changes(self, changes: Iterable[str], result: Mapping[str, Any]) -> None:
        """Count the changes of a Kafka cluster by kind; `changes` are texts such as `create topic a: + 3 partitions`.

        `result` is the task's result. If it has the key `outcome`, the module was interrupted while it changed the
        cluster: then only the changes in the list `done` of `outcome` are counted.
        """
        if not result.get("changed"):
            return
        if "outcome" in result:
            kinds = [str(name).split()[0] for name in result["outcome"]["done"]]
        else:
            kinds = [change.split()[1] for change in changes]
        for kind in kinds:
            self.count(KIND_NAMES.get(kind, kind), 1)

    def count(self, kind: str, number: int) -> None:
        """Add `number` changes to the counter of a kind, such as "topic"."""
        if number:
            self.numbers[kind] = self.numbers.get(kind, 0) + number

    def line(self, check_mode: bool, failed: Iterable[str] = ()) -> str:
        """Return the last line of the run, or '' if no task of this project could have changed anything.

        With `check_mode`, the line reports what a real run would change. `failed` are the names of the hosts that
        failed.
        """
        if not self.may_change:
            return ""
        parts = [f"{verb} {unit} on {', '.join(sorted(set(hosts)))}" for (verb, unit), hosts in self.units.items()]
        counts = [
            f"{number} {kind if number == 1 else PLURALS.get(kind, f'{kind}s')}"
            for kind, number in self.numbers.items()
        ]
        if self.other_changes:
            counts.append(f"{self.other_changes} other task{'s' if self.other_changes > 1 else ''} changed something")
        parts += [", ".join(counts)] if counts else []
        summary = "; ".join(parts) or "nothing changed"
        if check_mode:
            summary = "check mode, nothing was changed" + (
                f"; a run would have: {summary}" if parts else ", nor would a run"
            )
        names = ", ".join(sorted(failed))
        return f"millrace: {summary}" + (f"; then it failed on {names}" if names else "")
