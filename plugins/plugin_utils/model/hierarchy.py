"""Rules on ZooKeeper's hierarchical quorum: voting groups (zookeeper_groups), weights of votes, observers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, datacenters, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.ensemble import (
    ids_of,
    observer_details,
    without_voters,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import ZooKeeperServer
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.layouts import STRETCHED
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import layout_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typed_values import OTHER_FORM
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.quorum import quorum

UNKNOWN = ("no ZooKeeper server has this id", "use the zookeeper_id of a server")
ZOOKEEPER_OBSERVER_UNKNOWN = ProblemKind("ZOOKEEPER_OBSERVER_UNKNOWN", *UNKNOWN)


def observers(model: Model) -> Iterator[Problem]:
    """Yield a problem for each id in zookeeper_observers that is not the id of a ZooKeeper server."""
    for first in model.servers[:1]:  # another rule requires that all servers have the same
        for number in sorted(first.observers - {server.number for server in model.servers}):
            yield ZOOKEEPER_OBSERVER_UNKNOWN.problem(names(model.servers), "zookeeper_observers", number)


ZOOKEEPER_WEIGHT_UNKNOWN = ProblemKind("ZOOKEEPER_WEIGHT_UNKNOWN", *UNKNOWN)
ZOOKEEPER_WEIGHT_RANGE = ProblemKind(
    "ZOOKEEPER_WEIGHT_RANGE", "not a whole number of at least 0", "set a weight, for example 1"
)
ZOOKEEPER_WEIGHTS_IDLE = ProblemKind(
    "ZOOKEEPER_WEIGHTS_IDLE",
    "with weights, ZooKeeper requires a group for every voter: without zookeeper_groups, no server would start",
    "remove it, or set zookeeper_groups",
)


def weights(model: Model) -> Iterator[Problem]:
    """Yield a problem for each entry of zookeeper_weights with an unknown server id or an invalid weight.

    Also yield a problem if zookeeper_weights is set without zookeeper_groups.
    """
    for first in model.servers[:1]:
        known, where = {server.number for server in model.servers}, names(model.servers)
        for key, weight in first.weights.items():
            variable = f"zookeeper_weights[{key}]"
            if whole(key) not in known:
                yield ZOOKEEPER_WEIGHT_UNKNOWN.problem(where, variable, weight)
            if (number := whole(weight)) is None or number < 0:
                yield ZOOKEEPER_WEIGHT_RANGE.problem(where, variable, weight)
        if first.weights and not first.groups:
            yield ZOOKEEPER_WEIGHTS_IDLE.problem(where, "zookeeper_weights")


ZOOKEEPER_GROUP_UNKNOWN = ProblemKind("ZOOKEEPER_GROUP_UNKNOWN", *UNKNOWN)
ZOOKEEPER_GROUP_OBSERVER = ProblemKind(
    "ZOOKEEPER_GROUP_OBSERVER", "{server} is an observer, and observers do not vote", "remove its id from the group"
)
ZOOKEEPER_GROUP_NONE = ProblemKind(
    "ZOOKEEPER_GROUP_NONE",
    "the server with this id is in no group, so ZooKeeper would not start",
    "add its id to the group of its datacenter",
)
ZOOKEEPER_GROUP_NONE_DATACENTER = ZOOKEEPER_GROUP_NONE.variant(
    advice="add a group for its datacenter, for example {number}: [{ids}], or remove zookeeper_groups"
)
ZOOKEEPER_GROUP_TWICE = ProblemKind(
    "ZOOKEEPER_GROUP_TWICE",
    "the server with this id is in {count} groups, so ZooKeeper would not start",
    "remove the id from all groups but one",
)
ZOOKEEPER_GROUP_TWICE_INSIDE = ZOOKEEPER_GROUP_TWICE.variant(
    message="the group contains this id {count} times, so ZooKeeper would not start", advice="keep the id once"
)


def membership(model: Model) -> Iterator[Problem]:
    """Yield a problem for each voter in no group or in several groups, and for each group member that does not vote."""
    for first in model.servers[:1]:
        numbers = {server.number: server for server in model.servers}
        count = Counter(number for members in first.groups.values() for number in set(members))
        for name, members in first.groups.items():
            variable, where = f"zookeeper_groups[{name}]", names(model.servers)
            for member, times in Counter(members).items():
                if times > 1:
                    yield ZOOKEEPER_GROUP_TWICE_INSIDE.problem(where, variable, member, count=times)
                if member not in numbers:
                    yield ZOOKEEPER_GROUP_UNKNOWN.problem(where, variable, member)
                elif member in first.observers:
                    yield ZOOKEEPER_GROUP_OBSERVER.problem(where, variable, member, server=numbers[member].name)
        for number, server in numbers.items() if first.groups else ():
            if server.votes and number is not None and not count[number]:
                yield _in_no_group(model, server)
            elif count[number] > 1:
                yield server.report(ZOOKEEPER_GROUP_TWICE, "zookeeper_groups", number, count=count[number])


def _in_no_group(model: Model, server: ZooKeeperServer) -> Problem:
    """Return the problem of a voter that is in none of the zookeeper_groups.

    The advice depends on whether a group for the voter's datacenter exists.
    """
    groups, near = model.servers[0].groups, datacenters(model.voters).get(server.datacenter or "", [])
    ids = [voter.number for voter in near or [server]]
    if any(number in members for members in groups.values() for number in ids):
        return server.report(ZOOKEEPER_GROUP_NONE, "zookeeper_groups", server.number)
    number = max((whole(name) or 0 for name in groups), default=0) + 1
    kind = ZOOKEEPER_GROUP_NONE_DATACENTER
    return server.report(kind, "zookeeper_groups", server.number, number=number, ids=ids)


ZOOKEEPER_GROUP_NAME = ProblemKind(
    "ZOOKEEPER_GROUP_NAME",
    "the key of a group is not a number, so ZooKeeper would not start",
    "use numbers as keys: {{1: [1, 2, 3], 2: [4, 5, 6]}}",
)


ZOOKEEPER_GROUP_NAME_FORM = ZOOKEEPER_GROUP_NAME.variant(message=OTHER_FORM, advice="write {number}")


def numbers(model: Model) -> Iterator[Problem]:
    """Yield a problem for each key of zookeeper_groups (the name of a voting group) that is not a number.

    Also yield a problem for each text like 01 among the ids in zookeeper_groups, zookeeper_weights and
    zookeeper_servers.
    """
    for first in model.servers[:1]:
        for name in first.groups:
            if whole(name) is None:
                yield ZOOKEEPER_GROUP_NAME.problem(names(model.servers), "zookeeper_groups", name)
        for variable in ("zookeeper_groups", "zookeeper_weights", "zookeeper_servers"):
            for key, value in first.inputs.mapping(variable).items():
                ids = value if isinstance(value, (list, tuple)) and variable == "zookeeper_groups" else ()
                for written in (key, *ids, *([value] if variable == "zookeeper_weights" else ())):
                    number = whole(written)
                    if isinstance(written, str) and number is not None and written != str(number):
                        yield ZOOKEEPER_GROUP_NAME_FORM.problem(
                            names(model.servers), f"{variable}[{key}]", f"'{written}'", number=number
                        )


ZOOKEEPER_DECISIVE = ProblemKind(
    "ZOOKEEPER_DECISIVE",
    "forms a quorum alone: its failure loses writes that nothing else has acknowledged",
    "remove zookeeper_weights, and give each datacenter a group",
)
DEFAULT_GROUPS = {"advice": "remove zookeeper_groups (default: one group for each datacenter)"}
ZOOKEEPER_DECISIVE_GROUPS = ZOOKEEPER_DECISIVE.variant(**DEFAULT_GROUPS)


def decisive(model: Model) -> Iterator[Problem]:
    """Yield a problem for each datacenter or server whose loss would stop the ZooKeeper ensemble or lose data.

    The remaining servers must have a quorum if layout and promise require it. The lost servers must not have a quorum
    by themselves: data that only they acknowledged would be lost with them.
    """
    groups = model.servers[0].groups if model.servers else {}
    weights = model.servers[0].weights if model.servers else {}
    placed = Counter(number for members in groups.values() for number in members)
    reported = None in map(whole, groups) or any((whole(weight) or 0) < 0 for weight in weights.values())
    reported = reported or bool(without_voters(model))
    if reported or placed != Counter(voter.number for voter in model.voters) or len(model.voters) < 3:
        return
    layout = layout_of(model)
    sites = datacenters(model.voters) if model.layout in STRETCHED else {}
    failures = {f"datacenter {name}": names(members) for name, members in sites.items()}
    site_failures = frozenset(failures)
    failures |= {voter.name: (voter.name,) for voter in model.voters} if weights else {}
    everybody, where = {voter.name for voter in layout.voters}, names(model.servers)
    available = any(server.available for server in model.servers)
    survived = [name for name in failures if name not in site_failures or model.layout != "stretch2"]
    indispensable = [name for name in survived if not quorum(layout, everybody - set(failures[name]))]
    if indispensable:
        yield _indispensable(model, indispensable)
    variable = "zookeeper_weights" if weights else "zookeeper_groups"
    for name, members in failures.items():
        if name not in indispensable and quorum(layout, set(members)):
            # Of stretch2 alone: in other layouts the loss of such a datacenter or server leaves no quorum.
            kind = ZOOKEEPER_DECISIVE if weights else ZOOKEEPER_DECISIVE_GROUPS
            yield kind.problem(where, variable, name, warning=available)


ZOOKEEPER_INDISPENSABLE = ProblemKind(
    "ZOOKEEPER_INDISPENSABLE",
    "if {failures} fails, the quorum is lost, but the layout promises to continue",
    "remove zookeeper_weights, and give each datacenter a group",
)
ZOOKEEPER_INDISPENSABLE_GROUPS = ZOOKEEPER_INDISPENSABLE.variant(**DEFAULT_GROUPS)
ZOOKEEPER_INDISPENSABLE_MUTE = ZOOKEEPER_INDISPENSABLE.variant(
    message="{server} does not vote: if {failures} fails, the quorum is lost, but the layout promises to continue"
)


def _indispensable(model: Model, failures: Sequence[str]) -> Problem:
    """Return the problem of failures (of datacenters or servers) that leave no quorum, against the layout.

    The problem names the entry of zookeeper_weights if there is exactly one.
    """
    weights, where, joined = model.servers[0].weights, names(model.servers), " or ".join(failures)
    variable = "zookeeper_weights" if weights else "zookeeper_groups"
    if len(weights) != 1:
        return (ZOOKEEPER_INDISPENSABLE if weights else ZOOKEEPER_INDISPENSABLE_GROUPS).problem(
            where, variable, failures=joined
        )
    key, weight = next(iter(weights.items()))
    variable = f"{variable}[{key}]"
    without_vote = [server.name for server in model.servers if server.number == whole(key) and not whole(weight)]
    if without_vote:
        return ZOOKEEPER_INDISPENSABLE_MUTE.problem(where, variable, weight, server=without_vote[0], failures=joined)
    return ZOOKEEPER_INDISPENSABLE.problem(where, variable, weight, failures=joined)


ZOOKEEPER_GROUP_EVEN = ProblemKind(
    "ZOOKEEPER_GROUP_EVEN",
    "a group of {size} needs {majority} servers, and survives no more failures than a group of {smaller}",
    "use an odd number of servers",
)
ZOOKEEPER_GROUP_EVEN_OBSERVERS = ZOOKEEPER_GROUP_EVEN.variant(
    message="{observers} {verb} not vote, so {groups}",
    advice="remove it, or choose observers so that an odd number votes in each datacenter",
)
ZOOKEEPER_GROUP_SIZES = ProblemKind(
    "ZOOKEEPER_GROUP_SIZES",
    "the smaller group survives fewer failures than the larger",
    "give both groups the same number of servers",
)
ZOOKEEPER_GROUP_SIZES_OBSERVERS = ZOOKEEPER_GROUP_SIZES.variant(
    message="{observers} {verb} not vote, so {smallest} survives fewer failures than the other datacenter",
    advice="remove it, or choose observers so that an odd number votes in each datacenter",
)
SAME_IN_BOTH = {"advice": "remove it, or choose observers so that the same odd number votes in both datacenters"}
ZOOKEEPER_GROUP_MIXED = ProblemKind(
    "ZOOKEEPER_GROUP_MIXED",
    "the servers of this group are in {datacenters}: the quorum would not depend on datacenters",
    "set one group for each datacenter",
)


def of_observers(model: Model) -> Problem | None:
    """Return a problem that names observers as the reason why voting groups have even or unequal sizes, or None.

    Observers do not vote: without zookeeper_observers, the groups would be valid. Return None unless each group has
    exactly the voters of one datacenter (the default).
    """
    observers, sites = [server for server in model.servers if not server.votes], datacenters(model.voters)
    groups = {frozenset(members) for members in model.servers[0].groups.values()}
    if not observers or groups != {frozenset(voter.number for voter in members) for members in sites.values()}:
        return None
    pair = model.layout == "stretch2"
    whole_sizes = [len(members) for members in datacenters(model.servers).values()]
    sizes = {name: len(members) for name, members in sites.items()}
    even = [name for name, number in sizes.items() if number % 2 == 0]
    uneven = pair and len(set(sizes.values())) > 1
    if not all(number % 2 for number in whole_sizes) or (pair and len(set(whole_sizes)) > 1) or not (even or uneven):
        return None
    kind = ZOOKEEPER_GROUP_EVEN_OBSERVERS if even else ZOOKEEPER_GROUP_SIZES_OBSERVERS
    return (kind.variant(**SAME_IN_BOTH) if pair else kind).problem(
        names(model.servers),
        "zookeeper_observers",
        ids_of(observers),
        **observer_details(observers),
        groups=" and ".join(
            f"the {sizes[name]} servers of {name} survive no more failures than {sizes[name] - 1}" for name in even
        ),
        smallest=min(sizes, key=lambda name: sizes[name]),
    )


def shapes(model: Model) -> Iterator[Problem]:
    """Yield a problem for each voting group with an even number of servers, or with servers of several datacenters.

    Also yield a problem if the layout is stretch2 and the groups have different sizes.
    """
    for first in model.servers[:1]:
        where, sizes = names(model.servers), {name: len(members) for name, members in first.groups.items()}
        for name, number in sizes.items():
            if number % 2 == 0:
                yield ZOOKEEPER_GROUP_EVEN.problem(
                    where,
                    f"zookeeper_groups[{name}]",
                    f"{number} servers",
                    majority=number // 2 + 1,
                    size=number,
                    smaller=number - 1,
                )
        if model.layout == "stretch2" and len(set(sizes.values())) > 1:
            value = ", ".join(f"{name}: {number}" for name, number in sizes.items())
            yield ZOOKEEPER_GROUP_SIZES.problem(where, "zookeeper_groups", value)
        datacenter_of = {server.number: str(server.datacenter) for server in model.servers}
        for name, members in first.groups.items():
            places = sorted({datacenter_of[number] for number in members if number in datacenter_of})
            if len(places) > 1 and model.layout != "single":
                variable = f"zookeeper_groups[{name}]"
                yield ZOOKEEPER_GROUP_MIXED.problem(where, variable, datacenters=" and ".join(places))
