"""Mistakes that are a part of another one, and entries that a site says in a list of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import Standing, base
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.variable_names import BESIDES
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.inputs import (
    CERTIFICATE_AUTHORITY,
    CERTIFICATE_UNTRUSTED,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# How Ansible says that a value is of another type than its role declares.
TYPE = re.compile(r"unable to convert|must be of type|could not parse|^\w+ is not (a |true)")
# A filter that was given what it cannot take.
PLUGIN = re.compile(r"The (?:filter|lookup) plugin '([\w.]+)' failed")
# What is wrong with a job's connection, as the model sees it; the job itself says what else follows.
CONNECTIONS = ("JOB_MECHANISM", "JOB_PROTOCOL", "JOB_LISTENER")
# What is judged of an entry whose keys are not known.
OF_ENTRIES = re.compile(
    r"DATABASE_(NAME|OWNER|USER\w*|OTHER|PASSWORD)|GRANT_\w+|QUOTA_EMPTY|QUOTA_ENTITY|ACL_PRINCIPAL|ACL_CONTRADICTION"
    r"|TOPIC_NAME"
)
# Problems of certificates whose CA is not declared, or not trusted.
OF_AUTHORITIES = (CERTIFICATE_AUTHORITY.code, CERTIFICATE_UNTRUSTED.code)
ENTRY = re.compile(r"\w+\[[^]]*\]")
OF_SITE = {own: word for word, own in BESIDES.items()}
KEYED = re.compile(r"(\w+)\[([^]]*)\](.*)")


def of_a_whole(problem: Problem, found: Sequence[Problem], model: Model) -> bool:
    """Tell whether a problem is a part of one that is said of a whole: a job's connection, an entry, a group."""
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
    site = next((word for word, own in BESIDES.items() if base(problem.variable) == own), "")
    if problem in model.mistyped and site:  # said of the list of the site's own that it comes from
        return any(base(other.variable) == site and TYPE.search(other.message) for other in found)
    if problem.code in OF_AUTHORITIES:
        return any(other.code.startswith("AUTHORITY_") for other in found)
    if problem.code.startswith("CERTIFICATE_") and site:
        own = problem.variable.replace(base(problem.variable), site, 1)
        return any(other.code == "INPUT_REFUSED" and other.variable == own for other in found)
    if not OF_ENTRIES.fullmatch(problem.code):
        return False
    variable, entry = base(problem.variable), ENTRY.match(problem.variable)
    return any(
        other.code == "INPUT_REFUSED"
        and base(other.variable) == variable
        and (entry is None or other.variable.startswith(entry[0]) or variable != "kafka_users")
        for other in found
    )


def of_refused(problem: Problem, found: Iterable[Problem], standing: Standing) -> bool:
    """Tell whether a filter failed on an entry that its spec refuses."""
    if problem.code != "NOT_COMPUTED" or not PLUGIN.search(problem.message):
        return False
    on = standing.on(problem.hosts[0], problem.variable)
    return any(
        other.code == "INPUT_REFUSED" and "[" in other.variable and base(other.variable) in on for other in found
    )


def where_written(problem: Problem, model: Model) -> Problem:
    """Return a problem of an entry with the list in which the site wrote it."""
    if problem.code == "CERTIFICATE_DUPLICATE" and (place := _of_the_second(problem, model)):
        return replace(problem, variable=place)
    found = KEYED.fullmatch(problem.variable)
    word = OF_SITE.get(found[1]) if found else None
    if not found or not word or not problem.hosts:
        return problem
    if problem.code == "INPUT_NOT_A_LIST" and found[2].isdecimal():  # an entry by its number, and not by its port
        number, lists = int(found[2]), [model.hosts[host].get(found[1]) for host in problem.hosts]
        entries = [one[number] for one in lists if isinstance(one, list) and number < len(one)]
        ports = {str(entry.get("port")) for entry in entries if isinstance(entry, Mapping)}
        problem = replace(problem, variable=f"{found[1]}[{min(ports)}]{found[3]}") if ports else problem
        found = KEYED.fullmatch(problem.variable) or found
    own, besides = (
        [_count(model.hosts[host].get(name), found[2]) for host in problem.hosts] for name in (found[1], word)
    )
    return replace(problem, variable=f"{word}[{found[2]}]{found[3]}") if own == besides and all(own) else problem


def _of_the_second(problem: Problem, model: Model) -> str | None:
    """Return where a site said a name or a path that something of the wiring has too; None where that is not seen."""
    word = OF_SITE.get(base(problem.variable))
    key = "name" if problem.variable == "pki_certificates" else "path"
    if not word or not problem.hosts or problem.value is None:
        return None
    entries = model.machines[problem.hosts[0]].inputs.entries(word)
    numbers = [number for number, entry in enumerate(entries) if str(entry.get(key)) == str(problem.value)]
    if not numbers or (word == "site_certificates" and key == "path"):
        return None  # of which the name is told
    return f"{word}[{numbers[-1]}].{key}"


def _count(entries: Any, key: str) -> int:
    """Return how many entries of a list are called so."""
    told = [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, (list, tuple)) else []
    return sum(key in (str(entry.get(name)) for name in ("name", "port", "path")) for entry in told)
