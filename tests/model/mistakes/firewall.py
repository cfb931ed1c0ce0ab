"""Wrong inventories: the firewall."""

from __future__ import annotations

from model.mistakes.base import BROKERS, Mistake, kafka

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "FIREWALL_SSH",
        f"{BROKERS}/site_firewall_rules[22]",
        "remove the rule",
        variables=kafka(site_firewall_rules=[{"port": 22, "from": ["198.18.1.0/24"]}]),
    ),
    Mistake(
        "FIREWALL_PORT",
        f"{BROKERS}/site_firewall_rules[90920]",
        "correct the port",
        variables=kafka(site_firewall_rules=[{"port": 90920, "from": ["198.18.1.0/24"]}]),
    ),
    Mistake(
        "FIREWALL_SOURCE",
        f"{BROKERS}/firewall_extra_sources.client",
        "or 198.51.100.0/24",
        variables=kafka(firewall_extra_sources={"client": ["198.18.7.1/24"]}),
    ),
    Mistake(
        "FIREWALL_PEER",
        "dc1-kafka1/base_firewall_rules[9093]",
        "remove base_firewall_rules",
        variables={"dc1-kafka1": {"base_firewall_rules": [{"port": 9093, "from": ["198.18.2.22", "198.18.1.0/24"]}]}},
        also=frozenset({"FIREWALL_FORGOTTEN"}),
    ),
    Mistake(
        "FIREWALL_FORGOTTEN",
        f"{BROKERS}/base_firewall_rules",
        "move your rules to site_firewall_rules",
        variables=kafka(
            base_firewall_rules=[
                {"port": 9093, "from": ["198.18.0.0/16"]},
                {"port": 9100, "from": ["192.0.2.7"]},
            ]
        ),
    ),
    Mistake(
        "FIREWALL_IDLE",
        f"{BROKERS}/site_firewall_rules[9092]",
        "add only: true",
        variables=kafka(site_firewall_rules=[{"port": 9092, "from": ["198.18.1.31"]}]),
    ),
    Mistake(
        "FIREWALL_MEANT",
        f"{BROKERS}/site_firewall_rules[9096]",
        "did you mean 9095 (listener PARTNERS)?",
        variables=kafka(
            site_listeners=[
                {"name": "PARTNERS", "address": "{{ client_address }}", "port": 9095, "protocol": "SASL_SSL"}
            ],
            site_firewall_rules=[{"port": 9096, "from": ["192.0.2.0/24"]}],
        ),
    ),
    Mistake(
        "FIREWALL_CLIENTS",
        "groups zookeeper and kafka/client_network",
        "set it, for example 198.51.100.0/24",
        hosts={"    client_network: 198.18.1.0/24\n": ""},
    ),
)
