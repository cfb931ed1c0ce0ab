"""What well-known layouts survive, by hand."""

from dataclasses import replace

import pytest
from unit.layouts import NOBODY, broker, cells, of_kind, one_network, single, stretch2, stretch2_5, stretch3, zookeeper

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.advice import advice
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import CLIENT, REPLICATION, Layout
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.tables import text_table


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
    assert found["client network"] == ("yes", "no", "yes", "operator: repair the network")
    assert found["replication network"] == ("no", "no", "yes", "operator: repair the network")
    assert found["dc1-kafka1 + dc1-kafka2"] == (
        "yes",
        "no",
        "no",
        "operator: lower min.insync.replicas to 1, or bring a broker back",
    )
    assert found["dc1-zk1 + dc1-zk2"] == ("no", "yes", "no", "operator: bring a ZooKeeper server back")
    assert found["dc1-zk1 + dc1-kafka2"] == ("yes", "yes", "yes", NOBODY)
    assert len(found) == 6 + 3 + 1 + 2 + 15


REPAIR = "operator: repair the network"


def test_one_network() -> None:
    """It is a single point of failure, in a row of its own; all else is as with two."""
    two, one = cells(single()), cells(one_network())
    networks = {name: two.pop(name) for name in ("client network", "replication network")}
    assert set(networks.values()) == {("yes", "no", "yes", REPAIR), ("no", "no", "yes", REPAIR)}
    assert one.pop("the only network (single point of failure)") == ("no", "no", "yes", REPAIR)
    assert one == two


@pytest.mark.parametrize(
    ("inner", "quorum", "client", "replication"),
    [
        (REPLICATION, {REPLICATION}, ("yes", "no", "yes", REPAIR), ("no", "no", "yes", REPAIR)),
        (REPLICATION, {CLIENT}, ("no", "no", "yes", REPAIR), ("yes", "no", "yes", REPAIR)),
        (CLIENT, {CLIENT, REPLICATION}, ("yes", "no", "yes", REPAIR), ("yes", "yes", "yes", NOBODY)),
    ],
)
def test_which_traffic_is_in_which_network(
    inner: str, quorum: set[str], client: tuple[str, ...], replication: tuple[str, ...]
) -> None:
    """Brokers or the quorum may use only one of two networks."""
    by_function = {"kafka": frozenset({inner}), "zookeeper": frozenset(quorum)}
    servers = tuple(replace(server, networks=by_function[server.function]) for server in single().servers)
    found = cells(replace(single(), servers=servers))
    assert (found["client network"], found["replication network"]) == (client, replication)


def test_a_quorum_with_one_network_in_one_place() -> None:
    """Two of three voters have no second network: the first takes the quorum along, the second does not."""
    servers = [
        replace(server, networks=frozenset({CLIENT})) if server.name in ("dc1-zk1", "dc2-zk2") else server
        for server in stretch3().servers
    ]
    found = cells(replace(stretch3(), servers=tuple(servers)))
    assert [found[f"{network} network"][0] for network in ("client", "replication")] == ["no", "yes"]


def test_stretch2() -> None:
    found = cells(stretch2())
    assert found["dc1-zk1 + dc2-zk4"] == ("yes", "yes", "yes", NOBODY)
    assert found["dc1-zk1 + dc2-kafka4"] == ("yes", "yes", "yes", NOBODY)
    assert found["dc1-zk1 + dc1-zk2"] == ("no", "yes", "yes", "operator: bring a ZooKeeper server back")
    lower = "operator: lower min.insync.replicas to 2, or bring a broker back"
    assert found["dc1-kafka1 + dc1-kafka2"] == found["dc1-kafka1 + dc2-kafka3"] == ("yes", "no", "yes", lower)
    failover = "operator: failover.yml -e survivor=dc2 (min.insync.replicas to 2)"
    assert found["datacenter dc1"] == ("no", "no", "yes", failover)
    assert found["datacenter dc2"] == ("no", "no", "yes", failover.replace("dc2", "dc1"))
    assert found["dc1 cut off from the rest"] == ("no", "no", "yes", "operator: repair the network")
    assert found["replication network"] == ("yes", "no", "yes", "operator: repair the network")
    assert len(found) == 10 + 2 + 2 + 2 + 45


def test_stretch2_5() -> None:
    found = cells(stretch2_5())
    failover = "operator: failover.yml -e survivor=dc2 (min.insync.replicas to 2)"
    assert found["datacenter dc1"] == ("yes", "no", "yes", failover)
    assert found["witness dc3-zk7"] == ("yes", "yes", "yes", NOBODY)
    assert "datacenter dc3" not in found
    assert found["dc1 cut off from the rest"] == (
        "yes",
        "no",
        "yes",
        "operator: repair the network, or lower min.insync.replicas to 2",
    )
    assert found["dc3 cut off from the rest"] == ("yes", "yes", "yes", NOBODY)
    assert found["dc1-zk1 + dc1-zk2"] == ("yes", "yes", "yes", NOBODY)


def test_stretch3() -> None:
    found = cells(stretch3())
    for site in ("dc1", "dc2", "dc3"):
        assert found[f"datacenter {site}"] == found[f"{site} cut off from the rest"] == ("yes", "yes", "yes", NOBODY)
    assert found["dc1-kafka1 + dc1-kafka2"] == ("yes", "yes", "yes", NOBODY)
    assert found["dc1-kafka1 + dc2-kafka3"] == (
        "yes",
        "no",
        "no",
        "operator: lower min.insync.replicas to 1, or bring a broker back",
    )
    assert found["dc1-zk1 + dc2-zk2"] == ("no", "yes", "no", "operator: bring a ZooKeeper server back")


def test_racks_inside_two_datacenters_lose_data_with_one_of_them() -> None:
    """With a rack for each broker three of four replicas may be in one datacenter, and so all that acknowledged."""
    servers = (
        *(
            zookeeper(f"dc{site}-zk{n}", f"dc{site}", None, site)
            for n, site in ((1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 2))
        ),
        *(
            broker(f"dc{site}-kafka{n}", f"dc{site}", rack, f"dc{site}-{rack}")
            for n, site, rack in ((1, 1, "a"), (2, 1, "b"), (3, 1, "c"), (4, 2, "a"), (5, 2, "b"), (6, 2, "c"))
        ),
    )
    found = cells(Layout(servers, 4, 3))
    assert found["datacenter dc1"] == (
        "no",
        "no",
        "no",
        "operator: failover.yml -e survivor=dc2 (min.insync.replicas to 1)",
    )
    assert found["dc1 cut off from the rest"] == ("no", "no", "yes", "operator: repair the network")
    assert found["dc1-kafka1"] == ("yes", "yes", "yes", NOBODY)


def test_no_failover_from_servers_that_have_a_quorum_together() -> None:
    """dc1 and the witness could have accepted changes that dc2 does not have."""
    lost = frozenset(server.name for server in stretch2_5().servers if server.datacenter != "dc2")
    assert advice(stretch2_5(), "pair", lost, False, 2) == "operator: bring a ZooKeeper server and a broker back"


def test_failover_where_one_datacenter_has_all_brokers() -> None:
    """Away from the brokers it cannot help; without the voters of the other it is a matter of ZooKeeper alone."""
    voters = (
        *(zookeeper(f"dc1-zk{n}", "dc1", None, 1) for n in (1, 2, 3)),
        *(zookeeper(f"dc2-zk{n}", "dc2", None, 2) for n in (4, 5, 6)),
    )
    found = cells(Layout((*voters, *(broker(f"dc1-kafka{n}") for n in (1, 2, 3))), 3, 2))
    assert found["datacenter dc1"] == ("no", "no", "no", "operator: bring 2 ZooKeeper servers and 2 brokers back")
    assert found["witness dc2-zk4 + dc2-zk5 + dc2-zk6"] == (
        "no",
        "yes",
        "yes",
        "operator: failover.yml -e survivor=dc1",
    )


@pytest.mark.parametrize("layout", [stretch2(), stretch2_5()])
def test_failover_yml_refuses_different_weights(layout: Layout) -> None:
    assert "failover.yml -e survivor=dc2" in cells(layout)["datacenter dc1"][3]
    servers = tuple(replace(one, weight=3) if one.name == "dc2-zk4" else one for one in layout.servers)
    assert any(one.weight == 3 for one in servers)
    assert "failover.yml" not in cells(replace(layout, servers=servers))["datacenter dc1"][3]


def test_a_group_without_weight_is_nothing_to_fail_over_to() -> None:
    voters = (*(zookeeper(f"dc1-zk{n}", "dc1", None, 1) for n in (1, 2, 3)), zookeeper("dc2-zk4", "dc2", None, 2, 0))
    found = cells(Layout((*voters, broker("dc1-kafka1"), broker("dc2-kafka2", "dc2")), 2, 1))
    assert found["datacenter dc1"] == ("no", "no", "no", "operator: bring 2 ZooKeeper servers back")


def test_majority_over_two_datacenters_loses_metadata_with_the_larger_one() -> None:
    servers = (
        *(zookeeper(f"dc1-zk{n}", "dc1") for n in (1, 2)),
        zookeeper("dc2-zk3", "dc2"),
        *(broker(f"dc1-kafka{n}", "dc1", None, "dc1") for n in (1, 2)),
        *(broker(f"dc2-kafka{n}", "dc2", None, "dc2") for n in (3, 4)),
    )
    found = cells(Layout(servers, 4, 3))
    assert found["datacenter dc1"] == ("no", "no", "no", "operator: bring a ZooKeeper server and a broker back")
    assert found["datacenter dc2"] == (
        "yes",
        "no",
        "yes",
        "operator: lower min.insync.replicas to 2, or bring a broker back",
    )


def test_racks_of_several_servers_smaller_than_their_datacenter() -> None:
    names = (("zk1", "dc1", "a"), ("zk2", "dc1", "a"), ("zk3", "dc1", "b"), ("zk4", "dc2", "a"), ("zk5", "dc2", "a"))
    layout = Layout(tuple(zookeeper(*name) for name in names), 1, 1)
    assert [(row.failure, row.lost) for row in of_kind(layout, "rack")] == [("rack dc1-a", frozenset({"zk1", "zk2"}))]


def test_min_isr_is_never_more_than_the_replicas() -> None:
    layout = Layout((*(zookeeper(f"zk{n}") for n in (1, 2, 3)), broker("kafka1"), broker("kafka2")), 1, 2)
    assert cells(layout)["kafka1"] == ("yes", "no", "no", "operator: bring a broker back")


def test_min_isr_one_may_lose_records_with_any_broker() -> None:
    layout = Layout((*(zookeeper(f"zk{n}") for n in (1, 2, 3)), *(broker(f"kafka{n}") for n in (1, 2, 3))), 3, 1)
    assert cells(layout)["kafka1"] == ("yes", "yes", "no", NOBODY)
    assert cells(layout)["kafka1 + kafka2"] == ("yes", "yes", "no", NOBODY)


def test_a_single_zookeeper_server() -> None:
    layout = Layout((zookeeper("zk1"), broker("kafka1"), broker("kafka2")), 2, 1)
    assert cells(layout)["zk1"] == ("no", "yes", "no", "operator: bring a ZooKeeper server back")
    assert cells(layout)["zk1 + kafka1"] == ("no", "no", "no", "operator: bring a ZooKeeper server back")


def test_an_ensemble_without_brokers() -> None:
    found = cells(Layout(tuple(zookeeper(f"zk{n}") for n in (1, 2, 3)), 3, 2))
    assert found["zk1"] == ("yes", "yes", "yes", NOBODY)
    assert found["datacenter dc1"] == ("no", "yes", "no", "operator: restore from a mirror")


def test_one_host_for_both_functions_is_one_failure() -> None:
    servers = tuple(server for n in (1, 2, 3) for server in (zookeeper(f"host{n}"), broker(f"host{n}")))
    layout = Layout(servers, 3, 2)
    assert [row.failure for row in of_kind(layout, "server")] == ["host1", "host2", "host3"]
    assert cells(layout)["host1 + host2"] == ("no", "no", "no", "operator: bring a ZooKeeper server and a broker back")
    assert "any two servers (3)  no      no        no " in text_table("both", survival(layout))


def test_an_observers_datacenter_is_no_witness() -> None:
    layout = Layout((*single().servers, zookeeper("dc2-zk4", "dc2", voter=False)), 3, 2)
    assert cells(layout)["datacenter dc2"] == ("yes", "yes", "yes", NOBODY)
    assert of_kind(layout, "witness") == []


def told(layout: Layout) -> Layout:
    """Return a layout whose brokers are told of the ZooKeeper servers of their datacenter alone."""
    own = {place: frozenset(one.name for one in layout.voters if one.datacenter == place)
           for place in {one.datacenter for one in layout.brokers}}  # fmt: skip
    servers = (
        replace(one, connects_to=own[one.datacenter]) if one.function == "kafka" else one for one in layout.servers
    )
    return replace(layout, servers=tuple(servers))


def test_brokers_that_are_told_of_their_own_datacenter_alone() -> None:
    """With its three servers that is no other table: without two of them there is no quorum anyway."""
    assert cells(told(stretch2())) == cells(stretch2())


def test_brokers_that_are_told_of_one_server() -> None:
    """With it the brokers of its datacenter lose their sessions, and nothing that they have."""
    servers = [zookeeper(f"dc{n}-zk{n}", f"dc{n}") for n in (1, 2, 3)]
    servers += [
        broker(f"dc{n}-kafka{m}", f"dc{n}", broker_rack=f"dc{n}") for n in (1, 2, 3) for m in (2 * n - 1, 2 * n)
    ]
    layout = Layout(tuple(servers), 3, 2)
    found, alone = cells(layout), cells(told(layout))
    assert found["dc1-zk1 + dc2-kafka3"] == ("yes", "yes", "yes", NOBODY)
    assert alone["dc1-zk1"] == ("yes", "yes", "yes", NOBODY)
    back = "operator: bring back a ZooKeeper server of the brokers' zookeeper.connect"
    assert alone["dc1-zk1 + dc2-kafka3"] == ("yes", "no", "yes", back)
    two = cells(told(replace(layout, replication_factor=6, min_insync_replicas=5)))
    assert two["dc1-zk1"] == ("yes", "no", "yes", back)
