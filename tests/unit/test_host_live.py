"""What a process is still to be told, on its host: what an interrupted run leaves, the next one finds."""

from pathlib import Path
from typing import Any

import pytest
from unit.test_host_units import FRESH, RUNNING, Systemd, converge, systemd, unit

from ansible_collections.millrace.kafka.plugins.module_utils.host import live
from ansible_collections.millrace.kafka.plugins.module_utils.host import units as host_units
from ansible_collections.millrace.kafka.plugins.module_utils.host.units import behind

__all__ = ["systemd"]
UNIT = "a.service"


class Service:
    """One unit, whose process was started with a digest of each kind."""

    def __init__(self, systemd: Systemd) -> None:
        """It was started with settings `8`."""
        self.systemd = systemd
        self.begun = {"CONFIG_DIGEST": "old", "LIVE_DIGEST": "d8"}
        self.process = "7"
        self.up(self.process, "8")

    def up(self, process: str, threads: str) -> None:
        """Start it with its files."""
        self.process, self.begun["LIVE_DIGEST"] = process, f"d{threads}"
        self.systemd.set({UNIT: {**RUNNING, "InvocationID": process}})

    def call(self, threads: str, check_mode: bool = False, told: Any = None, **more: Any) -> dict[str, Any]:
        """Converge it, and return what is said of what it can be told."""
        wanted = {"digest": f"d{threads}", "settings": {"threads": threads, "gone": None}, "told": told}
        host = converge(unit(UNIT, **{"digest": "old", **more}, live=wanted), check_mode=check_mode)
        assert host.changes in ([], [f"start {UNIT}"], [f"restart {UNIT}"])
        found: dict[str, Any] = host.units[UNIT]["live"]
        return found

    def owed(self, threads: str, **more: Any) -> bool:
        return bool(self.call(threads, **more)["owed"])

    def untold(self, threads: str) -> bool:
        """Tell what check.yml says of it, with the digest of these threads on the disk."""
        shown = {**RUNNING, "InvocationID": self.process, "Environment": f"CONFIG_DIGEST=old LIVE_DIGEST=d{threads}"}
        self.systemd.set({UNIT: shown})
        return behind([UNIT]) == {"older": [], "untold": [UNIT]}


@pytest.fixture
def service(systemd: Systemd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(live, "FOLDER", str(tmp_path / "lib"))
    found = Service(systemd)
    monkeypatch.setattr(
        host_units,
        "digest_of",
        lambda pid, variable="CONFIG_DIGEST": found.begun[variable] if pid == "100" else "",
    )
    return found


def test_what_was_told_is_owed_no_more(service: Service, tmp_path: Path) -> None:
    assert not service.owed("8") and not service.untold("8")
    said = service.call("16", check_mode=True)
    settings = {"threads": "16", "gone": None}
    assert said == {"owed": True, "anew": False, "digest": "d16", "settings": settings, "told": {}}
    assert not (tmp_path / "lib").exists(), "check mode wrote something"
    assert service.call("16") == said and service.untold("16")
    assert not service.owed("16", told={"threads": ["16"]})
    assert not service.owed("16") and not service.untold("16")
    assert service.call("12")["told"] == {"threads": ["16"]}, "of another value, what was told before is known"


def test_an_interrupted_run_is_gone_on_with(service: Service) -> None:
    """It had begun to tell: whatever of that was done is known for ours, also where something else is declared now."""
    assert service.owed("16")
    assert service.owed("16") and service.untold("16")
    assert service.call("12")["told"] == {"threads": ["16"]}
    assert service.call("12")["told"] == {"threads": ["16", "12"]}
    service.owed("12", told={"threads": ["12"]})
    said = service.call("12")
    assert (said["owed"], said["told"]) == (False, {"threads": ["12"]})


def test_back_to_what_it_was_started_with(service: Service, tmp_path: Path) -> None:
    service.owed("16", told={"threads": ["16"]})
    assert service.owed("8") and service.untold("8")
    service.owed("8", told={})
    assert not service.owed("8") and not list((tmp_path / "lib").iterdir())


def test_what_a_process_was_told_goes_before_the_file_of_the_next(service: Service, tmp_path: Path) -> None:
    """It came up anew with the file; the page has nothing to say, for the two are the same, but a run takes it away."""
    service.owed("16", told={"threads": ["16"]})
    service.up("8", "16")
    assert not service.untold("16")
    assert service.call("16")["owed"]
    service.owed("16", told={})
    assert not service.owed("16") and not list((tmp_path / "lib").iterdir())


def test_what_holds_in_one_process_does_not_hold_in_the_next(service: Service) -> None:
    """It was told 16, and came up with 12 in its file: that 16 is declared again does not make it run with it."""
    service.owed("16", told={"threads": ["16"]})
    service.owed("12", told={"threads": ["12"]})
    service.owed("16", told={"threads": ["16"]})
    service.up("8", "12")
    assert service.owed("16") and service.untold("16")


def test_a_restart_that_is_owed_gives_it_all(service: Service) -> None:
    """Nothing is told before it, and after it there is only something to be taken back."""
    said = service.call("16", digest="new")
    assert (said["owed"], said["anew"]) == (False, True)
    assert service.call("12")["told"] == {}, "something was noted that nobody was going to tell"
    service.owed("12", told={"threads": ["12"]})
    said = service.call("16", digest="new")
    assert (said["owed"], said["anew"], said["told"]) == (True, True, {"threads": ["12"]})


def test_one_that_does_not_run(service: Service) -> None:
    """It reads its files when it starts; what it was told before that is taken back then."""
    service.owed("16", told={"threads": ["16"]})
    down = {UNIT: {**FRESH, "UnitFileState": "enabled", "InvocationID": ""}}
    service.systemd.set(down)
    assert not service.owed("12", check_mode=True)
    said = service.call("12")
    assert (said["owed"], said["anew"], said["told"]) == (True, True, {"threads": ["16"]})


def test_a_record_that_cannot_be_read(service: Service, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    for text in ("", "[1]", '{"process": "7"}', '{"process": "7", "digest": "d16", "told": 3}'):
        Path(live.path(UNIT)).write_text(text)
        assert service.owed("16", check_mode=True), text
