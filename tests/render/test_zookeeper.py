"""What a ZooKeeper server gets: zoo.cfg, myid, the unit, directories."""

import re
from collections.abc import Callable

import pytest

from render.conftest import INVENTORIES, WITH_METRICS, Hosts
from render.test_metrics import PROVIDER

CONFIG = "/etc/zookeeper/zoo.cfg"
SERVERS = {
    "lab": {"dc1-zk1": 1, "dc1-zk2": 2, "dc1-zk3": 3},
    "dc1": {"dc1-zk1": 1, "dc1-zk2": 2, "dc1-zk3": 3, "dc1-zk4": 4, "dc1-zk5": 5},
    "dc2": {"dc2-zk1": 1, "dc2-zk2": 2, "dc2-zk3": 3, "dc2-zk4": 4, "dc2-zk5": 5},
}
ENSEMBLE = {
    "lab": {
        "server.1": "198.18.2.11:2888:3888|198.18.1.11:2888:3888",
        "server.2": "198.18.2.12:2888:3888|198.18.1.12:2888:3888",
        "server.3": "198.18.2.13:2888:3888|198.18.1.13:2888:3888",
    },
    "dc1": {
        "server.1": "198.19.2.11:2888:3888|198.19.1.11:2888:3888",
        "server.2": "198.19.2.12:2888:3888|198.19.1.12:2888:3888",
        "server.3": "198.19.2.13:2888:3888|198.19.1.13:2888:3888",
        "server.4": "198.19.2.14:2888:3888|198.19.1.14:2888:3888",
        "server.5": "198.19.2.15:2888:3888|198.19.1.15:2888:3888",
    },
    "dc2": {
        "server.1": "198.19.12.11:2888:3888|198.19.11.11:2888:3888",
        "server.2": "198.19.12.12:2888:3888|198.19.11.12:2888:3888",
        "server.3": "198.19.12.13:2888:3888|198.19.11.13:2888:3888",
        "server.4": "198.19.12.14:2888:3888|198.19.11.14:2888:3888",
        "server.5": "198.19.12.15:2888:3888|198.19.11.15:2888:3888",
    },
}
STORE, CA = "/etc/zookeeper/tls/keystore.pem", "/etc/zookeeper/tls/ca.pem"
SECURE = {
    "fips-mode": "false",
    "secureClientPort": "2281",
    "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
    "ssl.keyStore.location": STORE,
    "ssl.trustStore.location": CA,
    "ssl.clientAuth": "need",
    "ssl.hostnameVerification": "true",
    "ssl.clientHostnameVerification": "false",
    "ssl.allowReverseDnsLookup": "false",
    "client.certReload": "true",
    "sslQuorum": "true",
    "sslQuorumReloadCertFiles": "true",
    "ssl.quorum.keyStore.location": STORE,
    "ssl.quorum.trustStore.location": CA,
    "ssl.quorum.clientAuth": "need",
    "ssl.quorum.hostnameVerification": "true",
    "ssl.quorum.allowReverseDnsLookup": "false",
}
HEAP = {"lab": "128m", "dc1": "2g", "dc2": "2g"}
NOFILE = {"lab": "16384", "dc1": "100000", "dc2": "100000"}


def servers(hosts: Hosts) -> list[str]:
    """Return the hosts with a ZooKeeper server."""
    return [name for name, rendered in hosts.items() if "zookeeper" in rendered.roles]


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_zoo_cfg(inventory_name: str, hosts: Hosts) -> None:
    """The whole file: the same everywhere, quorum on both networks, replication first, purge on, AdminServer off."""
    expected = {
        "tickTime": "2000",
        "initLimit": "10",
        "syncLimit": "5",
        "dataDir": "/var/lib/zookeeper",
        "dataLogDir": "/data/zookeeper-log",
        **SECURE,
        "autopurge.purgeInterval": "24",
        "autopurge.snapRetainCount": "3",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "srvr,mntr,ruok",
        "standaloneEnabled": "false",
        "reconfigEnabled": "false",
        **ENSEMBLE[inventory_name],
        **(PROVIDER if inventory_name in WITH_METRICS else {}),
    }
    assert {name: hosts[name].properties(CONFIG) for name in servers(hosts)} == dict.fromkeys(
        SERVERS[inventory_name], expected
    )


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_myid(inventory_name: str, hosts: Hosts) -> None:
    """Each server's id is the declared one."""
    found = {name: hosts[name].text("/var/lib/zookeeper/myid").splitlines() for name in servers(hosts)}
    assert found == {name: [str(number)] for name, number in SERVERS[inventory_name].items()}


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_the_unit_runs_java_itself(inventory_name: str, hosts: Hosts) -> None:
    """No shell in the process tree; one and the same unit on every server."""
    units = [hosts[name].unit("zookeeper.service") for name in servers(hosts)]
    unit, heap = units[0], HEAP[inventory_name]
    assert all(other == unit for other in units)
    assert unit["ExecStart"][0].split() == [
        "/usr/bin/java",
        f"-Xms{heap}",
        f"-Xmx{heap}",
        "-XX:+UseG1GC",
        "-XX:MaxGCPauseMillis=50",
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.awt.headless=true",
        "-Dzookeeper.jmx.log4j.disable=true",
        "-Xlog:gc*:file=/var/log/zookeeper/gc.log:time,tags:filecount=5,filesize=10m",
        "-Dzookeeper.multiAddress.enabled=true",
        *(["-XX:TieredStopAtLevel=1"] if inventory_name == "lab" else ()),
        "-cp",
        "/etc/zookeeper:/opt/zookeeper/current/lib/*",
        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        CONFIG,
    ]
    assert unit["LimitNOFILE"] == [NOFILE[inventory_name]]
    assert unit["ReadWritePaths"] == ["/var/lib/zookeeper /data/zookeeper-log /var/log/zookeeper"]
    assert (unit["User"], unit["Restart"], unit["SuccessExitStatus"]) == (["zookeeper"], ["on-failure"], ["143"])
    assert "MemoryDenyWriteExecute" not in unit
    digest = unit["Environment"][0].removeprefix("CONFIG_DIGEST=")
    assert len(digest) == 64
    assert hosts[servers(hosts)[0]].services == [
        {"name": "zookeeper.service", "digest": digest, "enabled": True, "state": "started", "watch": 5}
    ]


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_directories_belong_to_the_server(inventory_name: str, hosts: Hosts) -> None:
    """Data, write-ahead log and GC log are the server's own."""
    one = hosts[next(iter(SERVERS[inventory_name]))]
    private = {"owner": "zookeeper", "group": "zookeeper", "mode": "0750", "mount": False}
    directories = {directory.pop("path"): directory for directory in map(dict, one.roles["zookeeper"]["directories"])}
    assert directories == {
        "/opt/zookeeper": {"owner": "root", "group": "root", "mode": "0755", "mount": False},
        "/etc/zookeeper": {"owner": "root", "group": "root", "mode": "0755", "mount": False},
        "/var/lib/zookeeper": private,
        "/data/zookeeper-log": private,
        "/var/log/zookeeper": private,
        "/etc/zookeeper/tls": {"owner": "root", "group": "zookeeper", "mode": "0750", "mount": False},
    }
    links = {link["path"]: link["target"] for link in one.items("links")}
    assert links == {
        "/opt/zookeeper/current": "/opt/zookeeper/3.8.6",
        "/usr/local/bin/zkCli.sh": "/opt/zookeeper/current/bin/zkCli.sh",
    }
    assert [(archive["src"].rpartition("/")[2], archive["dest"]) for archive in one.archives] == [
        ("apache-zookeeper-3.8.6-bin.tar.gz", "/opt/zookeeper/3.8.6")
    ]


def test_one_server_differs(rendered: Callable[[str], Hosts]) -> None:
    """zookeeper_config wins and its null removes; heap and flags reach the unit; the digest follows there alone."""
    varied, plain = rendered("varied"), rendered("lab")
    one = varied["dc1-zk1"]
    assert one.properties(CONFIG)["tickTime"] == "3000"
    assert "autopurge.purgeInterval" not in one.properties(CONFIG)
    command = one.unit("zookeeper.service")["ExecStart"][0].split()
    assert command[:5] == [
        "/opt/jdk-21/bin/java",
        "-Xms3g",
        "-Xmx3g",
        "-XX:+UseParallelGC",
        "-XX:+ExitOnOutOfMemoryError",
    ]
    assert "-Xlog:gc*:file=/data/gc/gc.log:time,tags:filecount=5,filesize=10m" in command
    assert one.unit("zookeeper.service")["TimeoutStopSec"] == ["90"]
    assert one.text("/etc/systemd/system/zookeeper.service.d/overrides.conf").endswith("\n[Service]\nNice=-5\n")
    levels = re.findall(r'<(?:logger name="(.*)"|root) level="(.*?)"', one.text("/etc/zookeeper/logback.xml"))
    assert [(name.rpartition("server.")[2], level) for name, level in levels] == [
        ("NIOServerCnxn", "WARN"),
        ("NettyServerCnxn", "WARN"),
        ("auth.X509AuthenticationProvider", "WARN"),
        ("a.b", "DEBUG"),
        ("", "WARN"),
    ]  # fmt: skip
    assert command[-5:] == [
        "-Da=%%b",  # systemd would replace %b
        "-cp",
        "/etc/zookeeper:/opt/zookeeper/current/lib/*:/opt/plugins/*",
        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        CONFIG,
    ]
    assert one.services[0]["digest"] != plain["dc1-zk1"].services[0]["digest"]
    assert varied["dc1-zk2"].roles["zookeeper"] == plain["dc1-zk2"].roles["zookeeper"]
