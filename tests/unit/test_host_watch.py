"""A unit that is watched after its start, against a made-up `systemctl` and `journalctl`."""

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.host import units as host_units
from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import StateError

STAYS = ("active", "running", "3")


def answers(*shown: tuple[str, str, str]) -> list[str]:
    """What systemctl shows, one after the other, the last for ever."""
    return [f"NRestarts={count}\nActiveState={active}\nSubState={sub}\n" for active, sub, count in shown]


@pytest.fixture
def systemd(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what will be shown, for a test to fill."""
    left: list[str] = []

    def run(*argv: str, stdin: str = "") -> str:
        if argv[0] == "journalctl":
            assert "a.service" in argv
            return "Unrecognized VM option\n"
        return left.pop(0) if len(left) > 1 else left[0]

    monkeypatch.setattr(host_units, "run", run)
    return left


@pytest.mark.parametrize(
    "end", [("activating", "auto-restart", "3"), ("failed", "failed", "3"), ("active", "running", "4")]
)
def test_a_unit_that_ends_at_once(end: tuple[str, str, str], systemd: list[str]) -> None:
    """What it said last is why the call fails."""
    systemd += answers(STAYS, end)
    with pytest.raises(StateError, match=r"a\.service was started and ends at once(.|\n)*Unrecognized VM option"):
        host_units.stays("a.service", 5)


def test_a_unit_that_stays(systemd: list[str]) -> None:
    """Earlier restarts are not held against it; without a time it is not watched at all."""
    systemd += answers(STAYS)
    host_units.stays("a.service", 0.7)
    systemd[:] = answers(("failed", "failed", "0"))
    host_units.stays("a.service", 0)
