"""The only package that imports a Kafka library; its functions take and return plain data.

They use confluent-kafka where it has the request, otherwise kafka-python (kafka_python.py).
"""
