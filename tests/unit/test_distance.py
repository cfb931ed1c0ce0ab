"""When a frame leaves which side of the relay between the datacenters of a lab, and what is counted."""

import json
from pathlib import Path

import pytest
from millrace_lab.distance import HOME, Bridges, Relay, only_relay
from millrace_lab.records import LabError
from millrace_lab.shared_resources import Machine

SIDES = [("client", HOME), ("client", "dc1"), ("client", "dc2"), ("replication", HOME), ("replication", "dc1")]
ONE, TWO, MACHINE, ALL = (bytes([2, 0, 0, 0, 0, number]) for number in (1, 2, 3, 255))


def relay() -> Relay:
    """Return a relay of two datacenters, 10 ms apart in one direction."""
    return Relay(SIDES, {ONE: "dc1", TWO: "dc2", MACHINE: HOME}, 0.010)


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
    assert list(link.due(9.0)) == [(0, MACHINE + TWO)]
    assert link.counts == {}


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


class Fake(Machine):
    """A machine with one lab: a host in each of two datacenters, of which the first is down."""

    def __init__(self) -> None:
        """Nothing was run yet."""
        super().__init__("")
        self.ran = list[str]()

    def run(self, *argv: str) -> str:
        """Answer as the programs do."""
        command = " ".join(argv)
        self.ran.append(command)
        if command.startswith("podman inspect --format"):
            return "0" if argv[-1].endswith("dc1-zk1") else "77"
        if command.startswith("podman inspect"):
            networks = {"lab-1-client": {"IPAddress": "198.18.1.11"}}
            return json.dumps([{"NetworkSettings": {"Networks": networks}}])
        if command.startswith("podman network inspect"):
            return json.dumps([{"network_interface": "podman7"}])
        if command.startswith("nsenter -t 0 "):
            raise LabError("no such process")
        if command.startswith("nsenter"):
            return json.dumps([{"ifname": "client", "link_index": 5}])
        if command == "ip -j link show type bridge":
            return json.dumps([{"ifname": name, "address": "02:00:00:00:00:09"} for name in ("podman7", "mr7c0")])
        if command == "ip -j link":
            return json.dumps([{"ifindex": 5, "ifname": "veth5"}])
        return ""


def test_hosts_that_are_down_keep_no_other_apart(tmp_path: Path) -> None:
    """Hosts that run are put back, and the bridges are removed. The error of a new relay names the other host."""
    hosts = {"dc1-zk1": "dc1", "dc2-zk1": "dc2"}
    lab = {"datacenters": hosts, "containers": {host: f"lab-1-{host}" for host in hosts}}
    (tmp_path / "lab.json").write_text(json.dumps(lab))
    machine = Fake()
    bridges = Bridges(machine, tmp_path)
    bridges.together()
    assert "ip link set veth5 master podman7" in machine.ran
    assert "ip link del mr7c0" in machine.ran
    assert bridges.connect(lambda kind, host: "") == ["dc1-zk1: no such process"]
    assert bridges.places()[bytes.fromhex("020000000009")] == HOME


def test_bridges_of_a_killed_relay_go_with_the_lab() -> None:
    """Those named after the network's own bridge; a network without a bridge has none."""
    machine = Fake()
    machine.remove_distance("")
    assert machine.ran == []
    machine.remove_distance("podman7")
    machine.remove_distance("podman77")
    assert [command for command in machine.ran if "del" in command] == ["ip link del mr7c0"]


def test_one_relay_at_a_time(tmp_path: Path) -> None:
    with only_relay(tmp_path), pytest.raises(LabError, match="another make lab-distance"), only_relay(tmp_path):
        pass
    with only_relay(tmp_path):
        pass


@pytest.mark.parametrize(
    "lab", [{}, {"containers": {"a": "b"}}, {"datacenters": {"a": "dc1"}, "containers": {"a": "b"}}]
)
def test_no_lab_with_several_datacenters(lab: dict[str, object], tmp_path: Path) -> None:
    """Of an older version, or in one datacenter."""
    (tmp_path / "lab.json").write_text(json.dumps(lab))
    with pytest.raises(LabError, match=r"make lab again|one datacenter"):
        Bridges(Fake(), tmp_path)
