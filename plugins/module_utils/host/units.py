"""systemd units of a host; no Ansible import."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host import marks
from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import StateError

OWED = {False: "running with an older configuration\n", True: "marked for a restart\n"}


def run(*argv: str, stdin: str = "") -> str:
    """Run a command to its end, and return its output; StateError with its own words when it fails."""
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True)
    if done.returncode:
        raise StateError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def shown(properties: str, names: Sequence[str]) -> list[dict[str, str]]:
    """Return properties of units, with commas between, as systemd shows them.

    One that systemd says several times has its values in as many lines.
    """
    units = []
    for part in run("systemctl", "show", "-p", properties, *names).strip().split("\n\n"):
        found: dict[str, str] = {}
        for line in part.splitlines():
            key, _, value = line.partition("=")
            found[key] = f"{found[key]}\n{value}" if key in found else value
        units.append(found)
    return units


class Units:
    """What one call changes of units, with `states` by name.

    `act` notes a change, and is false where none may be made.
    """

    def __init__(self, check_mode: bool, act: Callable[[str, str, str, str], bool]) -> None:
        """In check mode everything is compared and nothing is run."""
        self.check_mode = check_mode
        self.act = act
        self.states: dict[str, dict[str, bool]] = {}

    def converge(self, wanted: Sequence[Mapping[str, Any]]) -> None:
        """Enable, start, stop or restart units, and say which one is owed a restart."""
        found = self.show([unit["name"] for unit in wanted])
        if any(facts["NeedDaemonReload"] == "yes" for facts in found.values()) and not self.check_mode:
            run("systemctl", "daemon-reload")
            found = self.show([unit["name"] for unit in wanted])
        for unit in wanted:
            self.unit(unit, found[unit["name"]])

    def show(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return systemd's view of the units, one dict of properties each."""
        return dict(
            zip(
                names,
                shown("ActiveState,SubState,MainPID,UnitFileState,NeedDaemonReload,InvocationID", names),
                strict=True,
            )
        )

    def unit(self, wanted: Mapping[str, Any], found: Mapping[str, str]) -> None:
        """Converge one unit."""
        name, running = wanted["name"], found["ActiveState"] == "active"
        enabled = found["UnitFileState"] == "enabled"
        wants = wanted["enabled"] and wanted["state"] != "absent"
        if wants != enabled:
            verb = "enable" if wants else "disable"
            if self.act(f"{verb} {name}", name, f"{found['UnitFileState'] or 'absent'}\n", f"{verb}d\n"):
                run("systemctl", verb, "--quiet", name)
        started, marked = False, self.mark(wanted, found)
        owed = running and bool(wanted["digest"]) and digest_of(found["MainPID"]) != wanted["digest"]
        owed = owed or marked == "due"
        if wanted["state"] in ("stopped", "absent"):
            if found["ActiveState"] != "inactive" and self.act(
                f"stop {name}", name, f"{found['ActiveState']}\n", "inactive\n"
            ):
                run("systemctl", "stop", name)
            running = owed = False
        elif not running and self.act(f"start {name}", name, f"{found['ActiveState']}\n", "active\n"):
            run("systemctl", "reset-failed", name)
            run("systemctl", "start", name)
            running = started = True
        elif (
            owed
            and wanted["state"] == "converged"
            and self.act(f"restart {name}", name, OWED[marked == "due"], "restarted\n")
        ):
            run("systemctl", "restart", name)
            started, owed = True, False
        if started:
            stays(name, wanted.get("watch") or 0)
        self.states[name] = {"active": running, "restart_owed": owed, "started": started}
        if marked:
            self.states[name]["marked"] = True

    def mark(self, wanted: Mapping[str, Any], found: Mapping[str, str]) -> str:
        """Mark a unit for a restart, or end that; return whether one is `due` or `done`, '' where it is no matter."""
        name, restart = wanted["name"], wanted.get("restart") or "unsaid"
        mark = marks.judged(name, found)
        if restart == "end":
            if mark and self.act(f"unmark {name}", name, "marked for a restart\n", "not marked\n"):
                marks.remove(name)
            return ""
        hosts = sorted(wanted.get("restart_hosts") or ())
        if restart == "again" or (restart == "mark" and (not mark or marks.run_of(name) != hosts)):
            running = found["ActiveState"] == "active"
            if self.act(f"mark {name}", name, "not marked\n", "marked for a restart\n"):
                marks.write(name, found.get("InvocationID", "") if running else "", hosts)
            return "due" if running else "done"
        return mark if restart != "unsaid" or wanted["state"] == "converged" else ""


def stays(name: str, seconds: float) -> None:
    """Watch a unit that was started. Raises StateError, with its last words, where it ends within `seconds`."""
    deadline, tick, counts = time.monotonic() + seconds, threading.Event(), list[int]()
    while time.monotonic() < deadline:
        (found,) = shown("ActiveState,SubState,NRestarts", [name])
        counts.append(int(found["NRestarts"] or 0))  # it may count older ones as well
        if found["ActiveState"] == "failed" or found["SubState"] == "auto-restart" or counts[-1] > counts[0]:
            words = run("journalctl", "-q", "-u", name, "-n", "12", "-o", "cat", "--no-pager").strip()
            raise StateError(
                f"{name} was started and ends at once, so it is down here; nothing else was stopped. Mend what it "
                f"says, and run again: what is down may be restarted. Its last words:\n{words}"
            )
        tick.wait(0.5)


def digest_of(pid: str) -> str:
    """Return the CONFIG_DIGEST that a running process was started with."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            return digest_in(stream.read().replace(b"\0", b"\n").decode(errors="replace"))
    except OSError:
        return ""


def digest_in(text: str) -> str:
    """Return the CONFIG_DIGEST among variables of an environment, as lines or as systemd shows them; else ''."""
    found = re.search(r"(?:^|[\s\"])CONFIG_DIGEST=([^\s\"]*)", text)
    return found.group(1) if found else ""


def restarts(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the units that are marked for a restart, those in which it is `due`, and those in which it is `done`."""
    asked = marks.marked(sorted(set(names)))
    found = dict(zip(asked, shown("ActiveState,InvocationID", asked), strict=True)) if asked else {}
    return {word: marks.of(found, word) for word in ("due", "done")}


def behind(names: Iterable[str]) -> list[str]:
    """Return those running units whose process was started with another configuration than is on the disk."""
    asked = sorted(set(names))
    if not asked:
        return []
    parts = shown("ActiveState,MainPID,NeedDaemonReload,Environment,EnvironmentFiles", asked)
    return [name for name, unit in zip(asked, parts, strict=True) if unit["ActiveState"] == "active" and _older(unit)]


def _older(unit: Mapping[str, str]) -> bool:
    files = re.findall(r"^(/.*?)(?: \(ignore_errors=\w+\))?$", unit.get("EnvironmentFiles", ""), re.MULTILINE)
    on_disk = unit.get("Environment", "")
    for path in files:
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                on_disk += "\n" + stream.read()
        except OSError:
            continue
    digest = digest_in(on_disk)
    return bool(digest) and (digest != digest_of(unit["MainPID"]) or unit["NeedDaemonReload"] == "yes")
