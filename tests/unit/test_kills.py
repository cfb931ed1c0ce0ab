"""What the campaign of kills chooses: repeatable, of all kinds, and never more than the layout survives."""

import pytest
from faults.kills import LASTS, LATEST, plan
from unit.layouts import broker, single, stretch2_5, stretch3, zookeeper

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout


@pytest.mark.parametrize(("layout", "servers", "most"), [(single(), 6, 2), (stretch2_5(), 11, 2), (stretch3(), 9, 3)])
def test_every_server_is_hit_and_by_every_kind(layout: Layout, servers: int, most: int) -> None:
    """In 500 rounds; a datacenter of stretch3 is three hosts."""
    rounds = plan(layout, 1, 500)
    faults = [fault for faults in rounds for fault in faults]
    assert len({fault.host for fault in faults}) == servers
    assert {fault.kind for fault in faults} == LASTS.keys()
    assert max(len(faults) for faults in rounds) == most
    for fault in faults:
        least, longest = LASTS[fault.kind]
        assert least <= fault.seconds <= longest
        assert 0 <= fault.after <= LATEST


def test_a_seed_gives_the_same_rounds_and_another_others() -> None:
    """More rounds begin like fewer."""
    assert plan(single(), 7, 30) == plan(single(), 7, 50)[:30]
    assert plan(single(), 7, 30) != plan(single(), 8, 30)


def test_no_round_takes_two_brokers_of_three() -> None:
    """With a replication factor of 3 and min ISR of 2 the survival table says of two brokers: not writable."""
    for faults in plan(single(), 3, 500):
        hosts = [fault.host for fault in faults]
        assert len(hosts) == len(set(hosts))
        assert sum("kafka" in host for host in hosts) <= 1
        assert sum("zk" in host for host in hosts) <= 1


def test_a_layout_that_survives_nothing_is_refused() -> None:
    """One broker and one server."""
    alone = Layout((zookeeper("zk1"), broker("kafka1")), 1, 1)
    with pytest.raises(ValueError, match="survives the loss of no server"):
        plan(alone, 1, 1)
