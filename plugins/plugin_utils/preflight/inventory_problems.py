"""Collects all problems of an inventory, and drops each problem that only follows from another problem."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import NOT_COMPUTED, Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model, check_model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import (
    NAME,
    Causes,
    Standing,
    base,
    meant_by,
    texts,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.variable_names import INPUT_REFUSED
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.certificate_problems import certificate_problems
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.encrypted_values import without_encrypted
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.group_attribution import with_repeating_group
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.group_conflicts import conflicts
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.inventory_files import (
    UnreadFile,
    missing_plugin,
    several_inventories,
    unread_files,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.job_configs import job_problems
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.origins import with_group
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.parent_problems import (
    at_site_variable,
    failed_on_refused_entry,
    has_wrong_type,
    is_part_of_another,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.plaintext_secrets import (
    plaintext_secrets,
    secrets_in_units,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.precedence import (
    overridden_values,
    replaced_defaults,
    rival_values,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.suppression import is_explained
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.template_errors import explain, file_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.unused_variables import (
    role_mappings,
    text_switches,
    unread_inputs,
    without_used_names,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.variable_attribution import (
    at_set_variable,
    with_observers,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.yaml_numbers import other_bases
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind, merged
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import described
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import same

# vault.passwords.orders, or with brackets; neither a call nor a value with a default.
PATH = re.compile(
    r"\b([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*|\[\s*'[^']+'\s*\]|\[\s*\"[^\"]+\"\s*\])+)(?![\w(]|\s*(?:\(|\|\s*d\w*\(|is\b))"
)

# Problems from which others follow, besides wrong types: by code, the variables that are then wrong. () is the variable
# of the problem.
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
    "LISTENERS_NONE": ("kafka_listeners",),
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
# Problems of a value on every host that has it, also if the host does not read it.
VALUE_PROBLEMS = ("CERTIFICATE_SOURCE", "JAVA_PACKAGE", "NUMBER_OTHER")


def problems_of(reader: Reader, model: Model) -> list[Problem]:
    """Return all problems of an inventory, including the problems of certificates and jobs.

    Problems that only follow from another problem are left out. No problem contains a text that is encrypted in the
    inventory.
    """
    return without_encrypted(_problems(reader, model), reader)


def _problems(reader: Reader, model: Model) -> list[Problem]:
    hosts = model.function_hosts
    raw = {host: reader.raw(host) for host in model.all_groups["all"]}
    of_all = several_inventories(raw, hosts) or missing_plugin(raw, hosts)
    files = list(unread_files(raw, model.all_groups))
    if of_all:
        return [of_all, *(file.problem for file in files)]
    found = [
        *without_used_names(reader.with_own_problems(check_model(model)), raw, model),
        *unread_inputs(raw, reader, model),
        *role_mappings(raw, model),
        *conflicts(reader, model),
        *overridden_values(reader, model),
        *replaced_defaults(reader, model),
        *rival_values(reader, model),
        *plaintext_secrets(reader, model),
        *secrets_in_units(reader, model),
        *text_switches(raw, model),
        *other_bases(reader, model),
        *job_problems(model),
        *certificate_problems(reader, model),
    ]
    found = [_on_all_hosts(problem, reader, model) for problem in found]
    if not found and not files:
        return []
    causes = (with_repeating_group(problem, reader, model) for problem in _without_effects(found, reader, model, files))
    attributed = [with_group(problem, reader, model) for problem in causes]
    return [*(file.problem for file in files), *attributed]


def _causes(found: Sequence[Problem], standing: Standing, model: Model, files: Sequence[UnreadFile]) -> Causes:
    """Return the variables whose whole value is wrong: problems of values that depend on them are not reported.

    `found` are all problems, `files` the files that Ansible does not read.
    """
    causes = Causes(standing)
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
        elif problem.code == NOT_COMPUTED.code and problem.details["is_recursive"]:
            causes.add(problem)
        elif problem.code in ("ADDRESS_MISSING", "SITE_DIFFERS"):
            causes.add(replace(problem, hosts=()))  # other hosts read it of this host
        elif _is_refused_choice(problem):
            causes.add(problem)
    return causes


def _without_effects(
    found: Sequence[Problem], reader: Reader, model: Model, files: Sequence[UnreadFile]
) -> list[Problem]:
    """Return the problems in `found` that do not follow from others, each at the variable that the site sets.

    `files` are the files of variables that Ansible does not read, which explain missing variables.
    """
    standing = Standing(reader.raw)
    found = with_observers(found, standing, model)
    causes = _causes(found, standing, model, files)
    kept = [problem for problem in found if not _is_explained_by_type(problem, model.mistyped)]
    kept = [problem for problem in kept if not _fails_like_dependency(problem, kept, standing)]
    kept = [
        problem for problem in kept if not _is_in_file(problem, files) and not is_part_of_another(problem, kept, model)
    ]
    kept = [
        problem
        for problem in kept
        if not failed_on_refused_entry(problem, kept, standing) and not is_explained(problem, kept)
    ]
    typos = [problem for problem in merged(kept) if meant_by(problem)]
    kept = [problem for problem in kept if not _is_of_misspelt_variable(problem, typos)]
    failed = [problem for problem in kept if problem.code == NOT_COMPUTED.code and not causes.explain(problem)]
    missing = [problem for problem in _missing_variables(failed, standing) if not _is_in_file(problem, files)]
    for problem in missing:
        causes.add(problem)
    missing_names = {base(problem.variable) for problem in missing}
    rest = [problem for problem in kept if not causes.explain(problem)]
    types = Causes(standing)  # templates read variables of other hosts too, as the ids of all brokers
    for problem in model.mistyped:
        types.add(replace(problem, hosts=()))
    rest = [problem for problem in rest if problem.code != NOT_COMPUTED.code or not types.explain(problem)]
    rest = [problem for problem in rest if not _uses_missing_variables(problem, missing_names)]
    rest = [at_set_variable(explain(problem, standing), standing) for problem in rest]
    return [*missing, *(at_site_variable(problem, model) for problem in rest)]


def _is_refused_choice(problem: Problem) -> bool:
    """Tell whether an input has a value that is not among its choices: dependent values are wrong too."""
    is_choice = problem.code == INPUT_REFUSED.code and problem.details.get("failure") == "choice"
    return is_choice and "[" not in problem.variable


def _on_all_hosts(problem: Problem, reader: Reader, model: Model) -> Problem:
    """Return a problem of one host with all hosts that get the same value from the same group.

    Problems with codes that are not in VALUE_PROBLEMS are returned unchanged.
    """
    name = base(problem.variable)
    is_certificate = problem.variable.startswith("pki_certificates[")  # a certificate of this host
    if problem.code not in VALUE_PROBLEMS or is_certificate or len(problem.hosts) != 1:
        return problem
    host, values = problem.hosts[0], reader.values_by_group()
    groups = [group for group in reader.groups_of(host) if name in values.get(group, {})]
    members = model.all_groups.get(groups[-1], ()) if groups else ()
    value = reader.raw(host).get(name)
    if not members or not same(values[groups[-1]][name], value):
        return problem
    return replace(problem, hosts=tuple(member for member in members if same(reader.raw(member).get(name), value)))


def _uses_missing_variables(problem: Problem, missing: set[str]) -> bool:
    """Tell whether a value could not be computed because of variables in `missing`, which other hosts do not set."""
    undefined = problem.details["undefined"] if problem.code == NOT_COMPUTED.code else []
    return bool(undefined) and missing.issuperset(undefined)


def _is_explained_by_type(problem: Problem, mistyped: Sequence[Problem]) -> bool:
    """Tell whether a problem follows from the wrong type of its variable; `mistyped` are the problems of types."""
    variable, hosts = base(problem.variable), set(problem.hosts)
    return problem not in mistyped and any(
        base(cause.variable) == variable
        and not hosts.isdisjoint(cause.hosts)
        and (cause.variable == variable or has_wrong_type(problem))
        for cause in mistyped
    )


def _fails_like_dependency(problem: Problem, found: Sequence[Problem], standing: Standing) -> bool:
    """Tell whether a variable cannot be computed only because a variable that it uses fails with the same error.

    `found` are all problems, `standing` knows which variables a variable uses.
    """
    return problem.code == NOT_COMPUTED.code and any(
        other.code == NOT_COMPUTED.code
        and other.details["error"] == problem.details["error"]
        and other.variable != problem.variable
        and other.variable in standing.on(problem.hosts[0], problem.variable)
        and problem.variable not in standing.on(problem.hosts[0], other.variable)
        for other in found
    )


def _is_of_misspelt_variable(problem: Problem, typos: Sequence[Problem]) -> bool:
    """Tell whether a problem is of a variable whose name is misspelt on all hosts of the problem.

    `typos` are the problems of misspelt names.
    """
    name, hosts = base(problem.variable), set(problem.hosts)
    return any(meant_by(typo) == name and hosts <= set(typo.hosts) for typo in typos)


def _is_in_file(problem: Problem, files: Iterable[UnreadFile]) -> bool:
    """Tell whether the variable of a problem is set in one of these files, which Ansible does not read."""
    return any(base(problem.variable) in file.names for file in files)


VARIABLE_MISSING = ProblemKind(
    "VARIABLE_MISSING",
    "not set, but used by {users}",
    "set it, for the whole inventory or for a group, or correct the name where it is used",
)
VARIABLE_MISSING_KNOWN = VARIABLE_MISSING.variant(
    advice="set it for the whole inventory or for a group, for example `{example}` ({page}: {description})"
)
VARIABLE_MISSING_NEAR = VARIABLE_MISSING.variant(
    advice="set it, for the whole inventory or for a group, or write {near} where it is used"
)
VARIABLE_MISSING_FACT = VARIABLE_MISSING.variant(
    advice="write the value itself: facts of hosts are not known when the inventory is checked"
)
VARIABLE_MISSING_KEY = VARIABLE_MISSING.variant(advice="add {key} to {parent}{where}")
VARIABLE_MISSING_KEY_NEAR = VARIABLE_MISSING.variant(advice="did you mean {near}? Else add it{where}")


def _missing_variables(failed: Sequence[Problem], standing: Standing) -> list[Problem]:
    """Return one problem for each missing variable; it names the variables that cannot be computed without it.

    `failed` are the problems of variables that could not be computed.
    """
    users_of: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for problem in failed:
        for host in problem.hosts:
            for name in _missing_names(problem, host, standing):
                users_of[name, host][problem.variable] = None
    direct = {
        (name, host)
        for name, host in users_of
        if any(_uses(standing.raw(host).get(user), name) for user in users_of[name, host])
    }
    direct_names = {name for name, _ in direct}
    users_of = {key: users for key, users in users_of.items() if key in direct or key[0] not in direct_names}
    hosts: dict[str, dict[str, None]] = defaultdict(dict)
    users: dict[str, dict[str, None]] = defaultdict(dict)
    for (name, host), variables in users_of.items():
        hosts[name][host] = None
        users[name] |= variables
    return [
        _missing_variable(name, tuple(hosts[name]), list(users[name]), standing.raw(next(iter(hosts[name]))))
        for name in hosts
    ]


def _uses(value: Any, name: str) -> bool:
    """Tell whether a template inside a value uses the variable `name` directly."""
    return any(name in NAME.findall(text) for text in texts(value))


def _missing_names(problem: Problem, host: str, standing: Standing) -> Iterator[str]:
    """Yield the missing variables, or missing keys such as vault.passwords.lab, that a failed value uses on a host."""
    undefined = problem.details["undefined"]
    yield from undefined
    if undefined or not problem.details["missing_keys"]:
        return
    raw = standing.raw(host)
    for templates in standing.on(host, problem.variable).values():
        for text in templates:
            for root, rest in PATH.findall(text):
                place, value = root, raw.get(root)
                for key in re.findall(r"[^\s.\[\]'\"]+", rest):
                    if not isinstance(value, Mapping):
                        break
                    place, value = f"{place}.{key}", value.get(key, KeyError)
                    if value is KeyError:
                        yield place
                        break


def _missing_variable(name: str, hosts: Sequence[str], users: Sequence[str], raw: Mapping[str, Any]) -> Problem:
    """Return the problem of a missing variable or key, such as vault.passwords.lab.

    `users` are the variables that need it, `raw` are the variables of one of the hosts.
    """
    root, *keys = name.split(".")
    if not keys or root.startswith("ansible_"):
        if root.startswith("ansible_"):
            return VARIABLE_MISSING_FACT.problem(hosts, name, users=users)
        if known := described(name):
            return VARIABLE_MISSING_KNOWN.problem(hosts, name, users=users, **known._asdict())
        near = nearest(name, raw)
        return (VARIABLE_MISSING_NEAR if near else VARIABLE_MISSING).problem(hosts, name, users=users, near=near)
    value: Any = raw.get(root)
    for key in keys[:-1]:
        value = value[key]
    file = next((path for item in (value, raw.get(root)) if (path := file_of(item))), None)
    where = f"{f' in {file}' if file else ''}{' (ansible-vault edit)' if root == 'vault' else ''}"
    parent = ".".join([root, *keys[:-1]])
    if isinstance(value, Mapping) and (near := nearest(keys[-1], map(str, value))):
        return VARIABLE_MISSING_KEY_NEAR.problem(hosts, name, users=users, near=f"{parent}.{near}", where=where)
    return VARIABLE_MISSING_KEY.problem(hosts, name, users=users, key=keys[-1], parent=parent, where=where)
