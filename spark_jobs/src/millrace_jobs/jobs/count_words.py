"""Count the words in the lines of a topic: key = the word, value = its running count as decimal text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace_jobs.contract import LINES, WORD_COUNTS
from millrace_jobs.job import Job, NoParameters
from millrace_jobs.lazy import F
from millrace_jobs.parts import KafkaSink, KafkaSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Java's Unicode classes (UTS 18, annex C): letters, marks, digits, connector punctuation and join controls
# make words, so a decomposed accent does not end one.
_SEPARATORS = r"(?U)\W+"


def split_words(lines: DataFrame) -> DataFrame:
    """Return a row with the column `word`, in lower case, for each word in the column `line`.

    Null and empty lines give no row. A line becomes lower case before it is split, since the lower case of a Greek
    final sigma depends on its neighbours.
    """
    words = F.explode(F.split(F.lower("line"), _SEPARATORS))
    return lines.select(words.alias("word")).where(F.col("word") != "")


def count(words: DataFrame) -> DataFrame:
    """Return a row (word, count) for each different word in `words`.

    On a stream, a batch returns the running counts of the words that the batch has changed.
    """
    return words.groupBy("word").agg(F.count(F.lit(1)).alias("count"))


def transform(parameters: NoParameters, input: DataFrame) -> DataFrame:
    """Return a row (word, running count) for each word in the lines of a topic.

    Counts stay exact across restarts: if the job is killed in a batch, it sends the counts of that batch again,
    unchanged.
    """
    return count(split_words(input))


JOB = Job(
    summary="send running counts of a topic's words to another topic",
    inputs=(KafkaSource(LINES, files=True),),
    outputs=(KafkaSink(WORD_COUNTS, files=True, mode="update"),),
    transform=transform,
    shuffles=True,
)
