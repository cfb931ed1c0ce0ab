"""The configuration: what is refused, and how it is said."""

import pytest
from millrace_jobs.config import JOBS, parse, problems
from millrace_jobs.errors import ConfigError

from .configured import COUNT, KAFKA, LOGIN, PEM, PUBLISH, SCRAM

KNOWN = ", ".join(sorted(JOBS))
COUNT_KEYS = ", ".join(sorted(JOBS["count_words"].keys))


def without(data: dict[str, object], key: str) -> dict[str, object]:
    """`data` less one key."""
    return {name: value for name, value in data.items() if name != key}


@pytest.mark.parametrize(
    ("job", "data", "problem"),
    [
        ("count_word", COUNT, f"job: is unknown; did you mean count_words? (known: {KNOWN})"),
        ("x", COUNT, f"job: is unknown; remove it (known: {KNOWN})"),
        (
            "count_words",
            {**COUNT, "ouput_topic": "t"},
            f"ouput_topic: is unknown; did you mean output_topic? (known: {COUNT_KEYS})",
        ),
        ("count_words", {**COUNT, "zzz": 1}, f"zzz: is unknown; remove it (known: {COUNT_KEYS})"),
        ("count_words", without(COUNT, "checkpoint"), "checkpoint: is missing; add it"),
        ("count_words", {**COUNT, "checkpoint": ""}, "checkpoint: is empty; give an absolute path"),
        ("count_words", {**COUNT, "checkpoint": None}, "checkpoint: is null; give an absolute path"),
        ("count_words", {**COUNT, "checkpoint": 3}, "checkpoint: is a number; give an absolute path"),
        (
            "count_words",
            {**COUNT, "checkpoint": "var/c"},
            "checkpoint: 'var/c' is not absolute; write the whole path, from /",
        ),
        (
            "count_words",
            {**COUNT, "jars_directory": "jars"},
            "jars_directory: 'jars' is not absolute; write the whole path, from /",
        ),
        ("publish_lines", without(PUBLISH, "input_directory"), "input_directory: is missing; add it"),
        (
            "publish_lines",
            {**PUBLISH, "input_directory": "/in/*"},
            r"input_directory: '/in/*' contains one of *?[]{}\, a pattern to Spark; rename the directory",
        ),
        (
            "count_words",
            {**COUNT, "input_topic": ""},
            "input_topic: is empty; give a topic's name, or remove the key for the default",
        ),
        ("count_words", {**COUNT, "output_topic": ["t"]}, "output_topic: is a list; give a topic's name"),
        ("count_words", {**COUNT, "output_topic": 1.1}, "output_topic: is a number; give a topic's name in quotes"),
        ("count_words", {**COUNT, "output_topic": True}, "output_topic: is true/false; give a topic's name in quotes"),
        (
            "count_words",
            {**COUNT, "output_topic": "a b"},
            "output_topic: 'a b' is not a valid topic name; use at most 249 of a-z A-Z 0-9 . _ -",
        ),
        (
            "count_words",
            {**COUNT, "output_topic": "t", "output_directory": "/out"},
            "output_directory: output_topic is set too; keep one of the two",
        ),
        (
            "count_words",
            {**COUNT, "input_topic": "t", "input_directory": "/in"},
            "input_directory: input_topic is set too; keep one of the two",
        ),
        (
            "count_words",
            {**COUNT, "input_topic": "t", "output_topic": "t"},
            "output: is the same as the input, so the job would feed itself; give another",
        ),
        (
            "count_words",
            {**COUNT, "output_topic": "streams-plaintext-input"},
            "output: is the same as the input, so the job would feed itself; give another",
        ),
        (
            "count_words",
            {**COUNT, "input_topic": "streams-wordcount-output"},
            "output: is the same as the input, so the job would feed itself; give another",
        ),
        (
            "relay",
            {**COUNT, "output_topic": "t"},
            "input_topic: is missing; add it",
        ),
        (
            "relay",
            {**COUNT, "input_topic": "a", "output_topic": "b", "trigger": "real-time", "trigger_interval": "4 seconds"},
            "trigger_interval: is how often real-time stores its progress, at least 5 seconds; give more, or remove "
            "the key",
        ),
        (
            "relay",
            {**COUNT, "input_topic": "a", "output_topic": "b", "trigger": "real-time", "max_offsets_per_trigger": 5},
            "max_offsets_per_trigger: real-time has no batches to limit; remove it",
        ),
        (
            "relay",
            {**COUNT, "input_topic": "a", "output_topic": "b", "trigger": "fast"},
            "trigger: is 'fast'; give one of micro-batch, real-time",
        ),
        (
            "archive_events",
            {**COUNT, "input_topics": ["a", "a"], "output_directory": "/out"},
            "input_topics: contains a topic twice; keep one",
        ),
        (
            "archive_events",
            {**COUNT, "input_topics": [], "output_directory": "/out"},
            "input_topics: is empty; give a list of topics' names",
        ),
        (
            "archive_events",
            {**COUNT, "input_topics": ["a b"], "output_directory": "/out"},
            "input_topics[0]: 'a b' is not a valid topic name; use at most 249 of a-z A-Z 0-9 . _ -",
        ),
        (
            "average_readings",
            {**COUNT, "window": "0 minutes"},
            "window: '0 minutes' is not longer than zero; give a longer duration",
        ),
        (
            "join_shipments",
            {**COUNT, "shipments_topic": "orders"},
            "shipments: orders is already an input, so its records would be read twice; name another topic",
        ),
        (
            "join_shipments",
            {**COUNT, "output_topic": "shipments"},
            "output: is the same as the input, so the job would feed itself; give another",
        ),
        (
            "count_words",
            without(COUNT, "kafka"),
            "kafka: is missing, but a topic is used; add it with bootstrap.servers",
        ),
        (
            "publish_lines",
            {**PUBLISH, "kafka": {}},
            "kafka.bootstrap.servers: is missing, but a topic is used; write host:port,host:port",
        ),
        (
            "count_words",
            {**COUNT, "kafka": "k1:9092"},
            'kafka: is text; write an object like {"bootstrap.servers": "kafka1:9092"}',
        ),
        (
            "count_words",
            {**COUNT, "kafka": {"bootstrap.servers": " "}},
            "kafka.bootstrap.servers: is empty; write host:port,host:port",
        ),
        (
            "count_words",
            {**COUNT, "kafka": {"bootstrap.servers": "k1:9092,k2"}},
            "kafka.bootstrap.servers: 'k2' has no port; write host:port,host:port",
        ),
        (
            "count_words",
            {**COUNT, "kafka": {"bootstrap.servers": ["k1:9092"]}},
            "kafka.bootstrap.servers: is a list; write host:port,host:port",
        ),
        (
            "count_words",
            {**COUNT, "kafka": {**KAFKA, "kafka.acks": "1"}},
            "kafka.kafka.acks: has Spark's prefix kafka.; use the client's name, acks",
        ),
        (
            "count_words",
            {**COUNT, "kafka": {**KAFKA, "auto.offset.reset": "latest"}},
            "kafka.auto.offset.reset: is set by Spark; remove it",
        ),
        (
            "count_words",
            {**COUNT, "kafka": {**KAFKA, "acks": None}},
            "kafka.acks: is null; give text, a number or true/false",
        ),
        (
            "count_words",
            {**COUNT, "kafka": {**KAFKA, **PEM, "ssl.truststore.type": "JKS"}},
            "kafka.ssl.truststore.type: is not PEM, the only format that both clients read; use a PEM file",
        ),
        (
            "count_words",
            {**COUNT, "kafka": {**KAFKA, **SCRAM, "sasl.mechanism": "GSSAPI"}},
            "kafka.sasl.mechanism: is not supported here; use one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512",
        ),
        (
            "count_words",
            {**COUNT, "kafka": {**KAFKA, "security.protocol": "sasl_ssl", "sasl.jaas.config": LOGIN}},
            "kafka.sasl.mechanism: is missing; write one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512",
        ),
        (
            "count_words",
            {**COUNT, "kafka": {**KAFKA, "security.protocol": "SASL"}},
            "kafka.security.protocol: 'SASL' is no protocol; use one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
        ),
        (
            "count_words",
            {**COUNT, "kafka": {**KAFKA, "bootstrap.server": "a:9092"}},
            "kafka.bootstrap.server: is not a property of Kafka's client; did you mean bootstrap.servers?",
        ),
        (
            "count_words",
            {**COUNT, "kafka": {**KAFKA, **SCRAM, "sasl.jaas.config": "x required;"}},
            'kafka.sasl.jaas.config: has no username="..." and password="..."; add both',
        ),
        ("count_words", {**COUNT, "spark": []}, 'spark: is a list; write an object like {"spark.driver.memory": "1g"}'),
        (
            "count_words",
            {**COUNT, "spark": {"driver.memory": "1g"}},
            "spark.driver.memory: is not a Spark property; use a name that begins with spark.",
        ),
        (
            "count_words",
            {**COUNT, "spark": {"spark.sql.session.timeZone": "Europe/Berlin"}},
            "spark.spark.sql.session.timeZone: cannot be set here; remove it: times are UTC",
        ),
        (
            "count_words",
            {**COUNT, "spark": {"spark.driver.memory": {}}},
            "spark.spark.driver.memory: is an object; give text, a number or true/false",
        ),
        ("count_words", {**COUNT, "trigger_interval": 1}, 'trigger_interval: is a number; write it like "1 second"'),
        (
            "count_words",
            {**COUNT, "trigger_interval": "1s"},
            'trigger_interval: \'1s\' is not an interval; write it like "1 second" or "500 milliseconds"',
        ),
        (
            "count_words",
            {**COUNT, "trigger_interval": "1 minute 30 seconds"},
            "trigger_interval: '1 minute 30 seconds' is not an interval; "
            'write one number and one unit, like "90 seconds"',
        ),
        (
            "count_words",
            {**COUNT, "max_offsets_per_trigger": 2**63},
            "max_offsets_per_trigger: 9223372036854775808 is too large; give 9223372036854775807 or less",
        ),
        (
            "count_words",
            {**COUNT, "trigger_interval": "99999999999 hours"},
            "trigger_interval: '99999999999 hours' is not an interval; "
            'write it like "1 second" or "500 milliseconds"',
        ),
        (
            "count_words",
            {**COUNT, "max_offsets_per_trigger": 0},
            "max_offsets_per_trigger: 0 is too small; give 1 or more",
        ),
        (
            "publish_lines",
            {**PUBLISH, "max_files_per_trigger": "10"},
            "max_files_per_trigger: is text; give a whole number, 1 or more",
        ),
        (
            "count_words",
            {**COUNT, "max_files_per_trigger": 10},
            "max_files_per_trigger: the input is a topic; use max_offsets_per_trigger",
        ),
        (
            "count_words",
            {**COUNT, "input_directory": "/in", "max_offsets_per_trigger": 10},
            "max_offsets_per_trigger: the input is a directory; use max_files_per_trigger",
        ),
        ("count_words", {**COUNT, "topic_wait_seconds": -1}, "topic_wait_seconds: -1 is too small; give 0 or more"),
        ("count_words", {**COUNT, "shuffle_partitions": 0}, "shuffle_partitions: 0 is too small; give 1 or more"),
        (
            "count_words",
            {**COUNT, "shuffle_partitions": True},
            "shuffle_partitions: is true/false; give a whole number, 1 or more",
        ),
        (
            "count_words",
            {**COUNT, "shuffle_partitions": "2"},
            "shuffle_partitions: is text; give a whole number, 1 or more",
        ),
    ],
)
def test_one_problem(job: str, data: dict[str, object], problem: str) -> None:
    """Each mistake alone gives one line: the key, what is wrong, what to do."""
    assert problems(job, data) == [problem]


def test_all_problems_are_reported_together() -> None:
    """One run shows everything there is to change."""
    data = {"chekpoint": "/c", "input_topic": "", "shuffle_partitions": 0, "kafka": {"bootstrap.servers": "k"}}
    found = problems("count_words", data)
    assert sorted(line.split(":")[0] for line in found) == [
        "checkpoint",
        "chekpoint",
        "input_topic",
        "kafka.bootstrap.servers",
        "shuffle_partitions",
    ]
    with pytest.raises(ConfigError) as refused:
        parse("count_words", data)
    assert refused.value.problems == found


def test_no_value_of_a_kafka_property_is_repeated() -> None:
    """They may be secrets."""
    secret = {"sasl.jaas.config": 'username="u" pasword="geheim"', "security.protocol": "SASL_SSL"}
    found = problems("count_words", {**COUNT, "kafka": {**KAFKA, **secret}})
    assert len(found) == 2
    assert "geheim" not in "".join(found)
