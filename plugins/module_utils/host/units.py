"""systemd units of a host; no Ansible import."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host import live, marks
from ansible_collections.millrace.kafka.plugins.module_utils.host.answering import answers
from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import StateError

CONFIG, LIVE = "CONFIG_DIGEST", "LIVE_DIGEST"
"""Of what a process reads when it starts alone, and of what it can be told while it runs."""
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
        self.states: dict[str, dict[str, Any]] = {}

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
                if wanted["state"] == "absent" and shown("ActiveState", [name])[0]["ActiveState"] == "failed":
                    run("systemctl", "reset-failed", name)
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
            stays(name, wanted.get("watch") or 0, wanted.get("answers"))
        self.states[name] = {"active": running, "restart_owed": owed, "started": started}
        if marked:
            self.states[name]["marked"] = True
        if wanted.get("live"):
            self.states[name]["live"] = self.live(wanted, found, owed, started)

    def live(self, wanted: Mapping[str, Any], found: Mapping[str, str], restart: bool, started: bool) -> dict[str, Any]:
        """Say what a process is still to be told; note what it is going to be told, or was.

        That is bookkeeping: what changes is told by whoever tells the process. One that starts anew has all from its
        files, and is to be rid of what it was told before.
        """
        name, settings, digest = wanted["name"], wanted["live"]["settings"], wanted["live"]["digest"]
        process, begun = found.get("InvocationID", ""), digest_of(found["MainPID"], LIVE)
        if wanted["live"].get("told") is not None:
            if not self.check_mode:
                live.end(name, process, digest, begun, wanted["live"]["told"])
            return {"owed": False}
        stands = live.judged(name, process, begun, digest)
        told, anew = stands.record.told, restart or started
        if anew or found["ActiveState"] != "active":
            owed = anew and bool(told)
        else:
            owed = stands.differs or stands.left
            if stands.differs and not self.check_mode:
                live.begin(name, stands.record, process, settings)
        return {"owed": owed, "anew": anew, "digest": digest, "settings": settings, "told": told}

    def mark(self, wanted: Mapping[str, Any], found: Mapping[str, str]) -> str:
        """Mark a unit for a restart, or end that; return whether one is `due` or `done`, '' where it is no matter."""
        name, restart = wanted["name"], wanted.get("restart") or "unsaid"
        mark, hosts = marks.judged(name, found), sorted(wanted.get("restart_hosts") or ())
        if restart == "end":
            ours = not hosts or marks.run_of(name) == hosts
            if mark and ours and self.act(f"unmark {name}", name, "marked for a restart\n", "not marked\n"):
                marks.remove(name)
            return ""
        if restart == "again" or (restart == "mark" and (not mark or marks.run_of(name) != hosts)):
            running = found["ActiveState"] == "active"
            if self.act(f"mark {name}", name, "not marked\n", "marked for a restart\n"):
                marks.write(name, found.get("InvocationID", "") if running else "", hosts)
            return "due" if running else "done"
        return mark if restart != "unsaid" or wanted["state"] == "converged" else ""


def stays(name: str, seconds: float, answering: Mapping[str, Any] | None = None) -> None:
    """Watch a unit that was started, until it answers where `answering` says (at, tls).

    Raises StateError, with its last words, where it ends within `seconds`.
    """
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
        if answering and answers(answering["at"], answering["tls"]):
            return
        tick.wait(0.2 if answering else 0.5)


def digest_of(pid: str, variable: str = CONFIG) -> str:
    """Return the digest that a running process was started with."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            return digest_in(stream.read().replace(b"\0", b"\n").decode(errors="replace"), variable)
    except OSError:
        return ""


def digest_in(text: str, variable: str = CONFIG) -> str:
    """Return a digest among variables of an environment, as lines or as systemd shows them; else ''."""
    found = re.search(rf"(?:^|[\s\"]){variable}=([^\s\"]*)", text)
    return found.group(1) if found else ""


def restarts(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the units that are marked for a restart, those in which it is `due`, and those in which it is `done`."""
    asked = marks.marked(sorted(set(names)))
    found = dict(zip(asked, shown("ActiveState,InvocationID", asked), strict=True)) if asked else {}
    return {word: marks.of(found, word) for word in ("due", "done")}


def behind(names: Iterable[str]) -> dict[str, list[str]]:
    """Return running units whose process is `older` than the configuration on the disk, or is still to be `told` it."""
    asked = sorted(set(names))
    facts = "ActiveState,MainPID,NeedDaemonReload,Environment,EnvironmentFiles,InvocationID"
    parts = shown(facts, asked) if asked else []
    running = {name: unit for name, unit in zip(asked, parts, strict=True) if unit["ActiveState"] == "active"}
    older = [name for name, unit in running.items() if _older(unit)]
    untold = [name for name, unit in running.items() if name not in older and _untold(name, unit)]
    return {"older": older, "untold": untold}


def _untold(name: str, unit: Mapping[str, str]) -> bool:
    declared, process = digest_in(unit.get("Environment", ""), LIVE), unit.get("InvocationID", "")
    return bool(declared) and live.judged(name, process, digest_of(unit["MainPID"], LIVE), declared).differs


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
