"""Finds problems that are part of a larger problem, and the site variable that sets an entry of a role input."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import NOT_COMPUTED
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import Standing, base
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.variable_names import BESIDES, INPUT_REFUSED
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.inputs import (
    CERTIFICATE_AUTHORITY,
    CERTIFICATE_DUPLICATE,
    CERTIFICATE_UNTRUSTED,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# Problems of a job's connection in the model; the job itself reports what follows from them.
CONNECTIONS = ("JOB_MECHANISM", "JOB_PROTOCOL", "JOB_LISTENER")
# Problems of entries: of no use for an entry whose keys are wrong.
ENTRY_PROBLEMS = re.compile(
    r"DATABASE_(NAME|OWNER|USER\w*|OTHER|PASSWORD)|GRANT_\w+|QUOTA_EMPTY|QUOTA_ENTITY|ACL_PRINCIPAL|ACL_CONTRADICTION"
    r"|TOPIC_NAME"
)
# Of these, problems of a name. If the entry has a name, the name is wrong whatever the other keys are.
NAME_PROBLEMS = ("ACL_PRINCIPAL", "TOPIC_NAME")
# Problems of certificates whose CA is not declared, or not trusted.
AUTHORITY_PROBLEMS = (CERTIFICATE_AUTHORITY.code, CERTIFICATE_UNTRUSTED.code)
ENTRY = re.compile(r"\w+\[[^]]*\]")
SITE_VARIABLES = {role_input: variable for variable, role_input in BESIDES.items()}
"""{role input: site variable whose entries the input contains}."""
KEYED = re.compile(r"(\w+)\[([^]]*)\](.*)")


def is_part_of_another(problem: Problem, found: Sequence[Problem], model: Model) -> bool:
    """Tell whether another problem in `found` covers this problem, so that preflight does not report it.

    For example, a problem of one key of a job's connection is covered by a problem of the whole connection.
    """
    key = problem.details.get("key", "")
    if problem.code == "JOB_CONFIG" and key.startswith("kafka."):
        bootstrap = key.startswith("kafka.bootstrap.servers") and (
            not model.brokers or any(other.code == "ADDRESS_INVALID" for other in found)
        )
        return bootstrap or any(
            other.code in CONNECTIONS and other.hosts == problem.hosts and other.variable.startswith(problem.variable)
            for other in found
        )
    if problem.code in CONNECTIONS:
        return any(other.code == "PORT_CLASH" and other.details["listener"] for other in found)
    if problem.code == "ADDRESS_OUTSIDE":
        return any(
            other.code in ("ADDRESS_DUPLICATE", "ADDRESS_LOCAL")
            and other.value == problem.value
            and set(problem.hosts) <= set(other.hosts)
            for other in found
        )
    site = SITE_VARIABLES.get(base(problem.variable), "")
    if problem in model.mistyped and site:  # the site variable with the entry has the same problem
        return any(base(other.variable) == site and has_wrong_type(other) for other in found)
    if problem.code in AUTHORITY_PROBLEMS:
        return any(other.code.startswith("AUTHORITY_") for other in found)
    if problem.code.startswith("CERTIFICATE_") and site:
        place = problem.variable.replace(base(problem.variable), site, 1)
        return any(other.code == INPUT_REFUSED.code and other.variable == place for other in found)
    if not ENTRY_PROBLEMS.fullmatch(problem.code) or (problem.code in NAME_PROBLEMS and problem.details.get("name")):
        return False
    variable, entry = base(problem.variable), ENTRY.match(problem.variable)
    return any(
        other.code == INPUT_REFUSED.code
        and base(other.variable) == variable
        and (entry is None or other.variable.startswith(entry[0]) or variable != "kafka_users")
        for other in found
    )


def has_wrong_type(problem: Problem) -> bool:
    """Tell whether a problem reports a value of the wrong type for an argument spec or a filter."""
    return problem.details.get("failure") == "type"


def failed_on_refused_entry(problem: Problem, found: Iterable[Problem], standing: Standing) -> bool:
    """Tell whether a problem reports a filter that failed only because the argument spec rejects one of its entries.

    Preflight reports the rejected entry itself. `found` are all problems, `standing` knows which variables a variable
    uses.
    """
    if problem.code != NOT_COMPUTED.code or not problem.details.get("plugin"):
        return False
    used = standing.on(problem.hosts[0], problem.variable)
    return any(
        other.code == INPUT_REFUSED.code and "[" in other.variable and base(other.variable) in used for other in found
    )


def at_site_variable(problem: Problem, model: Model) -> Problem:
    """Return a problem that names the site variable instead of the role input, if the entry comes from a site variable.

    Return `problem` unchanged if the entry does not come from a site variable.
    """
    if problem.code == CERTIFICATE_DUPLICATE.code and (place := _duplicate_place(problem, model)):
        return replace(problem, variable=place)
    match = KEYED.fullmatch(problem.variable)
    site = SITE_VARIABLES.get(match[1]) if match else None
    if not match or not site or not problem.hosts:
        return problem
    if problem.code == "INPUT_NOT_A_LIST" and match[2].isdecimal():  # the entry by its number: find its port
        number, lists = int(match[2]), [model.hosts[host].get(match[1]) for host in problem.hosts]
        entries = [entries[number] for entries in lists if isinstance(entries, list) and number < len(entries)]
        ports = {str(entry.get("port")) for entry in entries if isinstance(entry, Mapping)}
        problem = replace(problem, variable=f"{match[1]}[{min(ports)}]{match[3]}") if ports else problem
        match = KEYED.fullmatch(problem.variable) or match
    in_input, in_site = (
        [_count(model.hosts[host].get(name), match[2]) for host in problem.hosts] for name in (match[1], site)
    )
    is_from_site = in_input == in_site and all(in_input)
    return replace(problem, variable=f"{site}[{match[2]}]{match[3]}") if is_from_site else problem


def _duplicate_place(problem: Problem, model: Model) -> str | None:
    """Return the place in a site variable of the entry that CERTIFICATE_DUPLICATE reports; None if there is none."""
    site = SITE_VARIABLES.get(base(problem.variable))
    key = "name" if problem.variable == "pki_certificates" else "path"
    if not site or not problem.hosts or problem.value is None:
        return None
    entries = model.machines[problem.hosts[0]].inputs.entries(site)
    numbers = [number for number, entry in enumerate(entries) if str(entry.get(key)) == str(problem.value)]
    if not numbers or (site == "site_certificates" and key == "path"):
        return None  # the problem already names the certificate
    return f"{site}[{numbers[-1]}].{key}"


def _count(entries: Any, key: str) -> int:
    """Return how many entries of a list have `key` as their name, port or path."""
    mappings = [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, (list, tuple)) else []
    return sum(key in (str(entry.get(name)) for name in ("name", "port", "path")) for entry in mappings)
