"""Who left the inventory, and is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem


def brokers(model: Model, undeclared: Mapping[str, int]) -> Iterator[Problem]:
    """A broker that is not declared holds no replica: rules of firewalls would keep it from its followers.

    `undeclared` is what kafka_cluster answers: by id, the replicas of brokers that nobody declares.
    """
    hosts = tuple(broker.name for broker in model.brokers)
    for number, replicas in sorted(undeclared.items(), key=lambda item: int(item[0])):
        if replicas:
            wrong = f"no host has it, and that broker holds {replicas} replicas: firewalls would be closed to it"
            advice = f"put its host back; to remove it, first playbooks/reassign.yml -e drain={number} -e rate=50MB"
            yield Problem(hosts, "kafka_broker_id", "BROKER_DROPPED", int(number), wrong, advice)
