"""Questions of a roll that the one before has answered."""

from pathlib import Path

from render.test_restart import ANSWERS, WHOLE, Played


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    """Whoever is asked for one answers for the next; the end asks no more where the last found all as it should be."""
    gate = ANSWERS["kafka_gate"] | {
        "order": {**ANSWERS["kafka_gate"]["order"], "opened": [2], "at": 1.0},
        "back 2": {**WHOLE, "opened": [3], "settled": True, "at": 2.0},
        "back 3": {**WHOLE, "opened": [], "settled": True, "at": 3.0},
        "back 1": {**WHOLE, "opened": [], "settled": True, "at": 4.0},
    }
    run = Played(tmp_path, "restart", "--limit", "kafka", answers={**ANSWERS, "kafka_gate": gate})
    assert run.code == 0, run.output
    assert run.story()[3:13] == [
        *("order 1 2 3", "restart kafka2", "back 2", "restart kafka3", "back 3"),
        *("may_stop 1", "hand over kafka1", "may_stop 1", "restart kafka1", "back 1"),
    ]
    backs = [options for _, _, options in run.calls if options.get("question") == "back"]
    assert [one["plan"] for one in backs] == [[[2], [3], [1]]] * 3 and backs[0]["before"] == {}
    assert [name for name, _, _ in run.calls if name in ("kafka_cluster", "kafka_leaders")] == ["kafka_cluster"]
    gate["back 1"] = {**gate["back 1"], "settled": False}
    run = Played(tmp_path / "second", "restart", "--limit", "kafka", answers={**ANSWERS, "kafka_gate": gate})
    names = [name for name, _, _ in run.calls if name in ("kafka_cluster", "kafka_leaders")]
    assert names == ["kafka_cluster", "kafka_cluster", "kafka_leaders"], run.output
