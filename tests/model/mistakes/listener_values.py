"""Wrong inventories: what brokers and servers listen with."""

from __future__ import annotations

from model.mistakes.base import BROKERS, Mistake, config, kafka, listeners
from model.mistakes.security import replication

LISTENERS = f"{BROKERS}/kafka_listeners"

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "LISTENERS_NONE",
        LISTENERS,
        "default: CLIENT and REPLICATION",
        variables=kafka(kafka_listeners=[]),
    ),
    Mistake(
        "LISTENER_CASE",
        LISTENERS,
        "rename one of the two listeners",
        variables=kafka(kafka_listeners=[*listeners(), {**listeners()[0], "name": "client", "port": 9094}]),
    ),
    Mistake(
        "LISTENER_PORT",
        f"{LISTENERS}[REPLICATION]",
        "give one of the two listeners another port",
        variables=kafka(kafka_listeners=listeners(port=9093)),
        also=frozenset({"BOOTSTRAP_UNKNOWN"}),
    ),
    Mistake(
        "LISTENER_BROKER_LOGIN",
        f"{LISTENERS}[REPLICATION]",
        "set protocol: SSL",
        variables=kafka(kafka_listeners=replication(protocol="SASL_SSL")),
    ),
    Mistake(
        "BROKERS_LISTENER",
        f"{BROKERS}/kafka_inter_broker_listener",
        "set it to REPLICATION",
        variables=kafka(kafka_inter_broker_listener="CLIENT"),
    ),
    Mistake(
        "MECHANISM_UNKNOWN",
        f"{LISTENERS}[CLIENT].sasl_mechanisms",
        "did you mean SCRAM-SHA-256?",
        variables=kafka(kafka_listeners=listeners(sasl_mechanisms=["SCRAM-SHA-512", "SCRAM-SHA256"])),
    ),
    Mistake(
        "MECHANISM_SETTINGS",
        f"{LISTENERS}[CLIENT].sasl_mechanisms",
        "set the missing properties",
        variables=kafka(kafka_listeners=listeners(sasl_mechanisms=["SCRAM-SHA-512", "GSSAPI"])),
    ),
    Mistake(
        "MECHANISM_IDLE",
        f"{LISTENERS}[REPLICATION].sasl_mechanisms",
        "set protocol to SASL_SSL",
        variables=kafka(kafka_listeners=replication(sasl_mechanisms=["SCRAM-SHA-512"])),
    ),
    Mistake(
        "LISTENER_IDLE",
        f"{BROKERS}/kafka_config[listener.name.replication.connections.max.reauth.ms]",
        "set protocol of the listener to SASL_SSL",
        variables=config("listener.name.replication.connections.max.reauth.ms", 3600000),
    ),
    Mistake(
        "ADDRESS_LOCAL",
        "dc1-kafka1/client_address",
        "of the host's network interface",
        hosts={"198.18.1.21": "127.0.0.1"},
    ),
    Mistake(
        "ADVERTISED_LOCAL",
        f"{LISTENERS}[CLIENT].advertised_address",
        "at which clients reach this broker",
        variables=kafka(kafka_listeners=listeners(advertised_address="127.0.0.1")),
    ),
    Mistake(
        "ADVERTISED_INVALID",
        f"{LISTENERS}[CLIENT].advertised_address",
        "another port in advertised_port",
        variables=kafka(kafka_listeners=listeners(advertised_address="kafka.example.org:9092")),
    ),
    Mistake(
        "PORT_PRIVILEGED",
        f"{LISTENERS}[CLIENT]",
        "AmbientCapabilities and CapabilityBoundingSet",
        variables=kafka(kafka_listeners=listeners(port=443)),
        also=frozenset({"BOOTSTRAP_UNKNOWN"}),
    ),
    Mistake(
        "LISTENER_NAME",
        f"{BROKERS}/kafka_listeners",
        "for example CLIENT",
        variables=kafka(
            site_listeners=[
                {"name": "EX:TERNAL", "address": "{{ client_address }}", "port": 9095, "protocol": "SASL_SSL"}
            ]
        ),
    ),
    Mistake(
        "ADVERTISED_SHARED",
        f"{BROKERS}/site_listeners[MORE].advertised_address",
        "one name for all brokers is only for bootstrap.servers",
        variables=kafka(
            site_listeners=[
                {
                    "name": "MORE",
                    "address": "{{ client_address }}",
                    "port": 9094,
                    "protocol": "SASL_SSL",
                    "advertised_address": "kafka.example.org",
                }
            ]
        ),
    ),
)
