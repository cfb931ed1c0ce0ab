"""Mistakes of two words of which the site wrote one, and the wiring or a default says the other: said where written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import FOLDER
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model, hierarchy
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import Standing
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.template_errors import file_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem


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
    ours = problem.variable == "kafka_listeners[REPLICATION]" and problem.message.startswith("CLIENT ")
    words = [
        name
        for name in ("client_port", "replication_port")
        if _says(raw, name) and whole(raw[name]) == whole(problem.value)
    ]
    if not ours or _says(raw, "kafka_listeners") or not words:
        return problem
    wrong = "CLIENT and REPLICATION both have it, and Kafka wants a port for each listener, whatever the address"
    return replace(problem, variable=words[-1], message=wrong)


def _authority(problem: Problem, raw: Mapping[str, Any]) -> Problem:
    """The CA that signs was said, and whom hosts trust is the project's default: the one that was said is judged."""
    if _says(raw, "infra_trusted") or not _says(raw, "infra_authority"):
        return problem
    signing = raw["infra_authority"]
    wrong = f"it signs, and hosts do not trust it (infra_trusted is {problem.value}): they would refuse one another"
    advice = f"leave it out, so that {problem.value} signs; or, where it signs for no clients, name it in infra_trusted"
    return replace(problem, variable="infra_authority", value=signing, message=wrong, advice=advice)


def _database_port(problem: Problem, standing: Standing, server: str, port: str) -> Problem:
    """A job has the port of the wiring, and the server's host alone another: the server's is the one that was said."""
    host = problem.hosts[0]
    own, stands = standing.raw(host).get("postgresql_port"), standing.on(host, "spark_job_jobs")
    if str(own) != str(problem.value) or "postgresql_port" not in stands:
        return problem
    wrong = f"other hosts have {own}, of which their jobs' database_client is made"
    place = replace(problem, hosts=(server,), variable="postgresql_port", code="SITE_DIFFERS", value=port)
    return replace(place, message=wrong, advice="say it once, for all hosts")


def _days(problem: Problem, raw: Mapping[str, Any]) -> Problem:
    """A default life of certificates is right, where the site says when they are renewed, and nothing of it."""
    if _says(raw, "pki_days") or not _says(raw, "pki_renew_days"):
        return problem
    wrong = f"not less than pki_days ({problem.value}), so every run would renew"
    days = raw["pki_renew_days"]
    return replace(problem, variable="pki_renew_days", value=days, message=wrong, advice="lower it; 30 is the default")
