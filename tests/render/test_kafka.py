"""What a broker gets: server.properties, client.properties, the unit, directories, links."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from render.conftest import INVENTORIES, WITH_METRICS, Hosts
from render.site import readme_command
from render.test_metrics import AGENT

SERVER = "/etc/kafka/server.properties"
# host, id, rack, then the host's number in both networks; the networks of each inventory are below.
RACKS = {
    "lab": {1: "dc1-a", 2: "dc1-b", 3: "dc1-c"},
    "dc1": {1: "dc1-a", 2: "dc1-b", 3: "dc1-c", 4: "dc1-a", 5: "dc1-b"},
    "dc2": {1: "dc2-a", 2: "dc2-b", 3: "dc2-c", 4: "dc2-a", 5: "dc2-b"},
}
CLIENT_NETWORK = {"lab": "198.18.1", "dc1": "198.19.1", "dc2": "198.19.11"}
REPLICATION_NETWORK = {"lab": "198.18.2", "dc1": "198.19.2", "dc2": "198.19.12"}
ZOOKEEPER_CONNECT = {
    "lab": "198.18.1.11:2281,198.18.1.12:2281,198.18.1.13:2281,"
    "198.18.2.11:2281,198.18.2.12:2281,198.18.2.13:2281/kafka",
    "dc1": "198.19.1.11:2281,198.19.1.12:2281,198.19.1.13:2281,198.19.1.14:2281,198.19.1.15:2281,"
    "198.19.2.11:2281,198.19.2.12:2281,198.19.2.13:2281,198.19.2.14:2281,198.19.2.15:2281/kafka",
    "dc2": "198.19.11.11:2281,198.19.11.12:2281,198.19.11.13:2281,198.19.11.14:2281,198.19.11.15:2281,"
    "198.19.12.11:2281,198.19.12.12:2281,198.19.12.13:2281,198.19.12.14:2281,198.19.12.15:2281/kafka",
}
LOG_DIRS = {
    "lab": "/data/kafka1,/data/kafka2",
    "dc1": "/data/kafka1,/data/kafka2,/data/kafka3",
    "dc2": "/data/kafka1,/data/kafka2,/data/kafka3",
}
HEAP = {"lab": "256m", "dc1": "6g", "dc2": "6g"}
NOFILE = {"lab": "16384", "dc1": "100000", "dc2": "100000"}
SITE_PROPERTIES = {
    "lab": {
        "zookeeper.session.timeout.ms": "6000",
        "zookeeper.connection.timeout.ms": "30000",
        "offsets.topic.num.partitions": "6",
    },
    "dc1": {"zookeeper.session.timeout.ms": "30000"},
    "dc2": {"zookeeper.session.timeout.ms": "30000"},
}
STORE, CA = "/etc/kafka/tls/keystore.pem", "/etc/kafka/tls/ca.pem"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
ORGANIZATION = {"lab": "lab", "dc1": "example", "dc2": "example"}
SECURE = {
    "listener.name.client.ssl.keystore.type": "PEM",
    "listener.name.client.ssl.keystore.location": STORE,
    "listener.name.client.ssl.client.auth": "none",
    "listener.name.client.sasl.enabled.mechanisms": "SCRAM-SHA-512,SCRAM-SHA-256",
    "listener.name.client.scram-sha-256.sasl.jaas.config": SCRAM,
    "listener.name.client.scram-sha-512.sasl.jaas.config": SCRAM,
    "listener.name.replication.ssl.keystore.type": "PEM",
    "listener.name.replication.ssl.keystore.location": STORE,
    "listener.name.replication.ssl.truststore.type": "PEM",
    "listener.name.replication.ssl.truststore.location": CA,
    "listener.name.replication.ssl.client.auth": "required",
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:kafka-broker;User:admin",
    "allow.everyone.if.no.acl.found": "false",
    "zookeeper.ssl.client.enable": "true",
    "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
    "zookeeper.ssl.keystore.location": "/etc/kafka/tls/zookeeper.pem",
    "zookeeper.ssl.keystore.type": "PEM",
    "zookeeper.ssl.truststore.location": CA,
    "zookeeper.ssl.truststore.type": "PEM",
    "zookeeper.ssl.endpoint.identification.algorithm": "HTTPS",
    "zookeeper.set.acl": "true",
}
WITH_CLASS_DATA = {"lab": ["dc1-kafka3"], "dc1": [], "dc2": []}
CLASS_DATA = (
    "-XX:SharedArchiveFile=/var/cache/kafka-class-data/3.9.2.jsa",
    "-XX:+VerifySharedSpaces",
    "-Xlog:cds=off",
    "-Xlog:cds+dynamic=off",
)
RULES = "listener.name.replication.ssl.principal.mapping.rules"
SAFE = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "unclean.leader.election.enable": "false",
    "auto.create.topics.enable": "false",
    "controlled.shutdown.enable": "true",
    "replica.socket.receive.buffer.bytes": "-1",
    "socket.receive.buffer.bytes": "-1",
    "socket.send.buffer.bytes": "-1",
    "replica.fetch.backoff.ms": "100",
    "replica.fetch.wait.max.ms": "100",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}


def host(name: str, number: int) -> str:
    """Return the name of a broker's host."""
    return f"{'dc2' if name == 'dc2' else 'dc1'}-kafka{number}"


def brokers(hosts: Hosts) -> list[str]:
    """Return the hosts with a broker."""
    return [name for name, rendered in hosts.items() if "kafka" in rendered.roles]


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_server_properties(inventory_name: str, hosts: Hosts) -> None:
    """The whole file, key by key: identity, both networks, disks, safe defaults, and what the site adds."""
    found = {name: hosts[name].properties(SERVER) for name in brokers(hosts)}
    expected, organization = {}, ORGANIZATION[inventory_name]
    for number, rack in RACKS[inventory_name].items():
        client, replication = (
            f"{CLIENT_NETWORK[inventory_name]}.2{number}",
            f"{REPLICATION_NETWORK[inventory_name]}.2{number}",
        )
        expected[host(inventory_name, number)] = {
            "broker.id": str(number),
            "broker.id.generation.enable": "false",
            "broker.rack": rack,
            "log.dirs": LOG_DIRS[inventory_name],
            "listeners": f"CLIENT://{client}:9092,REPLICATION://{replication}:9093",
            "advertised.listeners": f"CLIENT://{client}:9092,REPLICATION://{replication}:9093",
            "listener.security.protocol.map": "CLIENT:SASL_SSL,REPLICATION:SSL",
            RULES: "RULE:^CN=[^,]+,OU=brokers,O=ORG$/kafka-broker/,RULE:^CN=([^,]+),OU=admins,O=ORG$/$1/".replace(
                "ORG", organization
            ),
            "inter.broker.listener.name": "REPLICATION",
            "zookeeper.connect": ZOOKEEPER_CONNECT[inventory_name],
            **SAFE,
            **SECURE,
            **SITE_PROPERTIES[inventory_name],
        }
    assert found == expected


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_tools_are_what_the_broker_is(inventory_name: str, hosts: Hosts) -> None:
    """client.properties is ready for --command-config, with the broker's own certificate, and the tools are on PATH."""
    one = hosts[host(inventory_name, 1)]
    assert one.properties("/etc/kafka/client.properties") == {
        "bootstrap.servers": f"{REPLICATION_NETWORK[inventory_name]}.21:9093",
        "security.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": STORE,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": CA,
        "client.rack": one.properties(SERVER)["broker.rack"],
    }
    links = {link["path"]: link["target"] for link in one.items("links")}
    assert links["/opt/kafka/current"] == "/opt/kafka/3.9.2"
    assert links["/usr/local/bin/kafka-topics.sh"] == "/opt/kafka/current/bin/kafka-topics.sh"
    assert all(link.startswith("/usr/local/bin/") for link in set(links) - {"/opt/kafka/current"})


@pytest.mark.parametrize("inventory_name", ["lab"])
def test_the_command_of_the_readme_asks_the_broker(inventory_name: str, hosts: Hosts, tmp_path: Path) -> None:
    """The lines that README.md shows, with the host's own file, and a tool that prints what it is given."""
    given = tmp_path / "client.properties"
    given.write_text(hosts[host(inventory_name, 1)].text("/etc/kafka/client.properties"))
    (tmp_path / "kafka-topics.sh").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "kafka-topics.sh").chmod(0o755)
    done = subprocess.run(
        readme_command().replace("/etc/kafka/client.properties", str(given)),
        shell=True,
        capture_output=True,
        text=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    servers = f"{REPLICATION_NETWORK[inventory_name]}.21:9093"
    assert done.stdout == f"--bootstrap-server {servers} --command-config {given} --list\n", done.stderr


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_the_unit_runs_java_itself(inventory_name: str, hosts: Hosts) -> None:
    """No shell in the process tree; the heap, the limit and every writable path are the declared ones."""
    for name in brokers(hosts):
        unit, heap = hosts[name].unit("kafka.service"), HEAP[inventory_name]
        assert unit["ExecStart"][0].split() == [
            "/usr/bin/java",
            f"-Xms{heap}",
            f"-Xmx{heap}",
            "-XX:+UseG1GC",
            "-XX:MaxGCPauseMillis=20",
            "-XX:InitiatingHeapOccupancyPercent=35",
            "-XX:+ExplicitGCInvokesConcurrent",
            "-XX:+ExitOnOutOfMemoryError",
            "-Djava.awt.headless=true",
            "-Xlog:gc*:file=/var/log/kafka/gc.log:time,tags:filecount=5,filesize=10m",
            "-Dlog4j.configuration=file:/etc/kafka/log4j.properties",
            "-Dkeystore.pkcs12.keyPbeIterationCount=1",
            *(CLASS_DATA if name in WITH_CLASS_DATA[inventory_name] else ()),
            *(["-XX:TieredStopAtLevel=1"] if inventory_name == "lab" else ()),
            *([AGENT] if inventory_name in WITH_METRICS else ()),
            "-cp",
            "/opt/kafka/current/libs/*",
            "kafka.Kafka",
            SERVER,
        ]
        disks = LOG_DIRS[inventory_name].split(",")
        assert unit["LimitNOFILE"] == [NOFILE[inventory_name]]
        # A disk that is gone, or that fails, does not keep the broker from its others.
        assert unit["ReadWritePaths"][0].split() == ["/data", "/var/lib/kafka", "/var/log/kafka"]
        mounts = " ".join(f"data-{disk.removeprefix('/data/')}.mount" for disk in disks)
        assert unit["After"] == ["network-online.target local-fs.target", mounts]
        assert unit["Wants"][:2] == ["network-online.target", mounts]
        assert "RequiresMountsFor" not in unit
        guards = [line for line in unit["ExecStartPre"] if "chown" in line]
        assert len(guards) == len(disks)
        assert all(f'readlink -f "{disk}")' in line for disk, line in zip(disks, guards, strict=True)), guards
        assert (unit["User"], unit["Group"]) == (["kafka"], ["kafka"])
        assert (unit["Restart"], unit["TimeoutStopSec"], unit["SuccessExitStatus"]) == (
            ["on-failure"],
            ["300"],
            ["143"],
        )
        assert "MemoryDenyWriteExecute" not in unit


def test_class_data_is_made_beside_the_broker(rendered: Callable[[str], Hosts]) -> None:
    """Only where it is asked for; the broker neither waits for it nor can write it.

    An archive that was cut is away before it starts.
    """
    plain, served = rendered("lab")["dc1-kafka1"], rendered("lab")["dc1-kafka3"]
    assert not [file["path"] for file in plain.items("files") if "class-data" in file["path"]]
    broker, maker = served.unit("kafka.service"), served.unit("kafka-class-data.service")
    assert "kafka-class-data.service" in broker["Wants"]
    assert broker["ExecStartPre"][0].startswith("+-/bin/sh -c '[ ") and not any(
        "class-data" in path for path in broker["ReadWritePaths"]
    )
    assert (maker["After"], maker["CacheDirectory"], maker["PrivateNetwork"]) == (
        ["kafka.service"],
        ["kafka-class-data"],
        ["yes"],
    )
    assert (maker["CapabilityBoundingSet"], maker["KillSignal"]) == ([""], ["SIGKILL"])
    assert "class-data" not in plain.text("/etc/systemd/system/kafka.service")


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_all_brokers_have_the_same_unit(inventory_name: str, hosts: Hosts) -> None:
    """Only the digest differs, because each broker's server.properties does; and who has a class-data archive."""
    digests, units = set(), set()
    for name in brokers(hosts):
        text = hosts[name].text("/etc/systemd/system/kafka.service")
        digest = re.findall(r"^Environment=CONFIG_DIGEST=([0-9a-f]{64})$", text, re.MULTILINE)
        assert hosts[name].services[0] == {
            "name": "kafka.service", "digest": digest[0], "enabled": True, "state": "started", "watch": 5,
            "answers": {"at": f"{REPLICATION_NETWORK[inventory_name]}.2{name[-1]}:9093", "tls": True},
            "live": hosts[name].services[0]["live"],
        }  # fmt: skip
        assert [unit["name"] for unit in hosts[name].services[1:]] == ["kafka-registration.service"]
        assert re.findall(r"^Environment=KAFKA_PROTOCOL=(.*)$", text, re.MULTILINE) == ["3.9"]
        digests.add(digest[0])
        units.add(text.replace(digest[0], ""))
    assert len(units) == (2 if WITH_CLASS_DATA[inventory_name] else 1)
    assert len(digests) == len(brokers(hosts))


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_directories_and_files_belong_to_the_broker(inventory_name: str, hosts: Hosts) -> None:
    """Disks are the broker's own; its configuration is root's, readable by the broker's group alone."""
    one = hosts[host(inventory_name, 1)]
    private = {"owner": "kafka", "group": "kafka", "mode": "0750", "mount": False}
    directories = {directory.pop("path"): directory for directory in map(dict, one.roles["kafka"]["directories"])}
    assert directories == {
        "/opt/kafka": {"owner": "root", "group": "root", "mode": "0755", "mount": False},
        "/etc/kafka": {"owner": "root", "group": "root", "mode": "0755", "mount": False},
        "/etc/kafka/tls": {"owner": "root", "group": "kafka", "mode": "0750", "mount": False},
        **{path: private for path in ["/var/lib/kafka", "/var/log/kafka"]},
        **{path: {**private, "mount": True} for path in LOG_DIRS[inventory_name].split(",")},
    }
    file = one.file(SERVER)
    assert (file["owner"], file["group"], file["mode"]) == ("root", "kafka", "0640")
    assert one.roles["kafka"]["users"] == [{"name": "kafka", "home": "/var/lib/kafka"}]
    assert [(archive["src"].rpartition("/")[2], archive["dest"]) for archive in one.archives] == [
        ("kafka_2.13-3.9.2.tgz", "/opt/kafka/3.9.2"),
        *([("jmx-exporter-1.0.1.tgz", "/opt/jmx-exporter/1.0.1")] if inventory_name in WITH_METRICS else ()),
    ]
