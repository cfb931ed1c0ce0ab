"""Wrong inventories: hosts as machines."""

from __future__ import annotations

from model.mistakes.base import BROKERS, ZK3, Mistake, kafka
from model.mistakes.security import BROKER, TO_ZOOKEEPER

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "MACHINE_TWICE",
        "dc1-kafka1, dc1-kafka2/ansible_host",
        "its own address",
        variables={"dc1-kafka1": {"ansible_host": "198.18.1.22"}},
    ),
    Mistake(
        "HEAP_SUM",
        "dc1-kafka3/memory",
        "half of the memory",
        hosts={ZK3: "        dc1-kafka3: {zookeeper_id: 3}\n", "{dc1-zk3: {}, dc1-kafka3: {}}": "{dc1-kafka3: {}}"},
        variables={"dc1-kafka3": {"allow_colocated": True, "memory": "8g", "kafka_heap": "5g", "zookeeper_heap": "4g"}},
        also=frozenset({"HEAP_HALF"}),
    ),
    Mistake("PLACE_BLANK", "group rack_b/rack", "write b", variables={"rack_b": {"rack": "b "}}),
    Mistake("PLACE_CASE", "group rack_b/rack", "use one spelling", hosts={"vars: {rack: b}": "vars: {rack: A}"}),
    Mistake(
        "CERTIFICATE_PURPOSE",
        f"{BROKERS}/pki_certificates[broker].usage",
        "remove usage",
        variables=kafka(pki_certificates=[{**BROKER, "usage": ["client"]}, TO_ZOOKEEPER]),
    ),
    Mistake(
        "ZOOKEEPER_OWNERS",
        "dc1-kafka2/pki_certificates",
        "one subject",
        variables={
            "dc1-kafka2": {"pki_certificates": [BROKER, {**TO_ZOOKEEPER, "subject": "CN=kafka2,OU=zkclients,O=lab"}]}
        },
    ),
)
