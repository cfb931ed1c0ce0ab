"""Log dirs of a broker that share a file system share what is free there."""

import pytest
from unit.fake_cluster import FakeCluster
from unit.reassigning import MIB, Reassign

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.shifts import DiskWish, planned
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.file_systems import file_systems

pytest_plugins = ["unit.reassigning"]


@pytest.fixture
def four(six: FakeCluster) -> FakeCluster:
    """Broker 3 with four replicas of 10 MiB; each broker has two log dirs with 32 of 100 MiB free."""
    six.topics = {"orders": [[1, 3]] * 4, "other": [[5, 6]]}
    six.sizes = {("orders", number): 10 * MIB for number in range(4)}
    six.disks = {broker: (100 * MIB, 32 * MIB) for broker in six.racks}
    return six


def test_what_comes_to_all_log_dirs_of_one_is_summed(four: FakeCluster, reassign: Reassign) -> None:
    """10 % of their common file system must stay free, once."""
    refused = reassign(check_mode=True, replace=["3:6"])["msg"]
    assert (
        "- broker 6: /data/1 and /data/2 (on one file system, as far as is known) would receive 40.0 MiB, but 32.0 MiB "
        "are free, of which 10.0 MiB must stay free: use a larger disk" in refused
    )
    four.disks = {broker: (100 * MIB, 50 * MIB) for broker in four.racks}
    (row,) = [text for text in reassign(check_mode=True, replace=["3:6"])["plan"] if text.startswith("  6 ")]
    assert row.endswith("50% -> 90%")


@pytest.mark.parametrize(("devices", "refused"), [([1, 1], True), ([1, 2], False)])
def test_the_hosts_know_better(devices: list[int], refused: bool, four: FakeCluster, reassign: Reassign) -> None:
    """Two new disks of the same size and free space take twice as much as two folders on one of them."""
    told = {"6": dict(zip(four.log_dirs, devices, strict=True))}
    done = reassign(check_mode=True, replace=["3:6"], devices=told)
    assert ("on one file system" in str(done.get("msg"))) == done.get("failed", False) == refused


def test_two_log_dirs_of_one_take_no_more_than_it_has() -> None:
    """Each alone would have room for its half of the emptied one."""
    sizes = {("t", number): 10 for number in range(4)}
    dirs = [LogDir(3, "/a", 100, 10, sizes), LogDir(3, "/b", 200, 45), LogDir(3, "/c", 200, 44)]
    (refusal,) = planned(DiskWish(empty=[(3, "/a")]), dirs).refusals
    assert refusal.startswith("broker 3: 20 B of /a have no room in its other log dirs")
    assert planned(DiskWish(empty=[(3, "/a")], devices={(3, "/b"): 1, (3, "/c"): 2}), dirs).refusals == ()


def test_what_is_refused_does_not_hang_on_the_order_of_an_answer() -> None:
    dirs = [LogDir(3, "/a", 100, 10, {("t", 0): 50}), LogDir(3, "/b", 200, 45), LogDir(3, "/c", 300, 44)]
    found = {planned(DiskWish(empty=[(3, "/a")]), order).refusals for order in (dirs, dirs[::-1])}
    assert len(found) == 1 and "(free now: /b 45 B, /c 44 B)" in str(found)


@pytest.mark.parametrize(
    ("dirs", "devices", "shared"),
    [
        (((100, 50, 20), (100, 50, 20)), (), True),
        (((100, 50, 20), (100, 51, 20)), (), True),  # it was written to between the two looks
        (((100, 50, 20), (100, 52, 20)), (), False),
        (((100, 50, 20), (200, 50, 20)), (), False),
        (((100, 50, 45), (100, 50, 45)), (), False),  # one disk with 50 in use does not hold 90
        (((None, None, 20), (None, None, 20)), (), False),
        (((100, 50, 20), (100, 50, 20)), (1, 2), False),
        (((100, 50, 20), (100, 90, 20)), (1, 1), True),
        (((100, 50, 20), (100, 50, 20)), (1,), True),
    ],
)
def test_log_dirs_of_one_file_system(
    dirs: tuple[tuple[int | None, int | None, int], ...], devices: tuple[int, ...], shared: bool
) -> None:
    """By their devices; else of one size, with as much free, where they hold no more than is in use of one."""
    found = [LogDir(1, f"/{at}", total, free, {("t", at): held}) for at, (total, free, held) in enumerate(dirs)]
    other = LogDir(2, "/0", 100, 50, {})
    systems = file_systems([*found, other], {(1, f"/{at}"): device for at, device in enumerate(devices)})
    assert (len({*systems.values()}) == 2) == shared
