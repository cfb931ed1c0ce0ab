"""Converts the model to a Layout, for the calculation of which failures a cluster survives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, datacenters
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import NETWORKS, Broker, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout, Server
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.replicas import placements, shares


def layout_of(model: Model) -> Layout:
    """Return the ZooKeeper servers and brokers of a model as a Layout.

    Call this only for a model without problems: wrong values are not handled.
    """
    servers = []
    for server in model.servers:
        addresses = server.servers.get(server.number, ())
        groups = {number: whole(name) for name, ids in server.groups.items() for number in ids}
        weights = {whole(number): whole(weight) for number, weight in server.weights.items()}
        weight = weights.get(server.number)
        place = (str(server.datacenter), server.rack, None, groups.get(server.number))
        weight = 1 if weight is None else weight
        servers.append(
            Server(server.name, "zookeeper", *place, weight, server.votes, networks=_networks(server, addresses))
        )
    for broker in sorted(model.brokers, key=lambda broker: broker.number or 0):
        racks = (broker.rack, broker.kafka_rack)
        connected = connected_servers(model, broker)
        inner = _networks(broker, [item.address for item in broker.listeners if item.name == str(broker.inter_broker)])
        some = connected if 0 < len(connected) < len(model.servers) else None
        servers.append(Server(broker.name, "kafka", str(broker.datacenter), *racks, connects_to=some, networks=inner))
    first = model.brokers[0] if model.brokers else None
    return Layout(
        tuple(servers),
        (first.replication_factor or 1) if first else 1,
        (first.inputs.whole("kafka_min_insync_replicas") or 1) if first else 1,
    )


def _networks(machine: Machine, addresses: Iterable[Any]) -> frozenset[str]:
    """Return the networks of a host in which `addresses` are; both for a wildcard or another address."""
    by_address = {str(machine.address(network)): network for network in NETWORKS}
    found = frozenset(by_address.get(str(address), "") for address in addresses)
    return frozenset(NETWORKS) if "" in found or not found else found


def connected_servers(model: Model, broker: Broker) -> frozenset[str]:
    """Return the names of the declared ZooKeeper servers to which a broker connects (zookeeper.connect)."""
    places = connect_places(model)
    return frozenset(places[entry] for entry in broker.zookeeper_connect if entry in places)


def connect_places(model: Model) -> dict[str, str]:
    """Return {"address:port" of each client port of ZooKeeper: name of the ZooKeeper server}."""
    return {
        f"{address}:{port}": server.name
        for server in model.servers
        for address in server.addresses
        for port in server.ports.values()
    }


def most_replicas(model: Model, factor: int) -> int | None:
    """Return the largest number of replicas of one partition that Kafka may place in the same datacenter.

    `factor` is the replication factor. Return None if Kafka would not create a topic with it.
    """
    racks = {broker.number: broker.kafka_rack for broker in model.brokers if broker.number is not None}
    try:
        sets = placements(racks, factor)
    except ValueError:
        return None
    sites = [{broker.number for broker in members} for members in datacenters(model.brokers).values()]
    return max(len(replicas & site) for replicas in sets for site in sites)


def shares_of_brokers(model: Model, factor: int) -> dict[str, float]:
    """Return {broker: the share of partitions of which it has a replica}, as Kafka places replicas on racks.

    `factor` is the replication factor. Return {} if Kafka would not create a topic with it.
    """
    racks = {broker.number: broker.kafka_rack for broker in model.brokers if broker.number is not None}
    try:
        loads = shares(racks, factor)
    except ValueError:
        return {}
    return {broker.name: loads[broker.number] for broker in model.brokers if broker.number is not None}


def most_in_one_rack(model: Model, factor: int) -> int | None:
    """Return the largest number of replicas of one partition that Kafka may place in the same rack.

    `factor` is the replication factor. Return None if a broker has no rack, if there is only one rack, or if Kafka
    would not create a topic with this factor.
    """
    racks = {broker.number: broker.kafka_rack for broker in model.brokers if broker.number is not None}
    if len(set(racks.values())) < 2 or None in racks.values():
        return None
    try:
        sets = placements(racks, factor)
    except ValueError:
        return None
    members = [{number for number, own in racks.items() if own == rack} for rack in set(racks.values())]
    return max(len(replicas & site) for replicas in sets for site in members)
