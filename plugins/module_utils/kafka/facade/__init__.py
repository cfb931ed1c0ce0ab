"""The only package that imports a Kafka library: functions that take and return plain data.

They use confluent-kafka where it can do the request, otherwise kafka-python (kafka_python.py).
"""
