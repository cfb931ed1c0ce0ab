"""What a roll is told beside what it asks: whether the next may stop now, and whether all is as it should be."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from unit.test_restart_waits import ALL, FULL, LACKS_3, asks, gate, same, state

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import ClusterError, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import Block
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate_facts import UntoldError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.restart_waits import at_once, settled


def test_who_is_next_is_told_only_where_nothing_lacks() -> None:
    """Else somebody has to wait, or to hear why not."""
    assert at_once(asks(state(FULL)), gate(3, 1, min_isr=1), ALL, [3, 1]) == [3, 1]
    assert at_once(asks(state(FULL)), gate(3, 1), ALL, [3, 1]) == [], "one replica is too few"
    assert at_once(asks(state(FULL)), gate(), ALL, []) == []
    assert at_once(asks(state(FULL, LACKS_3)), gate(3), ALL, [3]) == []
    assert at_once(asks(state(FULL)), gate(3), [*ALL, 4], [3]) == []
    assert at_once(asks(ClusterError("no answer")), gate(3), ALL, [3]) == []


def test_settled_is_what_all_say() -> None:
    """Of the whole cluster: whoever else was lost meanwhile, and whoever else does not lead."""
    other = Partition("u", 0, 2, (1, 2, 3), (1, 2, 3))
    assert settled(asks(state(FULL)), same, ALL)
    assert not settled(asks(state(FULL)), lambda _: [state(FULL), state(FULL, LACKS_3)], ALL)
    assert not settled(asks(state(FULL)), lambda found: [replace(found, mute=[3])], ALL)
    assert not settled(asks(state(FULL, other)), same, ALL)
    assert not settled(asks(state(FULL)), same, [*ALL, 4])
    assert not settled(asks(ClusterError("no answer")), same, ALL)


def test_without_a_quorum_settings_are_not_asked_for_again() -> None:
    def judge(found: State) -> Sequence[Block]:
        raise UntoldError("no broker reports the settings of topics")

    with pytest.raises(UntoldError):
        at_once(asks(state(FULL)), judge, ALL, [3])
