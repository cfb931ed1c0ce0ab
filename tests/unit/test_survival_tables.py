"""The tables of what layouts survive: their texts, and that a hundred brokers are quick."""

from unit.effort import calls
from unit.layouts import NOBODY, broker, of_kind, single, stretch2, zookeeper

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.tables import markdown_table, text_table


def many(racks: int) -> Layout:
    servers = (
        *(zookeeper(f"zk{n}") for n in range(5)),
        *(broker(f"kafka{n}", "dc1", str(n % racks), str(n % racks)) for n in range(100)),
    )
    return Layout(servers, 3, 2)


STOPPED = {
    1: "any two brokers (4950)",
    2: "any two brokers (4950)",
    10: "two brokers in different racks (4500)",
    33: "some two brokers of dc1, such as kafka0 + kafka1 (600)",
    100: "any two brokers (4950)",
}


def test_a_hundred_brokers() -> None:
    """Each of the 5460 pairs of servers takes at most 700 calls, whatever the number of racks."""
    wrong = []
    for racks, stopped in STOPPED.items():
        layout = many(racks)
        count = calls(lambda layout: text_table("many", survival(layout)), layout)
        wrong += [f"{racks} racks: {count // 5460} calls a pair"] if count > 700 * 5460 else []
        lines = [line.split("  ") for line in text_table("many", survival(layout)).splitlines() if stopped in line]
        found = [[cell.strip() for cell in line if cell][:4] for line in lines]
        wrong += [f"{racks} racks: {found}"] if found != [[stopped, "yes", "no", "no"]] else []
    assert wrong == []


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
  client network                 yes     no        yes        operator: repair the network
  replication network            no      no        yes        operator: repair the network
  any two ZooKeeper servers (3)  no      yes       no         operator: bring a ZooKeeper server back
  any two brokers (3)            yes     no        no         operator: lower min.insync.replicas to 1, \
or bring a broker back
  any other two servers (9)      yes     yes       yes        nobody
  of the 15 failures of two servers, the cluster keeps the quorum in 12, stays writable in 12, loses no record in 9"""
    )


def test_markdown_table() -> None:
    rows = [row for row in survival(stretch2()) if row.kind in ("datacenter", "pair")]
    assert (
        markdown_table(rows)
        == """\
| what fails | quorum | writable | zero loss | who acts |
| --- | --- | --- | --- | --- |
| datacenter dc1 | no | no | yes | operator: failover.yml -e survivor=dc2 (min.insync.replicas to 2) |
| datacenter dc2 | no | no | yes | operator: failover.yml -e survivor=dc1 (min.insync.replicas to 2) |
| two ZooKeeper servers in one datacenter (6) | no | yes | yes | operator: bring a ZooKeeper server back |
| any two brokers (6) | yes | no | yes | operator: lower min.insync.replicas to 2, or bring a broker back |
| any other two servers (33) | yes | yes | yes | nobody |

Of the 45 failures of two servers, the cluster keeps the quorum in 39, stays writable in 39, loses no record in 45."""
    )


def test_pairs_are_named_by_their_datacenters_where_one_is_unlike_the_others() -> None:
    """Two voters in dc1, one in dc2, and an observer there, which is no loss: with dc2 the servers have to be named."""
    servers = (
        *(zookeeper(f"dc1-zk{n}", "dc1") for n in (1, 2)),
        zookeeper("dc2-zk3", "dc2"),
        zookeeper("dc2-zk4", "dc2", voter=False),
        broker("dc1-kafka1"),
    )
    text = text_table("odd", survival(Layout(servers, 1, 1)))
    assert [line.split("  ")[1] for line in text.splitlines()[1:] if "ZooKeeper server back" in line] == [
        "two ZooKeeper servers of dc1 (1)",
        "dc1-zk1 + dc2-zk3",
        "dc1-zk2 + dc2-zk3",
    ]


def test_no_servers() -> None:
    assert [row.kind for row in survival(Layout((), 1, 1))] == ["network", "network"]
