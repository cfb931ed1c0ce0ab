"""Rules on where a host stands: datacenters and racks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import STRETCHED, Model, datacenters, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# What a layout means: datacenters with brokers, and witnesses, which have ZooKeeper servers alone.
MEANT = {"single": (1, 0), "stretch2": (2, 0), "stretch2_5": (2, 1), "stretch3": (3, 0)}


def declared(model: Model) -> Iterator[Problem]:
    """Every host of the cluster stands in a datacenter, and none is named almost as another."""
    for machine in model.cluster:
        if not (machine.datacenter or "").strip():
            advice = "set it for the inventory or for a group of hosts"
            yield machine.problem("datacenter", "DATACENTER_MISSING", None, "not declared", advice)
    everything = datacenters(model.functional)
    for name in sorted(name for name, hosts in everything.items() if len(hosts) == 1):
        other = nearest(name, set(everything) - {name})
        if other and len(everything[other]) > 1:
            wrong, advice = "a datacenter of this one host, named almost as another", f"did you mean {other}?"
            alike = len(name) == len(other)
            yield everything[name][0].problem("datacenter", "DATACENTER_TYPO", name, wrong, advice, warning=alike)


def datacenter_groups(model: Model) -> Iterator[Problem]:
    """A host in the group that has a datacenter's name stands there."""
    known = datacenters(model.functional)
    for name in known:
        for machine in model.functional:
            stands = machine.datacenter
            if machine.name in model.all_groups.get(name, ()) and stands not in (None, name) and known[stands][1:]:
                wrong = f"in group {name}, whose hosts stand in {name}"
                advice = f"take the line out, or the host out of group {name}"
                yield machine.problem("datacenter", "DATACENTER_GROUP", machine.datacenter, wrong, advice)


def layout(model: Model) -> Iterator[Problem]:
    """There are as many datacenters as the layout says, each with servers."""
    brokers, servers = datacenters(model.brokers), datacenters(model.servers)
    if not (brokers and servers):
        return
    witnesses = [name for name in servers if name not in brokers]
    expected = MEANT.get(model.layout)
    if expected and (len(brokers), len(witnesses)) != expected:
        alone = f", ZooKeeper servers alone in {', '.join(sorted(witnesses))}" if witnesses else ""
        wrong = f"brokers stand in {', '.join(sorted(brokers))}{alone}"
        means = f"{model.layout} means {expected[0]} with brokers{' and one witness' if expected[1] else ''}"
        yield Problem((), "layout", "LAYOUT_DATACENTERS", model.layout, wrong, f"{means}: correct layout or datacenter")
    for name, members in brokers.items():
        if name not in servers and model.layout != "single":
            wrong = "brokers and no ZooKeeper server in this datacenter"
            advice = "a stretched layout has servers wherever it has brokers"
            yield Problem(names(members), "datacenter", "DATACENTER_WITHOUT_ZOOKEEPER", name, wrong, advice)


def odd_racks(model: Model) -> list[Broker]:
    """Return the brokers whose rack is not their datacenter, where that of half of those beside them is."""
    found = []
    for name, members in datacenters(model.brokers).items() if model.layout in STRETCHED else ():
        odd = [broker for broker in members if broker.kafka_rack not in (None, name)]
        found += odd if len(odd) <= len(members) / 2 else []
    return found


def of_uneven_racks(model: Model, factor: int, least: int) -> bool:
    """Tell whether records that a datacenter holds alone would be in both with as many brokers in each."""
    sizes = Counter(broker.kafka_rack for broker in model.brokers if broker.kafka_rack)
    return model.layout == "stretch2" and len(set(sizes.values())) > 1 and least > -(-factor // 2)


def racks(model: Model) -> Iterator[Problem]:
    """Every broker names its rack, racks are of one size, and each belongs to one datacenter."""
    named = {broker.name: broker.kafka_rack for broker in model.brokers if broker.kafka_rack}
    for broker in model.brokers:
        if broker.name not in named and broker.datacenter is not None:
            wrong = "the broker has no rack, so replicas cannot be spread and topic creation fails"
            yield broker.problem(
                "kafka_rack", "RACK_MISSING", None, wrong, "put the host into a rack_* group, or set rack"
            )
    odd = odd_racks(model)
    for broker in odd:
        wrong = f"the other brokers of {broker.datacenter} have it for their rack, and this one would be a rack alone"
        advice = f"take it out, or write {broker.datacenter}"
        yield broker.problem("kafka_rack", "RACK_ODD", broker.kafka_rack, wrong, advice)
    sizes = Counter(named.values()) if not odd else Counter[str]()
    factor = next((broker.replication_factor for broker in model.brokers), None) or 0
    if len(sizes) == 1 and len(named) > 1 and factor > 1:
        wrong = "all brokers are in one rack, so replicas are not spread at all"
        advice = "name the failure domains of the hosts"
        yield Problem(tuple(named), "kafka_rack", "RACK_SINGLE", next(iter(sizes)), wrong, advice, warning=True)
    if len(sizes) > 1 and len(set(sizes.values())) > 1:
        shown = ", ".join(f"{rack} {number}" for rack, number in sorted(sizes.items()))
        wrong = f"brokers per rack: {shown}; the small racks carry more replicas each"
        if model.layout == "stretch2":
            wrong += ", and some partitions get more replicas in one datacenter"
        advice = "give each rack the same number of brokers"
        yield Problem((), "kafka_rack", "RACK_UNEVEN", None, wrong, advice, warning=model.layout != "stretch2")
    found = {
        name: {named[host] for host in names(members) if host in named}
        for name, members in datacenters(model.brokers).items()
    }
    yield from _racks_of_datacenters(model, factor, named, found)


RACK_TOO_MANY = ProblemKind(
    "RACK_TOO_MANY",
    "with more than {half} racks per datacenter, {lost} of {replicas} replicas of a partition can be in one datacenter",
    'use the datacenter as the rack: kafka_rack: "{{{{ datacenter }}}}"',
)


def _racks_of_datacenters(
    model: Model, factor: int, named: Mapping[str, str], found: Mapping[str, set[str]]
) -> Iterator[Problem]:
    most = max((len(racks_there) for racks_there in found.values()), default=0)
    if model.layout in ("stretch2", "stretch2_5") and factor and most > factor / 2:
        half, value = factor // 2, f"{most} racks in a datacenter"
        yield RACK_TOO_MANY.problem((), "kafka_rack", value, half=half, lost=half + 1, replicas=factor)
    for rack in dict.fromkeys(named.values()):
        places = sorted(name for name, racks_there in found.items() if rack in racks_there)
        if len(places) > 1:
            hosts = tuple(host for host in named if named[host] == rack)
            wrong = f"one rack in {' and '.join(places)}: Kafka would take the two for one failure domain"
            advice = "begin its name with the datacenter's"
            yield Problem(hosts, "kafka_rack", "RACK_IN_TWO_DATACENTERS", rack, wrong, advice)


def blanks(model: Model) -> Iterator[Problem]:
    """Names of places have no blank at an end: nobody sees it, and Kafka compares the whole text."""
    for machine in model.functional:
        told = {name: machine.inputs.text(name) or "" for name in ("datacenter", "rack", "kafka_rack")}
        found = [name for name, text in told.items() if text.strip() and text != text.strip()]
        for name in found:
            if name != "kafka_rack" or found == [name]:  # else made of the other two
                text = told[name]
                yield machine.problem(name, "PLACE_BLANK", repr(text), "a blank at an end", f"write {text.strip()}")


def rack_groups(model: Model) -> Iterator[Problem]:
    """A host is in one rack: of two groups that say it, the last by name would win without a word."""
    groups = {name: set(members) for name, members in model.all_groups.items() if name.startswith("rack_")}
    for machine in model.functional:
        found = sorted(name for name, members in groups.items() if machine.name in members)
        apart = [name for name in found if not any(groups[name] > groups[other] for other in found)]
        if len(apart) > 1:
            wrong, advice = f"in {' and '.join(apart)}", "take it out of all but the one in which it stands"
            yield machine.problem("rack", "RACK_TWICE", machine.rack, wrong, advice)
        elif found and machine.rack is not None:
            name = apart[0]
            others = Counter(str(model.machines[host].rack) for host in groups[name] if host != machine.name)
            most, count = others.most_common(1)[0] if others else (machine.rack, 0)
            if most != str(machine.rack) and count > len(groups[name]) / 2:
                wrong = f"in group {name}, whose hosts stand in {most}"
                advice = f"take the line out, or the host out of group {name}"
                yield machine.problem("rack", "RACK_GROUP", machine.rack, wrong, advice)


def rack_names(model: Model) -> Iterator[Problem]:
    """Two groups of racks that name one rack are one failure domain: the name was copied, and not changed."""
    told: dict[tuple[str | None, str], list[str]] = {}
    for group, members in model.all_groups.items():
        racks = {(machine.datacenter, machine.rack) for host in members if (machine := model.machines.get(host))}
        if group.startswith("rack_") and len(racks) == 1 and (place := next(iter(racks)))[1]:
            told.setdefault((place[0], str(place[1])), []).append(group)
    for (_, rack), groups in told.items():
        apart = [name for name in groups if not any(_inside(model, name, other) for other in groups)]
        if len(apart) > 1:
            hosts = tuple(host for host in model.all_groups[apart[-1]] if host in model.function_hosts)
            wrong = f"that of {' and '.join(apart[:-1])} as well, so all of them are one failure domain"
            yield Problem(hosts, "rack", "RACK_SAME", rack, wrong, "give each rack a name, or put the hosts into one")


def _inside(model: Model, group: str, other: str) -> bool:
    return group != other and set(model.all_groups[group]) <= set(model.all_groups[other])


def rack_typos(model: Model) -> Iterator[Problem]:
    """A rack that one datacenter alone has is suspect where the others' racks are the same."""
    racked = [machine for machine in model.functional if machine.rack is not None]
    by_datacenter = {name: {str(machine.rack) for machine in members} for name, members in datacenters(racked).items()}
    counts = Counter(str(machine.rack) for machine in racked)
    for name, racks_here in by_datacenter.items():
        elsewhere = set().union(*(found for other, found in by_datacenter.items() if other != name))
        for rack in sorted(racks_here):
            others = (elsewhere if len(by_datacenter) > 1 else set(counts)) - {rack}
            near = nearest(rack, {other for other in others if counts[other] > 1})
            if rack not in elsewhere and counts[rack] == 1 and near and len(rack) > 1:
                hosts = tuple(machine.name for machine in racked if machine.rack == rack)
                wrong, advice = f"a rack of this one host in {name}, named almost as another", f"did you mean {near}?"
                alike = len(rack) == len(near)
                yield Problem(hosts, "rack", "RACK_TYPO", rack, wrong, advice, warning=alike)
