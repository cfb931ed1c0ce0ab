"""Layouts for tests of what they survive, by hand; and the table of one as a dict."""

from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row, survival
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import (
    BOTH,
    CLIENT,
    REPLICATION,
    Layout,
    Server,
)

NOBODY = "nobody"


def zookeeper(
    name: str,
    datacenter: str = "dc1",
    rack: str | None = None,
    group: int | None = None,
    weight: int = 1,
    voter: bool = True,
    networks: frozenset[str] = BOTH,
) -> Server:
    return Server(name, "zookeeper", datacenter, rack, None, group, weight, voter, networks=networks)


def broker(name: str, datacenter: str = "dc1", rack: str | None = None, broker_rack: str | None = None) -> Server:
    return Server(name, "kafka", datacenter, rack, broker_rack)


def single() -> Layout:
    """One datacenter of three racks; the quorum has the replication network alone."""
    one = frozenset({REPLICATION})
    servers = (
        *(zookeeper(f"dc1-zk{n}", rack=rack, networks=one) for n, rack in ((1, "a"), (2, "b"), (3, "c"))),
        *(broker(f"dc1-kafka{n}", rack=rack, broker_rack=f"dc1-{rack}") for n, rack in ((1, "a"), (2, "b"), (3, "c"))),
    )
    return Layout(servers, 3, 2)


def one_network() -> Layout:
    """The same with no other network than that of clients."""
    servers = tuple(replace(server, networks=frozenset({CLIENT})) for server in single().servers)
    return replace(single(), servers=servers)


def stretch2() -> Layout:
    """Two datacenters, two groups, as many brokers in each."""
    servers = (
        *(zookeeper(f"dc1-zk{n}", "dc1", None, 1) for n in (1, 2, 3)),
        *(zookeeper(f"dc2-zk{n}", "dc2", None, 2) for n in (4, 5, 6)),
        *(broker(f"dc1-kafka{n}", "dc1", None, "dc1") for n in (1, 2)),
        *(broker(f"dc2-kafka{n}", "dc2", None, "dc2") for n in (3, 4)),
    )
    return Layout(servers, 4, 3)


def stretch2_5() -> Layout:
    """The same, and a witness in a third place."""
    return Layout((*stretch2().servers, zookeeper("dc3-zk7", "dc3", None, 3)), 4, 3)


def stretch3() -> Layout:
    """Three datacenters with one voter and two brokers in each."""
    servers = (
        *(zookeeper(f"dc{n}-zk{n}", f"dc{n}") for n in (1, 2, 3)),
        *(
            broker(f"dc{site}-kafka{n}", f"dc{site}", None, f"dc{site}")
            for n, site in ((1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3))
        ),
    )
    return Layout(servers, 3, 2)


def cells(layout: Layout) -> dict[str, tuple[str, ...]]:
    """Return quorum, writable, zero loss, who by failure."""
    return {row.failure: row.cells for row in survival(layout)}


def of_kind(layout: Layout, kind: str) -> list[Row]:
    return [row for row in survival(layout) if row.kind == kind]
