"""Makes each error that preflight reports of the control node, by its code, for tests and for docs/errors.md."""

import fcntl
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from ansible_collections.millrace.kafka.plugins.plugin_utils import failover_record, run_lock
from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing import file
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import line

HOSTS = {"dc1-zk1": "198.18.1.11", "dc1-kafka1": "198.18.1.21"}
FIRST = "millrace-198.18.1.11.lock"
OTHER = run_lock.Run(
    user="alice",
    pid=4711,
    command="ansible-playbook -i inventories/dc1 playbooks/kafka.yml",
    since="2026-03-01 09:30:00+01:00",
    node="ops1",
    mark="4711 another",
)


def said(folder: Path) -> str:
    """Return the only line."""
    run_lock.prepare()
    (problem,) = run_lock.problems(HOSTS, str(folder))
    assert not problem.warning
    return line(problem, {}).replace(str(folder), "/srv/locks")


def locked(folder: Path) -> str:
    """A run of another control node holds a host."""
    with (folder / FIRST).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        json.dump(asdict(OTHER), lock)
        lock.flush()
        return said(folder)


def drawn(folder: Path) -> str:
    """The folder of a drawing is not there."""
    (problem,) = file.problems(str(folder / "absent" / "site.svg"), False)
    assert not problem.warning
    return line(problem, {}).replace(str(folder), "/srv/drawings")


def failed_over(text: str) -> str:
    """The control node has the record of a failover."""
    (problem,) = failover_record.lock_problem(text, PLACE, failover_record.HOST_LOCK, (), ["dc1", "dc2"])
    assert not problem.warning
    return line(problem, {})


PLACE = "/srv/millrace-pki/stretch2/failover.json"
RECORD = {"survivor": "dc2", "lost": ["dc1"], "started": "2026-03-01 09:30:00 UTC", "name": "20260301T093000Z"}
RUNS: dict[str, Callable[[Path], str]] = {
    "RUN_LOCKED": locked,
    "LOCK_FOLDER": lambda folder: said(folder / "absent"),
    "DRAWING_FILE": drawn,
    "FAILOVER_ACTIVE": lambda _: failed_over(json.dumps(RECORD)),
    "FAILOVER_UNREADABLE": lambda _: failed_over("{"),
}
