"""Rules on the hierarchical quorum of ZooKeeper: groups, weights, observers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import STRETCHED, Model, datacenters, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import ZooKeeperServer
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import layout_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.quorum import quorum

UNKNOWN = ("no server has this id", "correct the id")


def observers(model: Model) -> Iterator[Problem]:
    """Observers are servers that exist."""
    for first in model.servers[:1]:  # that all are told the same is another rule
        for number in sorted(first.observers - {server.number for server in model.servers}):
            where = names(model.servers)
            yield Problem(where, "zookeeper_observers", "ZOOKEEPER_OBSERVER_UNKNOWN", number, *UNKNOWN)


def weights(model: Model) -> Iterator[Problem]:
    """Weights are whole numbers of servers that exist."""
    for first in model.servers[:1]:
        known, where = {server.number for server in model.servers}, names(model.servers)
        for key, weight in first.weights.items():
            variable = f"zookeeper_weights[{key}]"
            if whole(key) not in known:
                yield Problem(where, variable, "ZOOKEEPER_WEIGHT_UNKNOWN", weight, *UNKNOWN)
            if (number := whole(weight)) is None or number < 0:
                wrong = "not a whole number from 0 on"
                yield Problem(where, variable, "ZOOKEEPER_WEIGHT_RANGE", weight, wrong, "correct the weight")
        if first.weights and not first.groups:
            wrong = "with a weight ZooKeeper asks for the group of every voter, and would not start without "
            wrong += "zookeeper_groups"
            advice = "take them out, or set zookeeper_groups"
            yield Problem(where, "zookeeper_weights", "ZOOKEEPER_WEIGHTS_IDLE", None, wrong, advice)


def membership(model: Model) -> Iterator[Problem]:
    """Each voter is in exactly one group, and nobody else is."""
    for first in model.servers[:1]:
        numbers = {server.number: server for server in model.servers}
        count = Counter(number for found in first.groups.values() for number in found)
        for name, found in first.groups.items():
            for member in found:
                variable, where = f"zookeeper_groups[{name}]", names(model.servers)
                if member not in numbers:
                    yield Problem(where, variable, "ZOOKEEPER_GROUP_UNKNOWN", member, *UNKNOWN)
                elif member in first.observers:
                    wrong = f"{numbers[member].name} is an observer, and observers do not vote"
                    advice = "take it out of the group"
                    yield Problem(where, variable, "ZOOKEEPER_GROUP_OBSERVER", member, wrong, advice)
        for number, server in numbers.items() if first.groups else ():
            yield from _groups_of(server, count[number], _its_own(model, server))


def _its_own(model: Model, server: ZooKeeperServer) -> str:
    """Return what is advised to a server in no group: its datacenter may have none."""
    groups, near = model.servers[0].groups, datacenters(model.voters).get(server.datacenter or "", [])
    ids = [voter.number for voter in near or [server]]
    if any(number in found for found in groups.values() for number in ids):
        return "put its id into its datacenter's group"
    number = max((whole(name) or 0 for name in groups), default=0) + 1
    return f"give it a group of its datacenter, as {number}: {ids}, or leave zookeeper_groups out"


def _groups_of(server: ZooKeeperServer, groups: int, advice: str) -> Iterator[Problem]:
    variable = "zookeeper_groups"
    if server.votes and server.number is not None and not groups:
        wrong = "in no group, and ZooKeeper would refuse to start"
        yield server.problem(variable, "ZOOKEEPER_GROUP_NONE", server.number, wrong, advice)
    elif groups > 1:
        wrong = f"in {groups} groups, and ZooKeeper would refuse to start"
        yield server.problem(variable, "ZOOKEEPER_GROUP_TWICE", server.number, wrong, "leave it in one")


def numbers(model: Model) -> Iterator[Problem]:
    """Groups are numbered."""
    for first in model.servers[:1]:
        for name in first.groups:
            if whole(name) is None:
                wrong = "no number, and ZooKeeper would not start"
                advice = "number the groups: {1: [1, 2, 3], 2: [4, 5, 6]}"
                yield Problem(names(model.servers), "zookeeper_groups", "ZOOKEEPER_GROUP_NAME", name, wrong, advice)


def decisive(model: Model) -> Iterator[Problem]:
    """What may be lost is no quorum by itself, and the rest is one, as the layout and the promise say.

    The same arithmetic as the table of survival: with a quorum that is lost as a whole, what it acknowledged is gone.
    """
    groups = model.servers[0].groups if model.servers else {}
    weights = model.servers[0].weights if model.servers else {}
    placed = Counter(number for found in groups.values() for number in found)
    said = None in map(whole, groups) or any((whole(weight) or 0) < 0 for weight in weights.values())
    if said or placed != Counter(voter.number for voter in model.voters) or len(model.voters) < 3:
        return
    layout = layout_of(model)
    sites = datacenters(model.voters) if model.layout in STRETCHED else {}
    lost = {f"datacenter {name}": names(members) for name, members in sites.items()}
    sites_named = frozenset(lost)
    lost |= {voter.name: (voter.name,) for voter in model.voters} if weights else {}
    everybody, where = {voter.name for voter in layout.voters}, names(model.servers)
    available = any(server.available for server in model.servers)
    promised = [name for name in lost if name not in sites_named or model.layout != "stretch2"]
    needed = [name for name in promised if not quorum(layout, everybody - set(lost[name]))]
    if needed:
        yield _indispensable(model, needed)
    variable = "zookeeper_weights" if weights else "zookeeper_groups"
    for name, members in lost.items():
        if name not in needed and quorum(layout, set(members)):
            wrong = "a quorum by itself: what it alone has acknowledged is lost with it, and promise is zero_loss"
            advice = "leave zookeeper_weights out, and give each datacenter a group, or declare promise: available"
            yield Problem(where, variable, "ZOOKEEPER_DECISIVE", name, wrong, advice, warning=available)


def _indispensable(model: Model, needed: Sequence[str]) -> Problem:
    """Return what is said of datacenters and servers with which the quorum is lost: of a weight where there is one."""
    weights = model.servers[0].weights
    variable, value = "zookeeper_weights" if weights else "zookeeper_groups", None
    wrong = f"the quorum is lost with {' or with '.join(needed)}, and the layout promises to go on"
    if len(weights) == 1:
        key, value = next(iter(weights.items()))
        variable = f"{variable}[{key}]"
        mute = [server.name for server in model.servers if server.number == whole(key) and not whole(value)]
        wrong = f"{mute[0]} does not vote, so {wrong}" if mute else wrong
    advice = "leave zookeeper_weights out, and give each datacenter a group"
    return Problem(names(model.servers), variable, "ZOOKEEPER_INDISPENSABLE", value, wrong, advice)


def of_observers(model: Model) -> Problem | None:
    """Return what is said of observers without whom groups, which are those of the wiring, would be in order."""
    mute, sites = [server for server in model.servers if not server.votes], datacenters(model.voters)
    groups = {frozenset(found) for found in model.servers[0].groups.values()}
    if not mute or groups != {frozenset(voter.number for voter in members) for members in sites.values()}:
        return None
    pair = model.layout == "stretch2"
    whole_sizes = [len(members) for members in datacenters(model.servers).values()]
    sizes = {name: len(members) for name, members in sites.items()}
    even = [name for name, number in sizes.items() if number % 2 == 0]
    uneven = pair and len(set(sizes.values())) > 1
    if not all(number % 2 for number in whole_sizes) or (pair and len(set(whole_sizes)) > 1) or not (even or uneven):
        return None
    wrong = f"{' and '.join(names(mute))} {'does' if len(mute) == 1 else 'do'} not vote, so "
    spare = " and ".join(f"the {sizes[name]} servers of {name} spare no more than {sizes[name] - 1}" for name in even)
    wrong += spare or f"{min(sizes, key=lambda name: sizes[name])} spares fewer servers than the other datacenter"
    code = "ZOOKEEPER_GROUP_EVEN" if even else "ZOOKEEPER_GROUP_SIZES"
    advice = "take it out, or let an odd number vote in each" + (", the same in both" if pair else "")
    shown = ", ".join(str(server.number) for server in mute)
    return Problem(names(model.servers), "zookeeper_observers", code, shown, wrong, advice)


def shapes(model: Model) -> Iterator[Problem]:
    """Groups are odd, of one size in two datacenters, and each stands in one datacenter."""
    for first in model.servers[:1]:
        where, sizes = names(model.servers), {name: len(found) for name, found in first.groups.items()}
        for name, number in sizes.items():
            if number % 2 == 0:
                most = number // 2 + 1
                wrong = f"an even group is won by {most} of {number}, and spares no more than one of {number - 1}"
                shown, advice = f"{number} servers", "use an odd number"
                yield Problem(where, f"zookeeper_groups[{name}]", "ZOOKEEPER_GROUP_EVEN", shown, wrong, advice)
        if model.layout == "stretch2" and len(set(sizes.values())) > 1:
            shown = ", ".join(f"{name}: {number}" for name, number in sizes.items())
            wrong = "the smaller datacenter spares fewer servers than the larger"
            advice = "give both the same number"
            yield Problem(where, "zookeeper_groups", "ZOOKEEPER_GROUP_SIZES", shown, wrong, advice)
        stands = {server.number: str(server.datacenter) for server in model.servers}
        for name, found in first.groups.items():
            places = sorted({stands[number] for number in found if number in stands})
            if len(places) > 1 and model.layout != "single":
                wrong = f"one group in {' and '.join(places)}: the quorum rule would not follow datacenters"
                variable, advice = f"zookeeper_groups[{name}]", "one group for each datacenter"
                yield Problem(where, variable, "ZOOKEEPER_GROUP_MIXED", None, wrong, advice)
