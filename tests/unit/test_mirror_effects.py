"""Properties that MirrorMaker ignores, found in the log of its workers."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.mirror_maker.worker_log import (
    current,
    not_joined,
    not_started,
    read,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.mirror_effects import ineffective

# Lines as MirrorMaker 3.9.2 logs them.
LOG = """\
INFO MirrorMaker Kafka MirrorMaker starting with 1 herders.
INFO DistributedConfig DistributedConfig values:
\texactly.once.source.support = enabled
\tgroup.id = west-mm2
\tscheduled.rebalance.max.delay.ms = 5000

INFO [MirrorHeartbeatConnector|worker] MirrorHeartbeatConfig MirrorHeartbeatConfig values:
\tsource.cluster.alias = west
\ttarget.cluster.alias = east

INFO [MirrorCheckpointConnector|worker] MirrorCheckpointConfig MirrorCheckpointConfig values:
\tsource.cluster.alias = west
\ttarget.cluster.alias = east

INFO [MirrorSourceConnector|worker] MirrorSourceConfig MirrorSourceConfig values:
\tsource.cluster.alias = west
\ttarget.cluster.alias = east
\ttasks.max = 2
\ttopics = [orders, returns]
\treplication.policy.class = class org.apache.kafka.connect.mirror.IdentityReplicationPolicy

INFO [MirrorSourceConnector|worker] AdminClientConfig AdminClientConfig values:
\tbootstrap.servers = [192.0.2.1:9092]
\tclient.id = west->east|MirrorSourceConnector|replication-source-admin

INFO [MirrorSourceConnector|worker] AdminClientConfig AdminClientConfig values:
\tbootstrap.servers = [192.0.2.2:9092]
\tclient.id = west->east|MirrorSourceConnector|replication-target-admin

INFO [MirrorSourceConnector|task-0] ConsumerConfig ConsumerConfig values:
\tclient.id = west->east|MirrorSourceConnector-0|replication-consumer
\tfetch.min.bytes = 1
\tisolation.level = read_committed

INFO DistributedHerder [Worker clientId=west->east, groupId=west-mm2] Joined group at generation 3 with protocol \
version 2 and got assignment: Assignment{error=0, leader='west->east-1', leaderUrl='http://127.0.0.1:8083/', offset=9, \
connectorIds=[MirrorSourceConnector, MirrorCheckpointConnector, MirrorHeartbeatConnector], \
taskIds=[MirrorSourceConnector-0, MirrorSourceConnector-1], delay=0}
""".splitlines()
RIGHT: dict[str, Any] = {
    "clusters": "east,west",
    "west->east.enabled": True,
    "east->west.enabled": False,
    "west.bootstrap.servers": "192.0.2.1:9092",
    "east.bootstrap.servers": "192.0.2.2:9092",
    "east.exactly.once.source.support": "enabled",
    "east.sasl.jaas.config": "${secrets:/etc/secrets:east.sasl.jaas.config}",
    "west->east.topics": ["orders", "returns"],
    "west->east.tasks.max": 2,
    "west->east.replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    "west->east.source.consumer.isolation.level": "read_committed",
}


def parts(lines: list[str]) -> list[dict[str, Any]]:
    return [{"kind": one.kind, "client": one.client, "values": one.values} for one in read(lines).blocks]


def without(kind: str) -> list[str]:
    """Return the log without the settings of one kind, as if that part had not started yet."""
    begin = next(number for number, line in enumerate(LOG) if line.endswith(f"{kind} values:"))
    return LOG[:begin] + LOG[LOG.index("", begin) :]


def errors(**changes: Any) -> list[str]:
    """Return the errors for RIGHT with changes; in their keys, PAIR stands for west->east, and __ for a dot."""
    log = read(LOG)
    settings = parts(LOG)
    changed = {key.replace("PAIR", "west->east").replace("__", "."): value for key, value in changes.items()}
    return ineffective({**RIGHT, **changed}, settings, log.leaders)


def test_right_properties() -> None:
    """Workers do not log settings of topics that they create."""
    assert errors() == []
    assert errors(east__offset__storage__segment__bytes=1048576, status__storage__min__insync__replicas=2) == []
    assert errors(east__offset__storage__partitions=1), "this one they log"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"PAIR__scheduled__rebalance__max__delay__ms": 7000},
            "west->east.scheduled.rebalance.max.delay.ms has no effect: no part of MirrorMaker uses a property",
        ),
        (
            {"scheduled__rebalance__max__delay__ms": 7000},
            "scheduled.rebalance.max.delay.ms = 7000 has no effect: 5000 is",
        ),
        ({"west__bootstrap__servers": "192.0.2.2:9092"}, "west.bootstrap.servers = 192.0.2.2:9092 has no effect: [192"),
        ({"east__bootstrap__servers": "192.0.2.1:9092"}, "east.bootstrap.servers = 192.0.2.1:9092 has no effect: [192"),
        (
            {"west__exactly__once__source__support": "enabled"},
            "west.exactly.once.source.support has no effect: no",
        ),
        ({"PAIR__tasks__max": 4}, "west->east.tasks.max = 4 has no effect: 2 is used"),
        (
            {"PAIR__source__consumer__fetch__min__bytes": 9},
            "west->east.source.consumer.fetch.min.bytes = 9 has no effect",
        ),
        (
            {"PAIR__source__consumer__fetch__least": 9},
            "west->east.source.consumer.fetch.least has no effect: its client",
        ),
        (
            {"dedicated__mode": True},
            "dedicated.mode has no effect: no part of MirrorMaker uses a property of this name",
        ),
    ],
)
def test_ignored_properties(changes: dict[str, Any], said: str) -> None:
    (found,) = errors(**changes)
    assert found.startswith(said)


def test_workers_that_cannot_send_requests() -> None:
    lines = [line.replace("http://127.0.0.1:8083/", "NOTUSED") for line in LOG]
    assert "send each other no requests" in ineffective(RIGHT, [], read(lines).leaders)[0]


def test_a_client_that_does_not_run_is_not_judged() -> None:
    """A flow without topics has no task."""
    assert ineffective(RIGHT, parts(without("ConsumerConfig")), read(LOG).leaders) == []


@pytest.mark.parametrize("kind", ["MirrorSourceConfig", "MirrorCheckpointConfig", "MirrorHeartbeatConfig"])
def test_a_connector_that_has_not_started_is_not_judged(kind: str) -> None:
    """A slow source delays one connector more than the others."""
    assert ineffective({**RIGHT, "west->east.later": 1}, parts(without(kind)), read(LOG).leaders) == []
    assert ineffective({**RIGHT, "west->east.later": 1}, parts(LOG), read(LOG).leaders) != []


def test_another_flow_is_not_judged_by_this_one() -> None:
    flow = {"clusters": "east,west,north", "north->east.enabled": True, "north->east.topics": ["sums"]}
    assert ineffective({**RIGHT, **flow}, parts(LOG), read(LOG).leaders) == []


def test_parts_that_may_be_of_another_flow() -> None:
    """Producers of all flows have the same names, and settings of a connector in general do not name their flow."""
    flow = {"clusters": "east,west,north", "north->east.enabled": True, "north->east.tasks.max": 4}
    override = {"north->east.producer.override.batch.size": 9, "west->east.producer.override.batch.size": 8}
    others = [
        {
            "kind": "ProducerConfig",
            "client": "connector-producer-MirrorSourceConnector-0",
            "values": {"batch.size": "8"},
        },
        {"kind": "SourceConnectorConfig", "client": "", "values": {"tasks.max": "2"}},
    ]
    assert ineffective({**RIGHT, **flow, **override}, [*parts(LOG), *others], read(LOG).leaders) == []
    assert ineffective({**RIGHT, "west->east.producer.override.batch.size": 9}, others, {}) != []


def test_connectors_that_have_not_started() -> None:
    assert not_started(read(LOG)) == []
    assert not_started(read(without("MirrorCheckpointConfig"))) == ["west->east MirrorCheckpointConnector"]


def test_a_journal_that_was_rotated() -> None:
    """A worker that has run for weeks logs when it joins again, but no longer what it uses."""
    assert not_started(read(LOG[-3:])) == [] and read(LOG[-3:]).leaders != {}


STALE = [
    "INFO [MirrorSourceConnector|task-1] TaskConfig MirrorSourceTaskConfig values:",
    "\ttasks.max = 9",
    "",
    "INFO [MirrorSourceConnector|task-7] TaskConfig MirrorSourceTaskConfig values:",
    "\ttasks.max = 9",
    "",
]


def test_stored_settings_are_not_those_of_the_file() -> None:
    """A worker first uses what MirrorMaker stored; a part that then starts again, or elsewhere, does not count."""
    again = [line.replace("= 9", "= 2").replace("task-7", "task-1") for line in STALE[3:]]
    log = read([*STALE, *again, *LOG])
    assert {one.values["tasks.max"] for one in current(log) if "tasks.max" in one.values} == {"2"}
    assert {one.kind for one in current(log)} >= {"DistributedConfig", "MirrorCheckpointConfig", "ConsumerConfig"}


def test_workers_that_have_joined() -> None:
    log = read(LOG)
    assert (not_joined(log, ["west->east", "north->east"]), log.tasks["west->east"]) == (
        ["north->east"],
        ["MirrorSourceConnector-0", "MirrorSourceConnector-1"],
    )
