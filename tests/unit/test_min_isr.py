"""What a failover saves and lowers of min.insync.replicas, and what a failback restores."""

from typing import Any

import pytest
from unit.failover_site import VALUES

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.min_isr import (
    Values,
    fewest_replicas,
    joined,
    lowered,
    of_dict,
    restoring,
    saving,
)
from ansible_collections.millrace.kafka.plugins.modules import kafka_min_isr

THERE = Values("", {"orders": "3", "audit": "1", "__transaction_state": "3"})


def test_only_higher_values_are_lowered() -> None:
    assert lowered(THERE, 2) == Values("2", {"orders": "2", "__transaction_state": "2"})


def test_a_topic_with_fewer_replicas_gets_their_number() -> None:
    """With two replicas, one in each datacenter, and min.insync.replicas = 2, one replica remains."""
    there = Values("", {"orders": "3", "pairs": "2", "single": "1"})
    partitions = [("orders", (1, 2, 3, 4)), ("pairs", (1, 3)), ("pairs", (1, 2)), ("single", (1,))]
    replicas = fewest_replicas(partitions, [3, 4])
    assert replicas == {"orders": 2, "pairs": 1}
    assert lowered(there, 2, replicas) == Values("2", {"orders": "2", "pairs": "1"})


def test_a_topic_that_follows_the_default_gets_the_number_of_its_replicas_too() -> None:
    """Until the failback, which removes its value, unless somebody has set a higher one."""
    assert lowered(Values("", {}), 2, {"pairs": 1, "orders": 2}) == Values("2", {"pairs": "1"})
    assert lowered(Values("1", {}), 2, {"pairs": 1}) == Values("1", {})
    saved = of_dict(Values("", {"pairs": ""}).as_dict())
    assert restoring(saved, Values("2", {"pairs": "1"})) == (None, {"pairs": None})
    assert restoring(saved, Values("1", {"pairs": "1"})) == (None, {"pairs": None})
    assert restoring(saved, Values("", {"pairs": "1"})) == (None, {"pairs": None})
    assert restoring(saved, Values("2", {"pairs": "3"})) == (None, {})
    assert restoring(saved, Values("2", {})) == (None, {})


def test_values_are_restored_unless_the_topic_was_deleted() -> None:
    saved = of_dict(Values("", {"orders": "3", "gone": "3", "audit": "4"}).as_dict())
    now = Values("2", {"orders": "2", "audit": "1", "__transaction_state": "2"})
    assert restoring(saved, now) == (None, {"orders": "3", "audit": "4"})


def test_values_that_were_lowered_twice_are_restored() -> None:
    assert restoring(Values("", {"orders": "3"}), Values("1", {"orders": "1"})) == (None, {"orders": "3"})


def test_a_higher_value_is_kept() -> None:
    assert restoring(Values("", {"orders": "3"}), Values("2", {"orders": "4"})) == (None, {})


def test_saved_values_are_joined_without_loss() -> None:
    """Of two control nodes that fail over at the same time, one may read values that the other one has lowered."""
    before, lowered_already = Values("", {"orders": "3", "pairs": ""}), Values("2", {"pairs": "1", "audit": "3"})
    together = Values("", {"orders": "3", "pairs": "", "audit": "3"})
    assert joined(before, lowered_already) == joined(lowered_already, before) == together
    assert joined(Values("3", {"orders": "2"}), Values("10", {"orders": "10"})) == Values("10", {"orders": "10"})


def test_values_that_were_set_during_a_failover_are_saved_by_the_next_run() -> None:
    """`orders` and `pairs` got higher values from an operator; `audit` and `trios` have those of the first run."""
    earlier = Values("", {"orders": "3", "pairs": "", "audit": "3", "trios": ""})
    there = Values("2", {"orders": "4", "pairs": "3", "audit": "2", "trios": "2", "late": "3"})
    saved = saving(there, earlier, there.topics, {"pairs": 1, "trios": 2, "orders": 2})
    assert saved == Values("", {"orders": "4", "pairs": "3", "audit": "3", "trios": "", "late": "3"})
    assert saving(there, None, ["late", "none"], {}) == Values("2", {"late": "3", "none": ""})


def test_a_topic_that_appeared_after_the_values_were_recorded_is_not_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    found, written = list[dict[str, Any]](), list[Any]()
    given = {"to": 2, "survivors": [], "restore": None, "saved": VALUES, "only_saved": True}
    admin, metadata = object(), Metadata("id", 3, {3: ("a", 1)}, [])
    module = type("Module", (), {"params": given, "check_mode": False})()
    monkeypatch.setattr(kafka_min_isr, "KafkaModule", lambda **_: module)
    monkeypatch.setattr(kafka_min_isr, "read", lambda *_: Values("2", {"orders": "3", "late": "3"}))
    monkeypatch.setattr(kafka_min_isr, "write", lambda *given: written.append(given[2:]))
    monkeypatch.setattr(kafka_min_isr, "ask", lambda module, key, answered: found.append(answered(admin, metadata)))
    kafka_min_isr.main()
    assert (written, found[0]["saved"]) == ([("2", {"orders": "2"})], VALUES)


@pytest.mark.parametrize("wrong", [{"a": None}, {"a": "abc"}, {"a": "-1"}, {"a": []}])
def test_saved_values_are_numbers(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not values of min"):
        of_dict({"default": "", "topics": wrong})


def test_a_lower_default_is_not_raised() -> None:
    assert lowered(Values("1", {}), 2) == Values("1", {})
    assert lowered(Values("3", {}), 2) == Values("2", {})


def test_a_default_from_before_is_restored() -> None:
    assert restoring(Values("4", {}), Values("2", {})) == ("4", {})


@pytest.mark.parametrize("saved", [{}, {"default": 3, "topics": {}}, {"default": "", "topics": []}])
def test_values_in_another_form_are_refused(saved: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not values of min"):
        of_dict(saved)
