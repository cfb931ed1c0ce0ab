"""What systemd remembers of a unit that is taken away."""

from unit.test_host_units import FRESH, RUNNING, Systemd, converge, systemd, unit

__all__ = ["systemd"]


def test_that_it_failed_is_forgotten(systemd: Systemd) -> None:
    """Else systemd shows it for ever, without its file; one that fails as it is stopped, too."""
    for found in (RUNNING, {**FRESH, "ActiveState": "failed"}):
        systemd.set({"a.service": found}, stopped="failed")
        converge(unit(state="absent", enabled=False))
        assert systemd.changes[-2:] == ["stop a.service", "reset-failed a.service"]


def test_what_is_only_stopped_is_left_as_it_ended(systemd: Systemd) -> None:
    systemd.set({"a.service": {**FRESH, "ActiveState": "failed"}}, stopped="failed")
    converge(unit(state="stopped", enabled=False))
    assert systemd.changes == ["stop a.service"]
