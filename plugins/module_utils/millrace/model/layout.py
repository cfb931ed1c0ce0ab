"""The model as the arithmetic of survival wants it."""

from __future__ import annotations

from ..survival import Layout, Server, placements
from .base import Model, whole
from .ensemble import groups_of


def layout_of(model: Model) -> Layout:
    """Return the cluster's servers; for a model without mistakes."""
    groups = {number: whole(name) for host in model.zookeeper[:1] for name, found in groups_of(model, host).items() for number in found}
    weights = {whole(number): whole(weight) for host in model.zookeeper[:1] for number, weight in model.mapping(host, "zookeeper_weights").items()}
    servers = []
    for host in model.zookeeper:
        number = model.whole(host, "zookeeper_id")
        weight = weights.get(number)
        servers.append(
            Server(
                host,
                "zookeeper",
                _datacenter(model, host),
                model.get(host, "rack"),
                None,
                groups.get(number),
                1 if weight is None else weight,
                number not in model.observers(host),
            )
        )
    for host in sorted(model.kafka, key=lambda name: model.whole(name, "kafka_broker_id") or 0):
        servers.append(Server(host, "kafka", _datacenter(model, host), model.get(host, "rack"), model.get(host, "kafka_rack")))
    broker = model.kafka[0] if model.kafka else None
    several = [value for host in model.zookeeper[:1] for value in model.mapping(host, "zookeeper_servers").values()]
    return Layout(
        tuple(servers),
        (model.whole(broker, "kafka_replication_factor") or 1) if broker else 1,
        (model.whole(broker, "kafka_min_insync_replicas") or 1) if broker else 1,
        bool(several) and all(not isinstance(value, str) and len(value) > 1 for value in several),
    )


def most_replicas(model: Model, factor: int) -> int | None:
    """Return how many replicas of a partition one datacenter gets at most; None where Kafka would create no topic."""
    brokers = {number: host for host in model.kafka if (number := model.whole(host, "kafka_broker_id")) is not None}
    try:
        sets = placements({number: model.get(host, "kafka_rack") for number, host in brokers.items()}, factor)
    except ValueError:
        return None
    sites = [{number for number in brokers if brokers[number] in hosts} for hosts in model.datacenters(model.kafka).values()]
    return max(len(replicas & site) for replicas in sets for site in sites)


def _datacenter(model: Model, host: str) -> str:
    return str(model.get(host, "datacenter"))
