"""Rules on who a host is: ids and function; where it stands is another module's (places)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions as known
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import inputs, laid
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import holders
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

OTHER_GROUPS = ("admin",)
MOST_ID = 2**31 - 1  # of Java's int
# Other words for functions.
MEANT = {"broker": "kafka", "brokers": "kafka", "zk": "zookeeper", "zookeepers": "zookeeper", "zoo": "zookeeper"}
# What a subject (RFC 4514) has to escape, and what means something in a rule that maps subjects.
STRANGE = re.compile(r"""[^\w\s.&:@!%~-]|[^\S ]""")
OF_RULES = frozenset("()[]{}*?|^$/")


def ids(model: Model) -> Iterator[Problem]:
    """Ids are declared on each host, whole numbers in range, and unique.

    Up to reserved.broker.max.id they are only where Kafka makes ids up (kafka.server.KafkaConfig.validateValues), and
    the role says that it does not.
    """
    own = "every ensemble member needs an id of its own"
    yield from _ids(model.servers, "zookeeper_id", (1, 255), "ZOOKEEPER", own)
    own = "every broker needs an id of its own, and keeps it for life"
    yield from _ids(model.brokers, "kafka_broker_id", (0, MOST_ID), "KAFKA", own)


def _ids(machines: Sequence[Machine], name: str, limits: tuple[int, int], code: str, advice: str) -> Iterator[Problem]:
    found = []
    low, high = limits
    for machine in machines:
        value, number = machine.inputs.values.get(name), machine.inputs.whole(name)
        if value is None:
            if not machine.failed(name):
                advised = f"write it on the host's line: {advice}"
                yield machine.problem(name, f"{code}_ID_MISSING", None, "not declared", advised)
        elif number is not None and not low <= number <= high:
            yield machine.problem(name, f"{code}_ID_RANGE", value, f"not a whole number from {low} to {high}", advice)
        elif number is not None:
            found.append((number, machine.name))
    for value, hosts in holders(iter(found)).items():
        yield Problem(tuple(hosts), name, f"{code}_ID_DUPLICATE", value, f"declared {len(hosts)} times", advice)


def meant(name: str) -> str | None:
    """Return the function that the name of a group is almost, has among its words, or means."""
    words = re.split(r"[^a-z0-9]+", name.lower())
    close = difflib.get_close_matches(name.lower(), known(), n=1, cutoff=0.75)
    others = [MEANT.get(word, word) for word in words if MEANT.get(word, word) in known()]
    return nearest(name, known()) or next(iter([*close, *others]), None)


def nobody(groups: Mapping[str, Sequence[str]]) -> Problem:
    """Return what is wrong with an inventory of which no host has a function."""
    own = [name for name in groups if name not in ("all", "ungrouped", *known()) and groups[name]]
    wrong = f"no host is in a group of {', '.join(known())}, so nothing would be done"
    wrongly = [f"{name} for {near}" for name in own if (near := meant(name))]
    advice = f"you wrote {', '.join(wrongly)}" if wrongly else "name the groups of hosts so (inventories/README.md)"
    shown = f"{len(groups.get('all', ()))} hosts in {', '.join(own) or 'no group'}"
    return Problem((), "", "FUNCTIONS_NONE", shown, wrong, advice)


def functions(model: Model) -> Iterator[Problem]:
    """Hosts are in a function group, brokers have an ensemble, and the two do not share hosts."""
    if not model.function_hosts:
        yield nobody(model.all_groups)
        return
    for host in model.all_groups["all"]:
        if host not in model.function_hosts and not any(
            host in model.all_groups.get(name, []) for name in OTHER_GROUPS
        ):
            yield _without_function(model, model.machines[host])
    if model.brokers and not model.servers and not _meant_for(model, "zookeeper"):
        yield from _without_ensemble(model)
    for server in model.servers:
        if model.is_in("kafka", server) and not server.inputs.on("allow_colocated"):
            wrong = "a ZooKeeper server and a broker on one host fail together and share their disks' latency"
            yield server.problem(
                "", "COLOCATED", None, wrong, "give each a host of its own, or set allow_colocated: true"
            )


def _meant_for(model: Model, function: str) -> bool:
    """Tell whether a group's name means a function without being it."""
    return any(meant(name) == function for name in model.all_groups if name not in known())


def _without_ensemble(model: Model) -> Iterator[Problem]:
    told = [broker for broker in model.brokers if broker.zookeeper_connect]
    for broker in told:
        wrong = (
            "an ensemble of which no server is in this inventory: nobody would know before a restart whether it is "
            "whole, nor see to its certificates and to whose the znodes are"
        )
        advice = "declare its servers as hosts of the group zookeeper"
        shown = ", ".join(broker.zookeeper_connect)
        yield broker.problem("kafka_zookeeper_connect", "ENSEMBLE_ELSEWHERE", shown, wrong, advice)
    if not told:
        wrong, advice = "brokers are declared and no ZooKeeper host is", "declare the ensemble's hosts"
        yield Problem((), "group zookeeper", "GROUP_EMPTY", None, wrong, advice)


def _without_function(model: Model, machine: Machine) -> Problem:
    """Return what is wrong with a host that is nothing: what only a broker or a server has says that it was meant."""
    groups = [name for name, hosts in model.all_groups.items() if machine.name in hosts]
    near = {name: one for name in groups if (one := meant(name))}
    # What every host has from groups/*.yml says nothing.
    written = [(name, function) for function, name in inputs("identity") if name in machine.written - laid()]
    wrong = f"in none of the groups {', '.join(model.groups)}, so nothing is done on it"
    advice = "put it into its function group, or take it out"
    if near:
        name = min(near, key=len)
        advice = f"write {near[name]} for the group {name}"
    elif written:
        wrong, advice = f"{wrong}, and it has {written[0][0]}", f"put it into the group {written[0][1]}"
    # One that stands in our own groups alone is a name that was written wrongly.
    ours = {"all", "ungrouped", *map(str, {other.datacenter for other in model.functional})}
    placed = len(set(groups) - {"all"}) > 0 and all(name in ours or name.startswith("rack_") for name in groups)
    if placed and not (near or written):
        wrong, advice = f"{wrong}, though it has a rack or a datacenter", "correct the name, or put it into its group"
        similar = nearest(machine.name, model.function_hosts)
        advice = f"did you mean {similar}? Else put it into its function group" if similar else advice
    warning = not (near or written or placed)
    return machine.problem("", "HOST_WITHOUT_FUNCTION", None, wrong, advice, warning=warning)


OF_ALL = ("layout", "promise", "organization", "security_profile", "site_environment")
OF_BROKERS = ("kafka_restart_margin", "kafka_restart_accepts")
"""What one question asks for several of them."""


def same_site(model: Model) -> Iterator[Problem]:
    """What a site is, all its hosts say alike, and its brokers what is of the cluster."""
    alike: list[tuple[str, Sequence[Machine], str, str]] = [
        *((name, model.functional, "site", "hosts") for name in OF_ALL),
        *((name, model.brokers, "cluster", "brokers") for name in OF_BROKERS),
    ]
    for name, machines, whole, who in alike:
        told: dict[str, list[str]] = {}
        for machine in machines:
            told.setdefault(str(machine.inputs.get(name)), []).append(machine.name)
        if len(told) > 1:
            value, few = min(told.items(), key=lambda item: (len(item[1]), item[0]))
            wrong = f"other {who} have {', '.join(sorted(other for other in told if other != value))}"
            advice = f"say it once, for all {who}"
            yield Problem(tuple(few), name, "SITE_DIFFERS", value, f"{wrong}, and it is of the {whole}", advice)


def keeper(model: Model) -> Iterator[Problem]:
    """What the control node has to show is kept with the certificates of a host that is there."""
    for machine in model.functional:
        name = machine.inputs.text("admin_keeper")
        if name is not None and name not in model.function_hosts:
            near = nearest(name, model.function_hosts)
            wrong = "no host of the inventory that has certificates"
            advice = f"did you mean {near}?" if near else "leave it out: the first ZooKeeper server"
            yield machine.problem("admin_keeper", "KEEPER_UNKNOWN", name, wrong, advice)


def host_case(model: Model) -> Iterator[Problem]:
    """No two hosts have one name but for its case: DNS, /etc/hosts and certificates do not tell them apart."""
    alike = holders((name.lower(), name) for name in model.hosts)
    for hosts in alike.values():
        wrong = "one name but for its case, which /etc/hosts and certificates do not tell apart"
        yield Problem(tuple(hosts), "", "HOST_CASE", None, wrong, "give each a name of its own")


def organization(model: Model) -> Iterator[Problem]:
    """The O= of all subjects is a text that subjects, and the rules that match them, can hold."""
    for machine in model.functional:
        value = machine.inputs.text("organization")
        if value is None and machine.inputs.values.get("organization", "") is None:
            value = ""  # null
        if value is None:
            continue
        strange = sorted(set(STRANGE.findall(value)))
        if strange or not value.strip() or value != value.strip():
            wrong = _strange(strange) if strange else "empty at an end"
            wrong = wrong if value.strip() else "empty, and every certificate has it in its subject"
            advice = "write a name of letters, digits, spaces, dots and hyphens, as Example Inc."
            yield machine.problem("organization", "ORGANIZATION_INVALID", repr(value), wrong, advice)


def _strange(signs: Sequence[str]) -> str:
    """Return what signs of an organization break: subjects of certificates, or the rules that match them."""
    ours = [sign for sign in signs if sign in OF_RULES]
    others = [sign for sign in signs if sign not in OF_RULES]
    told = [f"{' '.join(map(repr, others))} would break the subjects of certificates"] if others else []
    means = "means" if len(ours) == 1 else "mean"
    more = f"{' '.join(map(repr, ours))} {means} something else in the rules that make names of subjects "
    told += [f"{more}(principal_mapping_rules), which would not match"] if ours else []
    return ", and ".join(told)


def pki_directory(model: Model) -> Iterator[Problem]:
    """The hosts of a cluster have their certificates from one folder, with one CA."""
    told: dict[str, list[str]] = {}
    for machine in model.functional:
        if folder := machine.inputs.text("pki_directory"):
            told.setdefault(str(PurePosixPath(folder)), []).append(machine.name)
    if len(told) > 1:
        most = max(told, key=lambda folder: len(told[folder]))
        wrong, advice = f"the other hosts have {most}, and would not trust its certificates", "set it once, for all"
        for folder, hosts in told.items():
            if folder != most:
                yield Problem(tuple(hosts), "pki_directory", "PKI_DIRECTORY_DIFFERS", folder, wrong, advice)
