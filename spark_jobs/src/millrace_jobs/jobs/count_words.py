"""Count the words of a topic's lines: key = the word, value = its running count as decimal text."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from millrace_jobs.config import Config
from millrace_jobs.io import read, start

# Java's Unicode classes (UTS 18, annex C): letters, marks, digits, connector punctuation and join controls
# make words, so a decomposed accent does not end one.
_SEPARATORS = r"(?U)\W+"


def run(spark: SparkSession, config: Config) -> StreamingQuery:
    """Start the query. Counts stay exact across restarts: a killed batch sends the same counts again."""
    counts = count(split_words(decode(read(spark, config))))
    return start(encode(counts), config, mode="update")


def decode(records: DataFrame) -> DataFrame:
    """`RECORD` -> `LINE`: the value as UTF-8 text, null where the record has none."""
    return records.select(F.col("value").cast("string").alias("line"))


def split_words(lines: DataFrame) -> DataFrame:
    """`LINE` -> one `word` a row, lower-cased. Empty words and null lines give no row.

    The line is lower-cased before it is split, so a Greek final sigma depends on its whole line.
    """
    words = F.explode(F.split(F.lower("line"), _SEPARATORS))
    return lines.select(words.alias("word")).where("word != ''")


def count(words: DataFrame) -> DataFrame:
    """`word` rows -> `WORD_COUNT`; on a stream, the running count of each word that a batch changed."""
    return words.groupBy("word").agg(F.count(F.lit(1)).alias("count"))


def encode(counts: DataFrame) -> DataFrame:
    """`WORD_COUNT` -> `RECORD`."""
    return counts.select(
        F.col("word").cast("binary").alias("key"),
        F.col("count").cast("string").cast("binary").alias("value"),
    )
