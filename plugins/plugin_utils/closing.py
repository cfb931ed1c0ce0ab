"""Builds the last line of a run, which counts what the run changed, from the results of its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

COLLECTION = "millrace.kafka."
RESOURCES = {f"{COLLECTION}kafka_{name}" for name in ("access", "groups", "live_config", "quotas", "topics")}
"""Actions whose changes are lines of `Change`: verb, kind, name."""
CHANGING = RESOURCES | {
    f"{COLLECTION}{name}" for name in ("host_state", "kafka_certificates", "kafka_log_dir", "kafka_reassign")
}
"""Actions of which every run that may change something has one; a run without them has no such line."""
BY_HAND = {"deleted": "emptied topic", "made": "recreated topic"}
"""What kafka_topic answers where it changes something."""
READ = {f"{COLLECTION}kafka_groups": "groups"}
"""Of actions that may also only read, what they answer then."""
ANSWERS = {
    f"{COLLECTION}certificates": ("changes", "certificate file"),
    f"{COLLECTION}install_archives": ("missing", "archive"),
    f"{COLLECTION}kafka_certificates": ("changes", "reloaded listener"),
    f"{COLLECTION}kafka_controller": ("elected", "elected controller"),
    f"{COLLECTION}kafka_gate": ("moved", "elected leader"),
    f"{COLLECTION}kafka_leaders": ("moved", "elected leader"),
    f"{COLLECTION}kafka_log_dir": ("moved", "replica that was copied anew"),
    f"{COLLECTION}kafka_reassign": ("moved", "moved partition"),
    f"{COLLECTION}zookeeper_ensemble": ("changes", "ACL"),
}
"""What of other answers is counted, and as what."""
UNITS = {"restart": "restarted", "start": "started", "stop": "stopped"}
KINDS = {"settings": "broker with new settings"}
"""What those of other names are counted as."""
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
    "unmark": "mark taken away",
    "enable": "enabled unit",
    "disable": "disabled unit",
}
PLURALS = {
    "broker with new settings": "brokers with new settings",
    "directory": "directories",
    "mark taken away": "marks taken away",
    "owner or mode": "owners or modes",
    "replica that was copied anew": "replicas that were copied anew",
    "topic in part": "topics in part",
}


class Closing:
    """The changes counted so far."""

    def __init__(self) -> None:
        """Start with no changes."""
        self.ours = False
        self.units: dict[tuple[str, str], list[str]] = {}
        self.numbers: dict[str, int] = {}
        self.others = 0

    def note(self, action: str, host: str, result: Mapping[str, Any]) -> None:
        """Count the result of one task; changes by modules of other collections are counted separately."""
        self.ours = self.ours or (action in CHANGING and READ.get(action) not in result)
        changes = [str(change) for change in result.get("changes") or ()]
        if action == f"{COLLECTION}host_state":
            for change in changes:
                self.of_host(change, host)
        elif action in RESOURCES:
            self.of_cluster(changes, result)
        elif action == f"{COLLECTION}kafka_topic":
            changed = bool(result.get("changed"))
            self.ours = self.ours or changed or not BY_HAND.keys().isdisjoint(result)
            what = next((word for key, word in BY_HAND.items() if key in result), "topic in part")
            self.count(what, int(changed))
        elif action in ANSWERS:
            key, what = ANSWERS[action]
            self.count(what, len(result.get(key) or ()))
        elif result.get("changed"):
            self.others += 1

    def of_host(self, change: str, host: str) -> None:
        """Count one change that host_state reports, such as `restart kafka.service` or `file /etc/hosts`."""
        verb, _, what = change.partition(" ")
        if verb in UNITS:
            self.units.setdefault((UNITS[verb], what.removesuffix(".service")), []).append(host)
        else:
            self.count("firewall" if what.startswith("table ") else COUNTED.get(verb, "change"), 1)

    def of_cluster(self, changes: Iterable[str], result: Mapping[str, Any]) -> None:
        """Count what was written to the cluster, such as `create topic a: + 3 partitions`.

        After a failure these are the changes made before it.
        """
        if not result.get("changed"):
            return
        if "outcome" in result:
            kinds = [str(name).split()[0] for name in result["outcome"]["done"]]
        else:
            kinds = [change.split()[1] for change in changes]
        for kind in kinds:
            self.count(KINDS.get(kind, kind), 1)

    def count(self, what: str, number: int) -> None:
        """Add a number of changes of one kind."""
        if number:
            self.numbers[what] = self.numbers.get(what, 0) + number

    def line(self, check_mode: bool, failed: Iterable[str] = ()) -> str:
        """Return the line, or '' if no task of ours could have changed anything; `failed` are the failed hosts."""
        if not self.ours:
            return ""
        said = [f"{verb} {unit} on {', '.join(sorted(set(hosts)))}" for (verb, unit), hosts in self.units.items()]
        counts = [
            f"{number} {what if number == 1 else PLURALS.get(what, f'{what}s')}"
            for what, number in self.numbers.items()
        ]
        if self.others:
            counts.append(f"{self.others} other task{'s' if self.others > 1 else ''} changed something")
        said += [", ".join(counts)] if counts else []
        words = "; ".join(said) or "nothing changed"
        if check_mode:
            words = "check mode, nothing was changed" + (
                f"; a run would have: {words}" if said else ", nor would a run"
            )
        names = ", ".join(sorted(failed))
        return f"millrace: {words}" + (f"; then it failed on {names}" if names else "")
