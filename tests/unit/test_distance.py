"""When a frame leaves which side of the relay between the datacenters of a lab, and what is counted."""

from millrace_lab.distance import HOME, Relay

SIDES = [("client", HOME), ("client", "dc1"), ("client", "dc2"), ("replication", HOME), ("replication", "dc1")]
ONE, TWO, MACHINE, ALL = (bytes([2, 0, 0, 0, 0, number]) for number in (1, 2, 3, 255))


def relay() -> Relay:
    """Return a relay of two datacenters, 10 ms apart in one direction."""
    return Relay(SIDES, {ONE: "dc1", TWO: "dc2"}, 0.010)


def test_a_frame_between_datacenters_is_held_and_counted() -> None:
    """It leaves after the delay, on the side of its destination alone."""
    link, frame = relay(), TWO + ONE + b"payload"
    link.take(1, frame, 5.0)
    assert list(link.due(5.009)) == []
    assert link.pause(5.004) is not None
    assert list(link.due(5.010)) == [(2, frame)]
    assert link.pause(5.010) is None
    assert link.counts == {"client dc1 dc2": len(frame)}


def test_the_machine_is_next_to_all() -> None:
    """What it sends and gets is neither held nor counted."""
    link = relay()
    link.take(0, TWO + MACHINE, 5.0)
    assert list(link.due(5.0)) == [(2, TWO + MACHINE)]
    link.take(2, MACHINE + TWO, 5.0)
    assert (0, MACHINE + TWO) in list(link.due(5.0))


def test_a_broadcast_goes_to_all_other_sides_of_its_network() -> None:
    """To the machine at once, to the other datacenter later, and to no other network."""
    link = relay()
    link.take(1, ALL + ONE, 5.0)
    assert [list(link.due(now)) for now in (5.0, 5.01)] == [[(0, ALL + ONE)], [(2, ALL + ONE)]]


def test_frames_keep_their_order() -> None:
    """Of one connection, whatever their sizes."""
    link = relay()
    frames = [TWO + ONE + bytes(number) for number in range(20)]
    for number, frame in enumerate(frames):
        link.take(1, frame, 5.0 + number // 7 / 1000)
    assert list(link.due(6.0)) == [(2, frame) for frame in frames]


def test_a_frame_to_its_own_datacenter_goes_nowhere() -> None:
    """A bridge sends it to the relay as long as it does not know the port of the host."""
    link = relay()
    link.take(1, ONE + ONE, 5.0)
    assert list(link.due(6.0)) == []


def test_a_cut_link_carries_nothing() -> None:
    """Until it is whole again; the machine still reaches both datacenters."""
    link, frame = relay(), TWO + ONE
    link.cut = True
    link.take(1, frame, 5.0)
    link.take(0, TWO + MACHINE, 5.0)
    assert list(link.due(9.0)) == [(2, TWO + MACHINE)]
    link.cut = False
    link.take(1, frame, 9.0)
    assert list(link.due(10.0)) == [(2, frame)]


def test_a_link_of_limited_rate_sends_one_frame_after_the_other() -> None:
    """Each direction by itself; what would wait too long is lost."""
    link = relay()
    link.rate = 1000
    frame, back = TWO + ONE + bytes(108), ONE + TWO + bytes(108)
    for _ in range(9):
        link.take(1, frame, 5.0)
    link.take(2, back, 5.0)
    sent = [(round(when, 2), side) for when, _, side, _ in sorted(link.waiting)]
    assert sent == [(5.13, 2), (5.13, 1), (5.25, 2), (5.37, 2), (5.49, 2)]


def test_some_frames_are_lost() -> None:
    """About as many as were asked for, and never between the machine and a host."""
    link = relay()
    link.loss = 0.2
    for _ in range(1000):
        link.take(1, TWO + ONE, 5.0)
        link.take(0, TWO + MACHINE, 5.0)
    arrived = list(link.due(6.0))
    assert arrived.count((2, TWO + MACHINE)) == 1000
    assert 700 < arrived.count((2, TWO + ONE)) < 900
