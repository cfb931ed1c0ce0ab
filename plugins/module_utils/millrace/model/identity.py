"""Rules on who a host is: ids, function, datacenter, rack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..definitions import nearest
from ..problems import Problem
from .base import Model, holders, whole


def ids(model: Model) -> Iterator[Problem]:
    """Ids are declared on each host, whole numbers in range, and unique."""
    reserved = next((whole(model.mapping(host, "kafka_config").get("reserved.broker.max.id")) for host in model.kafka), None) or 1000
    yield from _ids(model, model.zookeeper, "zookeeper_id", 1, 255, "ZOOKEEPER", "every ensemble member needs an id of its own")
    yield from _ids(model, model.kafka, "kafka_broker_id", 0, reserved, "KAFKA", "every broker needs an id of its own, and keeps it for life")


def _ids(model: Model, members: Sequence[str], name: str, low: int, high: int, code: str, advice: str) -> Iterator[Problem]:
    found = []
    for host in members:
        value = model.hosts[host].get(name)
        if value is None:
            yield Problem((host,), name, f"{code}_ID_MISSING", None, "not declared", f"write it on the host's line: {advice}")
        elif not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            shown = repr(value) if isinstance(value, str) else value
            yield Problem((host,), name, f"{code}_ID_RANGE", shown, f"not a whole number from {low} to {high}", advice)
        else:
            found.append((value, host))
    for value, hosts in holders(iter(found)).items():
        yield Problem(tuple(hosts), name, f"{code}_ID_DUPLICATE", value, f"declared {len(hosts)} times", advice)


def functions(model: Model) -> Iterator[Problem]:
    """Hosts are in a function group, brokers have an ensemble, and the two do not share hosts."""
    for host in model.all_groups["all"]:
        if host not in model.function_hosts and not any(host in model.all_groups.get(name, []) for name in ("admin",)):
            yield Problem(
                (host,),
                "",
                "HOST_WITHOUT_FUNCTION",
                None,
                "in none of the groups zookeeper, kafka and spark, so nothing is done on it",
                "put it into its function group, or take it out",
                warning=True,
            )
    if model.kafka and not model.zookeeper:
        yield Problem((), "group zookeeper", "GROUP_EMPTY", None, "brokers are declared and no ZooKeeper host is", "declare the ensemble's hosts")
    for host in model.zookeeper:
        if host in model.kafka and not model.get(host, "allow_colocated"):
            yield Problem(
                (host,),
                "",
                "COLOCATED",
                None,
                "a ZooKeeper server and a broker on one host fail together and share their disks' latency",
                "give each a host of its own, or set allow_colocated: true",
            )


def datacenters(model: Model) -> Iterator[Problem]:
    """Every cluster host stands in a datacenter, and there are as many of them as the layout says."""
    for host in model.cluster_hosts:
        if model.get(host, "datacenter") is None:
            yield Problem((host,), "datacenter", "DATACENTER_MISSING", None, "not declared", "set it for the inventory or for a group of hosts")
    brokers, servers = model.datacenters(model.kafka), model.datacenters(model.zookeeper)
    everything = model.datacenters(model.function_hosts)
    for name in sorted(name for name, hosts in everything.items() if len(hosts) == 1):
        other = nearest(name, set(everything) - {name})
        if other and len(everything[other]) > 1:
            yield Problem(
                tuple(everything[name]),
                "datacenter",
                "DATACENTER_TYPO",
                name,
                "a datacenter of this one host, named almost as another",
                f"did you mean {other}?",
                warning=len(name) == len(other),
            )
    if not (brokers and servers):
        return
    witnesses = [name for name in servers if name not in brokers]
    expected = {"single": (1, 0), "stretch2": (2, 0), "stretch2_5": (2, 1), "stretch3": (3, 0)}.get(model.layout)
    if expected and (len(brokers), len(witnesses)) != expected:
        yield Problem(
            (),
            "layout",
            "LAYOUT_DATACENTERS",
            model.layout,
            f"brokers stand in {_names(brokers)}" + (f", ZooKeeper servers alone in {_names(witnesses)}" if witnesses else ""),
            f"{model.layout} means {expected[0]} with brokers" + (" and one witness" if expected[1] else "") + ": correct layout or datacenter",
        )
    for name in brokers:
        if name not in servers and model.layout != "single":
            yield Problem(
                tuple(brokers[name]),
                "datacenter",
                "DATACENTER_WITHOUT_ZOOKEEPER",
                name,
                "brokers and no ZooKeeper server in this datacenter",
                "a stretched layout has servers wherever it has brokers",
            )


def racks(model: Model) -> Iterator[Problem]:
    """Every broker names its rack, racks are of one size, and each belongs to one datacenter."""
    named = {host: str(model.hosts[host]["kafka_rack"]) for host in model.kafka if model.hosts[host].get("kafka_rack")}
    for host in model.kafka:
        if host not in named and model.get(host, "datacenter") is not None:
            yield Problem(
                (host,),
                "kafka_rack",
                "RACK_MISSING",
                None,
                "the broker has no rack, so replicas cannot be spread and topic creation fails",
                "put the host into a rack_* group, or set rack",
            )
    sizes = Counter(named.values())
    if len(sizes) == 1 and len(named) > 1 and (model.whole(model.kafka[0], "kafka_replication_factor") or 0) > 1:
        yield Problem(
            tuple(named),
            "kafka_rack",
            "RACK_SINGLE",
            next(iter(sizes)),
            "all brokers are in one rack, so replicas are not spread at all",
            "name the failure domains of the hosts",
            warning=True,
        )
    per_datacenter = {name: {named[host] for host in hosts if host in named} for name, hosts in model.datacenters(model.kafka).items()}
    if len(sizes) > 1 and len(set(sizes.values())) > 1:
        yield Problem(
            (),
            "kafka_rack",
            "RACK_UNEVEN",
            None,
            f"brokers per rack: {', '.join(f'{rack} {n}' for rack, n in sorted(sizes.items()))}; "
            "the small racks carry more replicas each"
            + (", and some partitions get more replicas in one datacenter" if model.layout == "stretch2" else ""),
            "give each rack the same number of brokers",
            warning=model.layout != "stretch2",
        )
    factor = next((model.whole(host, "kafka_replication_factor") for host in model.kafka), None)
    if model.layout in ("stretch2", "stretch2_5") and factor and any(len(found) > factor / 2 for found in per_datacenter.values()):
        most = max(len(found) for found in per_datacenter.values())
        yield Problem(
            (),
            "kafka_rack",
            "RACK_TOO_MANY",
            f"{most} racks in a datacenter",
            f"with more than {factor // 2} racks per datacenter partitions can get {factor // 2 + 1} of {factor} replicas in one datacenter",
            'let the datacenter be the rack: kafka_rack: "{{ datacenter }}"',
        )
    for rack in sizes:
        places = sorted(name for name, found in per_datacenter.items() if rack in found)
        if len(places) > 1:
            yield Problem(
                tuple(host for host in named if named[host] == rack),
                "kafka_rack",
                "RACK_IN_TWO_DATACENTERS",
                rack,
                f"one rack in {' and '.join(places)}: Kafka would take the two for one failure domain",
                "begin its name with the datacenter's",
            )
    yield from _rack_typos(model)


def _rack_typos(model: Model) -> Iterator[Problem]:
    """A rack that one datacenter alone has is suspect where the others' racks are the same."""
    words = {host: str(model.get(host, "rack")) for host in model.function_hosts if model.get(host, "rack") is not None}
    by_datacenter = {name: {words[host] for host in hosts if host in words} for name, hosts in model.datacenters(list(words)).items()}
    counts = Counter(words.values())
    for name, racks_here in by_datacenter.items():
        elsewhere = set().union(*(found for other, found in by_datacenter.items() if other != name))
        for rack in sorted(racks_here):
            others = (elsewhere if len(by_datacenter) > 1 else set(counts)) - {rack}
            near = nearest(rack, {other for other in others if counts[other] > 1})
            if rack not in elsewhere and counts[rack] == 1 and near and len(rack) > 1:
                yield Problem(
                    tuple(host for host, word in words.items() if word == rack),
                    "rack",
                    "RACK_TYPO",
                    rack,
                    f"a rack of this one host in {name}, named almost as another",
                    f"did you mean {near}?",
                    warning=len(rack) == len(near),
                )


def _names(datacenters: Sequence[str] | dict[str, list[str]]) -> str:
    return ", ".join(sorted(datacenters))
