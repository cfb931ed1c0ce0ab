"""The model as the arithmetic of survival wants it."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, datacenters
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout, Server
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.replicas import placements


def layout_of(model: Model) -> Layout:
    """Return the cluster's servers; for a model without mistakes."""
    servers = []
    for server in model.servers:
        groups = {number: whole(name) for name, found in server.groups.items() for number in found}
        weights = {whole(number): whole(weight) for number, weight in server.weights.items()}
        weight = weights.get(server.number)
        place = (str(server.datacenter), server.rack, None, groups.get(server.number))
        servers.append(Server(server.name, "zookeeper", *place, 1 if weight is None else weight, server.votes))
    for broker in sorted(model.brokers, key=lambda broker: broker.number or 0):
        racks = (broker.rack, broker.kafka_rack)
        told = told_of(model, broker)
        some = told if 0 < len(told) < len(model.servers) else None
        servers.append(Server(broker.name, "kafka", str(broker.datacenter), *racks, told=some))
    first = model.brokers[0] if model.brokers else None
    addresses_told = [*model.servers[0].servers.values()] if model.servers else []
    return Layout(
        tuple(servers),
        (first.replication_factor or 1) if first else 1,
        (first.inputs.whole("kafka_min_insync_replicas") or 1) if first else 1,
        bool(addresses_told) and all(len(addresses) > 1 for addresses in addresses_told),
    )


def told_of(model: Model, broker: Broker) -> frozenset[str]:
    """Return the ZooKeeper servers of the inventory that a broker is told of."""
    places = connect_places(model)
    return frozenset(places[entry] for entry in broker.zookeeper_connect if entry in places)


def connect_places(model: Model) -> dict[str, str]:
    """Return the servers by where clients may be told of them."""
    return {
        f"{address}:{port}": server.name
        for server in model.servers
        for address in server.addresses
        for port in server.ports.values()
    }


def most_replicas(model: Model, factor: int) -> int | None:
    """Return how many replicas of a partition one datacenter gets at most; None where Kafka would create no topic."""
    racks = {broker.number: broker.kafka_rack for broker in model.brokers if broker.number is not None}
    try:
        sets = placements(racks, factor)
    except ValueError:
        return None
    sites = [{broker.number for broker in members} for members in datacenters(model.brokers).values()]
    return max(len(replicas & site) for replicas in sets for site in sites)


def most_in_one_rack(model: Model, factor: int) -> int | None:
    """Return how many replicas of a partition one rack gets at most; None where brokers are in no racks."""
    racks = {broker.number: broker.kafka_rack for broker in model.brokers if broker.number is not None}
    if len(set(racks.values())) < 2 or None in racks.values():
        return None
    try:
        sets = placements(racks, factor)
    except ValueError:
        return None
    members = [{number for number, own in racks.items() if own == rack} for rack in set(racks.values())]
    return max(len(replicas & site) for replicas in sets for site in members)
