"""Rules on the identity of hosts: functions, ids, and values that all hosts share (topology.py has racks)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions as known
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import inputs, project_variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import holders, is_host_name, is_local_name
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind, count

OTHER_GROUPS = ("admin",)
MAX_ID = 2**31 - 1  # of Java's int
# Synonyms of functions.
SYNONYMS = {"broker": "kafka", "brokers": "kafka", "zk": "zookeeper", "zookeepers": "zookeeper", "zoo": "zookeeper"}
# Characters that a subject (RFC 4514) has to escape, or that have a meaning in a rule that maps subjects.
SPECIAL = re.compile(r"""[^\w\s.&:@!%~-]|[^\S ]""")
SPECIAL_IN_RULES = frozenset("()[]{}*?|^$/")


@dataclass(frozen=True)
class IdKinds:
    """The kinds of problems of an id: it is missing, out of range, or a duplicate."""

    missing: ProblemKind
    range: ProblemKind
    duplicate: ProblemKind


ONE_MEMBER = "every ZooKeeper server needs an id of its own"
ONE_BROKER = "every broker needs an id of its own, and keeps this id"
OUTSIDE, DECLARED_TWICE = "not a whole number from {low} to {high}", "{count} hosts have this id"
ZOOKEEPER_IDS = IdKinds(
    ProblemKind("ZOOKEEPER_ID_MISSING", "not declared", f"set a number on the host's line: {ONE_MEMBER}"),
    ProblemKind("ZOOKEEPER_ID_RANGE", OUTSIDE, f"set another number: {ONE_MEMBER}"),
    ProblemKind("ZOOKEEPER_ID_DUPLICATE", DECLARED_TWICE, f"change it on all hosts but one: {ONE_MEMBER}"),
)
KAFKA_IDS = IdKinds(
    ProblemKind("KAFKA_ID_MISSING", "not declared", f"set a number on the host's line: {ONE_BROKER}"),
    ProblemKind("KAFKA_ID_RANGE", OUTSIDE, f"set another number: {ONE_BROKER}"),
    ProblemKind("KAFKA_ID_DUPLICATE", DECLARED_TWICE, f"change it on all hosts but one: {ONE_BROKER}"),
)


def ids(model: Model) -> Iterator[Problem]:
    """Yield a problem for each missing, invalid or duplicate zookeeper_id and kafka_broker_id.

    Ids above reserved.broker.max.id are valid, because the role turns off Kafka's own generation of ids.
    """
    yield from _ids(model.servers, "zookeeper_id", (1, 255), ZOOKEEPER_IDS)
    yield from _ids(model.brokers, "kafka_broker_id", (0, MAX_ID), KAFKA_IDS)


def _ids(machines: Sequence[Machine], name: str, limits: tuple[int, int], kinds: IdKinds) -> Iterator[Problem]:
    valid = []
    low, high = limits
    for machine in machines:
        value, number = machine.inputs.values.get(name), machine.inputs.whole(name)
        if value is None:
            if not machine.failed(name):
                yield machine.report(kinds.missing, name)
        elif number is not None and not low <= number <= high:
            yield machine.report(kinds.range, name, value, low=low, high=high)
        elif number is not None:
            valid.append((number, machine.name))
    for value, hosts in holders(iter(valid)).items():
        yield kinds.duplicate.problem(hosts, name, value, count=len(hosts))


def meant(name: str) -> str | None:
    """Return the function that a group name probably means, such as kafka for "kafkas" or "brokers"; else None."""
    words = re.split(r"[^a-z0-9]+", name.lower())
    close = difflib.get_close_matches(name.lower(), known(), n=1, cutoff=0.75)
    others = [SYNONYMS.get(word, word) for word in words if SYNONYMS.get(word, word) in known()]
    return nearest(name, known()) or next(iter([*close, *others]), None)


FUNCTIONS_NONE = ProblemKind(
    "FUNCTIONS_NONE",
    "no host is in one of the groups {functions}, so nothing would be done",
    "use these names for the groups of hosts (inventories/README.md)",
)
FUNCTIONS_NONE_NAMES = FUNCTIONS_NONE.variant(advice="{steps}")


def without_functions(groups: Mapping[str, Sequence[str]]) -> Problem:
    """Return the problem "no host is in the group of a function", which names a misspelt group if there is any.

    `groups` is {group: its hosts}.
    """
    own = [name for name in groups if name not in ("all", "ungrouped", *known()) and groups[name]]
    value = f"{count(groups.get('all', ()), 'host')} in {', '.join(own) or 'no group'}"
    names = dict[str, list[str]]()
    for name in own:
        if near := meant(name):
            names.setdefault(near, []).append(name)
    if names:
        steps = ", ".join(_renamed(near, found) for near, found in names.items())
        return FUNCTIONS_NONE_NAMES.problem((), "", value, functions=[*known()], steps=steps)
    return FUNCTIONS_NONE.problem((), "", value, functions=[*known()])


def _renamed(function: str, names: Sequence[str]) -> str:
    """Return the advice for groups whose names mean this function: two groups cannot get one name."""
    if len(names) == 1:
        return f"rename the group {names[0]} to {function}"
    return f"create a group {function} with the children {' and '.join(names)}"


COLOCATED = ProblemKind(
    "COLOCATED",
    "a ZooKeeper server and a broker on one host fail together and share their disks' latency",
    "move one of them to another host, or set allow_colocated: true",
)


def functions(model: Model) -> Iterator[Problem]:
    """Yield a problem for each host without a function, and for each host with both a ZooKeeper server and a broker.

    Also yield a problem if there are brokers, but no ZooKeeper servers.
    """
    if not model.function_hosts:
        yield without_functions(model.all_groups)
        return
    for host in model.all_groups["all"]:
        if host not in model.function_hosts and not any(
            host in model.all_groups.get(name, []) for name in OTHER_GROUPS
        ):
            yield _without_function(model, model.machines[host])
    if model.brokers and not model.servers and not _has_synonym(model, "zookeeper"):
        yield from _without_ensemble(model)
    for server in model.servers:
        if model.is_in("kafka", server) and not server.inputs.on("allow_colocated"):
            yield server.report(COLOCATED, "")


def _has_synonym(model: Model, function: str) -> bool:
    """Tell whether the name of some group is a typo or a synonym of this function, as "zk" of zookeeper."""
    return any(meant(name) == function for name in model.all_groups if name not in known())


ENSEMBLE_ELSEWHERE = ProblemKind(
    "ENSEMBLE_ELSEWHERE",
    "no server of this ensemble is in this inventory: a restart could not check that the ensemble is complete, and its "
    "certificates and the owners of znodes could not be managed",
    "declare its servers as hosts of the group zookeeper",
)
GROUP_EMPTY = ProblemKind(
    "GROUP_EMPTY",
    "the inventory has brokers, but no ZooKeeper server",
    "declare the ZooKeeper servers as hosts of the group zookeeper",
)


def _without_ensemble(model: Model) -> Iterator[Problem]:
    connected = [broker for broker in model.brokers if broker.zookeeper_connect]
    for broker in connected:
        yield broker.report(ENSEMBLE_ELSEWHERE, "kafka_zookeeper_connect", ", ".join(broker.zookeeper_connect))
    if not connected:
        yield GROUP_EMPTY.problem((), "group zookeeper")


HOST_WITHOUT_FUNCTION = ProblemKind(
    "HOST_WITHOUT_FUNCTION",
    "in none of the groups {functions}, so nothing is done on it",
    "add the host to one of these groups, or remove it",
)
HOST_WITHOUT_FUNCTION_GROUP = HOST_WITHOUT_FUNCTION.variant(advice="rename the group {typo} to {near}")
HOST_WITHOUT_FUNCTION_INPUT = HOST_WITHOUT_FUNCTION.variant(
    message="in none of the groups {functions}, so nothing is done on it, although it has {name}",
    advice="add the host to the group {function}",
)
HOST_WITHOUT_FUNCTION_PLACED = HOST_WITHOUT_FUNCTION.variant(
    message="in none of the groups {functions}, so nothing is done on it, although it has a rack or a datacenter",
    advice="correct the name of the host, or add the host to one of these groups",
)
HOST_WITHOUT_FUNCTION_NAME = HOST_WITHOUT_FUNCTION_PLACED.variant(
    advice="did you mean {near}? Else add the host to one of these groups"
)


def _without_function(model: Model, machine: Machine) -> Problem:
    """Return the problem of a host that is in the group of no function.

    The problem is an error instead of a warning if a group or variable of the host shows which function it should have.
    """
    groups = [name for name, hosts in model.all_groups.items() if machine.name in hosts]
    typos = {name: function for name in groups if (function := meant(name))}
    # Not the variables that every host has from functions/*.yml.
    set_inputs = [
        (name, function) for function, name in inputs("identity") if name in machine.written - project_variables()
    ]
    if typos:
        name = min(typos, key=len)
        return machine.report(
            HOST_WITHOUT_FUNCTION_GROUP, "", warning=False, functions=[*model.groups], near=typos[name], typo=name
        )
    if set_inputs:
        name, function = set_inputs[0]
        return machine.report(
            HOST_WITHOUT_FUNCTION_INPUT, "", warning=False, functions=[*model.groups], name=name, function=function
        )
    # A host that is only in groups of datacenters and racks probably has a mistyped name.
    places = {"all", "ungrouped", *map(str, {other.datacenter for other in model.functional})}
    if len(set(groups) - {"all"}) > 0 and all(name in places or name.startswith("rack_") for name in groups):
        if near := nearest(machine.name, model.function_hosts):
            return machine.report(HOST_WITHOUT_FUNCTION_NAME, "", functions=[*model.groups], near=near)
        return machine.report(HOST_WITHOUT_FUNCTION_PLACED, "", functions=[*model.groups])
    return machine.report(HOST_WITHOUT_FUNCTION, "", warning=True, functions=[*model.groups])


SITE_INPUTS = ("layout", "promise", "organization", "security_profile", "site_environment")
CLUSTER_INPUTS = ("kafka_restart_margin", "kafka_restart_accepts")
"""Variables that a playbook reads once for several brokers."""
SITE_DIFFERS = ProblemKind(
    "SITE_DIFFERS",
    "other {who} have {others}, and the whole {whole} requires one value",
    "set it once, for all {who}",
)


def same_site(model: Model) -> Iterator[Problem]:
    """Yield a problem for each variable that must have the same value on several hosts, but differs.

    Variables in SITE_INPUTS must be equal on all hosts, variables in CLUSTER_INPUTS on all brokers.
    """
    shared: list[tuple[str, Sequence[Machine], str, str]] = [
        *((name, model.functional, "site", "hosts") for name in SITE_INPUTS),
        *((name, model.brokers, "cluster", "brokers") for name in CLUSTER_INPUTS),
    ]
    for name, machines, whole, who in shared:
        by_value: dict[str, list[str]] = {}
        for machine in machines:
            by_value.setdefault(str(machine.inputs.get(name)), []).append(machine.name)
        if len(by_value) > 1:
            value, hosts = min(by_value.items(), key=lambda item: (len(item[1]), item[0]))
            others = sorted(other for other in by_value if other != value)
            yield SITE_DIFFERS.problem(hosts, name, value, who=who, others=others, whole=whole)


KEEPER_UNKNOWN = ProblemKind(
    "KEEPER_UNKNOWN",
    "not a host of the inventory that has certificates",
    "remove it (default: the first ZooKeeper server)",
)
KEEPER_UNKNOWN_MEANT = KEEPER_UNKNOWN.variant(advice="did you mean {near}?")


def keeper(model: Model) -> Iterator[Problem]:
    """Yield a problem if admin_keeper, the host that keeps the control node's certificates, is not in the inventory."""
    for machine in model.functional:
        name = machine.inputs.text("admin_keeper")
        if name is not None and name not in model.function_hosts:
            if near := nearest(name, model.function_hosts):
                yield machine.report(KEEPER_UNKNOWN_MEANT, "admin_keeper", name, near=near)
            else:
                yield machine.report(KEEPER_UNKNOWN, "admin_keeper", name)


HOST_GROUP = ProblemKind(
    "HOST_GROUP",
    "a host and a group have this name, so playbooks that name one reach the hosts of both",
    "rename the host, whose address and variables can stay",
)


def group_names(model: Model) -> Iterator[Problem]:
    """Yield a problem for each host with the name of a group."""
    for host in model.all_groups["all"]:
        if host in model.all_groups:
            yield model.machines[host].report(HOST_GROUP, "")


HOST_CASE = ProblemKind(
    "HOST_CASE",
    "their names differ only in upper and lower case, which /etc/hosts and certificates ignore",
    "rename all but one",
)


def host_case(model: Model) -> Iterator[Problem]:
    """Yield a problem for host names that differ only in upper and lower case, which DNS and certificates ignore."""
    same = holders((name.lower(), name) for name in model.hosts)
    for hosts in same.values():
        yield HOST_CASE.problem(hosts, "")


HOST_NAME = ProblemKind(
    "HOST_NAME",
    "not a valid name of a host: roles write it into /etc/hosts and into certificates",
    "rename the host in the inventory (letters, digits, - and dots, for example dc1-kafka1)",
)


def host_names(model: Model) -> Iterator[Problem]:
    """Yield a problem for each host of the inventory whose name cannot be the name of a host."""
    for name in model.all_groups["all"]:
        if not is_host_name(name):
            yield HOST_NAME.problem((name,), "")


HOST_LOCAL = ProblemKind(
    "HOST_LOCAL",
    "every host has this name already, for itself: other hosts would reach this host under another address",
    "give the host another name in the inventory, for example dc1-kafka1 (ansible_connection: local may stay)",
)


def local_names(model: Model) -> Iterator[Problem]:
    """Yield a problem for each host with a function whose name every host has for itself, as localhost."""
    for machine in model.functional:
        if is_local_name(machine.name):
            yield machine.report(HOST_LOCAL, "")


ORGANIZATION_INVALID = ProblemKind(
    "ORGANIZATION_INVALID",
    "{characters} would break the subjects of certificates",
    "use a name of letters, digits, spaces, dots and hyphens, for example Example Inc.",
)
ORGANIZATION_INVALID_RULES = ORGANIZATION_INVALID.variant(
    message="{in_rules}: special in the rules that derive names from subjects (principal_mapping_rules): "
    "these would not match"
)
ORGANIZATION_INVALID_BOTH = ORGANIZATION_INVALID.variant(
    message="{characters} would break the subjects of certificates, and {in_rules}: special in the rules "
    "that derive names from subjects (principal_mapping_rules): these would not match"
)
ORGANIZATION_INVALID_BLANK = ORGANIZATION_INVALID.variant(message="starts or ends with a blank")
ORGANIZATION_INVALID_EMPTY = ORGANIZATION_INVALID.variant(
    message="empty, but the subject of every certificate contains the organization"
)


def organization(model: Model) -> Iterator[Problem]:
    """Yield a problem if `organization`, which is O= in subjects of certificates, has characters that break them.

    Some characters also break the rules that derive user names from subjects.
    """
    for machine in model.functional:
        value = machine.inputs.text("organization")
        if value is None and machine.inputs.values.get("organization", "") is None:
            value = ""  # null
        if value is not None and (kind := _organization_kind(value)):
            special = sorted(set(SPECIAL.findall(value)))
            yield machine.report(
                kind,
                "organization",
                repr(value),
                characters=" ".join(repr(sign) for sign in special if sign not in SPECIAL_IN_RULES),
                in_rules=" ".join(repr(sign) for sign in special if sign in SPECIAL_IN_RULES),
            )


def _organization_kind(value: str) -> ProblemKind | None:
    """Return the kind of problem of an organization's name, None if the name is valid."""
    if not value.strip():
        return ORGANIZATION_INVALID_EMPTY
    special = set(SPECIAL.findall(value))
    if special:
        of_rules, of_subjects = special & SPECIAL_IN_RULES, special - SPECIAL_IN_RULES
        if of_rules and of_subjects:
            return ORGANIZATION_INVALID_BOTH
        return ORGANIZATION_INVALID_RULES if of_rules else ORGANIZATION_INVALID
    return ORGANIZATION_INVALID_BLANK if value != value.strip() else None


PKI_DIRECTORY_DIFFERS = ProblemKind(
    "PKI_DIRECTORY_DIFFERS",
    "the other hosts have {folder}, and would not trust certificates from this folder",
    "set it once, for all hosts",
)


def pki_directory(model: Model) -> Iterator[Problem]:
    """Yield a problem for the hosts whose pki_directory is not that of most hosts.

    Certificates from another pki_directory come from other CAs, which most hosts do not trust.
    """
    hosts_of: dict[str, list[str]] = {}
    for machine in model.functional:
        if folder := machine.inputs.text("pki_directory"):
            hosts_of.setdefault(str(PurePosixPath(folder)), []).append(machine.name)
    if len(hosts_of) > 1:
        most = max(hosts_of, key=lambda folder: len(hosts_of[folder]))
        for folder, hosts in hosts_of.items():
            if folder != most:
                yield PKI_DIRECTORY_DIFFERS.problem(hosts, "pki_directory", folder, folder=most)
