"""A problem is not reported if another one of the same hosts explains it, and is reported once that is corrected."""

from __future__ import annotations

from unit.certificate_mistakes import CERTIFICATES

from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.suppression import (
    ANYWHERE,
    SAME_ENTRY,
    SAME_HOSTS,
    SAME_VALUE,
    is_explained,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from model.mistakes import MISTAKES

ALONE = {mistake.code: mistake.also for mistake in MISTAKES}


def problem(code: str, *hosts: str, at: str = "x", value: str = "", warning: bool = False) -> Problem:
    """Return a problem of some hosts, or of the whole inventory."""
    return Problem(hosts, at, code, value, "wrong", "advice", warning)


FOLLOWS = [
    (problem("HEAP_LARGE", "b1"), problem("HEAP_MEMORY", "b1")),
    (problem("HEAP_LARGE", "b1"), problem("HEAP_MEMORY")),
    (problem("HEAP_LARGE", "b1", warning=True), problem("HEAP_MEMORY", "b1", warning=True)),
    # A job runs on other hosts than the brokers.
    (problem("JOB_LISTENER", "s1"), problem("BROKERS_LISTENER", "b1")),
    (problem("JOB_ACL", "s1", at="spark_job_jobs[a]"), problem("JOB_CONFIG", "s1", at="spark_job_jobs[a].config")),
    (problem("JOB_MECHANISM", "s1", value="PLAIN"), problem("USER_MECHANISM", "b1", value="PLAIN")),
]
STAYS = [
    (problem("HEAP_LARGE", "b1"), problem("HEAP_MEMORY", "b2")),
    (problem("HEAP_MEMORY", "b1"), problem("HEAP_LARGE", "b1")),
    # An accepted risk hides no error.
    (problem("HEAP_LARGE", "b1"), problem("HEAP_MEMORY", "b1", warning=True)),
    (problem("JOB_ACL", "s1", at="spark_job_jobs[a]"), problem("JOB_CONFIG", "s1", at="spark_job_jobs[b].config")),
    (problem("JOB_ACL", "s1", at="spark_job_jobs[a]"), problem("JOB_CONFIG", "s2", at="spark_job_jobs[a].config")),
    (problem("JOB_MECHANISM", "s1", value="PLAIN"), problem("USER_MECHANISM", "s1", value="SCRAM-SHA-256")),
]


def test_a_problem_is_explained_by_another_one() -> None:
    """Only by one of the same hosts, entry or value, as the kind of the pair requires."""
    assert [pair for pair in FOLLOWS if not is_explained(pair[0], [pair[1]])] == []
    assert [pair for pair in STAYS if is_explained(pair[0], [pair[1]])] == []


def test_an_explained_problem_is_reported_once_the_other_is_corrected() -> None:
    """Each code of the tables exists, and has an inventory of its own in which the other code is not reported."""
    tables = (ANYWHERE, SAME_HOSTS, SAME_ENTRY, SAME_VALUE)
    pairs = [(code, better) for table in tables for code, covers in table.items() for better in covers]
    assert [pair for pair in pairs if not {*pair} <= {*ALONE, *CERTIFICATES}] == []
    assert [(code, better) for code, better in pairs if better in ALONE.get(code, ())] == []
