"""systemd units in the class behind host_state, against a made-up `systemctl` on PATH that has its state in a file."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from unit.host import host as a_host

from ansible_collections.millrace.kafka.plugins.module_utils.host import units as host_units
from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import StateError
from ansible_collections.millrace.kafka.plugins.module_utils.host.state import Host, with_digest
from ansible_collections.millrace.kafka.plugins.module_utils.host.units import behind

SYSTEMCTL = """#!{python}
import json, pathlib, sys
file = pathlib.Path({state!r})
state = json.loads(file.read_text())
verb, *rest = sys.argv[1:]
state["commands"].append(" ".join(sys.argv[1:]))
names = [word for word in rest if word.endswith(".service")]
if verb == "show":
    shown = [[f"{{key}}={{value}}" for key, value in state["units"][name].items()] for name in names]
    print("\\n\\n".join("\\n".join(lines) for lines in shown))
if verb == "daemon-reload":
    for unit in state["units"].values():
        unit["NeedDaemonReload"] = "no"
for name in names:
    if verb == "start" and name in state["broken"]:
        file.write_text(json.dumps(state))
        sys.exit(f"Job for {{name}} failed.")
    unit = state["units"][name]
    unit["InvocationID"] = unit.get("InvocationID", "") + "1" * (verb in ("start", "restart"))
    unit["ActiveState"] = {{"start": "active", "restart": "active", **state["end"]}}.get(verb, unit["ActiveState"])
    unit["UnitFileState"] = {{"enable": "enabled", "disable": "disabled"}}.get(verb, unit["UnitFileState"])
file.write_text(json.dumps(state))
"""
RUNNING = {
    "ActiveState": "active",
    "SubState": "running",
    "MainPID": "100",
    "UnitFileState": "enabled",
    "NeedDaemonReload": "no",
}
FRESH = {
    "ActiveState": "inactive",
    "SubState": "dead",
    "MainPID": "0",
    "UnitFileState": "disabled",
    "NeedDaemonReload": "no",
}
# After a crash, in the seconds before systemd starts it again.
RESTARTING = {**RUNNING, "ActiveState": "activating", "SubState": "auto-restart", "MainPID": "0"}


class Systemd:
    """The state behind the made-up systemctl."""

    def __init__(self, file: Path) -> None:
        """Nothing is known yet."""
        self.file = file
        self.set({})

    def set(self, units: dict[str, dict[str, str]], broken: tuple[str, ...] = (), stopped: str = "inactive") -> None:
        """Start over with these units; what one is that was `stopped`."""
        self.file.write_text(json.dumps({"units": units, "broken": broken, "commands": [], "end": {"stop": stopped}}))

    @property
    def changes(self) -> list[str]:
        """What was run, questions left out."""
        commands: list[str] = json.loads(self.file.read_text())["commands"]
        return [command for command in commands if not command.startswith("show")]


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    """Put the made-up systemctl first on PATH; every running process was started with digest 'old'."""
    program = tmp_path / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(SYSTEMCTL.format(python=sys.executable, state=str(tmp_path / "state.json")))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(host_units, "digest_of", lambda pid: "old" if pid == "100" else "")
    return Systemd(tmp_path / "state.json")


def unit(name: str = "a.service", **more: Any) -> dict[str, Any]:
    """Return a unit as the module hands it over."""
    return {"name": name, "enabled": True, "state": "started", "digest": None, **more}


def converge(*units: dict[str, Any], check_mode: bool = False, before: str = "") -> Host:
    """Converge units alone, after a change that the same call has made `before`."""
    host = a_host(check_mode)
    host.changes += [before] if before else []
    host.converge(
        {
            "nftables": [],
            "users": [],
            "directories": [],
            "files": [],
            "blocks": [],
            "links": [],
            "sysctl": {},
            "units": list(units),
        }
    )
    return host


def test_a_fresh_unit_is_enabled_and_started(systemd: Systemd) -> None:
    systemd.set({"a.service": FRESH})
    host = converge(unit(digest="new"))
    assert host.changes == ["enable a.service", "start a.service"]
    assert host.units == {"a.service": {"active": True, "restart_owed": False, "started": True}}
    assert systemd.changes == ["enable --quiet a.service", "reset-failed a.service", "start a.service"]


def test_second_run_changes_nothing(systemd: Systemd) -> None:
    systemd.set({"a.service": RUNNING})
    host = converge(unit(digest="old"))
    assert (host.changes, systemd.changes) == ([], [])
    assert host.units == {"a.service": {"active": True, "restart_owed": False, "started": False}}


def test_started_leaves_a_running_unit_and_owes_it_a_restart(systemd: Systemd) -> None:
    """A changed configuration is no reason for a change of this module: the play decides when."""
    systemd.set({"a.service": RUNNING})
    host = converge(unit(digest="new"))
    assert (host.changes, systemd.changes) == ([], [])
    assert host.units == {"a.service": {"active": True, "restart_owed": True, "started": False}}


def test_without_a_digest_nothing_is_owed(systemd: Systemd) -> None:
    systemd.set({"a.service": RUNNING})
    assert converge(unit()).units == {"a.service": {"active": True, "restart_owed": False, "started": False}}


def test_the_digest_stands_in_the_file_of_the_unit(systemd: Systemd) -> None:
    """Where it is not said beside the unit: what this call writes, in check mode as well."""
    systemd.set({"a.service": RUNNING, "b.service": RUNNING})
    text = "[Service]\nEnvironment=CONFIG_DIGEST={}\n"
    units = [unit(), unit("b.service")]
    files = [
        {"path": "/etc/systemd/system/a.service", "content": text.format("new")},
        {"path": "/etc/systemd/system/b.service", "content": text.format("old")},
        {"path": "/etc/systemd/system/b.service.d/overrides.conf", "content": text.format("new")},
    ]
    told = [with_digest(one, files) for one in units]
    found = converge(*told, check_mode=True).units
    assert [found[name]["restart_owed"] for name in ("a.service", "b.service")] == [True, False]


def test_converged_restarts_what_is_owed(systemd: Systemd) -> None:
    systemd.set({"a.service": RUNNING})
    host = converge(unit(digest="new", state="converged"))
    assert (host.changes, systemd.changes) == (["restart a.service"], ["restart a.service"])
    assert host.units == {"a.service": {"active": True, "restart_owed": False, "started": True}}


def test_converged_leaves_what_runs_as_declared(systemd: Systemd) -> None:
    systemd.set({"a.service": RUNNING})
    host = converge(unit(digest="old", state="converged"))
    assert (host.changes, systemd.changes) == ([], [])


def test_converged_starts_what_is_stopped(systemd: Systemd) -> None:
    """A start is with what is declared now: no restart after it."""
    systemd.set({"a.service": {**FRESH, "UnitFileState": "enabled"}})
    host = converge(unit(digest="new", state="converged"))
    assert (host.changes, systemd.changes) == (["start a.service"], ["reset-failed a.service", "start a.service"])
    assert host.units == {"a.service": {"active": True, "restart_owed": False, "started": True}}


def test_a_unit_between_two_crashes_is_started_now(systemd: Systemd) -> None:
    """systemd would start it again with the old backoff; its state is neither active nor failed."""
    systemd.set({"a.service": RESTARTING})
    host = converge(unit(digest="new"))
    assert host.changes == ["start a.service"]
    assert host.diffs[0]["before"] == "activating\n"
    assert systemd.changes == ["reset-failed a.service", "start a.service"]


@pytest.mark.parametrize("before", [RUNNING, RESTARTING, {**RUNNING, "ActiveState": "failed"}])
def test_stopped(before: dict[str, str], systemd: Systemd) -> None:
    """Also out of an endless restart; a stopped unit is owed nothing."""
    systemd.set({"a.service": before})
    host = converge(unit(digest="new", state="stopped", enabled=False))
    assert host.changes == ["disable a.service", "stop a.service"]
    assert host.units == {"a.service": {"active": False, "restart_owed": False, "started": False}}
    assert systemd.changes == ["disable --quiet a.service", "stop a.service"]
    assert converge(unit(digest="new", state="stopped", enabled=False)).changes == []


def test_absent(systemd: Systemd, tmp_path: Path) -> None:
    """Stopped and disabled while its file is there, which `files` removes; a second run does not miss it."""
    file = tmp_path / "a.service"
    file.touch()
    options = {
        "path": str(file),
        "content": None,
        "owner": "root",
        "group": "root",
        "mode": "0644",
        "secret": False,
        "state": "absent",
    }
    systemd.set({"a.service": RUNNING})
    host = a_host()
    wanted = {
        "nftables": [],
        "users": [],
        "directories": [],
        "files": [options],
        "blocks": [],
        "links": [],
        "sysctl": {},
    }
    host.converge({**wanted, "units": [unit(state="absent")]})
    assert host.changes == ["disable a.service", "stop a.service", f"remove {file}"]
    assert host.units == {"a.service": {"active": False, "restart_owed": False, "started": False}}
    systemd.set({"a.service": {**FRESH, "UnitFileState": ""}})
    assert converge(unit(state="absent")).changes == []


def test_check_mode_says_the_same_and_runs_nothing(systemd: Systemd) -> None:
    before = {"a.service": FRESH, "b.service": RUNNING, "c.service": RUNNING}
    units = [
        unit(digest="new"),
        unit("b.service", digest="new", state="converged"),
        unit("c.service", state="stopped", enabled=False),
    ]
    systemd.set(before)
    checked = converge(*units, check_mode=True)
    assert systemd.changes == []
    real = converge(*units)
    assert (checked.changes, checked.diffs) == (real.changes, real.diffs)
    assert real.changes == [
        "enable a.service",
        "start a.service",
        "restart b.service",
        "disable c.service",
        "stop c.service",
    ]


def test_changed_unit_files_are_read_first(systemd: Systemd) -> None:
    """One daemon-reload for all units, before any of them is started; none in check mode."""
    units = {"a.service": {**FRESH, "NeedDaemonReload": "yes"}, "b.service": {**RUNNING, "NeedDaemonReload": "yes"}}
    systemd.set(units)
    converge(unit(), unit("b.service"), check_mode=True)
    assert systemd.changes == []
    host = converge(unit(), unit("b.service"))
    assert systemd.changes == ["daemon-reload", "enable --quiet a.service", "reset-failed a.service", "start a.service"]
    assert host.changes == ["enable a.service", "start a.service"]


def test_a_new_folder_of_drop_ins_is_read_first(systemd: Systemd) -> None:
    """A reload, although systemd does not ask for it: otherwise the unit would start without the drop-ins."""
    systemd.set({"a.service": FRESH})
    converge(unit(), before="directory /etc/systemd/system/a.service.d")
    assert systemd.changes == ["daemon-reload", "enable --quiet a.service", "reset-failed a.service", "start a.service"]


def test_a_unit_that_does_not_start(systemd: Systemd) -> None:
    """The error is systemd's own text."""
    systemd.set({"a.service": FRESH}, broken=("a.service",))
    with pytest.raises(StateError, match=r"systemctl start a\.service: Job for a\.service failed\."):
        converge(unit())


def test_a_unit_file_that_is_not_there_yet_in_check_mode(systemd: Systemd) -> None:
    """The first run on a fresh host, seen in advance."""
    systemd.set({"a.service": {**FRESH, "UnitFileState": ""}})
    host = converge(unit(), check_mode=True)
    assert [diff["before"] for diff in host.diffs] == ["absent\n", "inactive\n"]


def test_a_process_older_than_its_files(systemd: Systemd, tmp_path: Path) -> None:
    """As after a run that was interrupted between writing and restarting; who does not run is not behind."""
    (tmp_path / "job.env").write_text("JOB=job\nCONFIG_DIGEST=new\n")
    # Of several files systemd says each in a line of its own.
    file = f"{tmp_path / 'job.env'} (ignore_errors=no)\nEnvironmentFiles={tmp_path / 'no.env'} (ignore_errors=yes)"
    systemd.set(
        {
            "same.service": {**RUNNING, "Environment": "A=1 CONFIG_DIGEST=old B=2"},
            "other.service": {**RUNNING, "Environment": 'CONFIG_DIGEST=new "OPTIONS=-a -b"'},
            "unread.service": {**RUNNING, "Environment": "CONFIG_DIGEST=old", "NeedDaemonReload": "yes"},
            "job.service": {**RUNNING, "Environment": "PYTHONUNBUFFERED=1", "EnvironmentFiles": file},
            "none.service": {**RUNNING, "Environment": ""},
            "down.service": {**FRESH, "Environment": "CONFIG_DIGEST=new"},
        }
    )
    names = [f"{name}.service" for name in ("same", "other", "unread", "job", "none", "down")]
    assert behind([*names, "same.service"])["older"] == ["job.service", "other.service", "unread.service"]
    assert behind([]) == {"older": [], "untold": []}


def test_digest_of_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From /proc/PID/environ; '' for a process that is gone or has none."""
    (tmp_path / "1").write_bytes(b"A=1\0CONFIG_DIGEST=abc=d\0B=2\0")
    (tmp_path / "2").write_bytes(b"NO_CONFIG_DIGEST=x\0")
    monkeypatch.setattr(
        host_units, "open", lambda path, mode: (tmp_path / path.split("/")[2]).open(mode), raising=False
    )
    assert [host_units.digest_of(pid) for pid in ("1", "2", "3")] == ["abc=d", "", ""]
