"""Settings of running brokers, against brokers on loopback that speak Kafka's protocol; no JVM."""

from typing import Any

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import broker_control
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.modules import kafka_broker_config

pytestmark = pytest.mark.usefixtures("clock")


def test_settings_converge(run: Run, cluster: FakeCluster) -> None:
    """What is predicted is what is done; the second run does nothing."""
    asked: dict[str, Any] = {
        "config": {"num.io.threads": 12},
        "brokers": [{"id": 2, "config": {"log.cleaner.threads": "2"}}, {"id": 3}],
    }
    predicted = run(kafka_broker_config, check_mode=True, **asked)
    assert predicted["changed"] and (cluster.told, cluster.written) == ({}, [])
    done = run(kafka_broker_config, **asked)
    assert {key: done[key] for key in ("plan", "diff", "changes")} == {
        key: predicted[key] for key in ("plan", "diff", "changes")
    }
    assert done["changes"] == [
        "update settings of all brokers: + num.io.threads: 12",
        "update settings of broker 2: + log.cleaner.threads: 2",
    ]
    assert cluster.told == {"": {"num.io.threads": "12"}, "2": {"log.cleaner.threads": "2"}}
    again = run(kafka_broker_config, **asked)
    assert (again["changed"], again["plan"]["unchanged"]) == (False, ["all brokers", "broker 2"])
    assert cluster.written == ["tell 2", "tell all", "tell 2", "tell 2"]  # 2 has what is for all first, then not


def test_what_was_set_by_hand_is_told_and_taken_back(run: Run, cluster: FakeCluster) -> None:
    """A throttle that was forgotten, and a name that nobody knows, among it."""
    cluster.told = {"": {"my.own": "1", "num.io.threads": "9"}, "1": {"leader.replication.throttled.rate": "5"}}
    found = run(kafka_broker_config)
    assert (found["changed"], found["plan"]["unmanaged"]) == (
        False,
        ["all brokers: my.own", "all brokers: num.io.threads", "broker 1: leader.replication.throttled.rate"],
    )
    own = [{"id": 1, "config": {"leader.replication.throttled.rate": None}}]
    done = run(kafka_broker_config, config={"my.own": None, "num.io.threads": "9", "never.set": None}, brokers=own)
    assert done["changes"] == [
        "update settings of all brokers: - my.own: not shown",
        "update settings of broker 1: - leader.replication.throttled.rate: 5",
    ]
    assert cluster.told == {"": {"num.io.threads": "9"}, "1": {}}


def test_all_refusals_are_said_and_nothing_is_written(run: Run, cluster: FakeCluster) -> None:
    config = {"num.io.thread": 1, "broker.id": 4, "num.io.threads": [9], "my.own": "1"}
    config |= {"sasl.jaas.config": "hush-hush", "listener.name.client.sasl.jaas.config": "hush-hush"}
    done = run(kafka_broker_config, config=config, brokers=[{"id": 9, "config": {"num.io.threads": 9}}])
    assert done["msg"].splitlines() == [
        "settings of brokers: nothing was written: 7 rejected",
        "- all brokers: broker.id: brokers read it only at their start; set it in kafka_config",
        "- all brokers: listener.name.client.sasl.jaas.config is a secret, which cannot be compared; "
        "set it in kafka_config",
        "- all brokers: my.own is not a setting of brokers; correct its name, or remove it with null",
        "- all brokers: num.io.thread is not a setting of brokers; correct its name, or remove it with null",
        "- all brokers: num.io.threads [9]: is not a single value; write a string or a number",
        "- all brokers: sasl.jaas.config is a secret, which cannot be compared; set it in kafka_config",
        "- broker 9 is down, and only it can validate its settings; start it, or correct the id",
    ]
    assert (done["changed"], cluster.told, cluster.written) == (False, {}, [])
    assert "hush" not in str(done)


DANGEROUS = {
    "max.connections": ("0", "no client could connect any more; set at least 1"),
    "listener.name.client.max.connections": (0, "no client could connect any more; set at least 1"),
    "max.connections.per.ip": (0, "no client and no other broker could connect any more; set at least 1"),
    "num.io.threads": (-5, "no request would be answered any more; set at least 1"),
    "num.network.threads": ("0", "no request would be answered any more; set at least 1"),
    "num.replica.fetchers": (0, "no replica would follow its leader; set at least 1"),
    "log.segment.bytes": (
        14,
        "a few records would fill a segment, until a broker runs out of file descriptors; set at least 1048576",
    ),
}


@pytest.mark.parametrize("name", DANGEROUS)
def test_what_kafka_takes_and_no_cluster_stands(run: Run, cluster: FakeCluster, name: str) -> None:
    cluster.brokers |= dict.fromkeys(DANGEROUS, "2147483647")
    value, why = DANGEROUS[name]
    done = run(kafka_broker_config, config={name: value})
    assert done["msg"].splitlines()[1:] == [f"- all brokers: {name} {value}: {why}"] and cluster.written == []


@pytest.mark.parametrize("value", ["nan", "0x10", "1_000", "\u0661", "Infinity", ""])
def test_what_is_no_number_is_not_taken_for_one_that_is_high_enough(run: Run, cluster: FakeCluster, value: str) -> None:
    cluster.brokers["max.connections"] = "2147483647"
    done = run(kafka_broker_config, config={"max.connections": value})
    why = "is not a number; set a decimal number of at least 1"
    assert done["msg"].splitlines()[1:] == [f"- all brokers: max.connections {value} {why}"] and cluster.written == []


def test_a_number_below_0_is_no_danger_by_itself(run: Run, cluster: FakeCluster) -> None:
    cluster.brokers["compression.gzip.level"] = "6"
    done = run(kafka_broker_config, check_mode=True, config={"compression.gzip.level": -1})
    assert done["changes"] == ["update settings of all brokers: + compression.gzip.level: -1"]


def test_what_decides_what_is_lost_is_meant(run: Run, cluster: FakeCluster) -> None:
    done = run(kafka_broker_config, config={"log.cleanup.policy": "compact"})
    assert done["msg"].splitlines()[1:] == [
        "- all brokers: log.cleanup.policy decides which records are lost, for all topics without a value of their "
        "own; set it in kafka_config, or set allow_data_loss: true"
    ]
    run(kafka_broker_config, config={"log.cleanup.policy": "compact"}, allow_data_loss=True)
    assert cluster.told[""] == {"log.cleanup.policy": "compact"}


def test_what_decides_what_is_lost_is_meant_where_it_is_taken_back_too(run: Run, cluster: FakeCluster) -> None:
    """The file may keep records for less time, or acknowledge them with fewer replicas; what is not set loses none."""
    told = {"": {"log.retention.ms": "7776000000"}, "2": {"min.insync.replicas": "3"}}
    cluster.told = {scope: dict(settings) for scope, settings in told.items()}
    cluster.brokers["log.retention.ms"] = "604800000"
    asked: dict[str, Any] = {
        "config": {"log.retention.ms": None, "log.cleanup.policy": None},
        "brokers": [{"id": 2, "config": {"min.insync.replicas": None}}],
    }
    done = run(kafka_broker_config, **asked)
    why = (
        ", and the setting decides which records are lost, for all topics without a value of their own; "
        "set the intended value in kafka_config, and set allow_data_loss: true"
    )
    assert done["msg"].splitlines()[1:] == [
        f"- all brokers: log.retention.ms: 7776000000 (90 d) would be replaced by the value in the brokers' files{why}",
        "- broker 2: min.insync.replicas: 3 would be replaced by the value of all brokers, or in its file" + why,
    ]
    assert (cluster.told, cluster.written) == (told, [])
    assert run(kafka_broker_config, allow_data_loss=True, **asked)["changed"] and cluster.told == {"": {}, "2": {}}
    assert run(kafka_broker_config, **asked)["changed"] is False


def test_smaller_messages_are_a_warning(run: Run, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(KafkaModule, "warn", lambda _, text: told.append(text))
    cluster.brokers["message.max.bytes"] = "1048588"
    cluster.told = {"3": {"message.max.bytes": "20971520"}}
    run(kafka_broker_config, check_mode=True, config={"message.max.bytes": 2097152})
    assert told == [
        "all brokers: message.max.bytes: 2097152 (2 MiB) is lower than 20971520: "
        "topics without a max.message.bytes of their own will reject larger batches"
    ]
    cluster.told = {}
    run(kafka_broker_config, check_mode=True, config={"message.max.bytes": 2097152})
    assert len(told) == 1


def test_each_broker_judges_what_it_would_get(run: Run, cluster: FakeCluster) -> None:
    """The first has more threads of its own, so that it would take what the others refuse."""
    cluster.told = {"1": {"num.io.threads": "16"}}
    done = run(kafka_broker_config, check_mode=True, config={"num.io.threads": 20})
    why = "Dynamic thread count update validation failed (InvalidRequestError)"
    assert done["msg"].splitlines()[1:] == [f"- all brokers: broker {one} rejects it: {why}" for one in (2, 3)]
    assert cluster.written == []


def test_a_broker_that_a_setting_ends_is_no_success(run: Run, cluster: FakeCluster, clock: Clock) -> None:
    """Two unanswered questions prove it, before systemd starts the broker anew with the setting; no change follows."""
    begun = clock.now()
    cluster.fatal = {"log.cleaner.threads"}
    brokers = [{"id": 2, "config": {"log.cleaner.threads": 2}}, {"id": 3, "config": {"num.io.threads": 9}}]
    done = run(kafka_broker_config, brokers=brokers)
    failed = done["outcome"]["failed"]["settings of broker 2"]
    assert done["failed"] and failed.startswith("was written, but broker 2 no longer answers (")
    assert (done["outcome"]["done"], done["outcome"]["not_tried"]) == ([], ["settings of broker 3"])
    assert clock.now() - begun == 0.5


def test_what_would_end_all_brokers_ends_one(run: Run, cluster: FakeCluster) -> None:
    """It is tried on one that is not the controller, and the others never hear of it."""
    cluster.controller, cluster.fatal = 2, {"log.cleaner.threads"}
    done = run(kafka_broker_config, config={"log.cleaner.threads": 2}, brokers=[{"id": 3, "config": {"my.own": None}}])
    failed = done["outcome"]["failed"]["settings of all brokers"]
    assert failed.startswith("was tried on broker 1 first: was written, but broker 1 no longer answers")
    assert "no other broker was changed; it still has it as a setting of its own: " in failed
    assert "remove log.cleaner.threads of broker 1 with null when it answers" in failed
    assert (done["changed"], cluster.told, cluster.down) == (True, {"1": {"log.cleaner.threads": "2"}}, {1})


def test_what_one_broker_does_not_take_no_other_gets(
    run: Run, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.refused = {"2": "no"}
    done = run(kafka_broker_config, config={"num.io.threads": 9})
    assert done["outcome"]["failed"]["settings of all brokers"] == (
        "was tried on broker 2 first: no (PolicyViolationError); no other broker was changed"
    )
    assert (done["changed"], cluster.written) == (False, [])


def test_one_broker_is_left_with_what_is_its_own(run: Run, cluster: FakeCluster) -> None:
    """A broker with a value of its own would lose it; where each has one, there is nobody to try it on."""
    cluster.told = {"2": {"num.io.threads": "10"}}
    assert run(kafka_broker_config, config={"num.io.threads": 9})["changed"]
    assert cluster.written == ["tell 3", "tell all", "tell 3"]
    assert cluster.told == {"": {"num.io.threads": "9"}, "2": {"num.io.threads": "10"}, "3": {}}
    cluster.told, cluster.written = {one: {"num.io.threads": "10"} for one in "123"}, []
    assert run(kafka_broker_config, config={"num.io.threads": 9})["changed"] and cluster.written == ["tell all"]


def test_a_broker_that_does_not_take_a_setting(run: Run, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_control, "SECONDS", 1.0)  # of the fake clock
    cluster.told, cluster.deaf = {"": {"my.own": "1"}}, True
    for config, what in (({"num.io.threads": 9}, "num.io.threads"), ({"my.own": None}, "my.own")):
        done = run(kafka_broker_config, config=config)
        why = done["outcome"]["failed"]["settings of all brokers"]
        one = what == "my.own"  # what is taken back is not tried on one broker
        assert (f"broker 1 has not applied {what}; broker 2" if one else f"broker 2 has not applied {what}; ") in why


def test_a_broker_that_is_down_has_no_settings(run: Run, cluster: FakeCluster) -> None:
    """What is of all brokers is told and compared all the same."""
    cluster.told, cluster.down = {"": {"num.io.threads": "9"}}, {3}
    done = run(kafka_broker_config, config={"num.io.threads": 9}, brokers=[{"id": 3, "config": {}}])
    assert (done["changed"], done["plan"]["unchanged"]) == (False, ["all brokers"])


def test_who_may_not_ask_is_told_so(run: Run, cluster: FakeCluster) -> None:
    cluster.denied = {"describe_configs"}
    done = run(kafka_broker_config, config={"num.io.threads": 9})
    assert done["msg"].startswith(
        "settings of brokers: authorization: broker 1: (ClusterAuthorizationFailedError); use a super user"
    )


def test_a_broker_named_twice(run: Run, cluster: FakeCluster) -> None:
    done = run(kafka_broker_config, brokers=[{"id": 2}, {"id": 2}])
    assert done["msg"] == "brokers: 2 declared twice; keep one entry for each"


def test_connections_are_opened_once(run: Run, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """One client of the second library for all that a module asks, and it is closed in the end."""
    opened: list[kafka_python.KafkaPython] = []
    real, closed = kafka_python.KafkaPython, []

    class Counted(real):  # type: ignore[misc, valid-type]
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            opened.append(self)

        def close(self) -> None:
            super().close()
            closed.append(self)

    monkeypatch.setattr(kafka_python, "KafkaPython", Counted)
    run(kafka_broker_config, config={"num.io.threads": 9}, brokers=[{"id": 2, "config": {"num.io.threads": 10}}])
    assert len(opened) == 1 and closed == opened
