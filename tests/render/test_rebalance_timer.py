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
    """Return what hosts get on a site that sets TIMER, where both admin hosts have a timer already."""
    return got(tmp_path_factory.mktemp("timed"), rebalance_timer=TIMER, **THERE)


def test_the_first_admin_host_has_it(timed: Mapping[str, Rendered]) -> None:
    """The timer is started, not the service; an admin host that is no longer the first loses its timer."""
    assert [*timed] == ["dc1-zk1", "dc1-zk2"]
    removed(timed["dc1-zk2"])
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


def silent(host: str) -> dict[str, Any]:
    """Return variables with which one host cannot be reached."""
    return {"ansible_connection": f"{{{{ 'ssh' if inventory_hostname == '{host}' else 'local' }}}}"}


def test_a_changed_service_and_a_password(timed: Mapping[str, Rendered], tmp_path: Path) -> None:
    """The timer's unit changes with its service, so systemd reads both; the password is in the secret file alone.

    The second admin host cannot be reached and is to have no timer: the run succeeds without it.
    """
    login = {"bootstrap.servers": "198.18.2.21:9093", "sasl.username": "admin", "sasl.password": "Ohg4ieXeipha"}
    more: dict[str, Any] = {"rebalance_timer": {**TIMER, "run": False}, "kafka_admin_listeners": {"REPLICATION": login}}
    hosts = got(tmp_path, **more, **silent("dc1-zk2"))
    assert [*hosts] == ["dc1-zk1"]
    first, second = timed["dc1-zk1"], hosts["dc1-zk1"]
    assert [first.text(path) == second.text(path) for path in UNITS] == [False, False]
    assert json.loads(second.secret(FILES[1]))["admin"] == login
    assert "Ohg4ieXeipha" not in json.dumps([second.text(path) for path in UNITS])


def removed(host: Rendered) -> None:
    """Assert that all files of the timer are absent and its units are stopped first."""
    assert {(file["path"], file["state"]) for file in host.items("files")} == {
        (path, "absent") for path in (*FILES, *UNITS)
    }
    assert {(unit["name"], unit["state"]) for unit in host.items("units")} == {
        (f"millrace-rebalance.{kind}", "absent") for kind in ("service", "timer")
    }


def test_what_is_not_said_any_more_is_removed(tmp_path: Path) -> None:
    """From each admin host that has a timer and can be reached; the others do not fail the run."""
    found: dict[str, Any] = {"rebalance_timer_found": {"stat": {"exists": "{{ inventory_hostname == 'dc1-zk2' }}"}}}
    admins = "{dc1-zk1: {}, dc1-zk2: {}, dc1-zk3: {}}"
    hosts = got(tmp_path, admins, **found, **silent("dc1-zk1"))
    assert [*hosts] == ["dc1-zk2"], "dc1-zk1 cannot be reached, dc1-zk3 has no timer"
    removed(hosts["dc1-zk2"])


def test_the_host_that_is_to_have_it_has_to_be_reached(tmp_path: Path) -> None:
    assert got(tmp_path, code=4, rebalance_timer=TIMER, **silent("dc1-zk1")) == {}
