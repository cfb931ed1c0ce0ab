"""A small healthy datacenter, as the page of check.yml is told of it."""

from typing import Any

Facts = dict[str, dict[str, Any]]


def broker(number: int, rack: str) -> dict[str, Any]:
    """What is declared of a broker."""
    listeners = {"CLIENT": f"10.0.1.2{number}:9092", "REPLICATION": f"10.0.2.2{number}:9093"}
    return {"functions": ["kafka"], "broker_id": number, "rack": rack, "listeners": listeners}


def declared() -> Facts:
    """A small datacenter."""
    common: dict[str, Any] = {"broker_id": None, "rack": None, "listeners": {}}
    return {
        "zk1": {**common, "functions": ["zookeeper"]},
        "zk2": {**common, "functions": ["zookeeper"]},
        "zk3": {**common, "functions": ["zookeeper"]},
        "kafka1": {
            "functions": ["kafka"],
            "broker_id": 1,
            "rack": "dc1-a",
            "listeners": {"CLIENT": "10.0.1.21:9092", "REPLICATION": "10.0.2.21:9093"},
        },
        "kafka2": {
            "functions": ["kafka"],
            "broker_id": 2,
            "rack": "dc1-b",
            "listeners": {"CLIENT": "10.0.1.22:9092", "REPLICATION": "10.0.2.22:9093"},
        },
        "spark1": {**common, "functions": ["spark"]},
    }


def probes() -> Facts:
    """What its hosts answer when all is well."""
    gib = 2**30
    return {
        "zk1": {
            "zookeeper_mode": "follower",
            "mounts": {"/wal": {"size": 10 * gib, "free": 9 * gib}},
            "units": {"zookeeper.service": "active"},
        },
        "zk2": {"zookeeper_mode": "leader", "units": {"zookeeper.service": "active"}},
        "zk3": {"zookeeper_mode": "follower", "units": {"zookeeper.service": "active"}},
        "kafka1": {"mounts": {"/d1": {"size": 100 * gib, "free": 50 * gib}}, "units": {"kafka.service": "active"}},
        "kafka2": {"mounts": {"/d1": {"size": 100 * gib, "free": 50 * gib}}, "units": {"kafka.service": "active"}},
        "spark1": {"units": {"spark-job@count_words.service": "active"}},
    }


def cluster() -> dict[str, Any]:
    """What the cluster answers; JSON keys are texts."""
    return {
        "brokers": {
            "1": {"rack": "dc1-a", "CLIENT": "10.0.1.21:9092", "REPLICATION": "10.0.2.21:9093"},
            "2": {"rack": "dc1-b", "CLIENT": "10.0.1.22:9092", "REPLICATION": "10.0.2.22:9093"},
        },
        "controller": 2,
        "partitions": 10,
        "offline": 0,
        "under_replicated": 0,
        "problems": [],
        "leaders": {"1": 6, "2": 4},
        "replicas": {"1": 10, "2": 10},
        "undeclared": {},
        "log_dirs": [
            log_dir(1, "/d1", 6, 2 * 2**30),
            log_dir(1, "/d2", 4, 2**30, free=40 * 2**30),
            log_dir(2, "/d1", 10, 3 * 2**30),
        ],
        "silent": {},
        "strays": [],
        "copies_throttled": {},
    }


def log_dir(number: int, path: str, replicas: int, held: int, **more: Any) -> dict[str, Any]:
    """What a broker says of a log dir on a disk of its own of 100 GiB, half full, of replicas alike."""
    disk = {"size": 100 * 2**30, "free": 50 * 2**30 - held, "given_up": False}
    sizes = {"replicas": replicas, "bytes": held, "largest": held // max(1, replicas)}
    return {"broker": number, "path": path, **sizes, **disk, **more}
