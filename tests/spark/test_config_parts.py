"""The configuration of sources, sinks and parameters: what is refused, how it is said, what comes out."""

import pytest
from millrace_jobs.config import JOBS, parse, problems
from millrace_jobs.contract import LINES, ORDERS, Contract
from millrace_jobs.ends import Database, Input, Start, Topic
from millrace_jobs.job import Job
from millrace_jobs.jobs.generate_orders import Parameters
from millrace_jobs.parts import KafkaSink, KafkaSource
from millrace_jobs.uses import uses

from .configured import COUNT, GENERATE, KAFKA, PROJECT

START = 'give "earliest", "latest", {"timestamp": "2026-01-31T12:00:00Z"} or {"group": "name"}'
ZONE = "is not a time with a time zone; write it like 2026-01-31T12:00:00Z"
BEFORE = "is before 1970; give a later time, or start at the earliest record"


@pytest.mark.parametrize(
    ("job", "changes", "problem"),
    [
        ("count_words", {"input_start": "first"}, f"input_start: is 'first'; {START}"),
        ("count_words", {"input_start": {}}, f"input_start: is an object; {START}"),
        ("count_words", {"input_start": {"group": "g", "timestamp": "t"}}, f"input_start: is an object; {START}"),
        ("count_words", {"input_start": {"timestamp": "2026-01-31T12:00:00"}}, f"input_start.timestamp: {ZONE}"),
        ("count_words", {"input_start": {"timestamp": 5}}, f"input_start.timestamp: {ZONE}"),
        *(
            ("count_words", {"input_start": {"timestamp": text}}, f"input_start.timestamp: {BEFORE}")
            for text in ("1969-12-31T23:59:59.999Z", "1970-01-01T00:59:59+01:00", "0001-01-01T00:00:00+14:00")
        ),
        (
            "count_words",
            {"input_start": {"group": " "}},
            "input_start.group: is empty; give a consumer group's name, or remove the key",
        ),
        (
            "count_words",
            {"input_isolation": "serializable"},
            "input_isolation: is 'serializable'; give one of read_committed, read_uncommitted",
        ),
        ("count_words", {"group": 3}, "group: is a number; give a consumer group's name"),
        (
            "count_words",
            {"group": "g", "kafka": {**KAFKA, "group.id": "g"}},
            "group: is the same as kafka.group.id, so Spark's readers would join it; remove kafka.group.id",
        ),
        (
            "count_words",
            {"input_directory": "/in", "group": "g"},
            "group: the input is a directory, which has none; remove it",
        ),
        ("project_orders", {"database": None}, 'database: is null; write an object like {"host": "db1", '),
        (
            "project_orders",
            {"database": {"host": "db1", "dbname": "orders"}},
            "database.user: is missing; add it",
        ),
        (
            "project_orders",
            {"database": {"host": "d", "dbname": "o", "user": "p", "pasword": "geheim"}},
            "database.pasword: is not a connection property of libpq; did you mean password?",
        ),
        (
            "project_orders",
            {"database": {"host": "d", "dbname": "o", "user": "p", "password": ["geheim"]}},
            "database.password: is a list; give text or a number",
        ),
        (
            "project_orders",
            {"dead_letter_topic": "orders"},
            "dead_letter_topic: is the same as the input topic, so bad records would be read again; give another",
        ),
        ("project_orders", {"input_directory": "/in"}, "input_directory: is unknown; "),
        ("generate_orders", {"seed": -1}, "seed: -1 is too small; give 0 or more"),
        ("generate_orders", {"checkpoint": "/c"}, "checkpoint: is unknown; remove it (known: "),
        ("generate_orders", {"kafka": {}}, "kafka.bootstrap.servers: is missing, "),
    ],
)
def test_one_problem(job: str, changes: dict[str, object], problem: str) -> None:
    """Each mistake alone gives one line; no value that may be a secret is in it."""
    good = {"count_words": COUNT, "project_orders": PROJECT, "generate_orders": GENERATE}[job]
    assert problems(job, good) == []
    (found,) = problems(job, {**good, **changes})
    assert found.startswith(problem)
    assert "geheim" not in found


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/a\0b", r"checkpoint: '/a\x00b' contains a character that is invalid in a path; remove it"),
        ("/\ud800", r"checkpoint: '/\ud800' contains a character that is invalid in a path; remove it"),
        ("/", "checkpoint: '/' is the root directory; give a directory of its own"),
        ("//", "checkpoint: '//' is the root directory; give a directory of its own"),
        ("/a/../.", "checkpoint: '/a/../.' is the root directory; give a directory of its own"),
    ],
)
def test_a_path_that_no_folder_can_have_is_refused(path: str, problem: str) -> None:
    """The start would end in a traceback, or make the whole host its folder."""
    assert problems("count_words", {**COUNT, "checkpoint": path}) == [problem]


def test_all_problems_of_parts_together() -> None:
    """What is missing, what is unknown, what is wrong."""
    found = problems("project_orders", {"inptu_topic": "t", "input_start": 3, "group": ""})
    assert sorted(line.split(":")[0] for line in found) == [
        "checkpoint",
        "database",
        "group",
        "inptu_topic",
        "input_start",
        "kafka",
    ]


def test_what_comes_out() -> None:
    """Ends, start and limits of each part by its name; parameters as the job declares them."""
    config = parse("project_orders", {**PROJECT, "input_start": {"group": "g"}, "max_offsets_per_trigger": 9})
    assert config.inputs == {
        "input": Input(Topic("orders", KAFKA), Start("group", "g"), None, 9, dead_letters=Topic("orders-dead", KAFKA))
    }
    assert config.outputs == {"output": Database({"host": "db1", "dbname": "orders", "user": "project"})}
    assert [topic.name for topic in config.topics] == ["orders", "orders-dead"]
    assert parse("generate_orders", {**GENERATE, "seed": 4}).parameters == Parameters(seed=4, events_per_second=100)
    first = Start("timestamp", "1970-01-01T01:00:00+01:00")
    assert parse("count_words", {**COUNT, "input_start": {"timestamp": first.of}}).inputs["input"].start == first
    assert parse("count_words", {**COUNT, "input_start": "latest"}).inputs["input"].start == Start("latest")


def test_each_job_says_what_it_does() -> None:
    """Every module of jobs is found, and reads or writes something."""
    assert JOBS.keys() >= {
        "archive_events", "average_readings", "count_words", "generate_orders", "generate_readings",
        "generate_shipments", "join_shipments", "measure_latency", "project_orders", "publish_lines", "relay",
    }  # fmt: skip
    for job in JOBS.values():
        assert job.summary and job.outputs and (job.loop is None) != (job.transform is None)


def test_parts_that_do_not_fit_are_refused() -> None:
    """Where a job is declared: files have no envelope, several topics no default, real time no dead letters."""
    with pytest.raises(ValueError, match="input: lines of files have no envelope, which json needs"):
        KafkaSource(ORDERS, files=True)
    with pytest.raises(ValueError, match="input: several topics have no default"):
        KafkaSource(LINES, several=True)
    with pytest.raises(ValueError, match=r"^fast: real_time is for contracts of bytes or text$"):
        Job("fast", (KafkaSink(LINES),), inputs=(KafkaSource(ORDERS),), real_time=True)


def test_a_contract_that_could_not_be_kept_is_refused() -> None:
    """JSON without a place for what does not fit, and text with one."""
    with pytest.raises(ValueError, match="contract t: JSON needs dead_letters"):
        Contract("t", LINES.schema, "json")
    with pytest.raises(ValueError, match="contract t: JSON needs dead_letters, and text has none"):
        Contract("t", LINES.schema, dead_letters="d")


REQUIRED: dict[str, object] = {
    "checkpoint": "/c",
    "database": PROJECT["database"],
    "input_directory": "/in",
    "input_topic": "read",
    "input_topics": ["read", "too"],
    "output_directory": "/out",
    "output_topic": "written",
}


@pytest.mark.parametrize("job", JOBS)
def test_what_a_job_uses_is_what_it_waits_for(job: str) -> None:
    """Preflight compares these topics with declared ones and with ACLs."""
    data = {"kafka": KAFKA, **{key: REQUIRED[key] for key in JOBS[job].required}}
    used = uses(job, data)
    assert used is not None
    names = {name for kind in ("reads", "writes", "dead_letters") for name in dict(used[kind])}  # type: ignore[call-overload]
    assert names == {topic.name for topic in parse(job, data).topics}
