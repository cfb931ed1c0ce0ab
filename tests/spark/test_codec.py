"""Contracts, on records written by hand: what each record becomes, and which rows an output refuses."""

import json
from collections.abc import Sequence

import pytest
from millrace_jobs.codec import dead_letters, decode, encode, reasons, valid_rows
from millrace_jobs.contract import ORDERS, Contract
from millrace_jobs.errors import JobError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

HEADERS = "array<struct<key:string,value:binary>>"
RECORD = f"struct<topic:string,partition:int,offset:bigint,timestamp:timestamp,headers:{HEADERS},key:binary>"
GOOD = {"order_id": "1", "event": "OrderCreated", "sequence": 1, "at": "2026-01-01T00:00:00.000Z", "customer": "c"}
SMALL = Contract(
    "small", ORDERS.schema, "json", key="order_id", versions=(1, 2), checks=ORDERS.checks, dead_letters="dead",
    max_bytes=400,
)  # fmt: skip


def records(spark: SparkSession, *found: tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes]]]) -> DataFrame:
    """Records of partition 3 from offset 0 on: key, value, headers."""
    rows = [
        (key, value, ("orders", 3, offset, None, list(headers) or None, key))
        for offset, (key, value, headers) in enumerate(found)
    ]
    return spark.createDataFrame(rows, f"key binary, value binary, record {RECORD}")


def of(**changes: object) -> bytes:
    """A good value, but for these columns; None takes one away."""
    return json.dumps({name: value for name, value in {**GOOD, **changes}.items() if value is not None}).encode()


BAD = [
    ("null_value", b"1", None, []),
    ("oversized", b"1", of(customer="c" * 400), []),
    ("null_key", None, of(), []),
    ("unknown_version", b"1", of(), [("schema_version", b"3")]),
    ("unknown_version", b"1", of(), [("schema_version", b"1"), ("schema_version", b"x")]),
    ("malformed", b"1", b"", []),
    ("malformed", b"1", b"no json", []),
    ("malformed", b"1", b"null", []),
    ("malformed", b"1", b"[]", []),
    ("malformed", b"1", b'"text"', []),
    ("malformed", b"1", of()[:-1], []),
    ("malformed", b"1", of().replace(b'"c"', b'"\xff"'), []),
    ("malformed", b"1", of(sequence=None), []),
    ("malformed", b"1", of(sequence="one"), []),
    ("malformed", b"1", of(sequence=2**31), []),
    ("malformed", b"1", of(at="yesterday"), []),
    ("malformed", b"1", of(customer="a\0b"), []),
    ("malformed", b"1", of(amount_cents="one"), []),
    ("trailing", b"1", of() + of(), []),
    ("trailing", b"1", of() + b" garbage", []),
    ("trailing", b"1", of() + b"," + of(), []),
    ("trailing", b"1", of() + b",", []),
    ("trailing", b"1", of() + b"]", []),
    ("trailing", b"1", of() + b"] garbage", []),
    ("trailing", b"1", of() + b"}", []),
    ("trailing", b"1", of() + b',"more":1}', []),
    ("key_mismatch", b"2", of(), []),
    ("long_id", b"", of(order_id=""), []),
    ("long_id", b"i" * 201, of(order_id="i" * 201), []),
    ("unknown_event", b"1", of(event="OrderEaten"), []),
    ("impossible_time", b"1", of(at="1999-12-31T23:59:59Z"), []),
]


def test_each_bad_record_has_its_reason(spark: SparkSession) -> None:
    """In one pass, none is lost; what is listed as a reason is all there is."""
    decoded = decode(records(spark, *[(key, value, headers) for _, key, value, headers in BAD]), SMALL)
    found = [row.reason for row in decoded.orderBy("record.offset").collect()]
    assert found == [reason for reason, *_ in BAD]
    assert set(found) == set(reasons(SMALL))


def test_records_that_fit_keep_their_envelope(spark: SparkSession) -> None:
    """A version that is read, or none; columns that nobody knows are left out, those that may lack are null."""
    good = records(
        spark,
        (b"1", b" " + of(unknown=[1, 2]) + b"\r\n", []),
        (b"1", of(customer=None, amount_cents=5), [("schema_version", b"2"), ("trace", b"\xff")]),
    )
    rows = valid_rows(decode(good, SMALL), SMALL).orderBy("record.offset").collect()
    assert [
        (row.order_id, row.customer, row.amount_cents, row.record.partition, row.record.offset) for row in rows
    ] == [
        ("1", "c", None, 3, 0),
        ("1", None, 5, 3, 1),
    ]
    assert [header.key for header in rows[1].record.headers] == ["schema_version", "trace"]
    assert str(rows[0]["at"]) == "2026-01-01 00:00:00"


def test_dead_letters_say_why_and_from_where(spark: SparkSession) -> None:
    """Key, value and headers as they came; of an oversized value its beginning."""
    long = of(customer="c" * 400)
    bad = records(spark, (b"k", b"\xff", [("trace", b"t")]), (None, None, []), (b"1", long, []), (b"1", of(), []))
    first, second, third = dead_letters(decode(bad, SMALL), SMALL, "some_job").collect()
    assert (first.key, first.value) == (b"k", b"\xff")
    assert [(header.key, bytes(header.value)) for header in first.headers] == [
        ("trace", b"t"),
        ("dead_reason", b"malformed"),
        ("dead_job", b"some_job"),
        ("dead_topic", b"orders"),
        ("dead_partition", b"3"),
        ("dead_offset", b"0"),
        ("dead_bytes", b"1"),
    ]
    assert (second.key, second.value) == (None, None)
    assert bytes(third.value) == long[:400]
    assert bytes(third.headers[-1].value) == str(len(long)).encode()


def test_dead_letters_are_never_too_large_to_send(spark: SparkSession) -> None:
    """Key and value are cut, and headers that are too long are left out: a refused one would stop the job."""
    many, some = [("h", b"x" * 10_000), ("h", b"y" * 9_979)], [("h", b"x" * 10_000), ("h", b"y" * 9_978)]
    bad = records(spark, (b"k" * 20_001, None, many), (b"k", b"v" * 500, some))
    first, second = dead_letters(decode(bad, SMALL), SMALL, "some_job").collect()
    assert (bytes(first.key), first.value, first.headers[0].key) == (b"k" * 20_000, None, "dead_reason")
    assert (bytes(second.key), bytes(second.value)) == (b"k", b"v" * 400)
    assert [header.key for header in second.headers[:3]] == ["h", "h", "dead_reason"]


@pytest.mark.parametrize("headers", [[("h", b"")] * 19_000, [("ü" * 10_500, b"")], [("h", b"x" * 10_000)] * 2])
def test_what_headers_cost_counts_in_bytes(spark: SparkSession, headers: list[tuple[str, bytes]]) -> None:
    """With lengths that a record holds beside them: up to 10 bytes each, and 100 for the record and its batch."""
    (letter,) = dead_letters(
        decode(records(spark, (b"k" * 20_000, b"x" * 1_000_001, headers)), ORDERS), ORDERS, "j"
    ).collect()
    assert [header.key for header in letter.headers if not header.key.startswith("dead_")] == []
    costs = [len(header.key.encode()) + len(header.value) + 10 for header in letter.headers]
    assert len(letter.key) + len(letter.value) + sum(costs) + 100 < 1_048_576  # max.request.size, unless given


def test_a_version_is_written_where_there_are_no_headers(spark: SparkSession) -> None:
    """A column `headers` that is null is none."""
    rows = valid_rows(decode(records(spark, (b"1", of(), [])), ORDERS), ORDERS)
    (written,) = encode(rows.withColumn("headers", lit(None).cast(HEADERS)).drop("record"), ORDERS, "output").collect()
    assert [(header.key, bytes(header.value)) for header in written.headers] == [("schema_version", b"1")]


def test_what_is_written_can_be_read(spark: SparkSession) -> None:
    """JSON with the key, and the version as a header."""
    rows = valid_rows(decode(records(spark, (b"1", of(amount_cents=7), [])), ORDERS), ORDERS).drop("record")
    (written,) = encode(rows, ORDERS, "output").collect()
    assert (bytes(written.key), json.loads(bytes(written.value))) == (b"1", {**GOOD, "amount_cents": 7})
    assert [(header.key, bytes(header.value)) for header in written.headers] == [("schema_version", b"1")]


@pytest.mark.parametrize("columns", ["order_id string", f"{ORDERS.schema}, more int", "order_id int, event string"])
def test_rows_of_another_shape_are_refused(spark: SparkSession, columns: str) -> None:
    """Before a query starts, with what they are and what they should be."""
    with pytest.raises(JobError, match=r"^output: rows are .+; the contract of orders requires order_id STRING"):
        encode(spark.createDataFrame([], columns.replace(" NOT NULL", "")), ORDERS, "output")
