"""Settings of a PostgreSQL: taken by the running one where it can, else by a restart, and never where it refuses them.

Check mode says which before.
"""

import json
from dataclasses import replace

import pytest

from operations.conftest import Operator

pytestmark = pytest.mark.campaign


def seen(operator: Operator, *names: str) -> list[str]:
    """Return the process of the server, and what it works with."""
    query = " UNION ALL ".join(f"SELECT current_setting('{name}')" for name in names)
    command = f'systemctl show -p MainPID --value postgresql; psql -U postgres -qAtc "{query}"'
    return operator.inventory.run(operator.inventory.hosts("database")[0], command).split()


def play(operator: Operator, *options: str, **config: object) -> str:
    """Run the layer with settings, to its end; return what it did, in its last line."""
    settings = json.dumps({"postgresql_config": {"shared_buffers": "32MB", "max_wal_size": "128MB", **config}})
    with_last_line = replace(operator, callbacks=(*operator.callbacks, "millrace.kafka.closing_line"))
    run = with_last_line.play("database", "-e", settings, *options)
    assert run.code == 0, run.output[-3000:]
    return next(line for line in run.output.splitlines()[::-1] if line.startswith("millrace: "))


def test_settings(operator: Operator) -> None:
    """One that a running server takes, one that it does not, and the way back."""
    play(operator)
    process, memory, most = seen(operator, "work_mem", "max_connections")
    assert memory == "4MB"
    assert "restarted" not in play(operator, "--check", work_mem="8MB")
    assert seen(operator, "work_mem") == [process, "4MB"]
    assert "restarted" not in play(operator, work_mem="8MB")
    assert seen(operator, "work_mem", "max_connections") == [process, "8MB", most]
    assert "restart" in play(operator, "--check", max_connections=33)
    assert seen(operator, "max_connections") == [process, most]
    assert "restarted postgresql on" in play(operator, max_connections=33)
    restarted, memory, connections = seen(operator, "work_mem", "max_connections")
    assert (restarted != process, memory, connections) == (True, "4MB", "33")
    assert play(operator, max_connections=33) == "millrace: nothing changed"
    play(operator)


def test_what_the_server_refuses_changes_nothing(operator: Operator) -> None:
    """Preflight checks only zones of the form area/place; the server's own program does, before its file is written."""
    before = seen(operator, "timezone")
    run = operator.play("database", "-e", json.dumps({"postgresql_config": {"timezone": "Olympus"}}))
    assert run.code != 0
    assert 'invalid value for parameter "timezone": "Olympus"' in run.output.replace("TimeZone", "timezone")
    assert seen(operator, "timezone") == before
    play(operator)
