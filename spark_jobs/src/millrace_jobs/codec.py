"""Decodes Kafka records to rows, with a reason for each record that does not fit its contract; encodes rows.

`records` are DataFrames with the columns of `io.read`: key and value (bytes), and `record`, a struct of topic,
partition, offset, timestamp, headers and key. Column types are objects instead of text, since Spark takes time at each
start to parse the first type that is written as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace_jobs.contract import VERSION_HEADER, Contract
from millrace_jobs.errors import JobError
from millrace_jobs.lazy import F, T

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_UNREADABLE = "_broken"
_MOST_BYTES = 20_000  # of a dead letter's key, and of its headers
_HEADER_BYTES = 10  # upper bound for the encoded lengths of a header's key and value


def schema_of(contract: Contract) -> StructType:
    """Return the columns of a contract as a Spark schema."""
    simple = {"STRING": T.StringType, "BINARY": T.BinaryType, "BIGINT": T.LongType}
    schema, columns = T.StructType(), [column.split() for column in contract.schema.split(",")]
    if any(len(column) < 2 or column[1] not in simple or column[2:] not in ([], ["NOT", "NULL"]) for column in columns):
        parsed = T.StructType.fromDDL(contract.schema)
        assert isinstance(parsed, T.StructType)
        return parsed
    for name, kind, *required in columns:
        schema.add(name, simple[kind](), nullable=not required)
    return schema


def as_headers(column: Column) -> Column:
    """Cast a column to the type of Kafka headers in Spark: a list of structs of key (text) and value (bytes)."""
    pair = T.StructType().add("key", T.StringType()).add("value", T.BinaryType())
    return column.cast(T.ArrayType(pair))


def decode(records: DataFrame, contract: Contract) -> DataFrame:
    """Return the records as rows with the column `record` and the columns of the contract.

    Codec bytes: the records unchanged.
    Codec text: the value as UTF-8 text; null if the record has no value.
    Codec json: the columns of the JSON object, and `reason`: null if the record fits the contract, otherwise the first
    that applies of: null_value, oversized, null_key, unknown_version, malformed (not UTF-8, no JSON object, a wrong
    type, a required column missing, the character NUL), trailing (text after the object), key_mismatch, the name of an
    entry of `contract.checks` that is not true.
    """
    if contract.codec == "bytes":
        return records
    schema = schema_of(contract)
    if contract.codec == "text":
        text = records.withColumn(schema.names[0], F.col("value").cast(T.StringType()))
        return text.drop(*({"key", "value"} - set(schema.names)))
    reader = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in schema)
    json = F.from_json(
        F.col("value").cast("string"),
        f"{reader}, `{_UNREADABLE}` string",
        {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _UNREADABLE},
    )
    parsed = records.withColumn("_parsed", json)
    flat = parsed.select(
        "key", "value", "record", f"_parsed.{_UNREADABLE}", *(f"_parsed.{name}" for name in schema.names)
    )
    return flat.withColumn("reason", _reason(contract, schema)).drop(_UNREADABLE)


def reasons(contract: Contract) -> list[str]:
    """Return all values that the column `reason` of `decode` can have for a JSON contract."""
    key = ["null_key", "key_mismatch"] if contract.key is not None else []
    return ["null_value", "oversized", "unknown_version", "malformed", "trailing", *key, *contract.checks]


def valid_rows(decoded: DataFrame, contract: Contract) -> DataFrame:
    """Return the rows of `decode` whose records fit the contract: its columns and `record`.

    For contracts of bytes and text, return all rows unchanged: every record fits.
    """
    if contract.codec != "json":
        return decoded
    return decoded.where("reason IS NULL").select(*schema_of(contract).names, "record")


def dead_letters(decoded: DataFrame, contract: Contract, job: str) -> DataFrame:
    """Return key, value and headers of the rejected records, to be sent to the dead-letter topic.

    `decoded` is the result of `decode`. Headers are added with the reason, the job, and the record's topic, partition
    and offset. The value is cut to `contract.max_bytes` bytes and the key to 20 kB, and the original headers are
    dropped if they exceed 20 kB, since a record that is too large for the producer would stop the job.
    """
    added: list[tuple[str, Column]] = [
        ("dead_reason", F.col("reason")),
        ("dead_job", F.lit(job)),
        ("dead_topic", F.col("record.topic")),
        ("dead_partition", F.col("record.partition").cast("string")),
        ("dead_offset", F.col("record.offset").cast("string")),
        ("dead_bytes", F.length("value").cast("string")),
    ]
    added_headers = F.array(
        *(F.struct(F.lit(name).alias("key"), text.cast("binary").alias("value")) for name, text in added)
    )
    sizes = F.transform(
        "record.headers",
        lambda header: (
            F.octet_length(header["key"]) + F.coalesce(F.octet_length(header["value"]), F.lit(0)) + _HEADER_BYTES
        ),
    )
    within_limit = F.aggregate(sizes, F.lit(0), lambda total, size: total + size) <= _MOST_BYTES
    kept = F.when(within_limit, F.col("record.headers")).otherwise(
        as_headers(F.array())
    )  # empty also if there are no headers
    headers = F.concat(kept, as_headers(added_headers))
    key, value = F.substring("key", 1, _MOST_BYTES), F.substring("value", 1, contract.max_bytes)
    return decoded.where("reason IS NOT NULL").select(key.alias("key"), value.alias("value"), headers.alias("headers"))


def with_dead_letters(records: DataFrame, topic: str | None, dead: list[tuple[DataFrame, str]]) -> DataFrame:
    """Return records and dead letters as one DataFrame whose column `topic` names the topic of each row.

    `topic` is the topic to which `records` are written; None gives null in the column. `dead` is a list of pairs: a
    DataFrame of dead letters, and the name of the topic to which they are written.
    """
    headers = F.col("headers") if "headers" in records.columns else as_headers(F.lit(None))
    all_records = records.select(
        "key", "value", headers.alias("headers"), F.lit(topic).cast(T.StringType()).alias("topic")
    )
    for letters, name in dead:
        all_records = all_records.unionByName(letters.withColumn("topic", F.lit(name)))
    return all_records


def reason_counts(contract: Contract) -> list[Column]:
    """Return a list of aggregate columns that count rows: one column for each `reason`, with its name."""
    return [F.count_if(F.col("reason") == reason).alias(reason) for reason in reasons(contract)]


def encode(rows: DataFrame, contract: Contract, output: str) -> DataFrame:
    """Return rows as Kafka records: key and value as bytes, and headers.

    The column `headers` is absent if the rows have no such column and the contract is not JSON. If the contract names
    no key column, the record's key is the column `key`, or null without such a column. `output` is the name of the
    output in messages.

    Raises:
        JobError: the names or types of the columns of `rows` differ from those of the contract.
    """
    schema = schema_of(contract)
    expected = {field.name: field.dataType.simpleString() for field in schema}
    actual = {field.name: field.dataType.simpleString() for field in rows.schema if field.name in expected}
    extra = set(rows.columns) - set(expected) - {"headers"} - ({"key"} if contract.key is None else set())
    if actual != expected or extra:
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema)
        raise JobError(f"{output}: rows are {columns}; the contract of {contract.topic} requires {contract.schema}")
    key = F.col(contract.key or "key").cast(T.BinaryType()) if contract.key or "key" in rows.columns else F.lit(None)
    (value_column, *_) = [name for name in schema.names if name != contract.key]
    value = F.to_json(F.struct(*schema.names)) if contract.codec == "json" else F.col(value_column)
    headers = [F.col("headers")] if "headers" in rows.columns else []
    if contract.codec == "json":
        existing = [F.coalesce(F.col("headers"), as_headers(F.array()))] if headers else []
        version = F.array(F.struct(F.lit(VERSION_HEADER).alias("key"), _version(contract).alias("value")))
        headers = [F.concat(*existing, as_headers(version)).alias("headers")]
    return rows.select(key.cast(T.BinaryType()).alias("key"), _bytes(value, contract).alias("value"), *headers)


def _bytes(value: Column, contract: Contract) -> Column:
    """Return a value column as bytes: unchanged for a contract of bytes, otherwise as UTF-8 text."""
    return value if contract.codec == "bytes" else value.cast(T.StringType()).cast(T.BinaryType())


def _version(contract: Contract) -> Column:
    return F.lit(str(contract.versions[-1])).cast("binary")


def _reason(contract: Contract, schema: StructType) -> Column:
    versions = F.filter(F.col("record.headers"), lambda header: header["key"] == VERSION_HEADER)
    version = F.try_element_at(versions, F.lit(-1))["value"].cast("string")
    missing = F.lit(False)
    for field in schema:
        if not field.nullable:
            missing = missing | F.col(field.name).isNull()
    texts = [field.name for field in schema if field.dataType.simpleString() == "string"]
    has_nul = F.lit(False)
    for name in texts:  # PostgreSQL's text type accepts every character but NUL
        has_nul = has_nul | F.coalesce(F.col(name).contains(F.lit("\0")), F.lit(False))
    malformed = ~F.is_valid_utf8(F.col("value").cast("string")) | F.col(_UNREADABLE).isNotNull() | missing | has_nul
    reason = (
        F.when(F.col("value").isNull(), "null_value")
        .when(F.length("value") > contract.max_bytes, "oversized")
        .when(F.lit(contract.key is not None) & F.col("key").isNull(), "null_key")
        .when(~F.coalesce(version, F.lit(str(contract.versions[0]))).isin([*map(str, contract.versions)]),
              "unknown_version")
        .when(malformed, "malformed")
        .when(~_nothing_follows(F.col("value").cast("string")), "trailing")
    )  # fmt: skip
    if contract.key is not None:
        reason = reason.when(F.col("key") != F.col(contract.key).cast("binary"), "key_mismatch")
    for name, condition in contract.checks.items():
        reason = reason.when(~F.coalesce(F.expr(condition), F.lit(False)), name)
    return reason


def _nothing_follows(text: Column) -> Column:
    """Tell whether nothing follows the JSON object at the start of a text; Spark's own reader ignores the rest.

    The text is parsed as the inside of a list and as the inside of an object, since the rest may close one kind of
    bracket. Nothing follows if both can be parsed and the list has one item.
    """
    listed = F.from_json(F.concat(F.lit("["), text, F.lit("]")), "array<struct<>>")
    named = F.from_json(F.concat(F.lit('{"":'), text, F.lit("}")), "map<string,struct<>>")
    return F.coalesce(F.size(listed) == 1, F.lit(False)) & named.isNotNull()
