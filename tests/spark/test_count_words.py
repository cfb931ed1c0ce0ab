"""The steps of count_words, on rows written by hand."""

import pytest
from millrace_jobs.codec import decode, encode, schema_of
from millrace_jobs.contract import LINES, WORD_COUNTS
from millrace_jobs.jobs.count_words import count, split_words
from pyspark.sql import Row, SparkSession

RECORD = "key binary, value binary"
LINE = LINES.schema
NAIVE_COMPOSED = "na\u00efve"
NAIVE_DECOMPOSED = "nai\u0308ve"


def words_of(spark: SparkSession, line: str | None) -> list[str]:
    """The words of one line, in order."""
    return [row.word for row in split_words(spark.createDataFrame([(line,)], LINE)).collect()]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("The quick, the BROWN fox.", ["the", "quick", "the", "brown", "fox"]),
        (f"{NAIVE_COMPOSED} idea", [NAIVE_COMPOSED, "idea"]),
        (f"{NAIVE_DECOMPOSED} idea", [NAIVE_DECOMPOSED, "idea"]),
        ("NAI\u0308VE", [NAIVE_DECOMPOSED]),
        ("\u039f\u0394\u039f\u03a3 \u03a3\u039f\u03a6\u039f\u03a3.", ["οδος", "σοφος"]),
        ("Straße STRASSE Größe", ["straße", "strasse", "größe"]),
        ("日本語、中文 Привет-мир", ["日本語", "中文", "привет", "мир"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("42 3.14 route66 ٣٤", ["42", "3", "14", "route66", "٣٤"]),
        ("snake_case _ __init__", ["snake_case", "_", "__init__"]),
        ("don't rock-n-roll", ["don", "t", "rock", "n", "roll"]),
        ("--- leading and trailing ...", ["leading", "and", "trailing"]),
        ("tab\tand\u00a0no-break\u3000wide", ["tab", "and", "no", "break", "wide"]),
        ("half ½ cup 🎉 party", ["half", "cup", "party"]),
        ("windows line\r", ["windows", "line"]),
        ("one\r\ntwo", ["one", "two"]),
        ("", []),
        ("   ", []),
        ("?!…", []),
        (None, []),
    ],
)
def test_words(spark: SparkSession, line: str | None, words: list[str]) -> None:
    """Lower-cased; split where no word of any script goes on; never empty."""
    assert words_of(spark, line) == words


def test_decode_reads_utf8_and_keeps_null(spark: SparkSession) -> None:
    """A record without a value has no line; the key plays no part."""
    records = spark.createDataFrame([(None, bytearray("Größe".encode())), (bytearray(b"k"), None)], RECORD)
    lines = decode(records, LINES)
    assert lines.schema == schema_of(LINES)
    assert [row.line for row in lines.collect()] == ["Größe", None]


def test_bytes_that_are_no_utf8_separate_words(spark: SparkSession) -> None:
    """One bad byte costs no more than itself."""
    records = spark.createDataFrame([(None, bytearray(b"caf\xff bar"))], RECORD)
    assert [row.word for row in split_words(decode(records, LINES)).collect()] == ["caf", "bar"]


def test_count_and_encode(spark: SparkSession) -> None:
    """Each word once, its count as decimal text, both as bytes."""
    words = spark.createDataFrame([("a",), ("b",), ("a",), (NAIVE_COMPOSED,), ("a",)], "word string not null")
    counted = count(words)
    assert counted.schema == schema_of(WORD_COUNTS)
    records = encode(counted, WORD_COUNTS, "output")
    assert [field.dataType.simpleString() for field in records.schema] == ["binary", "binary"]
    assert sorted(records.collect()) == [
        Row(key=bytearray(b"a"), value=bytearray(b"3")),
        Row(key=bytearray(b"b"), value=bytearray(b"1")),
        Row(key=bytearray(b"na\xc3\xafve"), value=bytearray(b"1")),
    ]


def test_composed_and_decomposed_forms_are_two_words(spark: SparkSession) -> None:
    """Text is counted as it was written; nothing is normalised."""
    lines = spark.createDataFrame([(f"{NAIVE_COMPOSED} {NAIVE_DECOMPOSED} {NAIVE_COMPOSED}",)], LINE)
    assert dict(count(split_words(lines)).collect()) == {NAIVE_COMPOSED: 2, NAIVE_DECOMPOSED: 1}
