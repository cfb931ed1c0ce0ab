"""What the layouts of one cluster over several datacenters change in files: groups, racks, replication, addresses."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from cryptography import x509

from render.conftest import LAYOUTS, Hosts

ZOO_CFG, SERVER = "/etc/zookeeper/zoo.cfg", "/etc/kafka/server.properties"


@dataclass(frozen=True)
class Expected:
    """Networks, hosts in the order of their ids, and what the layout decides."""

    client: str
    replication: str
    servers: tuple[str, ...]
    racks: dict[str, str]
    """Rack of each broker's host, in the order of the ids."""
    groups: dict[str, str]
    factor: str
    least: str


def alone(name: str, client: int, replication: int) -> Expected:
    """Return what one cluster of a family is: three servers and three brokers in three racks."""
    racks = {f"{name}-kafka{number}": f"{name}-{rack}" for number, rack in LAB_RACKS.items()}
    servers = (f"{name}-zk1", f"{name}-zk2", f"{name}-zk3")
    return Expected(f"198.18.{client}", f"198.18.{replication}", servers, racks, {}, "3", "2")


LAB_RACKS = {1: "a", 2: "b", 3: "c"}
EXPECTED = {
    "lab_stretch2": Expected(
        "198.18.51",
        "198.18.52",
        ("dc1-zk1", "dc1-zk2", "dc1-zk3", "dc2-zk1", "dc2-zk2", "dc2-zk3"),
        {"dc1-kafka1": "dc1", "dc1-kafka2": "dc1", "dc2-kafka1": "dc2", "dc2-kafka2": "dc2"},
        {"group.1": "1:2:3", "group.2": "4:5:6"},
        "4",
        "3",
    ),
    "lab_stretch2_5": Expected(
        "198.18.53",
        "198.18.54",
        ("dc1-zk1", "dc1-zk2", "dc1-zk3", "dc2-zk1", "dc2-zk2", "dc2-zk3", "dc3-zk1"),
        {"dc1-kafka1": "dc1", "dc1-kafka2": "dc1", "dc2-kafka1": "dc2", "dc2-kafka2": "dc2"},
        {"group.1": "1:2:3", "group.2": "4:5:6", "group.3": "7"},
        "4",
        "3",
    ),
    "lab_stretch3": Expected(
        "198.18.55",
        "198.18.56",
        ("dc1-zk1", "dc2-zk1", "dc3-zk1"),
        {
            "dc1-kafka1": "dc1",
            "dc1-kafka2": "dc1",
            "dc2-kafka1": "dc2",
            "dc2-kafka2": "dc2",
            "dc3-kafka1": "dc3",
            "dc3-kafka2": "dc3",
        },
        {},
        "3",
        "2",
    ),
    "lab_mirrored/west": alone("west", 57, 58),
    "lab_mirrored/east": alone("east", 59, 60),
    "lab_aggregated/north": alone("north", 65, 66),
    "lab_aggregated/south": alone("south", 67, 68),
    "lab_aggregated/sum": alone("sum", 69, 70),
    "lab_one_network": Expected(
        "198.18.7",
        "198.18.7",
        ("dc1-zk1", "dc1-zk2", "dc1-zk3"),
        {"dc1-kafka1": "dc1-a", "dc1-kafka2": "dc1-b", "dc1-kafka3": "dc1-c"},
        {},
        "3",
        "2",
    ),
    "stretch2": Expected(
        "198.19.51",
        "198.19.52",
        ("dc1-zk1", "dc1-zk2", "dc1-zk3", "dc2-zk1", "dc2-zk2", "dc2-zk3"),
        {
            "dc1-kafka1": "dc1",
            "dc1-kafka2": "dc1",
            "dc1-kafka3": "dc1",
            "dc2-kafka1": "dc2",
            "dc2-kafka2": "dc2",
            "dc2-kafka3": "dc2",
        },
        {"group.1": "1:2:3", "group.2": "4:5:6"},
        "4",
        "3",
    ),
    "stretch3": Expected(
        "198.19.55",
        "198.19.56",
        ("dc1-zk1", "dc1-zk2", "dc2-zk1", "dc2-zk2", "dc3-zk1"),
        {
            "dc1-kafka1": "dc1",
            "dc1-kafka2": "dc1",
            "dc1-kafka3": "dc1",
            "dc2-kafka1": "dc2",
            "dc2-kafka2": "dc2",
            "dc2-kafka3": "dc2",
            "dc3-kafka1": "dc3",
            "dc3-kafka2": "dc3",
            "dc3-kafka3": "dc3",
        },
        {},
        "3",
        "2",
    ),
}


@pytest.mark.parametrize("inventory_name", LAYOUTS)
def test_ensemble(inventory_name: str, hosts: Hosts) -> None:
    """Every server knows every other by all addresses, and the groups; ids are as declared, whatever changes."""
    expected = EXPECTED[inventory_name]
    networks = dict.fromkeys((expected.replication, expected.client))
    lines = {
        f"server.{number}": "|".join(f"{network}.{10 + number}:2888:3888" for network in networks)
        for number in range(1, len(expected.servers) + 1)
    }
    for number, name in enumerate(expected.servers, 1):
        found = hosts[name].properties(ZOO_CFG)
        assert {
            key: value for key, value in found.items() if key.startswith(("server.", "group.", "weight."))
        } == lines | expected.groups
        assert (found["reconfigEnabled"], found["standaloneEnabled"]) == ("false", "false")
        assert hosts[name].text("/var/lib/zookeeper/myid").strip() == str(number)
        command = hosts[name].unit("zookeeper.service")["ExecStart"][0].split()
        assert ("-Dzookeeper.multiAddress.enabled=true" in command) == (len(networks) == 2)
    assert [name for name, rendered in hosts.items() if "zookeeper" in rendered.roles] == sorted(expected.servers)


@pytest.mark.parametrize("inventory_name", LAYOUTS)
def test_jobs_read_in_their_own_datacenter(inventory_name: str, hosts: Hosts) -> None:
    """client.rack is what the brokers of the node's datacenter have as broker.rack; in one datacenter it is not set."""
    racks = set(EXPECTED[inventory_name].racks.values()) if "stretch" in inventory_name else set()
    jobs = {
        host: json.loads(rendered.secret(file["path"]))["kafka"].get("client.rack")
        for host, rendered in hosts.items()
        for file in rendered.roles.get("spark_job", {}).get("files", ())
        if file["path"].startswith("/etc/spark-job/") and file["path"].endswith(".json")
    }
    assert jobs
    assert jobs == {host: name if (name := host.partition("-")[0]) in racks else None for host in jobs}


@pytest.mark.parametrize("inventory_name", LAYOUTS)
def test_brokers(inventory_name: str, hosts: Hosts) -> None:
    """Ids, racks, each listener on its network, every ZooKeeper server on both, replication as the layout needs it."""
    expected = EXPECTED[inventory_name]
    count = range(1, len(expected.servers) + 1)
    connect = ",".join(
        f"{network}.{10 + number}:2281"
        for network in dict.fromkeys((expected.client, expected.replication))
        for number in count
    )
    for number, (name, rack) in enumerate(expected.racks.items(), 1):
        found = hosts[name].properties(SERVER)
        assert (found["broker.id"], found["broker.rack"]) == (str(number), rack)
        listeners = (
            f"CLIENT://{expected.client}.{20 + number}:9092,REPLICATION://{expected.replication}.{20 + number}:9093"
        )
        assert (found["listeners"], found["advertised.listeners"]) == (listeners, listeners)
        assert found["inter.broker.listener.name"] == "REPLICATION"
        assert found["zookeeper.connect"] == f"{connect}/kafka"
        factors = (
            "default.replication.factor",
            "offsets.topic.replication.factor",
            "transaction.state.log.replication.factor",
        )
        assert {found[key] for key in factors} == {expected.factor}
        assert {found["min.insync.replicas"], found["transaction.state.log.min.isr"]} == {expected.least}
    assert [name for name, rendered in hosts.items() if "kafka" in rendered.roles] == sorted(expected.racks)


def test_one_network(rendered: Callable[[str], Hosts]) -> None:
    """Two listeners at one address, of which clients reach one; each address once, in certificates as well."""
    hosts = rendered("lab_one_network")
    broker, server = hosts["dc1-kafka2"], hosts["dc1-zk2"]
    (block,) = broker.items("blocks")
    assert "198.18.7.21 dc1-kafka1 dc1-kafka1.client" in block["content"].splitlines()
    assert len(block["content"].splitlines()) == len(hosts) == 7
    (rules,) = (table["content"] for table in broker.items("nftables"))
    assert "tcp dport 9092 ip saddr { 198.18.7.0/24 } accept" in rules, rules
    assert "tcp dport 9093 ip saddr { 198.18.7.1, 198.18.7.21, 198.18.7.22, 198.18.7.23 } accept" in rules, rules
    for host, path in ((broker, "/etc/kafka/tls/keystore.pem"), (server, "/etc/zookeeper/tls/keystore.pem")):
        certificates = x509.load_pem_x509_certificates(host.secret(path).encode())
        names = certificates[0].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert [str(name.value) for name in names][1:] == ["198.18.7.22" if host is broker else "198.18.7.12"]


def test_brokers_that_know_their_own_datacenter_alone(rendered: Callable[[str], Hosts]) -> None:
    """The choice that inventories/lab_stretch2 names in a comment."""
    hosts = rendered("local")
    found = {name: hosts[name].properties(SERVER)["zookeeper.connect"] for name in ("dc1-kafka1", "dc2-kafka1")}
    first, second = (
        ",".join(f"198.18.{network}.{number}:2281" for network in (51, 52) for number in numbers)
        for numbers in ((11, 12, 13), (14, 15, 16))
    )
    assert found == {"dc1-kafka1": f"{first}/kafka", "dc2-kafka1": f"{second}/kafka"}


def test_a_limited_run_renders_the_same(rendered: Callable[[str], Hosts]) -> None:
    """--limit to one host of a stretched cluster changes nothing in what that host gets."""
    assert rendered("limited_stretch2")["dc2-kafka1"].roles == rendered("lab_stretch2")["dc2-kafka1"].roles
    assert list(rendered("limited_stretch2")) == ["dc2-kafka1"]
