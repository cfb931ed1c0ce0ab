"""Each row of the tables in docs/security.md is shown by a test that exists, in the words of the row.

Each test of a refusal has its row.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import pytest
from confluent_kafka import KafkaError
from generate_security import PAGE, page, tables
from kazoo.exceptions import NoAuthError
from listeners import test_listeners
from security import test_negative
from security.rights import RIGHTS
from unit.security_rows import ABOUT_REFUSALS, LISTENERS, NEGATIVE, REFUSED, TABLES

STRANGERS = f"{NEGATIVE}::test_zookeeper_lets_another_trusted_certificate_read_little_and_write_nothing"
TESTS = PAGE.parents[1] / "tests"
# What the rows of a test assert that the client is told, by the test.
ANSWERS: Mapping[str, Mapping[str, Sequence[str]]] = {
    f"{NEGATIVE}::test_a_broker_refuses": {row: said for row, (_, said) in test_negative.KAFKA.items()},
    f"{NEGATIVE}::test_a_user_may_not": {row: [said] for row, (_, said) in RIGHTS.items()},
    f"{NEGATIVE}::test_zookeeper_refuses": {row: [said] for row, (_, said) in test_negative.OPENSSL.items()},
    STRANGERS: {row: [NoAuthError.__name__] for row in test_negative.STRANGERS},
    f"{LISTENERS}::test_refused_with": {row: [said] for row, (_, said) in test_listeners.OUT.items()},
}


@cache
def collected() -> frozenset[str]:
    """Return the ids of all tests that the rows can name, relative to tests/."""
    files = sorted({test.partition("::")[0] for rows in TABLES.values() for tests in rows.values() for test in tests})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:xdist", "-m", "", *files]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return frozenset(line.removeprefix("tests/") for line in done.stdout.splitlines() if "::" in line)


def meant(test: str) -> set[str]:
    """Return the collected ids that a row's id stands for."""
    return {found for found in collected() if found == test or ("[" not in test and found.startswith(f"{test}["))}


def answers(test: str) -> Iterator[str]:
    """Yield what each of a row's tests asserts, with the text of errors by name; nothing where a test has no table."""
    function, _, row = test.partition("[")
    for name, said in ANSWERS.get(function, {}).items():
        if row in ("", f"{name}]"):
            yield "\n".join(
                [*said, *(KafkaError(getattr(KafkaError, word)).str() for word in said if hasattr(KafkaError, word))]
            )


def test_the_page_is_made_from_the_rows() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make docs"
    found = {head[0]: [row[0] for row in rows] for head, _, *rows in tables(PAGE.read_text(encoding="utf-8"))}
    assert found == {title: list(rows) for title, rows in TABLES.items()}


@pytest.mark.parametrize(("title", "row"), [(title, row) for title, rows in TABLES.items() for row in rows])
def test_a_row_is_shown_by_tests(title: str, row: str) -> None:
    assert TABLES[title][row]
    assert [test for test in TABLES[title][row] if not meant(test)] == []


def test_every_refusal_has_its_row() -> None:
    """Once: neither is a test left out, nor is one claimed by two rows."""
    claimed = sorted(found for tests in REFUSED.values() for test in tests for found in meant(test))
    wanted = {found for test in ABOUT_REFUSALS for found in meant(test)}
    assert wanted - set(claimed) == set()
    assert len(claimed) == len(set(claimed))


@pytest.mark.parametrize("row", REFUSED)
def test_a_row_says_what_its_tests_assert(row: str) -> None:
    """Each of the quoted words is asserted by a test of the row, and each of these tests asserts one of them."""
    (words,) = (
        cells[1]
        for head, _, *rows in tables(PAGE.read_text(encoding="utf-8"))
        if head[0] == "Mistake"
        for cells in rows
        if cells[0] == row
    )
    quoted, asserted = re.findall(r"`(.+?)`", words), [text for test in REFUSED[row] for text in answers(test)]
    assert quoted
    assert [text for text in asserted if not any(word in text for word in quoted)] == []
    assert [word for word in quoted if not any(word in text for text in asserted)] == []
