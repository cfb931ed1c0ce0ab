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
        (
            {"logger": "a.b", "levels": {1: "DEBUG", 2: "DEBUG"}},
            "broker 1, 2 has no logger a.b; a broker has a logger once it has used it. Nothing changed",
        ),
        ({"logger": LOGGER, "levels": {1: "OFF"}}, "1: OFF; use one of FATAL, ERROR, WARN, INFO, DEBUG, TRACE"),
        ({"logger": LOGGER, "levels": {"kafka1": "DEBUG"}}, "kafka1: no broker id"),
        ({"logger": "root", "levels": {1: None}}, "root: it has no logger above it"),
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


def test_a_logger_without_a_level_has_that_of_the_one_above(run: Run, cluster: FakeCluster) -> None:
    """As brokers have it: null removes what was set."""
    cluster.loggers[1] |= {"kafka": "ERROR", "kafka.request.logger": "DEBUG"}
    asked: dict[str, Any] = {"logger": LOGGER, "levels": {1: None}}
    predicted = run(kafka_log_level, check_mode=True, **asked)
    done = run(kafka_log_level, **asked)
    assert done["changes"] == predicted["changes"] == [f"broker 1: {LOGGER}: DEBUG -> ERROR"]
    assert LOGGER not in cluster.loggers[1]


@pytest.mark.parametrize(
    ("logger", "level"),
    [
        ("kafka", "ERROR"),
        ("kafka.server", None),
        ("kafka.quiet", "FATAL"),
        ("kafka.none", None),
        ("root", "WARN"),
    ],
)
def test_the_declared_level(logger: str, level: str | None) -> None:
    """A logger that is not declared gets that of the one above it."""
    declared = {"root": "WARN", "kafka": "error", "kafka.quiet": False, "kafka.none": None}
    assert declared_log_level(declared, logger) == level


def test_the_root_is_always_declared() -> None:
    assert declared_log_level({}, "root") == "INFO"
