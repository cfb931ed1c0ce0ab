"""Rules on the ZooKeeper ensemble: size, groups, weights, observers, addresses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ..problems import Problem
from .base import Model, whole
from .networks import is_address


def members(value: Any) -> list[int | None]:
    """Return the ids of a group, written as a list or as ZooKeeper writes it (1:2:3)."""
    items = str(value).split(":") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else [value]
    return [whole(item) for item in items]


def groups_of(model: Model, host: str) -> dict[Any, list[int | None]]:
    """Return {group: ids} as a ZooKeeper host is told."""
    return {name: members(value) for name, value in model.mapping(host, "zookeeper_groups").items()}


def size(model: Model) -> Iterator[Problem]:
    """An ensemble is odd and small: an even one survives no more than the odd one below it, and each vote costs every write."""
    if not model.zookeeper:
        return
    voters, groups = len(model.voters), groups_of(model, model.zookeeper[0])
    if voters == 1 and not model.get(model.zookeeper[0], "allow_single_zookeeper"):
        yield Problem(
            (),
            "group zookeeper",
            "ZOOKEEPER_SINGLE",
            "1 server",
            "an ensemble of one survives nothing",
            "use 3, 5 or 7 servers, or set allow_single_zookeeper: true for a test",
        )
    elif voters % 2 == 0 and not groups and model.layout != "stretch2":
        wrong = f"an even ensemble survives no more failures than one of {voters - 1}"
        yield Problem((), "group zookeeper", "ZOOKEEPER_EVEN", f"{voters} servers", wrong, "use 3, 5 or 7 servers")
    if voters > 7:
        wrong = "every write waits for a majority of them, so it gets slower with each"
        advice = "use 7 voters at most, and zookeeper_observers for more readers"
        yield Problem((), "group zookeeper", "ZOOKEEPER_MANY", f"{voters} servers that vote", wrong, advice, warning=True)
    if model.layout == "stretch2" and not groups:
        yield Problem(
            (),
            "zookeeper_groups",
            "ZOOKEEPER_GROUPS_MISSING",
            None,
            "two datacenters without groups: rebuilding the quorum in the surviving one can lose acknowledged metadata",
            "set one group for each datacenter, as {1: [1, 2, 3], 2: [4, 5, 6]}",
        )
    if model.layout == "stretch3" and not groups:
        for name, hosts in model.datacenters(model.voters).items():
            if 2 * len(hosts) >= voters:
                yield Problem(
                    (),
                    "group zookeeper",
                    "ZOOKEEPER_DATACENTER_MAJORITY",
                    f"{len(hosts)} of {voters} in {name}",
                    f"with {name} the quorum is lost, and the layout promises to go on",
                    "spread the servers so that no datacenter holds half of them",
                )


def hierarchy(model: Model) -> Iterator[Problem]:
    """Each voter is in exactly one group; groups follow datacenters; weights and observers name servers that exist."""
    for host in model.zookeeper[:1]:  # that all are told the same is another rule
        numbers = {model.whole(server, "zookeeper_id"): server for server in model.zookeeper}
        groups, observers, voters = groups_of(model, host), model.observers(host), set(model.voters)
        for observer in sorted(n for n in observers if n not in numbers):
            yield Problem(
                tuple(model.zookeeper), "zookeeper_observers", "ZOOKEEPER_OBSERVER_UNKNOWN", observer, "no server has this id", "correct the id"
            )
        for key, weight in model.mapping(host, "zookeeper_weights").items():
            variable = f"zookeeper_weights[{key}]"
            if whole(key) not in numbers:
                yield Problem(tuple(model.zookeeper), variable, "ZOOKEEPER_WEIGHT_UNKNOWN", weight, "no server has this id", "correct the id")
            if (whole(weight) is None) or int(weight) < 0:
                yield Problem(
                    tuple(model.zookeeper), variable, "ZOOKEEPER_WEIGHT_RANGE", weight, "not a whole number from 0 on", "correct the weight"
                )
        if not groups:
            continue
        count = Counter(number for found in groups.values() for number in found)
        for name, found in groups.items():
            for member in found:
                where = f"zookeeper_groups[{name}]"
                if member not in numbers:
                    yield Problem(tuple(model.zookeeper), where, "ZOOKEEPER_GROUP_UNKNOWN", member, "no server has this id", "correct the id")
                elif member in observers:
                    wrong = f"{numbers[member]} is an observer, and observers do not vote"
                    yield Problem(tuple(model.zookeeper), where, "ZOOKEEPER_GROUP_OBSERVER", member, wrong, "take it out of the group")
        for number, server in numbers.items():
            if server in voters and number is not None and not count[number]:
                wrong = "in no group, and ZooKeeper would refuse to start"
                yield Problem((server,), "zookeeper_groups", "ZOOKEEPER_GROUP_NONE", number, wrong, "put its id into its datacenter's group")
            elif count[number] > 1:
                wrong = f"in {count[number]} groups, and ZooKeeper would refuse to start"
                yield Problem((server,), "zookeeper_groups", "ZOOKEEPER_GROUP_TWICE", number, wrong, "leave it in one")
        yield from _group_shapes(model, groups, numbers)


def _group_shapes(model: Model, groups: Mapping[Any, list[int | None]], numbers: Mapping[int | None, str]) -> Iterator[Problem]:
    sizes = {name: len(found) for name, found in groups.items()}
    for name, number in sizes.items():
        if number % 2 == 0:
            wrong = f"an even group is won by {number // 2 + 1} of {number}, and spares no more than one of {number - 1}"
            yield Problem(
                tuple(model.zookeeper), f"zookeeper_groups[{name}]", "ZOOKEEPER_GROUP_EVEN", f"{number} servers", wrong, "use an odd number"
            )
    if model.layout == "stretch2" and len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name}: {number}" for name, number in sizes.items())
        wrong = "the smaller datacenter spares fewer servers than the larger"
        yield Problem(tuple(model.zookeeper), "zookeeper_groups", "ZOOKEEPER_GROUP_SIZES", shown, wrong, "give both the same number")
    for name, found in groups.items():
        places = sorted({str(model.get(numbers[number], "datacenter")) for number in found if number in numbers})
        if len(places) > 1 and model.layout != "single":
            wrong = f"one group in {' and '.join(places)}: the quorum rule would not follow datacenters"
            advice = "one group for each datacenter"
            yield Problem(tuple(model.zookeeper), f"zookeeper_groups[{name}]", "ZOOKEEPER_GROUP_MIXED", None, wrong, advice)


def servers(model: Model) -> Iterator[Problem]:
    """All servers are told the same ensemble, and it is the declared one."""
    told: dict[str, list[str]] = {}
    for host in model.zookeeper:
        names = ("zookeeper_servers", "zookeeper_groups", "zookeeper_weights", "zookeeper_observers")
        told.setdefault(repr([_plain(model.get(host, name)) for name in names]), []).append(host)
    if len(told) > 1:
        few = min(told.values(), key=len)
        wrong = "told another ensemble than the other servers are"
        advice = "set zookeeper_servers, zookeeper_groups, zookeeper_weights and zookeeper_observers for the group, not for a host"
        yield Problem(tuple(few), "zookeeper_servers", "ZOOKEEPER_SERVERS_DIFFER", None, wrong, advice)
    numbers = {number: host for host in model.zookeeper if (number := model.whole(host, "zookeeper_id")) is not None}
    for host in model.zookeeper[:1]:
        ensemble = {whole(number): value for number, value in model.mapping(host, "zookeeper_servers").items()}
        if not ensemble or len(numbers) < len(model.zookeeper):
            continue
        for number, server in numbers.items():
            if number not in ensemble:
                wrong = "the ensemble does not know this server"
                yield Problem((server,), "zookeeper_servers", "ZOOKEEPER_SERVER_MISSING", number, wrong, "add its id and address")
        for number, value in ensemble.items():
            if number not in numbers:
                wrong = "no host of the group zookeeper has this id, and it would count as a vote that is never given"
                yield Problem(
                    tuple(model.zookeeper), "zookeeper_servers", "ZOOKEEPER_SERVER_UNKNOWN", number, wrong, "take it out, or declare the host"
                )
                continue
            server = numbers[number]
            own = {str(model.get(server, name)) for name in ("client_address", "replication_address")}
            for address in [value] if isinstance(value, str) else value if isinstance(value, (list, tuple)) else []:
                if str(address) not in own and is_address(address):
                    wrong = "not an address of this host"
                    yield Problem((server,), f"zookeeper_servers[{number}]", "ZOOKEEPER_SERVER_ADDRESS", address, wrong, "use its declared addresses")


def session(model: Model) -> Iterator[Problem]:
    """Brokers ask for a session that the ensemble grants, and that outlives a move of the quorum to the other network."""
    for host in model.zookeeper[:1]:
        config = model.mapping(host, "zookeeper_config")
        tick = whole(config.get("tickTime", 2000)) or 2000
        low, high = whole(config.get("minSessionTimeout", 2 * tick)) or 2 * tick, whole(config.get("maxSessionTimeout", 20 * tick)) or 20 * tick
        if low > high:
            wrong = f"minSessionTimeout {low} is longer than maxSessionTimeout {high}"
            yield Problem(tuple(model.zookeeper), "zookeeper_config", "ZOOKEEPER_SESSION_RANGE", None, wrong, "correct one of them")
        for broker in model.kafka:
            name = "zookeeper.session.timeout.ms"
            wanted = whole({**model.mapping(broker, "kafka_config"), **model.mapping(broker, "kafka_config_overrides")}.get(name, 18000))
            if wanted is not None and low <= high and not low <= wanted <= high:
                wrong = f"the ensemble grants {low} to {high} ms (2 to 20 ticks of {tick} ms), and would give another in silence"
                yield Problem((broker,), f"kafka_config[{name}]", "SESSION_TIMEOUT", wanted, wrong, "choose one in that range, or another tickTime")


def _plain(value: Any) -> Any:
    """Return dicts and lists without regard to how Ansible wraps them."""
    if isinstance(value, Mapping):
        return sorted((str(key), _plain(item)) for key, item in value.items())
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else str(value)
