"""Words counted as tutorials do it: a Python function splits lines, nothing of Spark is set. A rival of the bench."""

import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, explode, udf
from pyspark.sql.types import ArrayType, StringType

servers, jars, source, sink, first, partitions, batch, checkpoint, master = sys.argv[1:]


@udf(returnType=ArrayType(StringType()))
def words(line: str) -> list[str]:
    """Lower-cased, split at white space."""
    return line.lower().split()


spark = SparkSession.builder.appName("word count").master(master).config("spark.jars", jars).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
lines = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", servers)
    .option("subscribe", source)
    .option("startingOffsets", json.dumps({source: {str(number): int(first) for number in range(int(partitions))}}))
    .option("maxOffsetsPerTrigger", batch)
    .load()
)
counts = lines.select(explode(words(col("value").cast("string"))).alias("word")).groupBy("word").count()
records = counts.select(col("word").alias("key"), col("count").cast("string").alias("value"))
query = (
    records.writeStream.format("kafka")
    .outputMode("update")
    .option("kafka.bootstrap.servers", servers)
    .option("topic", sink)
    .option("checkpointLocation", checkpoint)
    .start()
)
query.awaitTermination()
