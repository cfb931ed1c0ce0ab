"""Everything that is wrong with an inventory, each mistake once: what follows from another is left out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model, check_model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import (
    NAME,
    Causes,
    Standing,
    base,
    meant_by,
    texts,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.certificate_problems import certificate_problems
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.group_attribution import at_the_group
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.group_conflicts import rivals
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.inventory_files import (
    several,
    strays,
    without_wiring,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.job_configs import job_problems
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.origins import with_origin
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.parent_problems import (
    TYPE,
    of_a_whole,
    of_refused,
    where_written,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.plaintext_secrets import (
    secrets_in_the_clear,
    secrets_in_units,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.precedence import replaced, shadows
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.suppression import follows
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.template_errors import LOOP, file_of, worded
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.unused_variables import (
    mappings,
    texts_for_switches,
    unread,
    unread_names,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.variable_attribution import (
    of_observers,
    of_the_writer,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.yaml_numbers import other_numbers
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, merged

UNDEFINED = re.compile(r"'(\w+)' is undefined")
LACKING = re.compile(r"has no attribute '(\w+)'|has no element '(\w+)'")
# vault.passwords.orders, or with brackets; not what is called, or has a default.
PATH = re.compile(
    r"\b([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*|\[\s*'[^']+'\s*\]|\[\s*\"[^\"]+\"\s*\])+)(?![\w(]|\s*(?:\(|\|\s*d\w*\(|is\b))"
)

# Mistakes from which others follow, besides those of types: of these variables, or of the one that they speak of.
CAUSES: Mapping[str, tuple[str, ...]] = {
    "ORGANIZATION_INVALID": (),
    "NETWORKS_SWAPPED": ("client_network", "replication_network"),
    "NETWORK_ELSEWHERE": (),
    "ADDRESS_VERSION": (),
    "ADDRESS_INVALID": (),
    "ADDRESS_DUPLICATE": ("client_address", "replication_address"),
    "ADDRESS_OUTSIDE": (),
    "NETWORK_INVALID": (),
    "NETWORK_OVERLAP": ("client_network",),
    "LISTENER_ADDRESS": (),
    "RESOURCES_REPLACED": (),
    "LISTENER_UNKNOWN": ("kafka_listeners",),
    "SUPER_USER_INVALID": ("kafka_super_users",),
    "MIN_ISR_EQUAL": ("kafka_replication_factor",),
    "MIN_ISR_TOO_HIGH": ("kafka_replication_factor",),
    "MIN_ISR_TOO_LOW": ("kafka_replication_factor",),
    "ADVERTISED_INVALID": (),
    "ADVERTISED_LOCAL": (),
    "LISTENER_ADVERTISED": (),
    "AUTHORITY_NONE": ("pki_authorities",),
    "AUTHORITY_TWICE": ("pki_authorities",),
    "AUTHORITY_UNKNOWN": (),
    "DEFAULTS_REPLACED": (),
    "LAYOUT_DATACENTERS": (),
    "LOG_DIRS_PATH": (),
    "PATH_ROOT": (),
    "USER_NAME": (),
    "USER_PASSWORD": (),
    "VAULT_EMPTY": (),
    "VAULT_NUMBER": (),
}
# What is said of a value, whoever reads it.
OF_VALUES = ("CERTIFICATE_SOURCE", "JAVA_PACKAGE", "NUMBER_OTHER")
# An input of a single value that its spec refuses: what was computed of it is no mistake of its own.
REFUSED_VALUE = re.compile(r"^value of \w+ must be one of: ")


def problems_of(reader: Reader, model: Model) -> list[Problem]:
    """Return every mistake of an inventory that was read, those of its certificates and jobs too."""
    hosts = model.function_hosts
    raw = {host: reader.raw(host) for host in model.all_groups["all"]}
    whole = several(raw, hosts) or without_wiring(raw, hosts)
    files = list(strays(raw, model.all_groups))
    if whole:
        return [whole, *(file.problem for file in files)]
    found = [
        *unread_names(reader.said_of(check_model(model)), raw, model),
        *unread(raw, model),
        *mappings(raw, model),
        *rivals(reader, model),
        *shadows(reader, model),
        *replaced(reader, model),
        *secrets_in_the_clear(reader, model),
        *secrets_in_units(reader, model),
        *texts_for_switches(raw, model),
        *other_numbers(reader, model),
        *job_problems(model),
        *certificate_problems(reader, model),
    ]
    found = [_of_its_group(problem, reader, model) for problem in found]
    if not found and not files:
        return []
    folded = (at_the_group(problem, reader, model) for problem in _folded(found, reader, model, files))
    told = [with_origin(problem, reader, model) for problem in folded]
    return [*(file.problem for file in files), *told]


def _folded(found: Sequence[Problem], reader: Reader, model: Model, files: Sequence[Any]) -> list[Problem]:
    standing = Standing(reader.raw)
    causes, found = Causes(standing), of_observers(found, standing, model)
    for file in files:
        causes.add(file.problem, file.names)
    for problem in model.mistyped:
        causes.add(problem)
    for problem in found:
        if meant := meant_by(problem):
            causes.add(problem, [meant])
        elif problem.code == "GROUP_RIVALS" and not problem.warning:
            causes.add(problem)
        elif problem.code in CAUSES:
            causes.add(problem, CAUSES[problem.code])
        elif problem.code == "NOT_COMPUTED" and LOOP.search(problem.message):
            causes.add(problem)
        elif problem.code in ("ADDRESS_MISSING", "SITE_DIFFERS"):
            causes.add(replace(problem, hosts=()))  # others read it of this host
        elif problem.code == "INPUT_REFUSED" and REFUSED_VALUE.search(problem.message) and "[" not in problem.variable:
            causes.add(problem)
    kept = [problem for problem in found if not _said_better(problem, model.mistyped)]
    kept = [problem for problem in kept if not _said_of_another(problem, kept, standing)]
    kept = [problem for problem in kept if not _in_a_file(problem, files) and not of_a_whole(problem, kept, model)]
    kept = [problem for problem in kept if not of_refused(problem, kept, standing) and not follows(problem, kept)]
    slips = [problem for problem in merged(kept) if meant_by(problem)]
    kept = [problem for problem in kept if not _of_its_true_name(problem, slips)]
    failed = [problem for problem in kept if problem.code == "NOT_COMPUTED" and not causes.explain(problem)]
    missing = [problem for problem in _missing(failed, standing) if not _in_a_file(problem, files)]
    for problem in missing:
        causes.add(problem)
    absent = {base(problem.variable) for problem in missing}
    rest = [problem for problem in kept if not causes.explain(problem)]
    rest = [problem for problem in rest if not _of_another_host(problem, absent)]
    rest = [of_the_writer(worded(problem, standing), standing) for problem in rest]
    return [*missing, *(where_written(problem, model) for problem in rest)]


def _of_its_group(problem: Problem, reader: Reader, model: Model) -> Problem:
    """Return a problem of a value alone with all hosts of the group that says it, those that do not read it too."""
    name = base(problem.variable)
    own = problem.variable.startswith("pki_certificates[")  # of one certificate, which this host has
    if problem.code not in OF_VALUES or own or len(problem.hosts) != 1:
        return problem
    host, said = problem.hosts[0], reader.said_by_groups()
    groups = [group for group in reader.groups_of(host) if name in said.get(group, {})]
    members = model.all_groups.get(groups[-1], ()) if groups else ()
    value = reader.raw(host).get(name)
    if not members or said[groups[-1]][name] != value:
        return problem
    return replace(problem, hosts=tuple(one for one in members if reader.raw(one).get(name) == value))


def _of_another_host(problem: Problem, absent: set[str]) -> bool:
    """Tell whether a value could not be computed for what another host does not have."""
    undefined = UNDEFINED.findall(problem.message) if problem.code == "NOT_COMPUTED" else []
    return bool(undefined) and absent.issuperset(undefined)


def _said_better(problem: Problem, mistyped: Sequence[Problem]) -> bool:
    """Tell whether a value that is of another type is the whole of a problem."""
    variable, hosts = base(problem.variable), set(problem.hosts)
    return problem not in mistyped and any(
        base(better.variable) == variable
        and not hosts.isdisjoint(better.hosts)
        and (better.variable == variable or TYPE.search(problem.message))
        for better in mistyped
    )


def _said_of_another(problem: Problem, found: Sequence[Problem], standing: Standing) -> bool:
    """Tell whether a value cannot be computed just as one that it stands on cannot."""
    return problem.code == "NOT_COMPUTED" and any(
        other.code == "NOT_COMPUTED"
        and other.message == problem.message
        and other.variable != problem.variable
        and other.variable in standing.on(problem.hosts[0], problem.variable)
        and problem.variable not in standing.on(problem.hosts[0], other.variable)
        for other in found
    )


def _of_its_true_name(problem: Problem, slips: Sequence[Problem]) -> bool:
    """Tell whether a problem is of a variable that a slip of its name, on all its hosts, was meant to be."""
    name, hosts = base(problem.variable), set(problem.hosts)
    return any(meant_by(other) == name and hosts <= set(other.hosts) for other in slips)


def _in_a_file(problem: Problem, files: Iterable[Any]) -> bool:
    return any(base(problem.variable) in file.names for file in files)


def _missing(failed: Sequence[Problem], standing: Standing) -> list[Problem]:
    """Return what is not set, once, with all that could not be computed for it."""
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for problem in failed:
        for host in problem.hosts:
            for name in _lacking(problem, host, standing):
                found[name, host][problem.variable] = None
    written = {
        (name, host) for name, host in found if any(_names(standing.raw(host).get(v), name) for v in found[name, host])
    }
    found = {
        key: value for key, value in found.items() if key in written or key[0] not in {name for name, _ in written}
    }
    hosts: dict[str, dict[str, None]] = defaultdict(dict)
    variables: dict[str, dict[str, None]] = defaultdict(dict)
    for (name, host), standing_on_it in found.items():
        hosts[name][host] = None
        variables[name] |= standing_on_it
    return [
        Problem(tuple(hosts[name]), name, "VARIABLE_MISSING", None, f"not set, and {_all(list(variables[name]))} on it",
                _advice(name, standing.raw(next(iter(hosts[name])))))
        for name in hosts
    ]  # fmt: skip


def _names(value: Any, name: str) -> bool:
    """Tell whether the templates of a value name a variable themselves."""
    return any(name in NAME.findall(text) for text in texts(value))


def _all(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'stands' if len(names) == 1 else 'stand'}"


def _lacking(problem: Problem, host: str, standing: Standing) -> Iterator[str]:
    """Yield the variables and the places in them that a value stands on, and that are not there."""
    undefined = UNDEFINED.findall(problem.message)
    yield from undefined
    if undefined or not LACKING.search(problem.message):
        return
    raw = standing.raw(host)
    for written in standing.on(host, problem.variable).values():
        for text in written:
            for root, rest in PATH.findall(text):
                place, value = root, raw.get(root)
                for key in re.findall(r"[^\s.\[\]'\"]+", rest):
                    if not isinstance(value, Mapping):
                        break
                    place, value = f"{place}.{key}", value.get(key, KeyError)
                    if value is KeyError:
                        yield place
                        break


def _advice(name: str, raw: Mapping[str, Any]) -> str:
    """Say where to write what is not set; `raw` are the variables of a host."""
    root, *keys = name.split(".")
    if root.startswith("ansible_"):
        return "facts of hosts are not known before the model is right: write the value itself"
    if not keys:
        return "set it, for the whole inventory or for a group of it, or correct the name where it is used"
    value: Any = raw.get(root)
    for key in keys[:-1]:
        value = value[key]
    path = next((path for item in (value, raw.get(root)) if (path := file_of(item))), None)
    tool = " (ansible-vault edit)" if root == "vault" else ""
    if isinstance(value, Mapping) and (near := nearest(keys[-1], map(str, value))):
        return f"did you mean {'.'.join([root, *keys[:-1], near])}? Else add it{f' in {path}' if path else ''}{tool}"
    return f"add {keys[-1]} to {'.'.join([root, *keys[:-1]])}{f' in {path}' if path else ''}{tool}"
