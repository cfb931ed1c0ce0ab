"""Levels of loggers of running brokers, against brokers on loopback that speak Kafka's protocol; no JVM."""

from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run

from ansible_collections.millrace.kafka.plugins.filter.kafka import declared_log_level
from ansible_collections.millrace.kafka.plugins.modules import kafka_log_level

pytestmark = pytest.mark.usefixtures("clock")
LOGGER = "kafka.request.logger"


def test_levels_change_once(run: Run, cluster: FakeCluster) -> None:
    """What is predicted is what is done, on these brokers alone; the second run does nothing."""
    asked: dict[str, Any] = {"logger": LOGGER, "levels": {1: "DEBUG", "2": "WARN"}}
    predicted = run(kafka_log_level, check_mode=True, **asked)
    assert predicted["changed"] and cluster.written == []
    done = run(kafka_log_level, **asked)
    assert done["changes"] == predicted["changes"] == [f"broker 1: {LOGGER}: WARN -> DEBUG"]
    assert {broker: levels[LOGGER] for broker, levels in cluster.loggers.items()} == {1: "DEBUG", 2: "WARN", 3: "WARN"}
    assert run(kafka_log_level, **asked)["changed"] is False


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"logger": "kafka.request.loger", "levels": {1: "DEBUG"}}, "did you mean kafka.request.logger?"),
        ({"logger": "a.b", "levels": {1: "DEBUG", 2: "DEBUG"}}, "broker 1, 2 has no logger a.b; a broker has a logger"),
        ({"logger": LOGGER, "levels": {1: "OFF"}}, "1: OFF; use one of FATAL, ERROR, WARN, INFO, DEBUG, TRACE"),
        ({"logger": LOGGER, "levels": {"kafka1": "DEBUG"}}, "kafka1: no broker id"),
        ({"logger": LOGGER, "levels": {9: "DEBUG"}}, "broker 9 is not registered"),
    ],
)
def test_refusals_change_nothing(asked: dict[str, Any], words: str, run: Run, cluster: FakeCluster) -> None:
    done = run(kafka_log_level, **asked)
    assert done["failed"] and words in done["msg"], done
    assert cluster.written == []


def test_a_broker_that_refuses_is_named_with_what_was_done(run: Run, cluster: FakeCluster) -> None:
    cluster.refused = {"2": "not today"}
    done = run(kafka_log_level, logger="root", levels={1: "DEBUG", 2: "DEBUG", 3: "DEBUG"})
    assert done["failed"] and "broker 2: not today" in done["msg"]
    assert done["changes"] == ["broker 1: root: INFO -> DEBUG"]


@pytest.mark.parametrize(
    ("logger", "level"),
    [
        ("kafka.server", "WARN"),
        ("kafka.server.ReplicaManager", "WARN"),
        ("kafka.serverless", "ERROR"),
        ("kafka.quiet.x", "FATAL"),
        ("org.apache", "INFO"),
        ("root", "INFO"),
        ("kafka.none", "ERROR"),
    ],
)
def test_the_declared_level_is_that_of_the_nearest_logger_above(logger: str, level: str) -> None:
    declared = {"root": "INFO", "kafka": "error", "kafka.server": "WARN", "kafka.quiet": False, "kafka.none": None}
    assert declared_log_level(declared, logger) == level
