"""The page of check.yml for programs: the verdict of the page, and the numbers from which it was made."""

import json
from typing import Any

import pytest
from unit.healthy import cluster, declared, log_dir, probes

from ansible_collections.millrace.kafka.plugins.action import health_page
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.page import Certificates, as_json, page

HELD = {"subject": "CN=kafka1", "issuer": "CN=Infra CA", "serial": "1f", "until": "2026-03-01", "path": "/x.pem"}
FOUND = Certificates(
    {"hosts": {"kafka1": {"held": {"broker": HELD}}}},
    [{"host": "kafka1", "address": "10.0.1.21", "port": 9092, "differs": "serves another than is on its disk"}],
)


def told(answers: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return what a program reads."""
    text = as_json(declared(), answers or probes(), more.pop("cluster", cluster()), **more)
    assert "\n" not in text
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_healthy_datacenter() -> None:
    said = told()
    assert (said["healthy"], said["problems"], said["not_checked"]) == (True, [], {})
    assert said["zookeeper"] == {"zk1": "follower", "zk2": "leader", "zk3": "follower"}
    assert said["kafka"] == {
        "controller": 2,
        "partitions": 10,
        "offline": 0,
        "under_replicated": 0,
        "leaders": {"kafka1": 6, "kafka2": 4},
        "registered": {"kafka1": True, "kafka2": True},
        "undeclared": {},
        "racks": {
            "dc1-a": {"brokers": 1, "leaders": 6, "replicas": 10, "bytes": 3 * 2**30},
            "dc1-b": {"brokers": 1, "leaders": 4, "replicas": 10, "bytes": 3 * 2**30},
        },
        "log_dirs": [
            log_dir(1, "/d1", 6, 2 * 2**30, host="kafka1"),
            log_dir(1, "/d2", 4, 2**30, free=40 * 2**30, host="kafka1"),
            log_dir(2, "/d1", 10, 3 * 2**30, host="kafka2"),
        ],
        "strays": [],
    }
    disk = {"host": "kafka1", "path": "/d1", "size": 100 * 2**30, "free": 50 * 2**30, "error": None}
    assert disk in said["disks"]
    assert {"host": "spark1", "unit": "spark-job@count_words.service", "state": "active", "starts": 0} in said["units"]
    assert said["certificates"] == []


def test_what_is_wrong_is_in_the_words_of_the_page() -> None:
    """Nothing is judged twice."""
    answers = probes()
    del answers["zk1"]
    answers["kafka1"]["mounts"] = {"/d1": {"mounted": True, "error": "Input/output error"}}
    half = cluster()
    del half["brokers"]["2"], half["leaders"]["2"]
    said = told(answers, cluster=half, certificates=FOUND, others={"spark": 2, "kafka": 0})
    _, problems = page(declared(), answers, half, FOUND, {"spark": 2, "kafka": 0})
    assert (said["healthy"], said["problems"]) == (False, problems)
    assert said["not_checked"] == {"spark": 2}
    assert said["zookeeper"]["zk1"] == "unreachable"
    assert said["kafka"]["registered"] == {"kafka1": True, "kafka2": False}
    assert next(disk for disk in said["disks"] if disk["host"] == "kafka1") == {
        "host": "kafka1",
        "path": "/d1",
        "size": None,
        "free": None,
        "error": "Input/output error",
    }
    assert said["certificates"] == [{"host": "kafka1", "name": "broker", "subject": "CN=kafka1", "until": "2026-03-01"}]


def test_no_broker_and_no_answer() -> None:
    """Null where nothing is known, as in a datacenter of Spark nodes alone."""
    alone = {"spark1": declared()["spark1"]}
    assert json.loads(as_json(alone, {}, {}))["kafka"] is None
    said = told(cluster={})["kafka"]
    assert [said[name] for name in ("partitions", "log_dirs", "strays")] == [None, None, None]


@pytest.mark.parametrize(("asked", "begins"), [({}, "ZooKeeper\n"), ({"check_output": "json"}, '{"healthy": true')])
def test_the_variable_chooses(asked: dict[str, str], begins: str) -> None:
    assert health_page.rendered(asked, (declared(), probes(), cluster(), Certificates(), {}))[0].startswith(begins)
