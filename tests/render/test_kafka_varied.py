"""What is said of one broker reaches that one alone: properties, resources, and the restart that it owes."""

from collections.abc import Callable

from render.conftest import Hosts
from render.test_kafka import CLASS_DATA

SERVER = "/etc/kafka/server.properties"
RULES = "listener.name.replication.ssl.principal.mapping.rules"


def test_overrides_win_and_null_removes(rendered: Callable[[str], Hosts]) -> None:
    """kafka_config_overrides is for one host; its null takes away a key of the role and one of kafka_config."""
    plain, varied = (
        rendered("lab")["dc1-kafka2"].properties(SERVER),
        rendered("varied")["dc1-kafka2"].properties(SERVER),
    )
    changed = {
        key: (plain.get(key), varied.get(key))
        for key in plain.keys() | varied.keys()
        if plain.get(key) != varied.get(key)
    }
    assert changed == {
        "auto.create.topics.enable": ("false", None),
        "zookeeper.session.timeout.ms": ("6000", None),
        "min.insync.replicas": ("2", "1"),
        "log.cleanup.policy": (None, "compact,delete"),
        "delete.topic.enable": (None, "true"),
        "advertised.listeners": (
            "CLIENT://198.18.1.22:9092,REPLICATION://198.18.2.22:9093",
            "CLIENT://192.0.2.7:19092,REPLICATION://198.18.2.22:9093",
        ),
        "listener.name.client.sasl.enabled.mechanisms": ("SCRAM-SHA-512,SCRAM-SHA-256", "SCRAM-SHA-256,OAUTHBEARER"),
        "listener.name.client.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;",
            None,
        ),
        RULES: ("RULE:^CN=[^,]+,OU=brokers,O=lab$/kafka-broker/,RULE:^CN=([^,]+),OU=admins,O=lab$/$1/", None),
        "listener.name.replication.ssl.keystore.location": ("/etc/kafka/tls/keystore.pem", "/own.pem"),
        "listener.name.replication.ssl.truststore.location": ("/etc/kafka/tls/ca.pem", "/own-ca.pem"),
    }
    assert rendered("varied")["dc1-kafka1"].properties(SERVER)["offsets.topic.num.partitions"] == "12"


def test_resources_of_one_host(rendered: Callable[[str], Hosts]) -> None:
    """Heap, flags, limit and client properties of one broker reach its unit and files."""
    host = rendered("varied")["dc1-kafka2"]
    unit = host.unit("kafka.service")
    command = unit["ExecStart"][0].split()
    assert command[:3] == ["/usr/bin/java", "-Xms1g", "-Xmx1g"]
    assert command[3:6] == ["-XX:+UseZGC", "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true"]
    assert command[-11:] == [
        "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=",
        *CLASS_DATA,
        "-Da=b",
        r"-Dc=%%d$$e\\s",  # systemd would replace %d, $e and \s
        "-cp",
        "/opt/kafka/current/libs/*:/opt/plugins/quota-1.2.jar:/opt/more/*",  # ours first: class data fit those alone
        "kafka.Kafka",
        SERVER,
    ]
    assert unit["LimitNOFILE"] == ["5000"]
    assert host.properties("/etc/kafka/client.properties") == {
        "bootstrap.servers": "198.18.2.22:9093",
        "security.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/own.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/own-ca.pem",
        "client.rack": host.properties(SERVER)["broker.rack"],
        "request.timeout.ms": "5000",
    }


def test_a_restart_is_owed_where_something_changed(rendered: Callable[[str], Hosts]) -> None:
    """The digest follows the configuration: changed on the varied brokers, the same on the third."""
    digests = {
        name: [rendered(name)[host].services[0]["digest"] for host in ("dc1-kafka1", "dc1-kafka2", "dc1-kafka3")]
        for name in ("lab", "varied")
    }
    assert [before == after for before, after in zip(digests["lab"], digests["varied"], strict=True)] == [
        False,
        False,
        True,
    ]


def test_unit_and_logs_of_one_host(rendered: Callable[[str], Hosts]) -> None:
    """Stop timeout, drop-in, levels and the collector's log are inputs; without a drop-in its file is taken away."""
    host, plain = rendered("varied")["dc1-kafka2"], rendered("lab")["dc1-kafka2"]
    unit, folder = host.unit("kafka.service"), "/etc/systemd/system/kafka.service.d"
    assert unit["TimeoutStopSec"] == ["900"]
    assert "-Xlog:gc*:file=/data/gc/gc.log:time,tags:filecount=5,filesize=10m" in unit["ExecStart"][0].split()
    assert unit["ReadWritePaths"] == ["/data /var/lib/kafka /data/gc"]
    assert host.text(f"{folder}/overrides.conf").splitlines() == [
        "# Written by the role kafka: kafka_unit_overrides.", "",
        "[Service]", "CPUQuota=400%", "ReadWritePaths=", "",
        "[Unit]", "After=a.mount", "After=b.mount",
    ]  # fmt: skip
    assert plain.file(f"{folder}/overrides.conf")["state"] == "absent"
    owners = [{each["path"]: each["owner"] for each in one.items("directories")} for one in (host, plain)]
    assert [(found.get(folder), found.get("/data/gc")) for found in owners] == [("root", "kafka"), (None, None)]
    levels = host.properties("/etc/kafka/log4j.properties")
    assert {name: level for name, level in levels.items() if "appender" not in name} == {
        "log4j.rootLogger": "WARN, journal",
        "log4j.logger.org.apache.zookeeper": "WARN",
        "log4j.logger.kafka.request.logger": "DEBUG",
        "log4j.logger.kafka.authorizer.logger": "INFO",
        "log4j.logger.a.b": "OFF",
    }
    class_data = host.text("/etc/kafka/class-data.sh")
    assert class_data.count("-XX:+UseZGC") == 2
    assert "-Xlog:disable -XX:TieredStopAtLevel=1 -XX:ArchiveClassesAtExit=" in class_data
