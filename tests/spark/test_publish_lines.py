"""The header that publish_lines adds."""

import re
from datetime import datetime, timezone

from millrace_jobs.jobs.publish_lines import stamp
from pyspark.sql import SparkSession


def test_stamp_keeps_the_record_and_adds_one_header(spark: SparkSession) -> None:
    """Key and value go through as they are, null and empty included."""
    rows = [(bytearray(b"a.txt"), bytearray("Größe\u0308".encode())), (bytearray(b"b.txt"), bytearray()), (None, None)]
    stamped = stamp(spark.createDataFrame(rows, "key binary, value binary"))
    assert stamped.columns == ["key", "value", "headers"]
    assert stamped.schema["headers"].dataType.simpleString() == "array<struct<key:string,value:binary>>"
    collected = stamped.collect()
    assert [(row.key, row.value) for row in collected] == rows
    assert [[header.key for header in row.headers] for row in collected] == [["sent_at"]] * 3


def test_sent_at_is_the_time_of_sending(spark: SparkSession) -> None:
    """UTC with microseconds, taken while the rows go out, and not one time for all of them."""
    records = spark.range(2000).selectExpr("binary(string(id)) as key", "binary('x') as value")
    before = datetime.now(timezone.utc)
    times = [row.headers[0].value.decode() for row in stamp(records).collect()]
    after = datetime.now(timezone.utc)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", time) for time in times)
    parsed = [datetime.fromisoformat(time.replace("Z", "+00:00")) for time in times]
    assert before <= min(parsed) <= max(parsed) <= after
    assert len(set(times)) > 1
