"""Wrong inventories: flows of MirrorMaker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from model.mistakes.base import Mistake

WORKERS = "  children:\n    mirror_maker: {{hosts: {{{hosts}}}}}\n    zookeeper:\n"
GROUP = {"  children:\n    zookeeper:\n": WORKERS.format(hosts="dc1-spark1: {}, dc1-spark2: {}")}
PLACE = "group mirror_maker/mirror_maker_flows"
FLOW: Mapping[str, Any] = {
    "source": "west",
    "bootstrap": "198.18.57.21:9092",
    "user": "mirror_east",
    "password": "{{ vault.passwords.lab }}",
    "topics": ["orders"],
}


def flow(**changes: Any) -> dict[str, Any]:
    """Return a right flow with changes."""
    return {**FLOW, **changes}


def workers(*flows: Mapping[str, Any], **variables: Any) -> dict[str, dict[str, Any]]:
    """Return variables of the group mirror_maker: flows, by default one, and others."""
    return {
        "mirror_maker": {"mirror_maker_flows": list(flows or [FLOW]), "mirror_maker_user": "lab", **variables},
    }


def wrong(code: str, where: str, advice: str, variables: Mapping[str, Mapping[str, Any]], **more: Any) -> Mistake:
    """Return a mistake of the lab with two workers."""
    return Mistake(code, where, advice, more.pop("hosts", GROUP), variables, **more)


LABELLED = {"residency": ["eu"]}
TOPIC = {"name": "orders", "partitions": 6}

MISTAKES: tuple[Mistake, ...] = (
    wrong(
        "MIRROR_DIFFERS",
        "dc1-spark2/mirror_maker_exactly_once",
        "in the group mirror_maker",
        {**workers(), "dc1-spark2": {"mirror_maker_exactly_once": False}},
    ),
    wrong(
        "MIRROR_ALONE",
        "dc1-spark1",
        "add a second host",
        workers(),
        hosts={"  children:\n    zookeeper:\n": WORKERS.format(hosts="dc1-spark1: {}")},
    ),
    wrong("MIRROR_SOURCE", f"{PLACE}[west].source", "in one flow", workers(FLOW, flow(topics=["returns"]))),
    wrong("MIRROR_ITSELF", f"{PLACE}[west].bootstrap", "of west", workers(flow(bootstrap="198.18.1.21:9092"))),
    wrong("MIRROR_PATTERN", f"{PLACE}[west].topics", "write orders-.*", workers(flow(topics=["orders-*"]))),
    wrong("MIRROR_INTERNAL", f"{PLACE}[west].topics", "remove it", workers(flow(topics=["totals-store-changelog"]))),
    wrong("MIRROR_VALUE", f"{PLACE}[west].password", "in a vaulted file", workers(flow(password=None))),
    wrong(
        "MIRROR_FIXED",
        f"{PLACE}[west].config[topics]",
        "topics_exclude or policy",
        workers(flow(config={"topics": ".*"})),
    ),
    wrong(
        "MIRROR_KEY",
        "group mirror_maker/mirror_maker_config[scheduled.rebalance.max.delay.ms]",
        "dc1.scheduled.rebalance.max.delay.ms",
        workers(mirror_maker_config={"scheduled.rebalance.max.delay.ms": 5000}),
    ),
    wrong(
        "MIRROR_REST",
        "group mirror_maker/mirror_maker_config[dedicated.mode.enable.internal.rest]",
        "remove it",
        workers(mirror_maker_config={"dedicated.mode.enable.internal.rest": False}),
    ),
    wrong(
        "MIRROR_SAME_TOPIC",
        PLACE,
        "policy: default",
        workers(flow(policy="identity"), flow(source="north", bootstrap="198.18.59.21:9092", policy="identity")),
    ),
    wrong(
        "MIRROR_OVERWRITES",
        "group kafka/kafka_topics[streams-plaintext-input]",
        "manage: false",
        workers(flow(policy="identity", topics=["streams-plaintext-.*"])),
    ),
    wrong(
        "MIRROR_RESIDENCY",
        f"{PLACE}[west].source_topics[orders]",
        "topics_exclude",
        {
            **workers(flow(topics=["ord.*"], source_topics=[{**TOPIC, **{"residency": "eu"}}])),
            "all": {"residency": ["us"]},
        },
    ),
    wrong(
        "MIRROR_NOT_COPIED",
        f"{PLACE}[west].source_topics[orders].config[min.insync.replicas]",
        "declare the topic west.orders",
        workers(flow(source_topics=[{**TOPIC, "config": {"min.insync.replicas": 3}}])),
    ),
    wrong("MIRROR_READ_AGAIN", f"{PLACE}[west].max_read_again", "at most 3", workers(flow(max_read_again=10))),
    wrong(
        "MIRROR_USER",
        "group mirror_maker/mirror_maker_user",
        "mirror_maker: target",
        workers(mirror_maker_user="publish_lines"),
    ),
)
