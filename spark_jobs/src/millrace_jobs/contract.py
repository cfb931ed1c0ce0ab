"""Declares contracts: the default name of a topic, the form of its records, and its dead-letter topic.

This module imports only the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# The header that names the version of a JSON value; a record without it is of the contract's first version.
VERSION_HEADER = "schema_version"


@dataclass(frozen=True)
class Contract:
    """The default name of a topic and the form of its records.

    A record that does not fit goes to the topic `dead_letters`. Values of `codec`:
    bytes: key and value are any bytes; every record fits.
    text: the value is UTF-8 text, for the only column of `schema`; every record fits.
    json: the value is one JSON object with the columns of `schema`.
    """

    topic: str | None  # None: the configuration must set it
    schema: str  # columns as SQL writes them: "order_id STRING NOT NULL, amount BIGINT"
    codec: Literal["bytes", "text", "json"] = "text"
    key: str | None = None  # the column that the record's key repeats; None: the key is free
    versions: tuple[int, ...] = (1,)  # the versions that are read; the last one is written
    checks: Mapping[str, str] = field(default_factory=dict)  # reason -> SQL that is true of each good record
    dead_letters: str | None = None  # default topic of records that do not fit
    max_bytes: int = 1_000_000  # a longer value is a dead letter, and only its beginning is kept

    def __post_init__(self) -> None:
        """Check that JSON contracts, and only JSON contracts, name a topic for dead letters.

        Raises:
            ValueError: a JSON contract has no `dead_letters`, or a contract of bytes or text has them.
        """
        if (self.codec == "json") != (self.dead_letters is not None):
            raise ValueError(f"contract {self.topic}: JSON needs dead_letters, and text has none: every text fits")


ANYTHING = Contract(None, "value BINARY", codec="bytes")
LINES = Contract("streams-plaintext-input", "line STRING")
WORD_COUNTS = Contract("streams-wordcount-output", "word STRING NOT NULL, count BIGINT NOT NULL", key="word")

# Ids are indexed in PostgreSQL and are keys of a state store; an index accepts no text above 2704 bytes.
_LONG = "octet_length({}) BETWEEN 1 AND 200"
_POSSIBLE = "at BETWEEN TIMESTAMP'2000-01-01 00:00:00Z' AND TIMESTAMP'2100-01-01 00:00:00Z'"
EVENTS = ("OrderCreated", "OrderUpdated", "OrderCancelled", "OrderClosed")
ORDERS = Contract(
    "orders",
    "order_id STRING NOT NULL, event STRING NOT NULL, sequence INT NOT NULL, at TIMESTAMP NOT NULL,"
    " customer STRING, amount_cents BIGINT",
    codec="json",
    key="order_id",
    checks={
        "long_id": _LONG.format("order_id"),
        "unknown_event": f"event IN {EVENTS}",
        "impossible_time": _POSSIBLE,
    },
    dead_letters="orders-dead",
)
SHIPMENTS = Contract(
    "shipments",
    "shipment_id STRING NOT NULL, order_id STRING NOT NULL, carrier STRING NOT NULL, at TIMESTAMP NOT NULL",
    codec="json",
    key="shipment_id",  # so an order and its shipments may be in partitions of different numbers
    checks={
        "long_id": f"{_LONG.format('shipment_id')} AND {_LONG.format('order_id')}",
        "impossible_time": _POSSIBLE,
    },
    dead_letters="shipments-dead",
)
READINGS = Contract(
    "readings",
    "sensor_id STRING NOT NULL, at TIMESTAMP NOT NULL, celsius DOUBLE NOT NULL",
    codec="json",
    key="sensor_id",
    checks={
        "long_id": _LONG.format("sensor_id"),
        "impossible_time": _POSSIBLE,
        "impossible_value": "celsius BETWEEN -273.15 AND 10000",  # NaN is above
    },
    dead_letters="readings-dead",
)
AVERAGES = Contract(
    "readings-averages",
    "sensor_id STRING NOT NULL, window_begin TIMESTAMP NOT NULL, window_end TIMESTAMP NOT NULL,"
    " readings BIGINT NOT NULL, average DOUBLE NOT NULL, least DOUBLE NOT NULL, greatest DOUBLE NOT NULL",
    codec="json",
    key="sensor_id",
    dead_letters="readings-averages-dead",
)
SHIPPED_ORDERS = Contract(
    "orders-shipped",
    "order_id STRING NOT NULL, closed_at TIMESTAMP NOT NULL, shipment_id STRING, carrier STRING, shipped_at TIMESTAMP",
    codec="json",
    key="order_id",
    dead_letters="orders-shipped-dead",
)
CANARIES = Contract("canaries", "value BINARY", codec="bytes")
