"""Mistakes of two words of which the site wrote one, and the wiring or a default says the other: said where written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import FOLDER
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model, hierarchy
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.identity import SITE_DIFFERS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.listener_values import LISTENER_PORT
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import Standing
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.security import AUTHORITY_NONE
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.template_errors import file_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

LISTENER_PORT_BOTH = LISTENER_PORT.variant(
    message="listeners CLIENT and REPLICATION have the same port, and Kafka requires a different port for each "
    "listener, whatever the address"
)
SITE_DIFFERS_DATABASE = SITE_DIFFERS.variant(
    message="other hosts have {port}, from which the database_client of their jobs is derived"
)
AUTHORITY_NONE_UNTRUSTED = AUTHORITY_NONE.variant(
    message="it signs, and hosts do not trust it (infra_trusted is {trusted}): they would reject each other",
    advice="remove it, so that {trusted} signs; or, if it signs for no clients, name it in infra_trusted",
)


def of_the_writer(problem: Problem, standing: Standing) -> Problem:
    """Return a problem with the word that the site wrote."""
    if problem.code == "LISTENER_PORT":
        return _port(problem, standing.raw(problem.hosts[0]))
    if problem.code == "CERTIFICATE_DAYS":
        return _days(problem, standing.raw(problem.hosts[0]))
    if problem.code == "AUTHORITY_NONE" and problem.variable == "infra_trusted" and problem.value:
        return _authority(problem, standing.raw(problem.hosts[0]))
    if problem.code == "DATABASE_OTHER" and "port" in problem.details:
        return _database_port(problem, standing, problem.details["server"], str(problem.details["port"]))
    return problem


def of_observers(found: Sequence[Problem], standing: Standing, model: Model) -> list[Problem]:
    """Return problems with what is wrong with the groups of the wiring said once, of the observers that the site named.

    A site that writes the groups itself is told of these.
    """
    shapes = [one for one in found if one.code in ("ZOOKEEPER_GROUP_EVEN", "ZOOKEEPER_GROUP_SIZES")]
    raw = standing.raw(shapes[0].hosts[0]) if shapes else {}
    named = shapes and _says(raw, "zookeeper_observers") and not _says(raw, "zookeeper_groups")
    better = hierarchy.of_observers(model) if named else None
    return [*(one for one in found if one not in shapes), better] if better else [*found]


def _says(raw: Mapping[str, Any], name: str) -> bool:
    """Tell whether a host has a word from its site, and not from the wiring."""
    file = file_of(raw.get(name))
    return name in raw and not (file and file.startswith(str(FOLDER)))


def _port(problem: Problem, raw: Mapping[str, Any]) -> Problem:
    """Two listeners of the wiring have one port: one of the two words says it."""
    ours = problem.variable == "kafka_listeners[REPLICATION]" and problem.details["other"] == "CLIENT"
    words = [
        name
        for name in ("client_port", "replication_port")
        if _says(raw, name) and whole(raw[name]) == whole(problem.value)
    ]
    if not ours or _says(raw, "kafka_listeners") or not words:
        return problem
    return LISTENER_PORT_BOTH.problem(problem.hosts, words[-1], problem.value, group=problem.group)


def _authority(problem: Problem, raw: Mapping[str, Any]) -> Problem:
    """The CA that signs was said, and whom hosts trust is the project's default: the one that was said is judged."""
    if _says(raw, "infra_trusted") or not _says(raw, "infra_authority"):
        return problem
    signing = raw["infra_authority"]
    return AUTHORITY_NONE_UNTRUSTED.problem(
        problem.hosts, "infra_authority", signing, group=problem.group, trusted=problem.value
    )


def _database_port(problem: Problem, standing: Standing, server: str, port: str) -> Problem:
    """A job has the port of the wiring, and the server's host alone another: the server's is the one that was said."""
    host = problem.hosts[0]
    own, stands = standing.raw(host).get("postgresql_port"), standing.on(host, "spark_job_jobs")
    if str(own) != str(problem.value) or "postgresql_port" not in stands:
        return problem
    return SITE_DIFFERS_DATABASE.problem(
        (server,), "postgresql_port", port, group=problem.group, warning=problem.warning, who="hosts", port=own
    )


def _days(problem: Problem, raw: Mapping[str, Any]) -> Problem:
    """A default life of certificates is right, where the site says when they are renewed, and nothing of it."""
    if _says(raw, "pki_days") or not _says(raw, "pki_renew_days"):
        return problem
    wrong = f"not less than pki_days ({problem.value}), so every run would renew"
    days = raw["pki_renew_days"]
    return replace(problem, variable="pki_renew_days", value=days, message=wrong, advice="lower it; 30 is the default")
