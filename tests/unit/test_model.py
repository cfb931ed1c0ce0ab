"""The checks of the declared model: one mistake at a time in a datacenter of two racks, without Ansible."""

from typing import Any

import pytest

from millrace.model import check_model
from millrace.problems import Problem, report

Hosts = dict[str, dict[str, Any]]
GROUPS = {"zookeeper": ["zk1", "zk2", "zk3"], "kafka": ["kafka1", "kafka2"], "spark": ["spark1"]}


def datacenter() -> Hosts:
    """A model without a mistake."""
    return {
        "zk1": {"zookeeper_id": 1, "client_address": "10.0.1.11", "replication_address": "10.0.2.11"},
        "zk2": {"zookeeper_id": 2, "client_address": "10.0.1.12", "replication_address": "10.0.2.12"},
        "zk3": {"zookeeper_id": 3, "client_address": "10.0.1.13", "replication_address": "10.0.2.13"},
        "kafka1": {
            "kafka_broker_id": 1, "kafka_rack": "a", "kafka_log_dirs": ["/d1", "/d2"],
            "client_address": "10.0.1.21", "replication_address": "10.0.2.21",
        },
        "kafka2": {
            "kafka_broker_id": 2, "kafka_rack": "b", "kafka_log_dirs": ["/d1", "/d2"],
            "client_address": "10.0.1.22", "replication_address": "10.0.2.22",
        },
        "spark1": {"client_address": "10.0.1.31", "spark_job_jobs": [{"name": "a"}, {"name": "b"}]},
    }  # fmt: skip


def found(hosts: Hosts, groups: dict[str, list[str]] = GROUPS) -> list[tuple[str, str, Any]]:
    """Return code, place and value of each problem, by place."""
    return [(problem.code, problem.where, problem.value) for problem in sorted(check_model(hosts, groups), key=str)]


def test_no_mistake() -> None:
    assert check_model(datacenter(), GROUPS) == []


def test_empty_inventory() -> None:
    assert check_model({}, {}) == []


@pytest.mark.parametrize(("variable", "host", "code"), [("kafka_broker_id", "kafka2", "KAFKA"), ("zookeeper_id", "zk2", "ZOOKEEPER")])
def test_missing_id(variable: str, host: str, code: str) -> None:
    hosts = datacenter()
    del hosts[host][variable]
    assert found(hosts) == [(f"{code}_ID_MISSING", f"{host}/{variable}", None)]


@pytest.mark.parametrize("value", [0, 256, -1, "2", True, 1.0])
def test_zookeeper_id_out_of_range(value: object) -> None:
    hosts = datacenter()
    hosts["zk2"]["zookeeper_id"] = value
    assert found(hosts) == [("ZOOKEEPER_ID_RANGE", "zk2/zookeeper_id", value)]


@pytest.mark.parametrize("value", [1, 255])
def test_zookeeper_id_at_the_edge(value: int) -> None:
    hosts = datacenter()
    hosts["zk1"]["zookeeper_id"] = value
    assert found(hosts) == []


@pytest.mark.parametrize("value", [-1, 1001, "2", False])
def test_broker_id_out_of_range(value: object) -> None:
    hosts = datacenter()
    hosts["kafka2"]["kafka_broker_id"] = value
    assert found(hosts) == [("KAFKA_ID_RANGE", "kafka2/kafka_broker_id", value)]


@pytest.mark.parametrize("value", [0, 1000])
def test_broker_id_at_the_edge(value: int) -> None:
    hosts = datacenter()
    hosts["kafka2"]["kafka_broker_id"] = value
    assert found(hosts) == []


def test_same_id_on_three_servers() -> None:
    """Each holder is named, with all of the others."""
    hosts = datacenter()
    for host in ("zk1", "zk2", "zk3"):
        hosts[host]["zookeeper_id"] = 7
    assert sorted(map(str, check_model(hosts, GROUPS))) == [
        "[ZOOKEEPER_ID_DUPLICATE] zk1/zookeeper_id = 7: also declared on zk2, zk3; every ensemble member needs an id of its own",
        "[ZOOKEEPER_ID_DUPLICATE] zk2/zookeeper_id = 7: also declared on zk1, zk3; every ensemble member needs an id of its own",
        "[ZOOKEEPER_ID_DUPLICATE] zk3/zookeeper_id = 7: also declared on zk1, zk2; every ensemble member needs an id of its own",
    ]


@pytest.mark.parametrize(("members", "problems"), [(["zk1"], 0), (["zk1", "zk2"], 1), (["zk1", "zk2", "zk3"], 0)])
def test_ensemble_is_odd(members: list[str], problems: int) -> None:
    assert found(datacenter(), {**GROUPS, "zookeeper": members}) == [("ZOOKEEPER_EVEN", "group zookeeper", "2 hosts")] * problems


def test_even_ensemble_says_why_and_what_to_do() -> None:
    (problem,) = check_model(datacenter(), {**GROUPS, "zookeeper": ["zk1", "zk2"]})
    assert str(problem) == ("[ZOOKEEPER_EVEN] group zookeeper = 2 hosts: an even ensemble survives no more failures than one of 1; use 1 or 3 hosts")


@pytest.mark.parametrize("name", ["client_address", "replication_address"])
@pytest.mark.parametrize("host", ["zk1", "kafka2"])
def test_missing_address(host: str, name: str) -> None:
    hosts = datacenter()
    del hosts[host][name]
    assert found(hosts) == [("ADDRESS_MISSING", f"{host}/{name}", None)]


def test_a_spark_node_needs_no_address() -> None:
    hosts = datacenter()
    del hosts["spark1"]["client_address"]
    assert found(hosts) == []


def test_same_address_on_two_hosts_and_networks() -> None:
    hosts = datacenter()
    hosts["kafka2"]["replication_address"] = "10.0.1.11"
    assert sorted(map(str, check_model(hosts, GROUPS))) == [
        "[ADDRESS_DUPLICATE] kafka2/replication_address = 10.0.1.11: also declared as zk1/client_address; give each its own",
        "[ADDRESS_DUPLICATE] zk1/client_address = 10.0.1.11: also declared as kafka2/replication_address; give each its own",
    ]


def test_one_host_for_both_functions_uses_its_addresses_once() -> None:
    hosts = datacenter()
    hosts["kafka1"]["zookeeper_id"] = 4
    assert found(hosts, {**GROUPS, "zookeeper": ["zk1", "zk2", "kafka1"]}) == []


@pytest.mark.parametrize("rack", [None, ""])
def test_broker_without_a_rack(rack: str | None) -> None:
    hosts = datacenter()
    hosts["kafka2"]["kafka_rack"] = rack
    assert found(hosts) == [("RACK_MISSING", "kafka2/kafka_rack", None)]


def test_inter_broker_listener_that_no_listener_has() -> None:
    hosts = datacenter()
    hosts["kafka1"] |= {"kafka_listeners": [{"name": "CLIENT"}, {"name": "REPLICATION"}], "kafka_inter_broker_listener": "REPLICATE"}
    hosts["kafka2"] |= {"kafka_listeners": [{"name": "CLIENT"}, {"name": "REPLICATION"}], "kafka_inter_broker_listener": "REPLICATION"}
    assert found(hosts) == [("LISTENER_UNKNOWN", "kafka1/kafka_inter_broker_listener", "REPLICATE")]
    assert "kafka_listeners has only CLIENT, REPLICATION; name one of them" in str(check_model(hosts, GROUPS)[0])


def test_log_dirs() -> None:
    """An empty list, or one of them twice; a text and no list at all are left to the check of types."""
    hosts = datacenter()
    hosts["kafka1"]["kafka_log_dirs"] = []
    hosts["kafka2"]["kafka_log_dirs"] = ["/d1", "/d2", "/d1"]
    assert found(hosts) == [("LOG_DIRS_DUPLICATE", "kafka2/kafka_log_dirs", "/d1"), ("LOG_DIRS_EMPTY", "kafka1/kafka_log_dirs", None)]
    hosts["kafka2"]["kafka_log_dirs"] = "/data/data"
    del hosts["kafka1"]["kafka_log_dirs"]
    assert found(hosts) == []


def test_two_jobs_of_one_name() -> None:
    hosts = datacenter()
    hosts["spark1"]["spark_job_jobs"] = [{"name": "a"}, {"name": "b"}, {"name": "a"}, "no job", {}]
    assert found(hosts) == [("JOB_DUPLICATE", "spark1/spark_job_jobs", "a")]


def test_all_mistakes_at_once() -> None:
    hosts = datacenter()
    hosts["zk2"]["zookeeper_id"] = 1
    hosts["kafka2"]["kafka_broker_id"] = 1
    del hosts["kafka1"]["kafka_rack"]
    del hosts["kafka1"]["replication_address"]
    assert found(hosts) == [
        ("ADDRESS_MISSING", "kafka1/replication_address", None),
        ("KAFKA_ID_DUPLICATE", "kafka1/kafka_broker_id", 1),
        ("KAFKA_ID_DUPLICATE", "kafka2/kafka_broker_id", 1),
        ("RACK_MISSING", "kafka1/kafka_rack", None),
        ("ZOOKEEPER_ID_DUPLICATE", "zk1/zookeeper_id", 1),
        ("ZOOKEEPER_ID_DUPLICATE", "zk2/zookeeper_id", 1),
    ]


def test_report_is_by_place_and_says_each_thing_once() -> None:
    problems = [Problem("b/x", "Z", 1, "wrong", "mend it"), Problem("a/y", "B", None, "wrong", "do that"), Problem("a/y", "A", 0, "bad", "do this")]
    assert report([*problems, problems[0]]) == (
        "3 mistakes; no host was changed:\n[A] a/y = 0: bad; do this\n[B] a/y: wrong; do that\n[Z] b/x = 1: wrong; mend it"
    )
    assert report(problems[:1]) == "1 mistake; no host was changed:\n[Z] b/x = 1: wrong; mend it"
