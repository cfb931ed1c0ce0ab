"""The table of docs/security.md quotes what refused clients are told, as the tests against running hosts assert it."""

import re
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import KafkaError
from kazoo.exceptions import NoAuthError
from listeners import test_listeners
from security import test_negative
from security.rights import RIGHTS

PAGE = Path(__file__).parents[2] / "docs" / "security.md"


def text_of(fragments: Sequence[str]) -> str:
    """Return what one row of a test asserts, with the texts of librdkafka's errors beside their names."""
    errors = [getattr(KafkaError, name) for name in fragments if hasattr(KafkaError, name)]
    return "\n".join([*fragments, *(KafkaError(error).str() for error in errors)])


def test_every_refusal_has_its_row() -> None:
    """Each test quotes an answer of the table, and each answer of the table is asserted by a test."""
    _, _, table = PAGE.read_text(encoding="utf-8").partition("| Mistake |")
    answers = [line.split(" | ")[1] for line in table.splitlines()[2:] if line.startswith("|")]
    quoted = {answer for cell in answers for answer in re.findall(r"`(.+?)`", cell)}
    rows = [
        *(fragments for _, fragments in test_negative.KAFKA.values()),
        *([error] for _, error in RIGHTS.values()),
        *([alert] for _, alert in test_negative.OPENSSL.values()),
        *([fragment] for _, fragment in test_listeners.OUT.values()),
        [NoAuthError.__name__],
    ]
    asserted = {text_of(row) for row in rows}
    assert {text for text in asserted if not any(answer in text for answer in quoted)} == set()
    assert {answer for answer in quoted if not any(answer in text for text in asserted)} == set()
