"""What the admin host gets where the site says rebalance_timer, and what it gets no more where it does not."""

import base64
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from derive import derive

from render.site import ROOT, Rendered, control_node, run_playbooks

LAB = ROOT / "inventories" / "lab"
TIMER: Mapping[str, Any] = {"on_calendar": "Sun 03:00", "rate": "50MB", "at_most": "20GB", "run": True}
THERE: Mapping[str, Any] = {"rebalance_timer_found": {"stat": {"exists": True}}}
FILES = ("/usr/local/lib/millrace-rebalance.pyz", "/etc/millrace-rebalance.json")
UNITS = tuple(f"/etc/systemd/system/millrace-rebalance.{kind}" for kind in ("service", "timer"))


def got(folder: Path, admins: str = "{dc1-zk1: {}, dc1-zk2: {}}", code: int = 0, **more: Any) -> dict[str, Rendered]:
    """Return what each host gets of the role that has something to do with the timer; the run ends with `code`."""
    inventory = folder / "inventory"
    derive(LAB, inventory, {})
    hosts = inventory / "hosts.yml"
    hosts.write_text(hosts.read_text().replace("  children:\n", f"  children:\n    admin: {{hosts: {admins}}}\n", 1))
    settings = {
        "ansible_connection": "local",
        "render_directory": str(folder / "hosts"),
        **control_node(inventory, folder),
        **more,
    }
    done = run_playbooks(inventory, ["playbooks/layers/rebalance_timer.yml"], "--check", "-e", json.dumps(settings))
    assert done.returncode == code, done.stdout
    found = sorted((folder / "hosts").glob("*/rebalance_timer.json"))
    return {file.parent.name: Rendered({"rebalance_timer": json.loads(file.read_text())}, []) for file in found}


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Rendered]:
    """Return what hosts get of a site that says TIMER."""
    return got(tmp_path_factory.mktemp("timed"), rebalance_timer=TIMER)


def test_the_first_admin_host_has_it(timed: Mapping[str, Rendered]) -> None:
    """Started, and not the service; who may read what, and which files are there."""
    assert [*timed] == ["dc1-zk1"]
    host = timed["dc1-zk1"]
    assert {file["path"] for file in host.items("files")} == {*FILES, *UNITS}
    assert [(unit["name"], unit["state"], unit["enabled"]) for unit in host.items("units")] == [
        ("millrace-rebalance.timer", "started", True)
    ]
    timer, service = (host.unit(f"millrace-rebalance.{kind}") for kind in ("timer", "service"))
    assert timer["OnCalendar"] == ["Sun 03:00"] and timer["WantedBy"] == ["timers.target"]
    assert service["Type"] == ["oneshot"] and service["TimeoutStartSec"] == ["infinity"]
    (start,) = service["ExecStart"]
    assert start.split()[1:] == [*FILES]
    assert service["ProtectSystem"] == ["strict"] and service["NoNewPrivileges"] == ["yes"]
    assert service["ProtectHome"][-1] == "read-only"
    (writable,) = service["ReadWritePaths"]
    assert writable.endswith("/.local/state/millrace")
    assert host.file(FILES[1])["mode"] == "0600" and host.file(FILES[1])["owner"] == service["User"][0]
    told = json.loads(host.text(FILES[1]))
    assert told["record_directory"] == writable
    assert [(one["id"], one["rack"]) for one in told["brokers"]] == [(1, "dc1-a"), (2, "dc1-b"), (3, "dc1-c")]
    assert {name: told[name] for name in ("rate", "at_most", "run", "cluster_id", "write_timeout")} == {
        "rate": "50MB",
        "at_most": "20GB",
        "run": True,
        "cluster_id": "",
        "write_timeout": 60,
    }
    assert told["admin"]["bootstrap.servers"] == "198.18.2.21:9093,198.18.2.22:9093,198.18.2.23:9093"
    assert told["admin"]["ssl.key.location"].endswith("/certificates/dc1-zk1/admin.pem")


def test_the_program_is_whole(timed: Mapping[str, Rendered]) -> None:
    """What Python runs first, and nothing that a host without Ansible lacks."""
    host = timed["dc1-zk1"]
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(host.file(FILES[0])["secret_base64"]))) as archive:
        names, main = archive.namelist(), archive.read("__main__.py").decode()
    assert "kafka.reassign.timer import main" in main
    assert "ansible_collections/millrace/kafka/plugins/module_utils/kafka/reassign/plan.py" in names
    assert not any(name.startswith("ansible/") for name in names)


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    """The settings are kept out of diffs and of the host's journal then."""
    login = {"bootstrap.servers": "198.18.2.21:9093", "sasl.username": "admin", "sasl.password": "Ohg4ieXeipha"}
    host = got(tmp_path, rebalance_timer=TIMER, kafka_admin_listeners={"REPLICATION": login})["dc1-zk1"]
    assert json.loads(host.secret(FILES[1]))["admin"] == login
    assert "Ohg4ieXeipha" not in json.dumps([host.text(path) for path in UNITS])


def test_a_changed_service_is_read_anew(timed: Mapping[str, Rendered], tmp_path: Path) -> None:
    """Systemd is asked of the timer alone, so that changes with it."""
    first, second = timed["dc1-zk1"], got(tmp_path, rebalance_timer={**TIMER, "run": False})["dc1-zk1"]
    assert [first.text(path) == second.text(path) for path in UNITS] == [False, False]


@pytest.mark.parametrize("said", [{}, {"rebalance_timer": {}}])
def test_without_the_word_nothing_is_done(said: dict[str, Any], tmp_path: Path) -> None:
    assert got(tmp_path, **said) == {}


def test_what_is_not_said_any_more_is_removed(tmp_path: Path) -> None:
    """With all its files, stopped first; also from an admin host that is not the first any more."""
    hosts = got(tmp_path, **THERE)
    assert [*hosts] == ["dc1-zk1", "dc1-zk2"]
    for host in hosts.values():
        assert {(file["path"], file["state"]) for file in host.items("files")} == {
            (path, "absent") for path in (*FILES, *UNITS)
        }
        assert {(unit["name"], unit["state"]) for unit in host.items("units")} == {
            (f"millrace-rebalance.{kind}", "absent") for kind in ("service", "timer")
        }
    (tmp_path / "other").mkdir()
    other = got(tmp_path / "other", rebalance_timer=TIMER, **THERE)
    assert [host.items("units")[0]["state"] for host in other.values()] == ["started", "absent"]


def silent(host: str) -> dict[str, Any]:
    """Return what has one host not be reached."""
    return {"ansible_connection": f"{{{{ 'ssh' if inventory_hostname == '{host}' else 'local' }}}}"}


def test_a_host_that_is_off_and_is_to_have_none_is_left_out(tmp_path: Path) -> None:
    """Where the word is not said, and where another has it; that one is needed."""
    runs: list[tuple[str, Mapping[str, Any], int, list[str]]] = [
        ("dc1-zk1", {}, 0, []),
        ("dc1-zk2", {"rebalance_timer": TIMER}, 0, ["dc1-zk1"]),
        ("dc1-zk1", {"rebalance_timer": TIMER}, 4, []),
    ]
    for number, (off, said, code, have) in enumerate(runs):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert [*got(folder, code=code, **said, **silent(off))] == have, runs[number]
