"""Values of any type are mistakes to report, never the end of the check."""

from typing import Any

import pytest

from millrace.model import Model, check_model
from model.probes import lab

VALUES: tuple[Any, ...] = (None, "", "many", 5, -1, True, [], [1], ["a"], [{"name": 1}], {}, {"a": 1}, {1: "x"}, {1: [1, "b"]}, {"a": None})


KAFKA = (
    "reserved.broker.max.id", "min.insync.replicas", "default.replication.factor", "log.dirs", "listeners", "zookeeper.session.timeout.ms",
    "log.retention.ms", "log.retention.hours", "replica.fetch.wait.max.ms", "authorizer.class.name", "super.users", "log.cleanup.policy", "nothing",
)  # fmt: skip
ZOOKEEPER = ("tickTime", "minSessionTimeout", "maxSessionTimeout", "group.1", "server.1", "weight.1", "dataDir", "reconfigEnabled", "nothing")


def check(name: str, value: Any) -> None:
    """Check the lab's model with one variable of every host changed."""
    found = lab()
    hosts = {host: {**values, name: value} for host, values in found.hosts.items()}
    check_model(Model(hosts, found.groups, found.all_groups, found.names, found.defaults, found.known, found.prefixes))


@pytest.mark.parametrize("name", sorted(lab().known))
def test_no_value_ends_the_check(name: str) -> None:
    for value in VALUES:
        check(name, value)


@pytest.mark.parametrize("variable", ["kafka_config", "kafka_config_overrides", "zookeeper_config", "kafka_client", "kafka_client_properties"])
def test_no_property_ends_the_check(variable: str) -> None:
    for name in (*KAFKA, *ZOOKEEPER, 7):
        for value in VALUES:
            check(variable, {name: value})


@pytest.mark.parametrize("key", ["name", "address", "port", "protocol", "advertised_address", "advertised_port"])
def test_no_listener_ends_the_check(key: str) -> None:
    for value in VALUES:
        check("kafka_listeners", [{"name": "CLIENT", "address": "198.18.1.21", "port": 9092, key: value}])


@pytest.mark.parametrize("key", ["name", "job", "state", "config"])
def test_no_job_ends_the_check(key: str) -> None:
    for value in VALUES:
        check("spark_job_jobs", [{"name": "count_words", "config": {"checkpoint": value, "kafka": value}, key: value}])
