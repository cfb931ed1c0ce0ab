"""The only package that imports a Kafka library; its functions take and return plain data.

The functions use confluent-kafka where that has the request, otherwise kafka-python (kafka_python.py).
"""
