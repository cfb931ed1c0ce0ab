"""A running Kafka cluster, asked and changed."""
