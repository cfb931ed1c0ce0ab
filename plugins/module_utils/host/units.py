"""Enables, starts, stops and restarts systemd units of a host."""

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
from ansible_collections.millrace.kafka.plugins.module_utils.printable import printable

CONFIG, LIVE = "CONFIG_DIGEST", "LIVE_DIGEST"
"""Environment variables with digests: of settings that a process reads only at its start; of dynamic settings."""
# systemd's message "Scheduled restart job, restart counter is at ..." (systemd.journal-fields(7), sd-messages.h).
NO_SERVICES = (".timer", ".socket", ".mount", ".path", ".target")
RESTARTED = "MESSAGE_ID=5eb03494b6584870a536b337290809b3"
REASONS = {False: "running with an older configuration\n", True: "marked for a restart\n"}


def run(*argv: str, stdin: str = "") -> str:
    """Run a command and return its output. Raises StateError with its error output if the exit status is not 0."""
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True)
    if done.returncode:
        raise StateError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def shown(properties: str, names: Sequence[str]) -> list[dict[str, str]]:
    """Return a dict {property: value} for each of the units, from `systemctl show`, in the order of `names`.

    `properties` are names separated by commas. If systemd lists a property several times, its value has several lines.
    """
    units = []
    for part in run("systemctl", "show", "-p", properties, *names).strip().split("\n\n"):
        facts: dict[str, str] = {}
        for line in part.splitlines():
            key, _, value = line.partition("=")
            facts[key] = f"{facts[key]}\n{value}" if key in facts else value
        units.append(facts)
    return units


class Units:
    """Makes the changes of systemd units for one call of a module; `states` has the resulting state of each unit."""

    def __init__(self, check_mode: bool, act: Callable[[str, str, str, str], bool]) -> None:
        """Store whether nothing may be changed (`check_mode`), and the function that records changes.

        `act(change, unit, before, after)` records a change for the result; it returns False if the change must not be
        made.
        """
        self.check_mode = check_mode
        self.act = act
        self.states: dict[str, dict[str, Any]] = {}

    def converge(self, wanted: Sequence[Mapping[str, Any]], new_folder: bool = False) -> None:
        """Enable, start, stop or restart the units in `wanted`, and record in `states` which have a pending restart.

        `new_folder` tells that a folder of drop-ins was created. systemd does not see such a folder before a reload,
        and does not report that it needs one.
        """
        found = self.show([unit["name"] for unit in wanted])
        stale = new_folder or any(facts["NeedDaemonReload"] == "yes" for facts in found.values())
        if stale and not self.check_mode:
            run("systemctl", "daemon-reload")
            found = self.show([unit["name"] for unit in wanted])
        for unit in wanted:
            self.unit(unit, found[unit["name"]])

    def show(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return {unit: {property: value}} with the properties that the other methods need, from systemd."""
        return dict(
            zip(
                names,
                shown("ActiveState,SubState,MainPID,UnitFileState,NeedDaemonReload,InvocationID", names),
                strict=True,
            )
        )

    def unit(self, wanted: Mapping[str, Any], found: Mapping[str, str]) -> None:
        """Bring one unit to the state `wanted`; `found` are its properties from `show`."""
        name, running = wanted["name"], found["ActiveState"] == "active"
        enabled = found["UnitFileState"] == "enabled"
        enable = wanted["enabled"] and wanted["state"] != "absent"
        if enable != enabled:
            verb = "enable" if enable else "disable"
            if self.act(f"{verb} {name}", name, f"{found['UnitFileState'] or 'absent'}\n", f"{verb}d\n"):
                run("systemctl", verb, "--quiet", name)
        started, marked = False, self.mark(wanted, found)
        pending = running and bool(wanted["digest"]) and digest_of(found["MainPID"]) != wanted["digest"]
        pending = pending or marked == "due"
        if wanted["state"] in ("stopped", "absent"):
            if found["ActiveState"] != "inactive" and self.act(
                f"stop {name}", name, f"{found['ActiveState']}\n", "inactive\n"
            ):
                run("systemctl", "stop", name)
                if wanted["state"] == "absent" and shown("ActiveState", [name])[0]["ActiveState"] == "failed":
                    run("systemctl", "reset-failed", name)
            running = pending = False
        elif not running and self.act(f"start {name}", name, f"{found['ActiveState']}\n", "active\n"):
            run("systemctl", "reset-failed", name)
            run("systemctl", "start", name)
            running = started = True
        elif (
            pending
            and wanted["state"] == "converged"
            and self.act(f"restart {name}", name, REASONS[marked == "due"], "restarted\n")
        ):
            run("systemctl", "restart", name)
            started, pending = True, False
        if started:
            stays(name, wanted.get("watch") or 0, wanted.get("answers"))
        self.states[name] = {"active": running, "restart_owed": pending, "started": started}
        if marked:
            self.states[name]["marked"] = True
        if wanted.get("live"):
            self.states[name]["live"] = self.live(wanted, found, pending, started)

    def live(self, wanted: Mapping[str, Any], found: Mapping[str, str], restart: bool, started: bool) -> dict[str, Any]:
        """Return the dynamic settings that the module kafka_live_config has to send to the unit's process.

        `owed`: whether any settings have to be sent; if not, the other keys may be missing.
        `anew`: whether the process has just started, or will be restarted (`started`, `restart`), so that it reads all
        settings from its files. Then the module only has to remove dynamic settings that earlier runs have sent.
        `digest`, `settings`, `told`: the declared settings, their digest, and the values that earlier runs have sent.

        The method also stores which settings the process is about to receive. If `wanted["live"]["told"]` is set, it
        stores that the process has received the settings.
        """
        name, settings, digest = wanted["name"], wanted["live"]["settings"], wanted["live"]["digest"]
        process, begun = found.get("InvocationID", ""), digest_of(found["MainPID"], LIVE)
        if wanted["live"].get("told") is not None:
            if not self.check_mode:
                live.end(name, process, digest, begun, wanted["live"]["told"])
            return {"owed": False}
        compared = live.judged(name, process, begun, digest)
        told, anew = compared.record.told, restart or started
        if anew or found["ActiveState"] != "active":
            pending = anew and bool(told)
        else:
            pending = compared.differs or compared.left
            if compared.differs and not self.check_mode:
                live.begin(name, compared.record, process, settings)
        return {"owed": pending, "anew": anew, "digest": digest, "settings": settings, "told": told}

    def mark(self, wanted: Mapping[str, Any], found: Mapping[str, str]) -> str:
        """Mark a unit for a restart or remove its mark, as `wanted["restart"]` requests.

        Return `due` if the restart is still to be made, `done` if it was made, '' if no restart is requested.
        """
        name, restart = wanted["name"], wanted.get("restart") or "unset"
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
        return mark if restart != "unset" or wanted["state"] == "converged" else ""


def stays(name: str, seconds: float, answering: Mapping[str, Any] | None = None) -> None:
    """Watch for `seconds` whether the unit `name`, which was just started, keeps running.

    If `answering` ({at: host:port, tls: bool}) is given, the function returns as soon as a broker answers there. Raises
    StateError with the unit's last messages if the unit ends within `seconds`.
    """
    deadline, tick, counts = time.monotonic() + seconds, threading.Event(), list[int]()
    while time.monotonic() < deadline:
        (found,) = shown("ActiveState,SubState,NRestarts", [name])
        counts.append(int(found["NRestarts"] or 0))  # it may count older ones as well
        if found["ActiveState"] == "failed" or found["SubState"] == "auto-restart" or counts[-1] > counts[0]:
            printed = run("journalctl", "-q", "-u", name, "-n", "60", "-o", "cat", "--no-pager").splitlines()
            messages = "\n".join(without_frames(printed)[-12:])
            raise StateError(
                f"{name} was started and ends at once, so it is down here; nothing else was stopped. Correct the cause "
                f"and run again: a unit that is down may be restarted. Its last messages:\n{messages}"
            )
        if answering and answers(answering["at"], answering["tls"]):
            return
        tick.wait(0.2 if answering else 0.5)


def digest_of(pid: str, variable: str = CONFIG) -> str:
    """Return the value of the environment variable `variable`, a digest, of the process `pid`; '' if it is not set."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            return digest_in(stream.read().replace(b"\0", b"\n").decode(errors="replace"), variable)
    except OSError:
        return ""


def digest_in(text: str, variable: str = CONFIG) -> str:
    """Return the value of `variable`, a digest, in `text`, which lists environment variables; '' if it is not there."""
    found = re.search(rf"(?:^|[\s\"]){variable}=([^\s\"]*)", text)
    return found.group(1) if found else ""


def restarts(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the units marked for a restart, {'due': still to be restarted, 'done': already restarted}.

    Units of `names` without a mark are left out.
    """
    asked = marks.marked(sorted(set(names)))
    facts = dict(zip(asked, shown("ActiveState,InvocationID", asked), strict=True)) if asked else {}
    return {word: marks.of(facts, word) for word in ("due", "done")}


def failing(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return {service: facts} of the services that end again and again, while systemd restarts them.

    Such a service is active most of the time. It counts if systemd started it at least twice in the last hour, and if
    the time since the last start is at most twice the mean time between these starts. Facts: `starts`, the number of
    these starts; `seconds` since the first of them; `line`, the last line printed before the last start.
    """
    asked = sorted({name for name in names if not name.endswith(NO_SERVICES)})
    now, found = time.time(), dict[str, dict[str, Any]]()
    for name, unit in zip(asked, shown("ActiveState,NRestarts", asked) if asked else [], strict=True):
        if unit["ActiveState"] not in ("active", "activating"):
            continue  # stopped, or given up
        number = int(unit.get("NRestarts") or 0)  # since the unit was started by hand or by a run
        restarted = journal("-o", "short-unix", "--since", "-1h", f"UNIT={name}", RESTARTED) if number >= 2 else []
        times = [float(line.split(maxsplit=1)[0]) for line in restarted][-number:]
        if len(times) >= 2 and now - times[-1] <= 2 * (times[-1] - times[0]) / (len(times) - 1):
            before = f"--until=@{int(times[-1])}"
            last = without_frames(journal("-n", "60", "-o", "cat", before, f"_SYSTEMD_UNIT={name}"))
            found[name] = {
                "starts": len(times),
                "seconds": round(now - times[0]),
                "line": printable(last[-1].strip()[:300]) if last else "",
            }
    return found


def without_frames(lines: Iterable[str]) -> list[str]:
    """Return the lines of a service without blank ones and without the frames of Java's stack traces.

    A Java service ends with dozens of frames; the exception above them is the reason.
    """
    return [line for line in lines if line.strip() and not re.match(r"\s+(at \S+\(|\.\.\. \d+ more)", line)]


def journal(*options: str) -> list[str]:
    """Return the lines that journalctl prints with these options; [] if the host has no journal."""
    try:
        command = ["journalctl", "-q", "--no-pager", *options]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    except FileNotFoundError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def behind(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the running units that use an old configuration, by kind: {'older': units, 'untold': units}.

    The process of an `older` unit was started before its files changed. The process of an `untold` unit has not
    received new dynamic settings.
    """
    asked = sorted(set(names))
    facts = "ActiveState,MainPID,NeedDaemonReload,Environment,EnvironmentFiles,InvocationID"
    parts = shown(facts, asked) if asked else []
    running = {name: unit for name, unit in zip(asked, parts, strict=True) if unit["ActiveState"] == "active"}
    older = [name for name, unit in running.items() if _older(unit)]
    untold = [name for name, unit in running.items() if name not in older and _untold(name, unit)]
    return {"older": older, "untold": untold}


def _untold(name: str, unit: Mapping[str, str]) -> bool:
    """Tell whether the process of a running unit has not received the declared dynamic settings."""
    declared, process = digest_in(unit.get("Environment", ""), LIVE), unit.get("InvocationID", "")
    return bool(declared) and live.judged(name, process, digest_of(unit["MainPID"], LIVE), declared).differs


def _older(unit: Mapping[str, str]) -> bool:
    """Tell whether the process of a running unit was started before the files of the unit changed."""
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
