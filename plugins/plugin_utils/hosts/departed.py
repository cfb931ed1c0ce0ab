"""What left the inventory, and is needed: brokers, and log dirs of disks that failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem


def brokers(model: Model, probes: Mapping[str, Mapping[str, Any]], undeclared: Mapping[str, int]) -> Iterator[Problem]:
    """A broker that is not declared holds no replica: rules of firewalls would keep it from its followers.

    `undeclared` is what kafka_cluster answers: by id, the replicas of brokers that nobody declares. An id that stands
    on the disks of a declared host is KAFKA_ID_CHANGED of that host.
    """
    hosts = tuple(broker.name for broker in model.brokers)
    disks = [meta for host in hosts for meta in probes.get(host, {}).get("meta_properties", {}).values()]
    renamed = {meta.get("broker.id") for meta in disks}
    for number, replicas in sorted(undeclared.items(), key=lambda item: int(item[0])):
        if replicas and number not in renamed:
            wrong = f"no host has it, and that broker holds {replicas} replicas: firewalls would be closed to it"
            advice = f"put its host back; to remove it, first playbooks/reassign.yml -e drain={number} -e rate=50MB"
            yield Problem(hosts, "kafka_broker_id", "BROKER_DROPPED", int(number), wrong, advice)


def log_dirs(model: Model, probes: Mapping[str, Mapping[str, Any]], offline: Sequence[str]) -> Iterator[Problem]:
    """No log dir that failed is taken out while partitions have no leader: it may hold the last that is in sync.

    Without it the broker would come back with an empty replica, lead, and have the others throw away what they have.
    """
    for broker in model.brokers:
        probe = probes.get(broker.name, {})
        for path, mount in probe.get("dropped", {}).items() if offline else ():
            if path in probe.get("given_up", ()) or "error" in mount or not mount.get("mounted", True):
                number = broker.inputs.values.get("kafka_broker_id")
                shown = ", ".join(offline[:3]) + (", ..." if len(offline) > 3 else "")
                wrong = f"taken out, its disk failed, and {shown} have no leader: it may hold the last that was in sync"
                verb = f"playbooks/replace_disk.yml -e broker={number} -e log_dir={path} -e lost={offline[0]}"
                advice = f"bring the disk back; or put the log dir back, mount a new disk, and give them up ({verb})"
                yield broker.problem("kafka_log_dirs", "LOG_DIR_DROPPED", path, wrong, advice)
