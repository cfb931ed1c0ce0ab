"""Check topics of applications: not pruned, dead-letter topics not compacted, topics of own jobs declared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_archives import own_wheel

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.topic_jobs import readers, report
from model.mistakes.access import NEW, users
from model.mistakes.base import LAB as LAB_AS_IT_IS
from model.mistakes.base import THERE, VAULT, login, spoil
from model.mistakes.jobs import job
from model.mistakes.topics import LAB
from model.test_reached import said

TARGET = {"mirror_maker": "target", "source": "west", "groups": ["orders"]}
PLACE = "PRUNE_PROTECTED group all/kafka_prune.topics = "


def pruned(scope: str, *grants: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return variables that prune topics, with a user who has grants."""
    topics = [{"name": name["name"], "manage": False} for name in LAB]
    found = users({**NEW, "grants": [*grants]}) if grants else users()
    return {
        "all": {"kafka_topics": topics, **found["all"], "kafka_prune": {"topics": [scope], "max_deletes": 9}, **more}
    }


def acls(*entries: tuple[str, str, str, str]) -> dict[str, Any]:
    """Return ACLs of one user (operation, resource, name, pattern), and all permissions for the lab's own users."""
    whole = [("User:lab", "ALL", "topic", "*", "literal")]
    whole += [("User:streamer", *entry) for entry in entries]
    keys = ("principal", "operations", "resource", "name", "pattern")
    return {"kafka_acls": [dict(zip(keys, (one[0], [one[1]], *one[2:]), strict=True)) for one in whole]}


STREAMER = acls(("ALL", "topic", "totals-", "prefixed"), ("READ", "group", "totals", "literal"))
MIRROR = acls(("CREATE", "topic", "mm2-", "prefixed"), ("CREATE", "topic", "west.", "prefixed"))


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        (pruned("totals-*", {"streams": "totals"}), "totals-*: matches changelogs and repartition topics of the "
         "Kafka Streams application totals (kafka_users[orders]): the inventory does not declare them, so every run "
         "would delete them; use a longer prefix"),
        (pruned("tot*", {"streams": "totals"}), "tot*: matches changelogs and repartition topics"),
        (pruned("west.*", TARGET), "west.*: matches topics of west that the mirror of kafka_users[orders] copies"),
        (pruned("we*", TARGET), "we*: matches topics of west that the mirror of kafka_users[orders] copies"),
        (pruned("mm2-*", {"mirror_maker": "source"}), "mm2-*: matches internal topics of the mirror of"),
        (pruned("heartbeats", TARGET), "heartbeats: matches internal topics of the mirror of kafka_users[orders]"),
        (pruned("etl-*", {"connect": "etl", "topics": ["etl-a", "etl-b", "etl-c"]}),
         "etl-*: matches topics in which Connect keeps its state (kafka_users[orders])"),
        (pruned("totals*", **STREAMER), "totals*: matches changelogs and repartition topics of the Kafka Streams "
         "application totals (kafka_acls[User:streamer])"),
        (pruned("west.*", **MIRROR), "west.*: matches topics of west that the mirror of kafka_acls[User:streamer]"),
    ],
)  # fmt: skip
def test_topics_of_applications_are_rejected(variables: dict[str, Any], wanted: str, tmp_path: Path) -> None:
    lines = [line for line in said(variables, tmp_path) if not line.startswith("warn ") and "PRUNE" in line]
    assert len(lines) == 1, lines
    assert lines[0].startswith(PLACE + wanted), lines


@pytest.mark.parametrize(
    "variables",
    [
        pruned("tmp-*", {"streams": "totals"}, TARGET),
        pruned("totals-old-*", {"streams": "totals"}),  # a part of it may be meant
        pruned("west.tmp-*", TARGET),
        pruned("west.*", {"mirror_maker": "source", "source": "west"}),  # to where nothing is mirrored
        pruned("totals-*", {"streams": "totals"},
               kafka_topics=[*LAB, {"name": "totals-sum-changelog", "manage": False}]),
        pruned("tmp-*", **acls(("ALL", "topic", "tmp-", "prefixed"), ("READ", "group", "tmp-", "prefixed"))),
        pruned("totals-*", **acls(("READ", "topic", "totals-", "prefixed"), ("READ", "group", "totals", "literal"))),
    ],
    ids=["others", "part", "mirrored part", "source", "declared", "a team's own", "reads"],
)  # fmt: skip
def test_other_topics_are_accepted(variables: dict[str, Any], tmp_path: Path) -> None:
    assert [line for line in said(variables, tmp_path) if "PRUNE" in line] == []


def letters(**changes: Any) -> dict[str, Any]:
    """Return topics of orders, with changes to the dead-letter topic."""
    topics = [*LAB, {"name": "orders"}, {"name": "orders-dead", "partitions": 1, **changes}]
    return {"all": {"kafka_topics": topics}}


@pytest.mark.parametrize(
    ("variables", "place", "advice"),
    [
        (letters(profile="compacted_state"), "kafka_topics[orders-dead].profile", "use another profile, such as event"),
        (
            letters(config={"cleanup.policy": "compact,delete"}),
            "kafka_topics[orders-dead].config[cleanup.policy]",
            "write delete there, and profile: event_log for this topic",
        ),
    ],
)
def test_a_compacted_dead_letter_topic_is_rejected(
    variables: dict[str, Any], place: str, advice: str, tmp_path: Path
) -> None:
    """What is advised is accepted: another profile would not override the topic's own policy."""
    lines = said(variables, tmp_path, "dc1")
    assert len(lines) == 1, lines
    begin = f"TOPIC_COMPACTED group all/{place}: the topic is compacted, but job project_orders sends it records "
    assert lines[0].startswith(begin), lines
    assert f"; {advice}" in lines[0], lines


def test_a_dead_letter_topic_with_a_policy_of_its_own(tmp_path: Path) -> None:
    own = {"profile": "event_log", "config": {"cleanup.policy": "delete"}}
    assert said(letters(**own), tmp_path, "dc1") == []


def test_a_dead_letter_topic_with_a_retention_is_accepted(tmp_path: Path) -> None:
    assert said(letters(), tmp_path, "dc1") == []


OWN_JOB = """
from millrace_jobs.contract import Contract
from millrace_jobs.job import Job
from millrace_jobs.parts import KafkaSink, KafkaSource

EVENTS = Contract("own-events", "id STRING NOT NULL", "json", key="id", dead_letters="own-events-dead")
ALERTS = Contract("own-alerts", "id STRING NOT NULL", "json", key="id", dead_letters="never-written")
JOB = Job("find alerts", inputs=(KafkaSource(EVENTS),), outputs=(KafkaSink(ALERTS),), transform=print)
"""
OWN_TOPICS = ("own-events", "own-events-dead", "own-alerts")
READS = {"consume": ["own-events"], "group": "spark-kafka-source*"}
WRITES = {"produce": ["own-events-dead", "own-alerts"]}
JOB_PLACE = "group spark_consumer/spark_job_jobs[own_alerts]"


def of_own_job(grants: list[dict[str, Any]], topics: tuple[str, ...], **config: Any) -> dict[str, Any]:
    """Return variables with a job of a site's own wheel, whose configuration names no topic unless `config` does."""
    entry = {
        "name": "own_alerts",
        "config": {"kafka": login("alerts", "lab"), "checkpoint": "/var/lib/spark-job/a/checkpoint", **config},
    }
    user = {"name": "alerts", "password": "{{ vault.passwords.lab }}2", "grants": grants}
    variables = users(user)
    variables["all"]["kafka_topics"] = [*THERE, *({"name": name, "manage": False} for name in topics)]
    variables["spark_consumer"] = {
        "spark_job_wheel": str(own_wheel({"own_alerts": OWN_JOB})),
        "spark_job_jobs": [entry],
    }
    return variables


def test_default_topics_of_an_own_job_must_be_declared(tmp_path: Path) -> None:
    """Like those of the project's jobs: inputs, outputs and dead letters."""
    lines = said(of_own_job([READS, WRITES], OWN_TOPICS[2:]), tmp_path)
    keys = {"own-events": "input_topic", "own-events-dead": "dead_letter_topic"}
    assert sorted(line for line in lines if "JOB_TOPIC" in line) == [
        f"warn JOB_TOPIC {JOB_PLACE}.config.{key} = {name}: this is the job's default topic, and kafka_topics does not "
        f"declare it; declare it (manage: false if others create it), or set {key} of the job to a declared topic"
        for name, key in sorted(keys.items(), key=lambda item: item[1])
    ]


def test_topics_of_a_job_of_another_cluster_are_not_declared_here(tmp_path: Path) -> None:
    other = {
        "bootstrap.servers": "203.0.113.9:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="elsewhere" password="Zoh4eiQuoh6a";',
    }
    for kafka, reported in (({}, True), ({"kafka": other}, False)):
        folder = tmp_path / str(reported)
        folder.mkdir()
        lines = said(job(output_topic="of-the-other-cluster", **kafka), folder)
        codes = {line.removeprefix("warn ").partition(" ")[0] for line in lines}
        assert bool(codes & {"JOB_TOPIC", "JOB_LOGIN"}) == reported, lines


@pytest.mark.parametrize(
    ("grants", "wanted"),
    [
        ([READS, WRITES], []),
        ([READS], ["WRITE on topic own-alerts", "WRITE on topic own-events-dead"]),
        ([WRITES], ["READ on group spark-kafka-source*", "READ on topic own-events"]),
    ],
)
def test_permissions_of_an_own_job(grants: list[dict[str, Any]], wanted: list[str], tmp_path: Path) -> None:
    lines = said(of_own_job(grants, OWN_TOPICS), tmp_path)
    begin = f"JOB_ACL {JOB_PLACE}: User:alerts needs "
    assert sorted(line.removeprefix(begin).partition(", but")[0] for line in lines) == wanted, lines


def test_jobs_that_read_a_topic_are_named_before_it_is_recreated(tmp_path: Path) -> None:
    """Also by default; not those that write it, and not those of other topics."""
    variables = of_own_job([], ())
    variables["spark_consumer"]["spark_job_jobs"].append({"name": "odd", "job": "no_such_job", "config": {}})
    model = load(spoil(tmp_path / "inventory", replace(LAB_AS_IT_IS, variables=variables)), {"vault": VAULT}).read()
    unit = "spark-job@own_alerts.service"
    jobs, unknown = readers(model, "own-events")
    assert jobs == [{"host": "dc1-spark2", "unit": unit}]
    assert len(unknown) == 1 and unknown[0].startswith("spark-job@odd.service on dc1-spark2 (")
    lines = report("own-events", jobs, unknown)
    assert f"  {unit} on dc1-spark2" in lines and "journalctl -u spark-job@own_alerts)" in lines[3]
    assert readers(model, "own-alerts")[0] == []
    assert report("own-alerts", [], []) == ["No declared job reads topic own-alerts."]
