"""What makes a site secure on its hosts, what is left when it is switched off, which certificate is a restart owed."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from model.mistakes.base import VAULT

from render.conftest import INVENTORIES, LAYOUTS, Hosts
from render.site import Rendered

ZOO_CFG, SERVER = "/etc/zookeeper/zoo.cfg", "/etc/kafka/server.properties"
# By the function in a host's name: path on the host, subject without O=, group. The first has the host's addresses.
STORES = {
    "zk": {"/etc/zookeeper/tls/keystore.pem": ("CN={},OU=zookeeper", "zookeeper")},
    "kafka": {
        "/etc/kafka/tls/keystore.pem": ("CN={},OU=brokers", "kafka"),
        "/etc/kafka/tls/zookeeper.pem": ("CN=kafka,OU=zkclients", "kafka"),
    },
    "spark": {},
    "mon": {},
}
TRUSTED = {
    "zk": ("/etc/zookeeper/tls/ca.pem", "zookeeper"),
    "kafka": ("/etc/kafka/tls/ca.pem", "kafka"),
    "spark": ("/etc/millrace/tls/ca.pem", "spark"),
    "mon": ("/etc/lag-exporter/tls/ca.pem", "lag-exporter"),
}


def function(host: str) -> str:
    """Return zk, kafka, spark, db or mon."""
    return host.partition("-")[2].rstrip("0123456789")


def organization(inventory: str) -> str:
    return "lab" if inventory.startswith("lab") else "example"


def openssl(text: str, *arguments: str) -> str:
    """Return what a command of openssl says of a certificate."""
    return subprocess.run(
        ["openssl", *arguments], input=text, capture_output=True, text=True, check=True
    ).stdout.strip()


def serial(rendered: Rendered, path: str) -> str:
    return openssl(rendered.secret(path), "x509", "-noout", "-serial")


def digest(rendered: Rendered) -> str:
    return str(rendered.services[0]["digest"])


@pytest.mark.parametrize("inventory_name", [*INVENTORIES, *LAYOUTS])
def test_certificates_reach_their_host(inventory_name: str, hosts: Hosts, tmp_path: Path) -> None:
    """Key and certificate as one secret file for the service's group, below the CA that the host trusts; no others.

    Those for metrics are in test_metrics.py.
    """
    trusting = {name: rendered for name, rendered in hosts.items() if function(name) != "db"}  # test_database.py
    for name, rendered in trusting.items():
        path, group = TRUSTED[function(name)]
        bundle = rendered.file(path)
        assert (bundle["owner"], bundle["group"], bundle["mode"], bundle["secret"]) == ("root", group, "0640", False)
        (tmp_path / "ca.pem").write_text(bundle["content"])
        assert bundle["content"].count("BEGIN CERTIFICATE") == 1
        found = {
            file["path"]: file
            for file in rendered.items("files")
            if file["secret"] and file["path"].endswith(".pem") and "/prometheus/" not in file["path"]
        }
        assert found.keys() == STORES[function(name)].keys()
        for path, (subject, group) in STORES[function(name)].items():
            file, text = found[path], rendered.secret(path)
            assert (file["owner"], file["group"], file["mode"]) == ("root", group, "0640")
            said = openssl(text, "x509", "-noout", "-subject", "-nameopt", "RFC2253")
            assert said == f"subject={subject.format(name)},O={organization(inventory_name)}"
            assert text.count("BEGIN PRIVATE KEY") == 1
            assert (
                openssl(text, "verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", str(tmp_path / "ca.pem"))
                == "stdin: OK"
            )


@pytest.mark.parametrize("inventory_name", ["lab"])
def test_names_of_servers(hosts: Hosts, tmp_path: Path) -> None:
    """Every address of the host, on both networks, in either direction."""
    addresses = {"dc1-zk2": ("198.18.1.12", "198.18.2.12"), "dc1-kafka3": ("198.18.1.23", "198.18.2.23")}
    for name, expected in addresses.items():
        path = next(iter(STORES[function(name)]))
        (tmp_path / "ca.pem").write_text(hosts[name].text(TRUSTED[function(name)][0]))
        for address in expected:
            for purpose in ("sslserver", "sslclient"):
                verify = ("verify", "-purpose", purpose, "-verify_ip", address, "-CAfile", str(tmp_path / "ca.pem"))
                assert openssl(hosts[name].secret(path), *verify) == "stdin: OK"


def test_another_serial_is_no_restart(rendered: Callable[[str], Hosts]) -> None:
    """Certificates of one subject from another CA: the running service reloads them."""
    plain, other = rendered("lab"), rendered("open")
    for name, path in (("dc1-kafka1", "/etc/kafka/tls/keystore.pem"), ("dc1-zk1", "/etc/zookeeper/tls/keystore.pem")):
        assert serial(plain[name], path) != serial(other[name], path)
        assert digest(plain[name]) == digest(other[name])


def test_another_subject_is_a_restart(rendered: Callable[[str], Hosts]) -> None:
    """Kafka takes a certificate of another subject only when it starts; the other brokers are left."""
    plain, other = rendered("lab"), rendered("open")
    text = other["dc1-kafka2"].secret("/etc/kafka/tls/zookeeper.pem")
    assert openssl(text, "x509", "-noout", "-subject", "-nameopt", "RFC2253") == "subject=CN=other,OU=zkclients,O=lab"
    assert plain["dc1-kafka2"].properties(SERVER) == other["dc1-kafka2"].properties(SERVER)
    assert [digest(plain[name]) == digest(other[name]) for name in ("dc1-kafka1", "dc1-kafka2", "dc1-kafka3")] == [
        True,
        False,
        True,
    ]


def test_a_job_with_other_authorities_is_restarted(rendered: Callable[[str], Hosts]) -> None:
    """It reads them only when it starts. In `varied` it has the lab's own, and the same digest (test_spark_job)."""
    plain, other = rendered("lab")["dc1-spark2"], rendered("open")["dc1-spark2"]
    assert plain.text("/etc/millrace/tls/ca.pem") != other.text("/etc/millrace/tls/ca.pem")
    assert digest(plain) != digest(other)


def secrets(host: Rendered) -> str:
    """Return the contents of all secret files of a host."""
    return "".join(host.secret(file["path"]) for file in host.items("files") if file["secret"])


def test_no_secret_is_in_a_file_that_everybody_sees(rendered: Callable[[str], Hosts]) -> None:
    """Keys and passwords are in secret files, and in nothing that Ansible shows or logs."""
    hosts = rendered("dc1").values()
    passwords, databases = VAULT["passwords"], VAULT["database_passwords"]
    of_jobs = [passwords[job] for job in ("publish_lines", "count_words", "project_orders")]
    hidden = "".join(map(secrets, hosts))
    for word in ("PRIVATE KEY", databases["project_orders"], *of_jobs):
        assert word in hidden, f"the test looks for {word}, which no host gets"
    shown = json.dumps([host.roles for host in hosts])
    words = ["PRIVATE KEY", VAULT["pki_passphrase"], *passwords.values(), *databases.values()]
    assert not [word for word in words if word in shown]


def test_plaintext_zookeeper(rendered: Callable[[str], Hosts]) -> None:
    """For debugging: the port in the clear and not one key of TLS; all else as in the secure site."""
    for name in ("dc1-zk1", "dc1-zk2", "dc1-zk3"):
        secure, plain = (rendered(run)[name].properties(ZOO_CFG) for run in ("lab", "plaintext"))
        assert plain == {
            "tickTime": "2000",
            "initLimit": "10",
            "syncLimit": "5",
            "dataDir": "/var/lib/zookeeper",
            "dataLogDir": "/data/zookeeper-log",
            "clientPort": "2181",
            "autopurge.purgeInterval": "24",
            "autopurge.snapRetainCount": "3",
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "srvr,mntr,ruok",
            "standaloneEnabled": "false",
            "reconfigEnabled": "false",
            "server.1": "198.18.2.11:2888:3888|198.18.1.11:2888:3888",
            "server.2": "198.18.2.12:2888:3888|198.18.1.12:2888:3888",
            "server.3": "198.18.2.13:2888:3888|198.18.1.13:2888:3888",
        }
        assert {key: value for key, value in plain.items() if key != "clientPort"}.items() <= secure.items()
        assert rendered("plaintext")[name].properties("/etc/zookeeper/client.properties") == {}
        assert "tcp dport 2181 ip saddr" in rendered("plaintext")[name].items("nftables")[0]["content"]


def test_plaintext_broker(rendered: Callable[[str], Hosts]) -> None:
    """No authorizer, no login, ZooKeeper in the clear; the whole file."""
    for number, rack in ((1, "a"), (2, "b"), (3, "c")):
        host = rendered("plaintext")[f"dc1-kafka{number}"]
        ensemble = ",".join(f"198.18.{network}.1{server}:2181" for network in (1, 2) for server in (1, 2, 3))
        listeners = f"CLIENT://198.18.1.2{number}:9092,REPLICATION://198.18.2.2{number}:9093"
        assert host.properties(SERVER) == {
            "broker.id": str(number),
            "broker.id.generation.enable": "false",
            "broker.rack": f"dc1-{rack}",
            "log.dirs": "/data/kafka1,/data/kafka2",
            "listeners": listeners,
            "advertised.listeners": listeners,
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT",
            "inter.broker.listener.name": "REPLICATION",
            "zookeeper.connect": f"{ensemble}/kafka",
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
            "zookeeper.session.timeout.ms": "6000",
            "zookeeper.connection.timeout.ms": "30000",
            "offsets.topic.num.partitions": "6",
        }
        assert host.properties("/etc/kafka/client.properties") == {
            "bootstrap.servers": f"198.18.2.2{number}:9093",
            "client.rack": f"dc1-{rack}",
        }
