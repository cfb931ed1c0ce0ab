"""Consumer groups, as their coordinators answer for them; a coordinator that moves or breaks off is asked again."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import coordinators, groups, kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Unanswered

ASSIGNED = b"\x00\x00\x00\x00\x00\x01\x00\x06orders\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff"
NOT_COORDINATOR, NOT_ALLOWED = 16, 30


class Brokers:
    """Coordinators: broker 1 of the groups a to m, broker 2 of the others."""

    def __init__(self) -> None:
        self.asked, self.closed = list[tuple[str, int | None]](), 0
        self.breaks = dict[int, int]()
        """How many requests each broker leaves unanswered."""
        self.codes: Callable[[str], int] = lambda _name: 0
        """The error code with which a coordinator answers for a group."""

    def ask(self, request: Any, _seconds: float, broker: int | None = None) -> Any:
        """Answer one request."""
        self.asked.append((type(request).__name__, broker))
        if isinstance(request, FindCoordinatorRequest):
            places = {key: 1 + (key > "m") for key in request.coordinator_keys}
            found = [SimpleNamespace(key=key, node_id=node, error_code=0) for key, node in places.items()]
            return SimpleNamespace(coordinators=found)
        if broker and self.breaks.get(broker, 0) > 0:
            self.breaks[broker] -= 1
            raise Unanswered("no answer within 7 s")
        if isinstance(request, DescribeGroupsRequest):
            return SimpleNamespace(groups=[described(name, self.codes(name)) for name in request.groups])
        assert isinstance(request, OffsetFetchRequest)
        return SimpleNamespace(groups=[fetched(one.group_id) for one in request.groups])

    def close(self) -> None:
        """Count that the connections were closed."""
        self.closed += 1


def described(name: str, code: int) -> Any:
    """Return a group with one member, which reads both partitions of orders."""
    member = SimpleNamespace(client_id="a", client_host="/198.51.100.1", member_assignment=ASSIGNED)
    return SimpleNamespace(
        group_id=name, error_code=code, group_state="PreparingRebalance", protocol_type="consumer", members=[member]
    )


def fetched(name: str) -> Any:
    """Return committed offsets: 5 of partition 0, none of partition 1."""
    places = [SimpleNamespace(partition_index=n, committed_offset=o, error_code=0) for n, o in ((0, 5), (1, -1))]
    return SimpleNamespace(group_id=name, error_code=0, topics=[SimpleNamespace(name="orders", partitions=places)])


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    """Return brokers that answer instead of a cluster."""
    found = Brokers()
    monkeypatch.setattr(kafka_python, "of", lambda _admin: found)
    monkeypatch.setattr(coordinators, "PAUSE", 0.0)
    return found


def admin(brokers: Brokers) -> Admin:
    """Return an admin that counts how often it is closed."""
    return cast(Admin, SimpleNamespace(close=brokers.close))


def test_each_coordinator_is_asked_once_for_all_its_groups(brokers: Brokers) -> None:
    found, failed = coordinators.read(admin(brokers), ["billing", "audit", "stock", "audit"])
    assert list(failed) == [] and sorted(found) == ["audit", "billing", "stock"]
    assert brokers.asked == [("FindCoordinatorRequest", None)] + [
        (kind, broker) for broker in (1, 2) for kind in ("DescribeGroupsRequest", "OffsetFetchRequest")
    ]
    one = found["billing"]
    assert (one.name, one.state, one.offsets) == ("billing", "PREPARING_REBALANCING", {("orders", 0): 5})
    (member,) = one.members
    assert member == {"client_id": "a", "host": "198.51.100.1", "assigned": [("orders", 0), ("orders", 1)]}


def test_no_group_needs_no_request(brokers: Brokers) -> None:
    assert coordinators.read(admin(brokers), []) == ({}, {}) and brokers.asked == []


def test_a_broken_connection_is_made_anew(brokers: Brokers) -> None:
    """The groups of the other coordinator are not read again."""
    brokers.breaks[2] = 2
    found, failed = coordinators.read(admin(brokers), ["billing", "stock"])
    assert sorted(found) == ["billing", "stock"] and failed == {} and brokers.closed == 2
    assert brokers.asked.count(("DescribeGroupsRequest", 1)) == 1


def test_a_coordinator_that_does_not_come_back(brokers: Brokers) -> None:
    brokers.breaks[2] = 10**9
    found, failed = coordinators.read(admin(brokers), ["billing", "stock"], seconds=0.05)
    assert list(found) == ["billing"] and list(failed) == ["stock"]
    assert str(failed["stock"]) == "no answer within 7 s"


def test_a_coordinator_that_moves_is_asked_again(brokers: Brokers) -> None:
    left = [NOT_COORDINATOR, NOT_COORDINATOR]
    brokers.codes = lambda _name: left.pop() if left else 0
    found, failed = coordinators.read(admin(brokers), ["billing"])
    assert list(found) == ["billing"] and failed == {} and left == []


def test_what_is_refused_is_not_asked_again(brokers: Brokers) -> None:
    """The others are read; who needs all of them gets the error."""
    brokers.codes = lambda name: NOT_ALLOWED if name == "audit" else 0
    found, failed = coordinators.read(admin(brokers), ["audit", "billing"])
    assert list(found) == ["billing"] and list(failed) == ["audit"]
    assert len(brokers.asked) == 3
    with pytest.raises(AdminError, match=r"authorization: .* \(GroupAuthorizationFailedError\); use a super user"):
        groups.groups(admin(brokers), ["audit", "billing"])


def test_an_assignment_of_another_kind_of_client_is_left_out() -> None:
    assert coordinators._assigned(b"\x00\x07") == []
