"""What a load is blamed for: each kind alone."""

from pathlib import Path
from unittest.mock import MagicMock

import pytest
from faults import verdict as module
from faults.ledger import Record, payload
from faults.verdict import verdict


@pytest.mark.parametrize(
    ("acks", "unknown", "found", "said"),
    [
        ("k-0\t0\t5.0\t0.004\tt\nk-1\t1\t5.0\t0.004\tt\n", "", ("k-0", "k-1"), ""),
        ("k-0\t0\t5.0\t0.004\tt\nk-1\t1\t5.0\t0.004\tt\n", "", ("k-0",), "1 missing"),
        ("k-0\t0\t5.0\t0.004\tt\nk-1\t1\t5.0\t0.004\tt\n", "", ("k-0", "k-1", "k-1"), "1 double"),
        ("k-0\t0\t5.0\t0.004\tt\n", "k-1\t_MSG_TIMED_OUT\n", ("k-0",), "sends failed"),
        ("k-0\t0\t5.0\t0.004\tt\nk-1\t1\t3.0\t0.004\tt\n", "", ("k-0", "k-1"), "partitions that acknowledge no more"),
    ],
)
def test_verdict(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, acks: str, unknown: str, found: tuple[str, ...], said: str
) -> None:
    """Two partitions, all whole again at 4 s."""
    lab = MagicMock()
    lab.partitions.return_value = {0: None, 1: None}
    records = [Record(key, payload(key, 60), int(key[-1]), offset, "t") for offset, key in enumerate(found)]
    monkeypatch.setattr(module, "read_all", lambda *_: records)
    for kind, text in (("intents", "k-0\tt\nk-1\tt\n"), ("acks", acks), ("unknown", unknown)):
        (tmp_path / f"w.{kind}").write_text(text)
    if not said:
        assert verdict(lab, "t", tmp_path, 4.0)[1].acknowledged == 2
        return
    with pytest.raises(AssertionError, match=said):
        verdict(lab, "t", tmp_path, 4.0)
