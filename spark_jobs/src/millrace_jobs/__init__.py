"""PySpark jobs that feed and read Kafka topics."""
