"""Hosts that cannot be reached, the admin host among them: nobody is restarted beside them, and all are named."""

import re
from pathlib import Path
from typing import Any

import pytest

from render.test_restart import ANSWERS, WHOLE, Played

SILENT = {"unreachable": True, "msg": "Failed to connect to the host via ssh"}


def silent(module: str, *questions: str) -> dict[str, Any]:
    """Return answers of a cluster whose admin host is silent at these questions."""
    return {**ANSWERS, module: {**ANSWERS[module], **dict.fromkeys(questions, SILENT)}}


def said(run: Played) -> str:
    """Return what a run printed, unwrapped."""
    return re.sub(r"\s+", " ", run.output)


def verbs(run: Played) -> set[str]:
    """Return what a run did, or asked for."""
    return {words.split()[0] for words in run.story()}


def test_an_outage_asks_a_silent_admin_host_in_vain_and_stops_all(tmp_path: Path) -> None:
    """It asks for the order alone; the first broker and the first server, which ask, are stopped like all others."""
    answers = {**silent("kafka_cluster", "may_stop"), **{"zookeeper_gate": {"order": SILENT}}}
    run = Played(tmp_path, "stop", "-e", "outage=true", answers=answers)
    stopped = {words for words in run.story() if words.startswith("stopped")}
    hosts = [f"{kind}{number}" for kind in ("kafka", "zk") for number in (1, 2, 3)]
    assert {f"stopped {host}" for host in hosts} <= stopped, run.output[-3000:]
    assert run.code == 0, run.output[-3000:]


@pytest.mark.parametrize(("module", "question"), [("kafka_gate", "may_stop"), ("zookeeper_gate", "order")])
def test_nobody_is_stopped_beside_a_silent_admin_host(module: str, question: str, tmp_path: Path) -> None:
    """It is named, not the host that asks it."""
    hosts = "dc1-kafka1,dc1-zk1,dc1-spark1"
    run = Played(tmp_path, "stop", "--limit", hosts, answers=silent(module, question))
    assert run.code != 0 and "stopped" not in verbs(run), run.output[-3000:]
    assert "Could not be reached: localhost." in said(run) and "No host was stopped" in said(run)


@pytest.mark.parametrize(("playbook", "host"), [("kafka", "dc1-kafka3"), ("site", "dc1-zk3")])
def test_nobody_is_changed_where_a_host_cannot_be_reached(playbook: str, host: str, tmp_path: Path) -> None:
    """Who it is, and how to go on without."""
    more: dict[str, Any] = {"noted_unreachable": [host], "noted_owed": True, "render_directory": str(tmp_path / "out")}
    run = Played(tmp_path, playbook, **more)
    assert run.code != 0 and run.calls == [], run.output[-3000:]
    assert f"Could not be reached: {host}. Mend that, or go on without: -l 'all:!{host}'." in said(run)


@pytest.mark.parametrize(("playbook", "host"), [("kafka", "dc1-kafka3"), ("zookeeper", "dc1-zk3")])
def test_nobody_is_restarted_where_a_host_is_lost_in_the_midst(playbook: str, host: str, tmp_path: Path) -> None:
    more: dict[str, Any] = {"noted_lost": {host: "started"}, "noted_owed": True}
    run = Played(tmp_path, playbook, render_directory=str(tmp_path / "out"), **more)
    assert run.code != 0 and {name for name, _, _ in run.calls} == {"host_state"}, run.output[-3000:]
    assert f"Could not be reached any more: {host}." in said(run)


def test_hosts_are_started_without_those_that_are_dead(tmp_path: Path) -> None:
    """After an outage. reassign.yml beside a dead broker: test_reassign.py."""
    run = Played(tmp_path, "start", noted_unreachable=["dc1-kafka1", "dc1-zk3"])
    assert run.code != 0
    assert {f"start {name}" for name in ("kafka2", "kafka3", "zk1", "zk2", "spark1")} <= {*run.story()}


@pytest.mark.parametrize("question", ["may_stop 3", "back 3"])
def test_no_other_broker_is_restarted_where_the_admin_host_falls_silent(question: str, tmp_path: Path) -> None:
    """Ansible counts such a host twice, as failed and as unreachable, and begins the next batch."""
    run = Played(tmp_path, "restart", "--limit", "kafka", answers=silent("kafka_gate", question))
    story = run.story()[4:]
    expected = ["may_stop 2", "restart kafka2", "back 2", "may_stop 3", "restart kafka3", "back 3"]
    assert run.code != 0 and story == expected[: expected.index(question) + 1], run.output[-3000:]
    assert "Could not be reached any more: localhost." in said(run) and "No other broker is restarted" in said(run)


def test_no_other_batch_is_restarted_where_one_of_a_rack_is_lost(tmp_path: Path) -> None:
    order = {"batches": [[3, 1], [2]], "controller": 2}
    answers = {**ANSWERS, "kafka_gate": {**ANSWERS["kafka_gate"], "order": order}}
    options = ("--limit", "kafka", "-e", "parallel=rack")
    run = Played(tmp_path, "restart", *options, answers=answers, noted_lost={"dc1-kafka3": "converged"})
    assert run.code != 0 and "may_stop 2" not in run.story(), run.output[-3000:]
    assert "Could not be reached any more: dc1-kafka3." in said(run)


def test_a_controller_that_is_lost_when_it_hands_over_is_named(tmp_path: Path) -> None:
    order = {"batches": [[3, 1], [2]], "controller": 3}
    answers = {**silent("kafka_controller", "may_stop"), "kafka_gate": {**ANSWERS["kafka_gate"], "order": order}}
    run = Played(tmp_path, "restart", "--limit", "kafka", "-e", "parallel=rack", answers=answers)
    assert run.code != 0 and "may_stop 2" not in run.story(), run.output[-3000:]
    assert "Could not be reached any more: dc1-kafka3." in said(run)


def test_nobody_is_marked_where_the_admin_host_is_silent(tmp_path: Path) -> None:
    run = Played(tmp_path, "restart", answers={**ANSWERS, "kafka_cluster": {"may_stop": {**WHOLE, **SILENT}}})
    assert run.code != 0 and run.story() == [], run.output[-3000:]
    assert "Could not be reached: localhost." in said(run) and "No host was restarted" in said(run)
