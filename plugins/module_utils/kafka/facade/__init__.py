"""The only place that imports a Kafka library: verbs that take and return plain data.

confluent-kafka does what it can; kafka-python, which `quotas` alone loads, does the rest.
"""
