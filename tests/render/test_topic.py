"""What topic.yml prints, as tables and as JSON, of what a cluster answers. No hosts, no cluster."""

import json
from pathlib import Path
from typing import Any

import pytest

from render.site import ROOT, control_node, make_archives, run_playbooks

PARTITION = {"partition": 0, "leader": 1, "replicas": [1, 2], "isr": [1], "offline": [2], "earliest": 0, "latest": 9}
DESCRIBED = {"partitions": [PARTITION], "config": ["retention.ms: 1000 (1 s)"], "disks": []}
DECLARED = {"name": "orders", "partitions": 1, "replication_factor": 2, "config": {}, "replicas": [[1, 2]]}
RECREATED = {"changed": True, "made": "1 partitions, no settings", "declaration": DECLARED}
LAB = ROOT / "inventories" / "lab"


def printed(folder: Path, answer: dict[str, Any], **variables: Any) -> tuple[int, str, list[str]]:
    """Run topic.yml; return its status, its output, and what the cluster was asked to do."""
    make_archives(folder / "archives")
    calls = folder / "calls"
    settings = {**control_node(LAB, folder), "noted_calls": str(calls), "topic": "orders", **variables}
    settings["noted_answers"] = {"kafka_topic": {"may_stop": answer}}
    done = run_playbooks(LAB, ["playbooks/topic.yml"], "-e", json.dumps(settings))
    lines = calls.read_text().splitlines() if calls.exists() else []
    return done.returncode, done.stdout, [json.loads(line)[2]["do"] for line in lines]


def test_tables(tmp_path: Path) -> None:
    code, text, asked = printed(tmp_path, DESCRIBED)
    assert (code, asked) == (0, ["describe"]), text
    assert "\n  partition  leader  replicas  ISR  offline  first offset  end offset\n" in text
    assert "\n  0          1       1,2       1    2        0             9\n" in text


def test_json(tmp_path: Path) -> None:
    """One line; a program needs no other."""
    code, text, _ = printed(tmp_path, DESCRIBED, output="json")
    (found,) = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert (code, found) == (0, {"topic": "orders", "do": "describe", "changed": False, **DESCRIBED})
    assert "end offset" not in text


@pytest.mark.parametrize("output", ["text", "json"])
def test_what_is_deleted_is_shown_before(output: str, tmp_path: Path) -> None:
    code, text, asked = printed(tmp_path, RECREATED, do="recreate", confirm="orders", output=output)
    assert (code, asked) == (0, ["recreate", "recreate"]), text
    if output == "json":
        found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        assert [one["do"] for one in found] == ["declaration", "readers", "recreate"]
        assert "job" not in "".join(line for line in text.splitlines() if not line.startswith(("{", "TASK", "PLAY")))
        assert found[0]["declaration"] == DECLARED
    else:
        before, after = (
            text.index("- name: orders\n  partitions: 1\n"),
            text.index("topic orders: recreated with 1 part"),
        )
        assert before < after


def test_another_form(tmp_path: Path) -> None:
    """It is refused before anything is asked or deleted."""
    code, text, asked = printed(tmp_path, RECREATED, do="purge", confirm="orders", output="yaml")
    assert (code, asked) == (2, [])
    assert "output = yaml: not a form of output; use text or json" in " ".join(text.split())
