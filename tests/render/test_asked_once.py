"""Questions of a roll that the one before has answered."""

from pathlib import Path

from render.test_restart import ANSWERS, WHOLE, Played


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    """Whoever is asked for one answers for the next; the end asks no more where the last found all as it should be."""
    gate = ANSWERS["kafka_gate"] | {
        "order": {**ANSWERS["kafka_gate"]["order"], "opened": [2], "ago": 3, "lacking": {}},
        "back 2": {**WHOLE, "opened": [3], "ago": 2},
        "back 3": {**WHOLE, "opened": [], "ago": 1},
        "back 1": {**WHOLE, "settled": True, "ago": 0},
    }
    run = Played(tmp_path, "restart", "--limit", "kafka", answers={**ANSWERS, "kafka_gate": gate})
    assert run.code == 0, run.output
    assert run.story()[3:13] == [
        *("order 1 2 3", "restart kafka2", "back 2", "restart kafka3", "back 3"),
        *("may_stop 1", "hand over kafka1", "may_stop 1", "restart kafka1", "back 1"),
    ]
    backs = [options for _, _, options in run.calls if options.get("question") == "back"]
    assert [one["then"] for one in backs] == [[3], [1], []] and backs[0]["before"] == {}
    assert [name for name, _, _ in run.calls if name in ("kafka_cluster", "kafka_leaders")] == ["kafka_cluster"]
    gate["back 1"] = {**gate["back 1"], "settled": False}
    run = Played(tmp_path / "second", "restart", "--limit", "kafka", answers={**ANSWERS, "kafka_gate": gate})
    names = [name for name, _, _ in run.calls if name in ("kafka_cluster", "kafka_leaders")]
    assert names == ["kafka_cluster", "kafka_cluster", "kafka_leaders"], run.output


def test_an_answer_of_long_ago_is_asked_for_again(tmp_path: Path) -> None:
    """The machine of the operator may have slept."""
    gate = ANSWERS["kafka_gate"] | {
        "order": {**ANSWERS["kafka_gate"]["order"], "opened": [2], "ago": 60, "lacking": {}},
        "back": {**WHOLE, "opened": [3], "settled": True, "ago": -60},
    }
    run = Played(tmp_path, "restart", "--limit", "kafka", answers={**ANSWERS, "kafka_gate": gate})
    assert [words for words in run.story() if words.startswith("may_stop")] == [
        *("may_stop 2", "may_stop 3", "may_stop 1", "may_stop 1"),
    ]
    names = [name for name, _, _ in run.calls if name in ("kafka_cluster", "kafka_leaders")]
    assert names == ["kafka_cluster", "kafka_cluster", "kafka_leaders"], run.output


def test_what_came_to_lack_during_the_run_did_not_lack_before(tmp_path: Path) -> None:
    """The first question was answered by the order: what a later one saw is no reason to end well."""
    later = {"lacking": {"under_replicated": ["t-0 without 2"]}, "ago": 0}
    gate = ANSWERS["kafka_gate"] | {
        "order": {**ANSWERS["kafka_gate"]["order"], "opened": [2], "ago": 2, "lacking": {}},
        "back 2": {**WHOLE, "opened": [], "ago": 1},
        "may_stop 3": {**later, "open": True, "answer": "may stop"},
        "back": {**WHOLE, "settled": False, "ago": 0},
    }
    told = {"noted_owed": True, "render_directory": str(tmp_path / "hosts")}
    run = Played(tmp_path, "kafka", answers={**ANSWERS, "kafka_gate": gate}, **told)
    assert run.code == 0, run.output
    assert [options.get("before") for name, _, options in run.calls if name == "kafka_cluster"] == [None], run.output
