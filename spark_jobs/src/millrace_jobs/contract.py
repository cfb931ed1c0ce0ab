"""What a topic holds: the shape of its records, and where those go that have another. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# The header that names the version of a JSON value; a record without it is of the contract's first version.
VERSION_HEADER = "schema_version"


@dataclass(frozen=True)
class Contract:
    """A topic's default name, and what each of its records is; `codec` does the enforcing.

    `text`: the value is UTF-8 text, and `schema` names its one column; every record fits.
    `json`: the value is one JSON object with the columns of `schema`; one that does not fit is a dead letter.
    """

    topic: str
    schema: str  # columns as SQL writes them: "order_id STRING NOT NULL, amount BIGINT"
    codec: Literal["text", "json"] = "text"
    key: str | None = None  # the column that the record's key repeats; None: the key is free
    versions: tuple[int, ...] = (1,)  # those that are read; the last is written
    checks: Mapping[str, str] = field(default_factory=dict)  # reason -> SQL that is true of each good record
    dead_letters: str | None = None  # default topic of records that do not fit
    max_bytes: int = 1_000_000  # a longer value is a dead letter, and only its beginning is kept

    def __post_init__(self) -> None:
        """Refuse what could not be kept."""
        if (self.codec == "json") != (self.dead_letters is not None):
            raise ValueError(f"contract {self.topic}: JSON needs dead_letters, and text has none: every text fits")


LINES = Contract("streams-plaintext-input", "line STRING")
WORD_COUNTS = Contract("streams-wordcount-output", "word STRING NOT NULL, count BIGINT NOT NULL", key="word")

EVENTS = ("OrderCreated", "OrderUpdated", "OrderCancelled", "OrderClosed")
ORDERS = Contract(
    "orders",
    "order_id STRING NOT NULL, event STRING NOT NULL, sequence INT NOT NULL, at TIMESTAMP NOT NULL,"
    " customer STRING, amount_cents BIGINT",
    codec="json",
    key="order_id",
    checks={
        "long_id": "octet_length(order_id) BETWEEN 1 AND 200",  # longer texts than 2704 bytes fit into no index
        "unknown_event": f"event IN {EVENTS}",
        "impossible_time": "at BETWEEN TIMESTAMP'2000-01-01 00:00:00Z' AND TIMESTAMP'2100-01-01 00:00:00Z'",
    },
    dead_letters="orders-dead",
)
