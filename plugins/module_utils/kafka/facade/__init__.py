"""The only package that imports a Kafka library; its functions take and return plain data.

The functions use confluent-kafka if it offers the request, otherwise kafka-python (kafka_python.py).
"""
