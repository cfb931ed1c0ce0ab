"""What replace_disk.yml asks, marks and restarts, of what a person types. No hosts, no cluster."""

import re
from pathlib import Path
from typing import Any

import pytest

from render.test_restart import ANSWERS as RESTART
from render.test_restart import Played

TYPED = ("-e", "broker=2", "-e", "log_dir=/data/kafka2")
PROBE = {"log_dirs": ["/data/kafka1", "/data/kafka2"], "given_up": ["/data/kafka2"]}
BEGUN = {"changed": True, "restart": True, "plan": [], "moved": ["t-0"]}
ANSWERS: dict[str, Any] = {
    **RESTART,
    "kafka_gate": {**RESTART["kafka_gate"], "order": {"batches": [[2]], "controller": 1}},
    "kafka_log_dir": {
        "may_stop": BEGUN,
        "wait": {"changed": True, "moved": ["t-0"], "answer": "broker 2 serves from /data/kafka2"},
    },
}


def story(run: Played) -> list[str]:
    """Return the calls, each in a few words."""
    words = []
    for name, host, options in run.calls:
        units = [unit.get("restart") or unit["state"] for unit in options.get("units", ())]
        question = options.get("question", "")
        words.append(" ".join(filter(None, [name, host.removeprefix("dc1-"), question, *units])))
    return words


def test_a_broker_takes_a_disk_in(tmp_path: Path) -> None:
    """It is judged and limited, its owner set, the broker restarted through the gate and waited for."""
    run = Played(tmp_path, "replace_disk", *TYPED, "-e", "rate=50MB", answers=ANSWERS, noted_probe=PROBE)
    assert run.code == 0, run.output
    told = story(run)
    assert told[:3] == ["kafka_cluster kafka2", "kafka_log_dir kafka2", "host_state kafka2 again"]
    assert told[3:7] == [
        "kafka_gate kafka2 order",
        "kafka_gate kafka2",
        "host_state kafka2 converged",
        "kafka_gate kafka2 back",
    ]
    assert told[-3:] == ["host_state kafka2 end", "kafka_log_dir kafka2 wait", "kafka_leaders kafka2"]
    asked, state, end = run.calls[1][2], run.calls[2][2], run.calls[-3][2]
    assert state["units"][0]["restart_hosts"] == end["units"][0]["restart_hosts"] == ["dc1-kafka2"]
    assert (asked["broker"], asked["log_dir"], asked["rate"]) == ("2", "/data/kafka2", "50MB")
    assert [*asked["mounts"]] == ["/data/kafka1", "/data/kafka2"] and asked["lost"] == []
    assert state["directories"] == [
        {"path": "/data/kafka2", "owner": "kafka", "group": "kafka", "mode": "0750", "mount": True}
    ]
    assert "broker 2 serves from /data/kafka2" in run.output


def test_check_mode_says_it_and_changes_nothing(tmp_path: Path) -> None:
    """The gate says whether the broker may stop now."""
    run = Played(tmp_path, "replace_disk", *TYPED, "--check", answers=ANSWERS, noted_probe=PROBE)
    assert run.code == 0, run.output
    assert not any("wait" in words for words in story(run))
    assert "Brokers would be restarted in this order: 2. Now: may stop" in re.sub(r"\s+", " ", run.output)


def test_what_was_restarted_before_is_only_waited_for(tmp_path: Path) -> None:
    serves = {**ANSWERS["kafka_log_dir"], "may_stop": {**BEGUN, "restart": False}}
    answers = {**ANSWERS, "kafka_log_dir": serves}
    run = Played(tmp_path, "replace_disk", *TYPED, answers=answers, noted_probe=PROBE)
    assert run.code == 0, run.output
    assert not any("kafka_gate" in words or "again" in words for words in story(run))
    assert "kafka_log_dir kafka2 wait" in story(run)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-e", "broker=9", "-e", "log_dir=/data/kafka2"), "the inventory has no broker 9; use one of 1, 2, 3"),
        (("-e", "broker=2"), "Set the broker and its log dir, for example -e broker=3 -e log_dir=/data/2"),
        ((*TYPED, "--limit", "!dc1-kafka2"), "dc1-kafka2 has to be reached, so do not exclude it with -l"),
    ],
)
def test_what_is_not_said(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    run = Played(tmp_path, "replace_disk", *options, answers=ANSWERS, noted_probe=PROBE)
    assert run.code != 0 and run.calls == []
    assert words in re.sub(r"\s+", " ", run.output)


CANCELED = {"cancel": {"changed": True, "answer": "is canceled", "broker": 2}}


def test_the_mark_of_a_canceled_run_is_removed_first(tmp_path: Path) -> None:
    """The next restart.yml of that host would take it for its own; without the record nobody knows whose it was.

    One that restart.yml left is not taken.
    """
    answers = {**ANSWERS, "kafka_log_dir": CANCELED}
    run = Played(tmp_path, "replace_disk", "-e", "cancel=true", answers=answers, noted_probe=PROBE)
    assert run.code == 0 and story(run) == [
        "kafka_log_dir kafka1 cancel",
        "host_state kafka2 end",
        "kafka_log_dir kafka1 cancel",
    ], run.output
    assert [bool(options.get("only_looks")) for _, _, options in run.calls] == [True, False, False]
    assert run.calls[1][2]["units"][0]["restart_hosts"] == ["dc1-kafka2"]
    (tmp_path / "killed").mkdir()
    answers["host_state"] = {"may_stop": {"failed": True}}
    killed = Played(tmp_path / "killed", "replace_disk", "-e", "cancel=true", answers=answers, noted_probe=PROBE)
    assert killed.code != 0 and story(killed) == story(run)[:2], killed.output


def test_a_cancel_restarts_no_broker(tmp_path: Path) -> None:
    """With any other option beside it. It reports if there is nothing to cancel."""
    answers = {**ANSWERS, "kafka_log_dir": {"cancel": {"changed": False, "answer": "nothing to cancel"}}}
    run = Played(tmp_path, "replace_disk", "-e", "cancel=true", *TYPED, answers=answers, noted_probe=PROBE)
    assert run.code == 0 and story(run) == ["kafka_log_dir kafka1 cancel"] * 2, run.output
    assert "nothing to cancel" in run.output
