"""Wrong inventories: addresses, subnets, ports and listeners."""

from __future__ import annotations

from model.mistakes.base import BROKERS, Mistake, kafka, listeners
from model.mistakes.insecure_settings import site_listeners

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "ADDRESS_MISSING",
        "dc1-kafka2/replication_address",
        "host's line",
        hosts={", replication_address: 198.18.2.22": ""},
    ),
    Mistake(
        "ADDRESS_INVALID", "dc1-kafka2/replication_address", "198.51.100.7", hosts={"198.18.2.22": "198.18.2.222.2"}
    ),
    Mistake(
        "ADDRESS_OUTSIDE", "dc1-kafka2/replication_address", "correct the address", hosts={"198.18.2.22": "198.18.3.22"}
    ),
    Mistake(
        "ADDRESS_RESERVED",
        "dc1-kafka2/replication_address",
        "address of its own",
        hosts={"198.18.2.22": "198.18.2.255"},
    ),
    Mistake(
        "ADDRESS_DUPLICATE",
        "dc1-kafka1, dc1-kafka3",
        "set a different address in each",
        hosts={"198.18.2.23": "198.18.2.21"},
    ),
    Mistake(
        "NETWORK_MISSING",
        "groups zookeeper and kafka/replication_network",
        "198.51.100.0/24",
        hosts={"    replication_network: 198.18.2.0/24\n": ""},
    ),
    Mistake(
        "NETWORK_INVALID",
        "group all/replication_network",
        "198.51.100.0/24",
        hosts={"198.18.2.0/24": "198.18.2.1/24"},
    ),
    Mistake(
        "NETWORK_ELSEWHERE",
        "group all/client_network",
        "correct the subnet",
        hosts={"client_network: 198.18.1.0/24": "client_network: 198.18.7.0/24"},
    ),
    Mistake(
        "NETWORKS_SWAPPED",
        "groups zookeeper and kafka",
        "exchange the values of client_network and replication_network",
        hosts={
            "client_network: 198.18.1.0/24": "client_network: 198.18.2.0/24",
            "replication_network: 198.18.2.0/24": "replication_network: 198.18.1.0/24",
        },
    ),
    Mistake(
        "ADDRESS_VERSION",
        "dc1-kafka2/replication_address",
        "IPv4 addresses",
        hosts={"198.18.2.22": "'2001:db8::22'"},
    ),
    Mistake("NETWORK_OVERLAP", "client_network", "a subnet of its own", hosts={"198.18.1.0/24": "198.18.0.0/22"}),
    Mistake(
        "PORT_CLASH",
        BROKERS,
        "another port",
        variables=kafka(kafka_listeners=listeners(port=22)),
        also=frozenset({"BOOTSTRAP_UNKNOWN", "FIREWALL_SSH"}),
    ),
    Mistake(
        "PORT_RANGE",
        BROKERS,
        "set a port from 1 to 65535",
        variables=kafka(kafka_listeners=listeners(port=90920)),
        also=frozenset({"BOOTSTRAP_UNKNOWN"}),
    ),
    Mistake(
        "LISTENER_DUPLICATE",
        f"{BROKERS}/kafka_listeners",
        "a name of its own",
        variables=kafka(kafka_listeners=[*listeners(), {**listeners()[0], "port": 9094}]),
    ),
    Mistake(
        "LISTENER_ADVERTISED",
        f"{BROKERS}/kafka_listeners[CLIENT]",
        "set advertised_address",
        variables=kafka(kafka_listeners=listeners(address="0.0.0.0")),
    ),
    Mistake(
        "LISTENER_ADDRESS",
        f"{BROKERS}/kafka_listeners[CLIENT]",
        "client_address or replication_address",
        variables=kafka(kafka_listeners=listeners(address="198.18.1.99", advertised_address="{{ client_address }}")),
    ),
    Mistake(
        "LISTENER_PLAINTEXT",
        f"{BROKERS}/kafka_listeners[CLIENT]",
        "SSL or SASL_SSL",
        variables=site_listeners({"protocol": "PLAINTEXT"}),
        inventory="stretch3",
        also=frozenset({"JOB_PROTOCOL"}),
    ),
    Mistake(
        "LISTENER_UNKNOWN",
        f"{BROKERS}/kafka_inter_broker_listener",
        "set one of these names",
        variables=kafka(kafka_inter_broker_listener="REPLICATE"),
    ),
    Mistake(
        "LISTENER_NETWORK",
        f"{BROKERS}/kafka_inter_broker_listener",
        "replication_address",
        variables=kafka(kafka_listeners=[listeners()[0], {**listeners()[1], "address": "{{ client_address }}"}]),
        also=frozenset({"BOOTSTRAP_UNKNOWN"}),
    ),
)
