"""Wrong hosts of tests/model/probes.py: what is installed and runs there is otherwise than what is declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

KAFKA, PLACE = "dc1-kafka1", "kafka_config[inter.broker.protocol.version]"

SERVED = {path: {"cluster.id": "x", "broker.id": "1"} for path in ("/data/kafka1", "/data/kafka2")}


def broker(version: str, protocol: str = "") -> Callable[[dict[str, Any]], None]:
    """Return a change of a broker's host: what it runs, and what it speaks to the others where that is said."""
    release = {"installed": version, "running": version, "protocol": protocol}
    return answer(releases={"kafka": release})


def answer(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change of the answer itself."""
    return lambda probe: probe.update(changes)


def twice(installed: list[str]) -> Callable[[dict[str, Any]], None]:
    """Return a change: a disk is back with what it held, and the broker, which serves from the other, has that anew."""

    def change(probe: dict[str, Any]) -> None:
        for path, names in zip(SERVED, (["t-0", "t-1", "u-0"], ["t-1", "t-0", "v-0", "u-0.ab-delete"]), strict=True):
            probe["mounts"][path]["names"] = names
        probe.update(meta_properties=SERVED, serves=["/data/kafka1"], log_dirs=installed)

    return change


PROBES: tuple[dict[str, Any], ...] = (
    {
        "code": "LOG_DIR_DUPLICATE",
        "where": f"{KAFKA}/kafka_log_dirs",
        "advice": "move these folders out of /data/kafka2, since the broker serves from /data/kafka1",
        "change": twice([*SERVED]),
    },
    {
        "code": "LOG_DIR_RETURNED",
        "where": f"{KAFKA}/kafka_log_dirs",
        "advice": "move these folders out of /data/kafka2",
        "change": twice(["/data/kafka1"]),
    },
    {
        "code": "ZOOKEEPER_PORT_CHANGED",
        "where": "dc1-zk1/zookeeper_secure_client_port",
        "advice": "then zookeeper.service on all hosts",
        "change": answer(units={"zookeeper.service": "active"}, client_ports=[2282]),
        "host": "dc1-zk1",
    },
    {
        "code": "ZOOKEEPER_ADDRESS_ADDED",
        "where": "dc1-zk1/zookeeper_servers[1]",
        "advice": "set quorumListenOnAllIPs: true",
        "change": answer(units={"zookeeper.service": "active"}, ensemble={"1": ["198.18.1.11"]}),
        "host": "dc1-zk1",
    },
    {
        "code": "ADMIN_LISTENER_CHANGED",
        "where": f"{KAFKA}/kafka_listeners[REPLICATION]",
        "advice": "set kafka_admin_listeners to another listener",
        "change": answer(units={"kafka.service": "active"}, listeners={"CLIENT": 9092, "REPLICATION": 9094}),
    },
    {
        "code": "ZOOKEEPER_CHROOT_CHANGED",
        "where": f"{KAFKA}/kafka_zookeeper_chroot",
        "advice": "set /kafka again",
        "change": answer(zookeeper_connect="198.18.2.11:2281,198.18.2.12:2281/kafka", meta_properties=SERVED),
        "declared": {"kafka_zookeeper_chroot": "/kafka2"},
    },
    {
        "code": "ZOOKEEPER_SERVERS_CHANGED",
        "where": f"{KAFKA}/kafka_zookeeper_connect",
        "advice": "replace them one by one",
        "change": answer(zookeeper_connect="192.0.2.11:2281,192.0.2.12:2281/kafka", meta_properties=SERVED),
    },
    {
        "code": "PROTOCOL_UNKNOWN",
        "where": f"{KAFKA}/kafka_version",
        "advice": f"-l {KAFKA},dc1-kafka2",
        "limited": True,
        "registered": ("2", "3"),
    },
    {
        "code": "KAFKA_ROLLBACK",
        "where": f"{KAFKA}/kafka_version",
        "advice": "set kafka_version to 3.9.2",
        "change": broker("3.9.2", "3.9"),
        "declared": {"kafka_version": "3.8.1"},
    },
    {
        "code": "PROTOCOL_LOWERED",
        "where": f"{KAFKA}/{PLACE}",
        "advice": 'remove it, or set "3.9"',
        "change": broker("3.9.2", "3.9"),
        "declared": {"kafka_config": {"inter.broker.protocol.version": "3.8"}},
    },
    {
        "code": "PROTOCOL_TOO_NEW",
        "where": f"group kafka/{PLACE}",
        "advice": 'kafka_config: {inter.broker.protocol.version: "3.8"}, until all brokers run 3.9.2',
        "change": broker("3.8.1"),
    },
    {
        "code": "PROTOCOL_WITH_BINARIES",
        "where": f"{KAFKA}/{PLACE}",
        "advice": "remove it in a separate run",
        "change": broker("3.9.1", "3.8"),
    },
)
