"""Configurations that are right."""

KAFKA = {"bootstrap.servers": "k1:9092,k2:9092"}
COUNT: dict[str, object] = {"checkpoint": "/var/lib/millrace/count", "kafka": KAFKA}
PUBLISH: dict[str, object] = {"checkpoint": "/var/lib/millrace/publish", "input_directory": "/in", "kafka": KAFKA}
PEM = {"security.protocol": "SSL", "ssl.truststore.location": "/ca.pem", "ssl.truststore.type": "PEM"}
LOGIN = 'ScramLoginModule required username="u" password="p";'
SCRAM = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": LOGIN}
PROJECT: dict[str, object] = {
    "checkpoint": "/var/lib/millrace/project",
    "kafka": KAFKA,
    "database": {"host": "db1", "dbname": "orders", "user": "project"},
}
GENERATE: dict[str, object] = {"kafka": KAFKA}
