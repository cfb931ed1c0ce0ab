"""What layouts survive, by hand: quorums, the replica sets that Kafka may choose, and the tables of well-known layouts."""

from itertools import combinations

import pytest
from unit.effort import cpu_seconds

from millrace.survival import Layout, Row, Server, markdown_table, placements, quorum, survival, text_table

NOBODY = "nobody"


def zookeeper(name: str, datacenter: str = "dc1", rack: str | None = None, group: int | None = None, weight: int = 1, voter: bool = True) -> Server:
    return Server(name, "zookeeper", datacenter, rack, None, group, weight, voter)


def broker(name: str, datacenter: str = "dc1", rack: str | None = None, broker_rack: str | None = None) -> Server:
    return Server(name, "kafka", datacenter, rack, broker_rack)


def single() -> Layout:
    """One datacenter of three racks."""
    servers = (*(zookeeper(f"dc1-zk{n}", rack=rack) for n, rack in ((1, "a"), (2, "b"), (3, "c"))),
               *(broker(f"dc1-kafka{n}", rack=rack, broker_rack=f"dc1-{rack}") for n, rack in ((1, "a"), (2, "b"), (3, "c"))))  # fmt: skip
    return Layout(servers, 3, 2, False)


def stretch2() -> Layout:
    """Two datacenters, two groups, as many brokers in each."""
    servers = (
        *(zookeeper(f"dc1-zk{n}", "dc1", None, 1) for n in (1, 2, 3)),
        *(zookeeper(f"dc2-zk{n}", "dc2", None, 2) for n in (4, 5, 6)),
        *(broker(f"dc1-kafka{n}", "dc1", None, "dc1") for n in (1, 2)),
        *(broker(f"dc2-kafka{n}", "dc2", None, "dc2") for n in (3, 4)),
    )
    return Layout(servers, 4, 3, True)


def stretch2_5() -> Layout:
    """The same, and a witness in a third place."""
    return Layout((*stretch2().servers, zookeeper("dc3-zk7", "dc3", None, 3)), 4, 3, True)


def stretch3() -> Layout:
    """Three datacenters with one voter and two brokers in each."""
    servers = (
        *(zookeeper(f"dc{n}-zk{n}", f"dc{n}") for n in (1, 2, 3)),
        *(broker(f"dc{site}-kafka{n}", f"dc{site}", None, f"dc{site}") for n, site in ((1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3))),
    )
    return Layout(servers, 3, 2, True)


def cells(layout: Layout) -> dict[str, tuple[str, ...]]:
    """Return quorum, writable, zero loss, who by failure."""
    return {row.failure: row.cells for row in survival(layout)}


def of_kind(layout: Layout, kind: str) -> list[Row]:
    return [row for row in survival(layout) if row.kind == kind]


# Quorums


@pytest.mark.parametrize(("alive", "held"), [("1", False), ("12", True), ("123", True), ("", False)])
def test_majority_of_three(alive: str, held: bool) -> None:
    layout = Layout(tuple(zookeeper(n) for n in "123"), 3, 2, False)
    assert quorum(layout, set(alive)) is held


@pytest.mark.parametrize(("alive", "held"), [("12", False), ("123", True)])
def test_half_is_no_majority(alive: str, held: bool) -> None:
    layout = Layout(tuple(zookeeper(n) for n in "1234"), 3, 2, False)
    assert quorum(layout, set(alive)) is held


def test_observers_and_brokers_never_count() -> None:
    servers = (*(zookeeper(n) for n in "123"), zookeeper("4", voter=False), zookeeper("5", voter=False), broker("6"))
    assert not quorum(Layout(servers, 1, 1, False), set("1456"))
    assert quorum(Layout(servers, 1, 1, False), set("12"))


@pytest.mark.parametrize(
    ("alive", "held"),
    [("123456", True), ("2356", True), ("12", False), ("123", False), ("1234", False), ("1456", False), ("45", False)],
)
def test_two_groups_need_a_majority_in_both(alive: str, held: bool) -> None:
    layout = Layout(tuple(zookeeper(n, group=1 if n in "123" else 2) for n in "123456"), 4, 3, False)
    assert quorum(layout, set(alive)) is held


@pytest.mark.parametrize(("alive", "held"), [("1245", True), ("127", True), ("567", True), ("147", False), ("123", False), ("17", False)])
def test_three_groups_need_a_majority_in_two(alive: str, held: bool) -> None:
    layout = Layout(tuple(zookeeper(n, group=1 if n in "123" else 2 if n in "456" else 3) for n in "1234567"), 4, 3, False)
    assert quorum(layout, set(alive)) is held


def test_two_of_four_groups_are_no_majority_of_groups() -> None:
    layout = Layout(tuple(zookeeper(n, group=int(n)) for n in "1234"), 3, 2, False)
    assert not quorum(layout, set("12"))
    assert quorum(layout, set("123"))


@pytest.mark.parametrize(("alive", "held"), [("1", True), ("23", False), ("2", False), ("12", True)])
def test_a_group_is_won_by_weight(alive: str, held: bool) -> None:
    layout = Layout((zookeeper("1", group=1, weight=3), zookeeper("2", group=1), zookeeper("3", group=1)), 3, 2, False)
    assert quorum(layout, set(alive)) is held


def test_half_of_a_groups_weight_is_not_enough() -> None:
    layout = Layout((zookeeper("1", group=1, weight=2), zookeeper("2", group=1), zookeeper("3", group=1)), 3, 2, False)
    assert not quorum(layout, {"1"})
    assert not quorum(layout, {"2", "3"})


def test_a_group_without_weight_is_not_counted() -> None:
    """Of two groups one weighs nothing: the other alone is the majority of groups, and its servers are not needed."""
    layout = Layout((*(zookeeper(n, group=1) for n in "123"), *(zookeeper(n, group=2, weight=0) for n in "456")), 3, 2, False)
    assert quorum(layout, set("12"))
    assert not quorum(layout, set("1456"))


def test_no_ensemble_has_no_quorum() -> None:
    assert not quorum(Layout((broker("1"),), 1, 1, False), {"1"})


# Placements


def sets(*texts: str) -> set[frozenset[int]]:
    return {frozenset(map(int, text)) for text in texts}


def test_without_racks_a_ring_of_four() -> None:
    assert placements(dict.fromkeys((1, 2, 3, 4)), 3) == sets("123", "124", "134", "234")
    assert placements(dict.fromkeys((1, 2, 3, 4)), 2) == sets("12", "13", "14", "23", "24", "34")


def test_without_racks_not_every_set_is_possible() -> None:
    """The followers are neighbours on the ring, with the leader left out: every other broker of six is never chosen."""
    found = placements(dict.fromkeys(range(6)), 3)
    assert len(found) == 18
    assert found.isdisjoint(sets("024", "135"))


def test_as_many_replicas_as_brokers() -> None:
    assert placements({1: None, 2: None}, 2) == sets("12")
    assert placements({7: "a"}, 1) == sets("7")


def test_one_replica_may_be_anywhere() -> None:
    assert placements({1: "a", 2: "a", 3: "b"}, 1) == sets("1", "2", "3")


def test_one_broker_in_each_of_three_racks() -> None:
    assert placements({1: "a", 2: "b", 3: "c"}, 3) == sets("123")


def test_two_brokers_in_each_of_three_racks_give_one_replica_to_each_rack() -> None:
    found = placements({1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}, 3)
    assert found == sets("135", "136", "145", "146", "235", "236", "245", "246")


def test_racks_take_turns_by_name() -> None:
    """The example in Kafka's own comment: racks 0:1, 1:3, 2:3, 3:2, 4:2, 5:1 make the ring 0 3 1 5 4 2."""
    found = placements({0: "1", 1: "3", 2: "3", 3: "2", 4: "2", 5: "1"}, 3)
    assert found >= sets("031", "315", "154", "542", "420", "203")
    assert all(len(replicas & {0, 5}) == len(replicas & {1, 2}) == len(replicas & {3, 4}) == 1 for replicas in found)


def test_racks_take_turns_by_name_and_brokers_by_id() -> None:
    """The ring is 0 3 2 1, and three racks move no follower on a ring of four: each goes with the next, but 1 and 0 share a rack."""
    assert placements({2: "c", 1: "a", 3: "b", 0: "a"}, 2) == sets("03", "32", "21", "13")
    assert placements(dict.fromkeys((5, 3, 1, 4, 2, 0)), 3) == placements(dict.fromkeys(range(6)), 3)


def test_two_equal_racks_share_four_replicas_evenly() -> None:
    assert placements({1: "dc1", 2: "dc1", 3: "dc2", 4: "dc2"}, 4) == sets("1234")
    found = placements({1: "dc1", 2: "dc1", 3: "dc1", 4: "dc2", 5: "dc2", 6: "dc2"}, 4)
    assert {len(replicas & {1, 2, 3}) for replicas in found} == {2}


def test_two_unequal_racks_may_get_three_and_one() -> None:
    found = placements({1: "dc1", 2: "dc1", 3: "dc1", 4: "dc2", 5: "dc2"}, 4)
    assert {len(replicas & {1, 2, 3}) for replicas in found} == {2, 3}


def test_a_rack_for_each_broker_forgets_the_datacenter() -> None:
    found = placements({1: "dc1-a", 2: "dc1-b", 3: "dc1-c", 4: "dc2-a", 5: "dc2-b", 6: "dc2-c"}, 4)
    assert {len(replicas & {1, 2, 3}) for replicas in found} == {1, 2, 3}


@pytest.mark.parametrize("factor", [0, 4])
def test_more_replicas_than_brokers_or_none(factor: int) -> None:
    with pytest.raises(ValueError, match=f"replication factor {factor} with 3 brokers"):
        placements({1: "a", 2: "b", 3: "c"}, factor)


def test_some_brokers_without_a_rack() -> None:
    with pytest.raises(ValueError, match="some brokers have a rack and some have none"):
        placements({1: "a", 2: None}, 1)


# Layouts


@pytest.mark.parametrize("layout", [single(), stretch2(), stretch2_5(), stretch3()])
def test_any_single_server(layout: Layout) -> None:
    rows = of_kind(layout, "server")
    assert [row.failure for row in rows] == [server.name for server in layout.servers]
    assert {row.cells for row in rows} == {("yes", "yes", "yes", NOBODY)}
    assert [row.lost for row in rows] == [frozenset({server.name}) for server in layout.servers]


def test_single() -> None:
    found = cells(single())
    assert found["rack dc1-a"] == ("yes", "yes", "yes", NOBODY)
    assert found["datacenter dc1"] == ("no", "no", "no", "operator: restore from a mirror")
    assert found["client network"] == ("yes", "no", "yes", "operator: mend the network")
    assert found["replication network"] == ("no", "no", "yes", "operator: mend the network")
    assert found["dc1-kafka1 + dc1-kafka2"] == ("yes", "no", "no", "operator: lower min.insync.replicas to 1, or bring a broker back")
    assert found["dc1-zk1 + dc1-zk2"] == ("no", "yes", "no", "operator: bring a ZooKeeper server back")
    assert found["dc1-zk1 + dc1-kafka2"] == ("yes", "yes", "yes", NOBODY)
    assert len(found) == 6 + 3 + 1 + 2 + 15


def test_stretch2() -> None:
    found = cells(stretch2())
    assert found["dc1-zk1 + dc2-zk4"] == ("yes", "yes", "yes", NOBODY)
    assert found["dc1-zk1 + dc2-kafka4"] == ("yes", "yes", "yes", NOBODY)
    assert found["dc1-zk1 + dc1-zk2"] == ("no", "yes", "yes", "operator: bring a ZooKeeper server back")
    lower = "operator: lower min.insync.replicas to 2, or bring a broker back"
    assert found["dc1-kafka1 + dc1-kafka2"] == found["dc1-kafka1 + dc2-kafka3"] == ("yes", "no", "yes", lower)
    failover = "operator: failover to dc2 (ZooKeeper to its group, min.insync.replicas to 2)"
    assert found["datacenter dc1"] == ("no", "no", "yes", failover)
    assert found["datacenter dc2"] == ("no", "no", "yes", failover.replace("dc2", "dc1"))
    assert found["dc1 cut off from the rest"] == ("no", "no", "yes", "operator: mend the network")
    assert found["replication network"] == ("yes", "no", "yes", "operator: mend the network")
    assert len(found) == 10 + 2 + 2 + 2 + 45


def test_stretch2_5() -> None:
    found = cells(stretch2_5())
    assert found["datacenter dc1"] == ("yes", "no", "yes", "operator: lower min.insync.replicas to 2, or bring a broker back")
    assert found["witness dc3-zk7"] == ("yes", "yes", "yes", NOBODY)
    assert "datacenter dc3" not in found
    assert found["dc1 cut off from the rest"] == ("yes", "no", "yes", "operator: mend the network, or lower min.insync.replicas to 2")
    assert found["dc3 cut off from the rest"] == ("yes", "yes", "yes", NOBODY)
    assert found["dc1-zk1 + dc1-zk2"] == ("yes", "yes", "yes", NOBODY)


def test_stretch3() -> None:
    found = cells(stretch3())
    for site in ("dc1", "dc2", "dc3"):
        assert found[f"datacenter {site}"] == found[f"{site} cut off from the rest"] == ("yes", "yes", "yes", NOBODY)
    assert found["dc1-kafka1 + dc1-kafka2"] == ("yes", "yes", "yes", NOBODY)
    assert found["dc1-kafka1 + dc2-kafka3"] == ("yes", "no", "no", "operator: lower min.insync.replicas to 1, or bring a broker back")
    assert found["dc1-zk1 + dc2-zk2"] == ("no", "yes", "no", "operator: bring a ZooKeeper server back")


def test_racks_inside_two_datacenters_lose_data_with_one_of_them() -> None:
    """With a rack for each broker three of four replicas may be in one datacenter: all that acknowledged may be there."""
    servers = (
        *(zookeeper(f"dc{site}-zk{n}", f"dc{site}", None, site) for n, site in ((1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 2))),
        *(broker(f"dc{site}-kafka{n}", f"dc{site}", rack, f"dc{site}-{rack}") for n, site, rack in
          ((1, 1, "a"), (2, 1, "b"), (3, 1, "c"), (4, 2, "a"), (5, 2, "b"), (6, 2, "c"))),
    )  # fmt: skip
    found = cells(Layout(servers, 4, 3, False))
    assert found["datacenter dc1"] == ("no", "no", "no", "operator: failover to dc2 (ZooKeeper to its group, min.insync.replicas to 1)")
    assert found["dc1 cut off from the rest"] == ("no", "no", "yes", "operator: mend the network")
    assert found["dc1-kafka1"] == ("yes", "yes", "yes", NOBODY)


def test_failover_where_one_datacenter_has_all_brokers() -> None:
    """Away from the brokers it cannot help; without the voters of the other it is a matter of ZooKeeper alone."""
    voters = (*(zookeeper(f"dc1-zk{n}", "dc1", None, 1) for n in (1, 2, 3)), *(zookeeper(f"dc2-zk{n}", "dc2", None, 2) for n in (4, 5, 6)))
    found = cells(Layout((*voters, *(broker(f"dc1-kafka{n}") for n in (1, 2, 3))), 3, 2, False))
    assert found["datacenter dc1"] == ("no", "no", "no", "operator: bring 2 ZooKeeper servers and 2 brokers back")
    assert found["witness dc2-zk4 + dc2-zk5 + dc2-zk6"] == ("no", "yes", "yes", "operator: failover to dc1 (ZooKeeper to its group)")


def test_a_group_without_weight_is_nothing_to_fail_over_to() -> None:
    voters = (*(zookeeper(f"dc1-zk{n}", "dc1", None, 1) for n in (1, 2, 3)), zookeeper("dc2-zk4", "dc2", None, 2, 0))
    found = cells(Layout((*voters, broker("dc1-kafka1"), broker("dc2-kafka2", "dc2")), 2, 1, False))
    assert found["datacenter dc1"] == ("no", "no", "no", "operator: bring 2 ZooKeeper servers back")


def test_majority_over_two_datacenters_loses_metadata_with_the_larger_one() -> None:
    servers = (
        *(zookeeper(f"dc1-zk{n}", "dc1") for n in (1, 2)),
        zookeeper("dc2-zk3", "dc2"),
        *(broker(f"dc1-kafka{n}", "dc1", None, "dc1") for n in (1, 2)),
        *(broker(f"dc2-kafka{n}", "dc2", None, "dc2") for n in (3, 4)),
    )
    found = cells(Layout(servers, 4, 3, False))
    assert found["datacenter dc1"] == ("no", "no", "no", "operator: bring a ZooKeeper server and a broker back")
    assert found["datacenter dc2"] == ("yes", "no", "yes", "operator: lower min.insync.replicas to 2, or bring a broker back")


def test_racks_of_several_servers_smaller_than_their_datacenter() -> None:
    names = (("zk1", "dc1", "a"), ("zk2", "dc1", "a"), ("zk3", "dc1", "b"), ("zk4", "dc2", "a"), ("zk5", "dc2", "a"))
    layout = Layout(tuple(zookeeper(*name) for name in names), 1, 1, False)
    assert [(row.failure, row.lost) for row in of_kind(layout, "rack")] == [("rack dc1-a", frozenset({"zk1", "zk2"}))]


def test_min_isr_is_never_more_than_the_replicas() -> None:
    layout = Layout((*(zookeeper(f"zk{n}") for n in (1, 2, 3)), broker("kafka1"), broker("kafka2")), 1, 2, False)
    assert cells(layout)["kafka1"] == ("yes", "no", "no", "operator: bring a broker back")


def test_min_isr_one_may_lose_records_with_any_broker() -> None:
    layout = Layout((*(zookeeper(f"zk{n}") for n in (1, 2, 3)), *(broker(f"kafka{n}") for n in (1, 2, 3))), 3, 1, True)
    assert cells(layout)["kafka1"] == ("yes", "yes", "no", NOBODY)
    assert cells(layout)["kafka1 + kafka2"] == ("yes", "yes", "no", NOBODY)


def test_a_single_zookeeper_server() -> None:
    layout = Layout((zookeeper("zk1"), broker("kafka1"), broker("kafka2")), 2, 1, False)
    assert cells(layout)["zk1"] == ("no", "yes", "no", "operator: bring a ZooKeeper server back")
    assert cells(layout)["zk1 + kafka1"] == ("no", "no", "no", "operator: bring a ZooKeeper server back")


def test_an_ensemble_without_brokers() -> None:
    found = cells(Layout(tuple(zookeeper(f"zk{n}") for n in (1, 2, 3)), 3, 2, False))
    assert found["zk1"] == ("yes", "yes", "yes", NOBODY)
    assert found["datacenter dc1"] == ("no", "yes", "no", "operator: restore from a mirror")


def test_one_host_for_both_functions_is_one_failure() -> None:
    servers = tuple(server for n in (1, 2, 3) for server in (zookeeper(f"host{n}"), broker(f"host{n}")))
    layout = Layout(servers, 3, 2, False)
    assert [row.failure for row in of_kind(layout, "server")] == ["host1", "host2", "host3"]
    assert cells(layout)["host1 + host2"] == ("no", "no", "no", "operator: bring a ZooKeeper server and a broker back")
    assert "any two servers (3)  no      no        no " in text_table("both", survival(layout))


def test_an_observers_datacenter_is_no_witness() -> None:
    layout = Layout((*single().servers, zookeeper("dc2-zk4", "dc2", voter=False)), 3, 2, False)
    assert cells(layout)["datacenter dc2"] == ("yes", "yes", "yes", NOBODY)
    assert of_kind(layout, "witness") == []


# Size and tables


def many(racks: int) -> Layout:
    servers = (*(zookeeper(f"zk{n}") for n in range(5)), *(broker(f"kafka{n}", "dc1", str(n % racks), str(n % racks)) for n in range(100)))
    return Layout(servers, 3, 2, False)


@pytest.mark.parametrize(
    ("racks", "stopped"),
    [
        (1, "any two brokers (4950)"),
        (2, "any two brokers (4950)"),
        (10, "two brokers in different racks (4500)"),
        (33, "some two brokers of dc1, such as kafka0 + kafka1 (600)"),
        (100, "any two brokers (4950)"),
    ],
)
def test_a_hundred_brokers_are_quick(racks: int, stopped: str) -> None:
    """All 5460 pairs of servers cost less than 25 times what it takes to write down who is left of each."""
    layout = many(racks)
    names = [server.name for server in layout.servers]
    text = text_table("many", survival(layout))
    listing = cpu_seconds(lambda: [{*names} - {*pair} for pair in combinations(names, 2)])
    judging = cpu_seconds(lambda: text_table("many", survival(layout)))
    assert judging < 25 * listing, f"{judging:.3f} s against {listing:.3f} s"
    (line,) = (line.split("  ") for line in text.splitlines() if stopped in line)
    assert [cell.strip() for cell in line if cell][:4] == [stopped, "yes", "no", "no"]


def test_brokers_that_share_no_partition_are_lost_without_harm() -> None:
    """33 racks, 100 brokers: distances on the ring come in steps of 33, so most pairs never hold the same partition."""
    rows = {row.failure: row.cells for row in of_kind(many(racks=33), "pair")}
    assert rows["kafka0 + kafka50"] == ("yes", "yes", "yes", NOBODY)
    assert rows["kafka0 + kafka1"][:3] == ("yes", "no", "no")


def test_text_table() -> None:
    assert (
        text_table("inventories/lab", survival(single()))
        == """\
inventories/lab
  what fails                     quorum  writable  zero loss  who acts
  dc1-zk1                        yes     yes       yes        nobody
  dc1-zk2                        yes     yes       yes        nobody
  dc1-zk3                        yes     yes       yes        nobody
  dc1-kafka1                     yes     yes       yes        nobody
  dc1-kafka2                     yes     yes       yes        nobody
  dc1-kafka3                     yes     yes       yes        nobody
  rack dc1-a                     yes     yes       yes        nobody
  rack dc1-b                     yes     yes       yes        nobody
  rack dc1-c                     yes     yes       yes        nobody
  datacenter dc1                 no      no        no         operator: restore from a mirror
  client network                 yes     no        yes        operator: mend the network
  replication network            no      no        yes        operator: mend the network
  any two ZooKeeper servers (3)  no      yes       no         operator: bring a ZooKeeper server back
  any two brokers (3)            yes     no        no         operator: lower min.insync.replicas to 1, or bring a broker back
  any other two servers (9)      yes     yes       yes        nobody
  of 15 pairs of servers 12 keep the quorum, 12 stay writable, 9 lose nothing"""
    )


def test_markdown_table() -> None:
    rows = [row for row in survival(stretch2()) if row.kind in ("datacenter", "pair")]
    assert (
        markdown_table(rows)
        == """\
| what fails | quorum | writable | zero loss | who acts |
| --- | --- | --- | --- | --- |
| datacenter dc1 | no | no | yes | operator: failover to dc2 (ZooKeeper to its group, min.insync.replicas to 2) |
| datacenter dc2 | no | no | yes | operator: failover to dc1 (ZooKeeper to its group, min.insync.replicas to 2) |
| two ZooKeeper servers in one datacenter (6) | no | yes | yes | operator: bring a ZooKeeper server back |
| any two brokers (6) | yes | no | yes | operator: lower min.insync.replicas to 2, or bring a broker back |
| any other two servers (33) | yes | yes | yes | nobody |

Of 45 pairs of servers 39 keep the quorum, 39 stay writable, 45 lose nothing."""
    )


def test_pairs_are_named_by_their_datacenters_where_one_is_unlike_the_others() -> None:
    """Two voters in dc1, one in dc2, and an observer there, which is no loss: with dc2 the servers have to be named."""
    servers = (
        *(zookeeper(f"dc1-zk{n}", "dc1") for n in (1, 2)),
        zookeeper("dc2-zk3", "dc2"),
        zookeeper("dc2-zk4", "dc2", voter=False),
        broker("dc1-kafka1"),
    )
    text = text_table("odd", survival(Layout(servers, 1, 1, False)))
    assert [line.split("  ")[1] for line in text.splitlines()[1:] if "ZooKeeper server back" in line] == [
        "two ZooKeeper servers of dc1 (1)",
        "dc1-zk1 + dc2-zk3",
        "dc1-zk2 + dc2-zk3",
    ]


def test_no_servers() -> None:
    assert [row.kind for row in survival(Layout((), 1, 1, False))] == ["network", "network"]
