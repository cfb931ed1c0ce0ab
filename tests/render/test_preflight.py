"""Preflight on the project's own inventories: both phases pass, on hosts that are as declared."""

import json
import subprocess
from pathlib import Path

import pytest

from render.site import ROOT, control_node, make_archives, run_playbooks


@pytest.mark.parametrize("name", ["lab", "dc1", pytest.param("dc2", marks=pytest.mark.campaign)])
def test_no_mistake(name: str, tmp_path: Path) -> None:
    make_archives(tmp_path / "archives")
    inventory = ROOT / "inventories" / name
    settings = json.dumps(control_node(inventory, tmp_path))
    done = run_playbooks(inventory, ["playbooks/preflight.yml"], "-e", settings)
    assert done.returncode == 0, done.stdout
    assert "TASK [Probe the host]" in done.stdout
    assert "TASK [Check the hosts]" in done.stdout
    assert "mistake;" not in done.stdout


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_declared_versions_change(form: str, tmp_path: Path) -> None:
    """Hosts that run older versions: said once for each product, where nothing is wrong, and for programs as well."""
    make_archives(tmp_path / "archives")
    inventory = ROOT / "inventories" / "lab"
    releases = {
        "kafka": {"installed": "3.9.1", "running": "3.9.1", "protocol": "3.9"},
        "zookeeper": {"installed": "3.8.5", "running": "3.8.5"},
    }
    settings = {**control_node(inventory, tmp_path), "noted_probe": {"releases": releases}, "preflight_output": form}
    done = run_playbooks(inventory, ["playbooks/preflight.yml"], "-e", json.dumps(settings))
    assert done.returncode == 0, done.stdout
    if form == "json":
        said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"errors"')]
        assert [one["phase"] for one in said] == ["model", "hosts"] and "upgrades" not in said[0]
        found = said[1]
        assert [(one["product"], one["before"], one["after"]) for one in found["upgrades"]] == [
            ("zookeeper", "3.8.5", "3.8.6"),
            ("kafka", "3.9.1", "3.9.2"),
        ]
        return
    assert done.stdout.count("What the declared versions change:") == 1
    assert (
        "Kafka 3.9.1 -> 3.9.2, group kafka: properties of brokers and topics that change\n  new: alter." in done.stdout
    )
    assert "ZooKeeper 3.8.5 -> 3.8.6, group zookeeper: properties of servers that change\n  new: ssl." in done.stdout


def test_nothing_is_rotated_in_the_clear(tmp_path: Path) -> None:
    """One sentence, and no task after it."""
    make_archives(tmp_path / "archives")
    inventory = ROOT / "inventories" / "lab"
    settings = json.dumps({**control_node(inventory, tmp_path), "security_profile": "plaintext"})
    done = run_playbooks(inventory, ["playbooks/rotate_certificates.yml"], "-e", settings)
    assert done.returncode != 0
    assert "nothing to rotate: security_profile is plaintext" in " ".join(done.stdout.split())
    assert "TASK [Wait until the ensemble is whole]" not in done.stdout
    assert "Traceback" not in done.stdout


def beside(living: list[str], playbook: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a playbook for a host on which nothing is installed, while these brokers live."""
    make_archives(folder / "archives")
    inventory = ROOT / "inventories" / "lab"
    settings = {
        **control_node(inventory, folder),
        "noted_calls": str(folder / "calls"),
        "noted_answers": {"kafka_cluster": {"may_stop": {"brokers": {key: {} for key in living}}}},
        "noted_probe": {"meta_properties": {"/data/kafka1": {}}},
    }
    return run_playbooks(inventory, [f"playbooks/{playbook}.yml"], "-l", "dc1-kafka1", "-e", json.dumps(settings))


@pytest.mark.parametrize("living", [[], ["2", "3"]])
def test_a_host_with_nothing_beside_brokers_that_live(living: list[str], tmp_path: Path) -> None:
    """Of those outside of --limit nothing is known but that they are there; where nobody is, a site begins."""
    done = beside(living, "preflight", tmp_path)
    assert ("PROTOCOL_UNKNOWN dc1-kafka1/kafka_version" in done.stdout) is bool(living), done.stdout
    assert (done.returncode != 0) is bool(living), done.stdout


@pytest.mark.parametrize("playbook", ["restart", "start"])  # stop.yml asks the cluster nothing of this
def test_what_files_of_brokers_would_say_refuses_nobody_who_writes_none(playbook: str, tmp_path: Path) -> None:
    done = beside(["2", "3"], playbook, tmp_path)
    assert "PROTOCOL_UNKNOWN dc1-kafka1/kafka_version" in done.stdout, done.stdout
    assert "no host was changed" not in done.stdout, done.stdout
