"""Rules on the location of hosts: datacenters, racks, and the layout that they must fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, datacenters, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.layouts import LAYOUTS, STRETCHED
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import (
    most_in_one_rack,
    most_replicas,
    shares_of_brokers,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

LEAST_SKEW = 0.05  # a smaller difference between the shares of two brokers is not reported
DATACENTER_MISSING = ProblemKind(
    "DATACENTER_MISSING",
    "not declared",
    "set it for the inventory or for a group of hosts, for example datacenter: dc1",
)
DATACENTER_TYPO = ProblemKind(
    "DATACENTER_TYPO",
    "only this host is in this datacenter, whose name is almost that of another",
    "did you mean {near}?",
)


def declared(model: Model) -> Iterator[Problem]:
    """Yield a problem for each host without a datacenter, or whose datacenter looks like a typo of another name."""
    for machine in model.cluster:
        if not (machine.datacenter or "").strip():
            yield machine.report(DATACENTER_MISSING, "datacenter")
    everything = datacenters(model.functional)
    for name in sorted(name for name, hosts in everything.items() if len(hosts) == 1):
        near = nearest(name, set(everything) - {name})
        if near and len(everything[near]) > 1:
            warning = len(name) == len(near)
            yield everything[name][0].report(DATACENTER_TYPO, "datacenter", name, warning=warning, near=near)


DATACENTER_GROUP = ProblemKind(
    "DATACENTER_GROUP",
    "the host is in group {datacenter_group}, whose hosts are in datacenter {datacenter_group}",
    "remove this line, or remove the host from group {datacenter_group}",
)


def datacenter_groups(model: Model) -> Iterator[Problem]:
    """Yield a problem for each host in a group named like a datacenter, if the host's `datacenter` is another."""
    known = datacenters(model.functional)
    for name in known:
        for machine in model.functional:
            own = machine.datacenter
            if machine.name in model.all_groups.get(name, ()) and own not in (None, name) and known[own][1:]:
                yield machine.report(DATACENTER_GROUP, "datacenter", own, datacenter_group=name)


LAYOUT_DATACENTERS = ProblemKind(
    "LAYOUT_DATACENTERS",
    "brokers are in {datacenters}",
    "correct layout or datacenter: {layout} requires {required}",
)
LAYOUT_DATACENTERS_WITNESSES = LAYOUT_DATACENTERS.variant(
    message="brokers are in {datacenters}, ZooKeeper servers without brokers in {witnesses}"
)
DATACENTER_WITHOUT_ZOOKEEPER = ProblemKind(
    "DATACENTER_WITHOUT_ZOOKEEPER",
    "this datacenter has brokers, but no ZooKeeper server",
    "add ZooKeeper servers: a stretched layout has servers in each datacenter with brokers",
)


def required_datacenters(layout: str) -> str:
    """Return the datacenters that a layout requires as a text: "2 datacenters with brokers and one witness"."""
    brokers, witnesses = LAYOUTS[layout]
    return f"{brokers} datacenter{'' if brokers == 1 else 's'} with brokers{' and one witness' if witnesses else ''}"


def layout(model: Model) -> Iterator[Problem]:
    """Yield a problem if the number of datacenters does not fit the variable `layout`.

    Also yield a problem for each datacenter with brokers, but without ZooKeeper servers.
    """
    brokers, servers = datacenters(model.brokers), datacenters(model.servers)
    if not (brokers and servers):
        return
    witnesses = [name for name in servers if name not in brokers]
    expected = LAYOUTS.get(model.layout)
    if expected and (len(brokers), len(witnesses)) != expected:
        kind = LAYOUT_DATACENTERS_WITNESSES if witnesses else LAYOUT_DATACENTERS
        yield kind.problem(
            (),
            "layout",
            model.layout,
            datacenters=sorted(brokers),
            witnesses=sorted(witnesses),
            layout=model.layout,
            required=required_datacenters(model.layout),
        )
    for name, members in brokers.items():
        if name not in servers and model.layout != "single":
            yield DATACENTER_WITHOUT_ZOOKEEPER.problem(names(members), "datacenter", name)


def odd_racks(model: Model) -> list[Broker]:
    """Return the brokers whose kafka_rack differs from the name of their datacenter, unlike most brokers there.

    Most brokers of the datacenter use its name as kafka_rack. Return [] unless the layout is stretched.
    """
    odd_ones = []
    for name, members in datacenters(model.brokers).items() if model.layout in STRETCHED else ():
        odd = [broker for broker in members if broker.kafka_rack not in (None, name)]
        odd_ones += odd if len(odd) <= len(members) / 2 else []
    return odd_ones


def of_uneven_racks(model: Model, factor: int, least: int) -> bool:
    """Tell whether only the different sizes of racks prevent that every record is in each datacenter.

    Return False for layouts other than stretch2. `factor` is the replication factor, `least` is min.insync.replicas.
    """
    sizes = Counter(broker.kafka_rack for broker in model.brokers if broker.kafka_rack)
    return model.layout == "stretch2" and len(set(sizes.values())) > 1 and least > -(-factor // 2)


RACK_MISSING = ProblemKind(
    "RACK_MISSING",
    "the broker has no rack, so replicas cannot be spread and topic creation fails",
    "put the host into a rack_* group, or set rack",
)
RACK_ODD = ProblemKind(
    "RACK_ODD",
    "the other brokers of datacenter {datacenter} have the rack {datacenter}: this broker would be alone in its rack",
    "remove the rack, or set it to {datacenter}",
)
RACK_SINGLE = ProblemKind(
    "RACK_SINGLE",
    "all brokers are in one rack, so replicas are not spread at all",
    "set rack to the failure domain of each host, or use groups rack_*",
    warning=True,
)
RACK_UNEVEN = ProblemKind(
    "RACK_UNEVEN",
    "the racks have different numbers of brokers: with {replicas} replicas, {most_loaded} has a replica of {most} % of "
    "the partitions, {least_loaded} of {least} %",
    "give each rack the same number of brokers ({numbers} brokers in all)",
    warning=True,
)
RACK_UNEVEN_STRETCH2 = RACK_UNEVEN.variant(
    message="the datacenters have different numbers of brokers, so some partitions have up to {most} of {replicas} "
    "replicas in one datacenter",
)
RACK_UNEVEN_LOSS = RACK_UNEVEN.variant(
    message="the racks have different numbers of brokers, so up to {most} of {replicas} replicas are in one rack: "
    "writes stop if that rack fails",
    advice="use at least {replicas} racks",
)


def _uneven(model: Model, sizes: Mapping[str, int], factor: int) -> Iterator[Problem]:
    """Yield a problem if racks of different sizes have an effect on where Kafka places replicas.

    `sizes` is {rack: number of its brokers}, `factor` the replication factor. With stretch2, too many replicas in one
    datacenter are an error; with other layouts, and as long as no datacenter has too many, an uneven share of replicas
    per broker is a warning. So is a rack without which writes stop.
    """
    loads = shares_of_brokers(model, factor)
    if len(set(sizes.values())) < 2 or not loads:
        return
    count, total = len(sizes), sum(sizes.values())
    fewer, more = total // count * count, -(-total // count) * count
    details: dict[str, Any] = {
        "replicas": factor,
        "numbers": " or ".join(str(number) for number in sorted({fewer, more}) if number >= max(factor, count)),
    }
    value, hosts = ", ".join(f"{rack} {number}" for rack, number in sorted(sizes.items())), names(model.brokers)
    most = most_replicas(model, factor) or 0
    if model.layout == "stretch2" and most > -(-factor // 2):
        yield RACK_UNEVEN_STRETCH2.problem(hosts, "kafka_rack", value, warning=False, most=most, **details)
    elif max(loads.values()) - min(loads.values()) > LEAST_SKEW:
        high, low = max(loads, key=lambda name: loads[name]), min(loads, key=lambda name: loads[name])
        percent: dict[str, Any] = {"most": f"{100 * loads[high]:.0f}", "least": f"{100 * loads[low]:.0f}"}
        yield RACK_UNEVEN.problem(hosts, "kafka_rack", value, most_loaded=high, least_loaded=low, **percent, **details)
    elif model.layout == "single":
        most, least = most_in_one_rack(model, factor) or 0, model.brokers[0].inputs.whole("kafka_min_insync_replicas")
        if least is not None and least <= factor and factor - most < least:
            yield RACK_UNEVEN_LOSS.problem(hosts, "kafka_rack", value, most=most, **details)


CLIENT_RACK = ProblemKind(
    "CLIENT_RACK",
    "no broker has this kafka_rack ({racks}): consumers read from leaders, also in other datacenters",
    "set client_rack to the kafka_rack of near brokers, or to '' if consumers may read from afar",
    warning=True,
)


def client_racks(model: Model) -> Iterator[Problem]:
    """Yield a warning for each host with jobs whose client_rack is the rack of no broker.

    A datacenter without brokers has no rack to read from.
    """
    known, servers = {broker.kafka_rack for broker in model.brokers}, {*names(model.brokers), *names(model.servers)}
    empty = {machine.datacenter for machine in model.functional} - {*datacenters(model.brokers)}
    for machine in model.functional:
        value = machine.inputs.text("client_rack")
        if value and known and value not in {*known, *empty} and machine.name not in servers:
            yield machine.report(CLIENT_RACK, "client_rack", value, racks=sorted(map(str, known)))


def racks(model: Model) -> Iterator[Problem]:
    """Yield a problem for brokers without a rack, and for racks of different sizes or in several datacenters."""
    named = {broker.name: broker.kafka_rack for broker in model.brokers if broker.kafka_rack}
    for broker in model.brokers:
        if broker.name not in named and broker.datacenter is not None:
            yield broker.report(RACK_MISSING, "kafka_rack")
    odd = odd_racks(model)
    for broker in odd:
        yield broker.report(RACK_ODD, "kafka_rack", broker.kafka_rack, datacenter=broker.datacenter)
    sizes = Counter(named.values()) if not odd else Counter[str]()
    factor = next((broker.replication_factor for broker in model.brokers), None) or 0
    if len(sizes) == 1 and len(named) > 1 and factor > 1:
        yield RACK_SINGLE.problem(tuple(named), "kafka_rack", next(iter(sizes)))
    yield from _uneven(model, sizes, factor)
    by_datacenter = {
        name: {named[host] for host in names(members) if host in named}
        for name, members in datacenters(model.brokers).items()
    }
    yield from _racks_of_datacenters(model, factor, named, by_datacenter)


RACK_IN_TWO_DATACENTERS = ProblemKind(
    "RACK_IN_TWO_DATACENTERS",
    "the same rack in {datacenters}: Kafka would treat both as one failure domain",
    "begin the name of each rack with its datacenter, for example dc1-a",
)


RACK_TOO_MANY = ProblemKind(
    "RACK_TOO_MANY",
    "with more than {half} racks per datacenter, {lost} of {replicas} replicas of a partition can be in one datacenter",
    'use the datacenter as the rack: kafka_rack: "{{{{ datacenter }}}}"',
)


def _racks_of_datacenters(
    model: Model, factor: int, named: Mapping[str, str], by_datacenter: Mapping[str, set[str]]
) -> Iterator[Problem]:
    most = max((len(racks_there) for racks_there in by_datacenter.values()), default=0)
    if model.layout in ("stretch2", "stretch2_5") and factor and most > factor / 2:
        half, value = factor // 2, f"{most} racks in a datacenter"
        yield RACK_TOO_MANY.problem((), "kafka_rack", value, half=half, lost=half + 1, replicas=factor)
    for rack in dict.fromkeys(named.values()):
        places = sorted(name for name, racks_there in by_datacenter.items() if rack in racks_there)
        if len(places) > 1:
            hosts = tuple(host for host in named if named[host] == rack)
            yield RACK_IN_TWO_DATACENTERS.problem(hosts, "kafka_rack", rack, datacenters=" and ".join(places))


PLACE_BLANK = ProblemKind("PLACE_BLANK", "a blank at the start or the end", "write {text}")


def blanks(model: Model) -> Iterator[Problem]:
    """Yield a problem for each name of a datacenter or rack that begins or ends with a blank.

    Blanks are invisible, but Kafka compares the whole text.
    """
    for machine in model.functional:
        values = {name: machine.inputs.text(name) or "" for name in ("datacenter", "rack", "kafka_rack")}
        padded = [name for name, text in values.items() if text.strip() and text != text.strip()]
        for name in padded:
            if name != "kafka_rack" or padded == [name]:  # else derived from the other two
                yield machine.report(PLACE_BLANK, name, repr(values[name]), text=values[name].strip())


RACK_TWICE = ProblemKind(
    "RACK_TWICE", "the host is in {groups}", "remove the host from all rack_* groups but that of its rack"
)
RACK_GROUP = ProblemKind(
    "RACK_GROUP",
    "the host is in group {rack_group}, whose hosts are in rack {rack}",
    "remove this line, or remove the host from group {rack_group}",
)


def rack_groups(model: Model) -> Iterator[Problem]:
    """Yield a problem for each host in several rack_* groups, or with another rack than the hosts of its group.

    If several groups set the rack, Ansible silently uses the value of the group whose name sorts last.
    """
    groups = {name: set(members) for name, members in model.all_groups.items() if name.startswith("rack_")}
    for machine in model.functional:
        own = sorted(name for name, members in groups.items() if machine.name in members)
        innermost = [name for name in own if not any(groups[name] > groups[other] for other in own)]
        if len(innermost) > 1:
            yield machine.report(RACK_TWICE, "rack", machine.rack, groups=" and ".join(innermost))
        elif own and machine.rack is not None:
            name = innermost[0]
            others = Counter(str(model.machines[host].rack) for host in groups[name] if host != machine.name)
            most, count = others.most_common(1)[0] if others else (machine.rack, 0)
            if most != str(machine.rack) and count > len(groups[name]) / 2:
                yield machine.report(RACK_GROUP, "rack", machine.rack, rack_group=name, rack=most)


RACK_SAME = ProblemKind(
    "RACK_SAME",
    "also the rack of {others}, so Kafka treats all these hosts as one failure domain",
    "give each rack its own name, or put the hosts into one group",
)


def rack_names(model: Model) -> Iterator[Problem]:
    """Yield a problem if several rack_* groups set the same rack name: Kafka would treat them as one failure domain."""
    groups_of: dict[tuple[str | None, str], list[str]] = {}
    for group, members in model.all_groups.items():
        racks = {(machine.datacenter, machine.rack) for host in members if (machine := model.machines.get(host))}
        if group.startswith("rack_") and len(racks) == 1 and (place := next(iter(racks)))[1]:
            groups_of.setdefault((place[0], str(place[1])), []).append(group)
    for (_, rack), groups in groups_of.items():
        outermost = [name for name in groups if not any(_inside(model, name, other) for other in groups)]
        if len(outermost) > 1:
            hosts = tuple(host for host in model.all_groups[outermost[-1]] if host in model.function_hosts)
            yield RACK_SAME.problem(hosts, "rack", rack, others=" and ".join(outermost[:-1]))


def _inside(model: Model, group: str, other: str) -> bool:
    return group != other and set(model.all_groups[group]) <= set(model.all_groups[other])


RACK_TYPO = ProblemKind(
    "RACK_TYPO",
    "only this host in {datacenter} is in this rack, whose name is almost that of another",
    "did you mean {near}?",
)


def rack_typos(model: Model) -> Iterator[Problem]:
    """Yield a problem for each rack of a single host whose name looks like a typo of a larger rack's name."""
    racked = [machine for machine in model.functional if machine.rack is not None]
    by_datacenter = {name: {str(machine.rack) for machine in members} for name, members in datacenters(racked).items()}
    counts = Counter(str(machine.rack) for machine in racked)
    for name, racks_here in by_datacenter.items():
        elsewhere = set().union(*(racks for other, racks in by_datacenter.items() if other != name))
        for rack in sorted(racks_here):
            others = (elsewhere if len(by_datacenter) > 1 else set(counts)) - {rack}
            near = nearest(rack, {other for other in others if counts[other] > 1})
            if rack not in elsewhere and counts[rack] == 1 and near and len(rack) > 1:
                hosts = tuple(machine.name for machine in racked if machine.rack == rack)
                warning = len(rack) == len(near)
                yield RACK_TYPO.problem(hosts, "rack", rack, warning=warning, datacenter=name, near=near)
