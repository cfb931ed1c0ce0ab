"""What is not said because another mistake is said better: of the hosts that this one is of, and not for good."""

from __future__ import annotations

import pytest
from unit.certificate_mistakes import CERTIFICATES

from ansible_collections.millrace.kafka.plugins.plugin_utils.declared_followers import (
    ANYWHERE,
    OF_ENTRY,
    OF_HOSTS,
    OF_VALUE,
    follows,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from model.mistakes import MISTAKES

PAIRS = [
    (code, better, table is ANYWHERE)
    for table in (ANYWHERE, OF_HOSTS, OF_ENTRY, OF_VALUE)
    for code, covers in table.items()
    for better in covers
]
ALONE = {mistake.code: mistake.also for mistake in MISTAKES}


def problem(code: str, *hosts: str, value: str = "", warning: bool = False) -> Problem:
    """Return a problem of some hosts."""
    return Problem(hosts, "x", code, value, "wrong", "advice", warning)


@pytest.mark.parametrize(("code", "better", "anywhere"), PAIRS)
def test_it_is_said_once_the_other_is_mended(code: str, better: str, anywhere: bool) -> None:
    """Each has an inventory of its own, in which the other is not; a risk that somebody accepts hides none."""
    assert better not in ALONE.get(code, ())
    assert {code, better} <= {*ALONE, *CERTIFICATES}
    assert follows(problem(code, "b1"), [problem(better, "b1")])
    assert not follows(problem(code, "b1"), [problem(better, "b1", warning=True)])
    assert not follows(problem(code, "b1"), [])


@pytest.mark.parametrize(("code", "better", "anywhere"), PAIRS)
def test_it_is_said_of_other_hosts(code: str, better: str, anywhere: bool) -> None:
    """But for jobs, which are not on the hosts that they stand on."""
    found = follows(problem(code, "b1", value="1"), [problem(better, "b2", value="2")])
    assert found == anywhere
    assert not anywhere or code.startswith(("JOB_", "DATABASE_USER_")), code
