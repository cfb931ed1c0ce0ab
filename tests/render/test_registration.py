"""What a host has beside its broker, for its znodes in ZooKeeper: files, and who runs them."""

from collections.abc import Callable
from pathlib import Path

from render.conftest import Hosts

ROOT = Path(__file__).parents[2]


def test_a_dead_broker_is_unregistered_by_its_own_unit(rendered: Callable[[str], Hosts]) -> None:
    """When its processes are gone, and before a start; whatever that comes to, it keeps no broker from starting."""
    fence = "-/usr/bin/python3 -I -S /etc/kafka/fence.py /etc/kafka/server.properties kafka.service"
    lab, production = rendered("lab")["dc1-kafka1"], rendered("dc1")["dc1-kafka1"]
    unit = lab.unit("kafka.service")
    assert (unit["ExecStartPre"][-1], unit["ExecStopPost"], unit["RestartSec"]) == (fence, [fence], ["1"])
    assert "ExecStopPost" not in production.unit("kafka.service")
    assert production.unit("kafka.service")["RestartSec"] == ["3"]


def test_what_runs_beside_a_broker(rendered: Callable[[str], Hosts]) -> None:
    """Every file that is Python, what others import first; everywhere, for a roll runs one of them."""
    lab, production = (
        {str(file["path"]): file["content"] for file in rendered(name)["dc1-kafka1"].items("files")}
        for name in ("lab", "dc1")
    )
    python = {path: text for path, text in lab.items() if path.endswith(".py")}
    files = (ROOT / "roles" / "kafka" / "files").glob("*.py")
    assert python == {f"/etc/kafka/{file.name}": file.read_text() for file in files}
    assert {Path(path).name for path in list(python)[:2]} == {"zookeeper_session.py", "broker_file.py"}
    there = {path: text for path, text in production.items() if path.endswith(".py")}
    assert there == python


def test_who_restarts_a_broker_that_lost_its_registration(rendered: Callable[[str], Hosts]) -> None:
    """A service of its own, which is there where a time is said, and gone where none is."""
    lab, production = rendered("lab")["dc1-kafka1"], rendered("dc1")["dc1-kafka1"]
    unit = lab.unit("kafka-registration.service")
    command = "/usr/bin/python3 -I -S /etc/kafka/registration.py /etc/kafka/server.properties kafka.service 40"
    assert (unit["ExecStart"], unit["Restart"], unit["CapabilityBoundingSet"]) == ([command], ["always"], [""])
    path = "/etc/systemd/system/kafka-registration.service"
    found = [(host.services[1]["state"], host.file(path)["state"]) for host in (lab, production)]
    assert found == [("converged", "present"), ("absent", "absent")]
