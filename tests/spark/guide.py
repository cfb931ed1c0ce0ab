"""Words counted as Spark's Structured Streaming guide does it, from topic to topic. The yardstick of the bench."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, explode, split

servers, source, sink, partitions, memory, checkpoint, master = sys.argv[1:]

spark = (
    SparkSession.builder.appName("StructuredKafkaWordCount")
    .master(master)
    .config("spark.driver.memory", memory)
    .config("spark.sql.shuffle.partitions", partitions)
    .getOrCreate()
)
lines = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", servers)
    .option("subscribe", source)
    .option("startingOffsets", "earliest")
    .load()
)
words = lines.select(explode(split(col("value").cast("string"), " ")).alias("word"))
counts = words.groupBy("word").count()
query = (
    counts.select(col("word").alias("key"), col("count").cast("string").alias("value"))
    .writeStream.outputMode("update")
    .format("kafka")
    .option("kafka.bootstrap.servers", servers)
    .option("topic", sink)
    .option("checkpointLocation", checkpoint)
    .trigger(processingTime="1 second")
    .start()
)
query.awaitTermination()
