"""Brokers are told what their files say, against brokers on loopback that speak Kafka's protocol; no JVM."""

from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.modules import kafka_live_config

WEEK, DAY = "604800000", "86400000"


pytestmark = pytest.mark.usefixtures("clock")


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    told: list[str] = []
    monkeypatch.setattr(KafkaModule, "warn", lambda _, text: told.append(text))
    return told


def broker(number: int, told: Any = None, anew: bool = False, threads: str | None = "16", time: Any = None) -> Any:
    """Return a broker that is owed settings, of its threads and of how long records are kept."""
    settings = {"num.io.threads": threads, "log.retention.ms": time}
    return {"id": number, "settings": settings, "told": told or {}, "anew": anew}


def test_what_is_predicted_is_told_and_then_nothing_is(run: Run, cluster: FakeCluster, warned: list[str]) -> None:
    """Each broker has it of its own, also where its file said the time in hours when it was started."""
    asked: dict[str, Any] = {"brokers": [broker(number, time=DAY) for number in (1, 2)]}
    predicted = run(kafka_live_config, check_mode=True, **asked)
    assert predicted["changed"] and (cluster.told, cluster.written) == ({}, [])
    done = run(kafka_live_config, **asked)
    assert {key: done[key] for key in ("plan", "diff", "changes", "told")} == {
        key: predicted[key] for key in ("plan", "diff", "changes", "told")
    }
    was, now = (
        f"log.retention.ms: {WEEK} (7 d); - num.io.threads: 8",
        f"log.retention.ms: {DAY} (1 d); + num.io.threads",
    )
    assert done["changes"] == [f"update settings of broker {number}: - {was}; + {now}: 16" for number in (1, 2)]
    ours = {"log.retention.ms": [DAY], "num.io.threads": ["16"]}
    assert done["told"] == {"1": ours, "2": ours}
    mine = {"log.retention.ms": DAY, "num.io.threads": "16"}
    assert cluster.told == {"1": mine, "2": mine}
    again = run(kafka_live_config, **asked)
    assert (again["changed"], again["told"], warned) == (False, done["told"], [])
    assert cluster.written == ["tell 1", "tell 2"]


def test_a_process_that_was_started_with_its_file_is_rid_of_what_it_was_told(run: Run, cluster: FakeCluster) -> None:
    """Nothing of it holds any longer, and nothing goes before the file for ever."""
    cluster.told = {"1": {"num.io.threads": "16"}, "2": {"num.io.threads": "12"}}
    cluster.begun = {1: {"num.io.threads": "16"}}
    brokers = [broker(1, {"num.io.threads": ["16"]}), broker(2, {"num.io.threads": ["12"]}, threads="8")]
    done = run(kafka_live_config, brokers=brokers)
    assert done["changes"] == [
        "update settings of broker 1: - num.io.threads: 16; + num.io.threads: 16, from its file",
        "update settings of broker 2: - num.io.threads: 12; + num.io.threads: 8, from its file",
    ]
    assert (cluster.told, done["told"]) == ({"1": {}, "2": {}}, {"1": {}, "2": {}})


def test_a_line_that_is_gone_is_told_as_kafkas_own(run: Run, cluster: FakeCluster) -> None:
    cluster.begun = {1: {"num.io.threads": "12", "log.retention.hours": "24"}}
    done = run(kafka_live_config, brokers=[broker(1, threads=None)])
    ours = {"log.retention.ms": WEEK, "num.io.threads": "8"}
    assert (cluster.told["1"], done["told"]) == (ours, {"1": {key: [value] for key, value in ours.items()}})


def test_threads_in_steps_that_kafka_takes(run: Run, cluster: FakeCluster) -> None:
    """Up, and back to what its file said, whatever is said beside."""
    there = {"num.io.threads": "70", "log.retention.ms": DAY}
    done = run(kafka_live_config, brokers=[broker(1, threads="70", time=DAY)])
    assert (done["changed"], cluster.told["1"]) == (True, there)
    assert cluster.written == ["tell 1"] * 4
    back = run(kafka_live_config, brokers=[broker(1, done["told"]["1"], threads="8")])
    assert (back["told"], cluster.told["1"]) == ({"1": {}}, {})
    assert cluster.written == ["tell 1"] * 7  # 35, 17, and none of its own


def test_what_somebody_else_has_set_stays_and_is_warned_of(run: Run, cluster: FakeCluster, warned: list[str]) -> None:
    """The broker counts as not told, for it would not run with its file where that is taken back."""
    cluster.told = {"1": {"num.io.threads": "10"}, "": {"log.retention.ms": DAY}}
    done = run(kafka_live_config, brokers=[broker(1, {"num.io.threads": ["9", "12"]})])
    assert (done["changed"], done["told"], cluster.written) == (False, {}, [])
    advice = "remove it with null (kafka_broker_config), or set it in kafka_dynamic_config"
    assert warned == [
        f"broker 1: log.retention.ms: {DAY} (1 d) overrides its file, which does not set it; {advice}",
        f"broker 1: num.io.threads: 10 overrides its file, which sets 16; {advice}",
    ]


def test_one_that_is_not_there_is_warned_of_and_is_told_later(
    run: Run, cluster: FakeCluster, warned: list[str]
) -> None:
    """The others are told; of it nothing is known to be told."""
    cluster.down = {2}
    done = run(kafka_live_config, brokers=[broker(2), broker(9), broker(3)])
    assert (done["told"], cluster.told) == ({"3": {"num.io.threads": ["16"]}}, {"3": {"num.io.threads": "16"}})
    assert warned[0].startswith("broker 2 did not receive the settings of its file; it reads them when it starts, or")
    assert warned[1].endswith("it reads them when it starts, or gets them in the next run: it is not registered")


def test_one_that_died_and_is_still_registered(
    run: Run, cluster: FakeCluster, warned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may not ask is another matter: that ends the run."""
    asked = cluster.describe_configs

    def describe(request: Any, broker: int) -> Any:
        if broker == 2:
            raise ConnectionError
        return asked(request, broker)

    monkeypatch.setattr(cluster, "describe_configs", describe)
    done = run(kafka_live_config, brokers=[broker(2), broker(3)])
    assert done["told"] == {"3": {"num.io.threads": ["16"]}} and len(warned) == 1, (done, warned)
    cluster.denied = {"describe_configs"}
    assert run(kafka_live_config, brokers=[broker(3)])["msg"].startswith("settings of brokers' files: authorization: ")


def test_one_that_a_setting_ends_is_the_last_that_is_told(run: Run, cluster: FakeCluster) -> None:
    cluster.fatal = {"num.io.threads"}
    failed = run(kafka_live_config, brokers=[broker(1), broker(3)])
    why = failed["outcome"]["failed"]["settings of broker 1"]
    assert failed["failed"] and why.startswith("was written, but broker 1 no longer answers"), failed
    assert (failed["outcome"]["not_tried"], cluster.written) == (["settings of broker 3"], ["tell 1"])


def test_a_broker_that_says_no_beforehand(run: Run, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one that is restarted before it is told, what it says now is beside the point."""
    monkeypatch.setattr(cluster, "threads", lambda broker, sets=None, removes=(): 100 if sets or removes else 8)
    done = run(kafka_live_config, brokers=[broker(1), broker(3)])
    assert done["msg"].splitlines() == [
        "settings of brokers' files: nothing was written: 2 rejected",
        *(
            f"- broker {number}: rejects it: Dynamic thread count update validation failed (InvalidRequestError); its "
            "file has the value, restart the broker to apply it (restart.yml -l HOST)"
            for number in (1, 3)
        ),
    ]
    assert (done["changed"], cluster.written) == (False, [])
    cluster.told = {"1": {"num.io.threads": "9"}}
    assert run(kafka_live_config, check_mode=True, brokers=[broker(1, {"num.io.threads": ["9"]}, anew=True)])["changed"]
