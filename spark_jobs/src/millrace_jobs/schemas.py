"""The shapes of the data: a record as it is on the wire, and one StructType per topic value."""

from pyspark.sql.types import ArrayType, BinaryType, LongType, StringType, StructField, StructType

# What `io.read` gives and `io.start` takes; `headers` is optional.
RECORD = StructType([StructField("key", BinaryType()), StructField("value", BinaryType())])
HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))

# Value of streams-plaintext-input: one line of UTF-8 text.
LINE = StructType([StructField("line", StringType())])

# Key and value of streams-wordcount-output: the word, and its count as decimal text.
WORD_COUNT = StructType([StructField("word", StringType(), False), StructField("count", LongType(), False)])
