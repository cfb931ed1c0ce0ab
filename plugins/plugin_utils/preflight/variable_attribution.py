"""Names the right variable in a problem of two contradicting variables: the variable that the site sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import FOLDER
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model, hierarchy
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.identity import SITE_DIFFERS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.listener_values import LISTENER_PORT, LISTENERS_NONE
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import Standing
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.security import AUTHORITY_NONE
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topology import RACK_MISSING
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.inputs import CERTIFICATE_DAYS
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.template_errors import file_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

LISTENER_PORT_BOTH = LISTENER_PORT.variant(
    message="listeners CLIENT and REPLICATION have the same port, but Kafka requires a different port for each "
    "listener, whatever the address"
)
SITE_DIFFERS_DATABASE = SITE_DIFFERS.variant(
    message="other hosts have {port}, from which the database_client of their jobs is derived"
)
AUTHORITY_NONE_UNTRUSTED = AUTHORITY_NONE.variant(
    message="this CA signs, but hosts do not trust it (infra_trusted is {trusted}): they would reject each other",
    advice="remove it, so that {trusted} signs, or add the CA to infra_trusted if it signs no certificates of clients",
)
CERTIFICATE_DAYS_RENEW = CERTIFICATE_DAYS.variant(
    message="not less than pki_days ({days}): every run would renew the certificates",
    advice="lower it (default: 30)",
)

LISTENERS_NONE_STANDARD = LISTENERS_NONE.variant(
    message="no listener remains, so Kafka would not start",
    advice="remove it (default: CLIENT and REPLICATION), or declare at least one listener in it",
)
RACK_MISSING_EMPTY = RACK_MISSING.variant(advice="set it to the failure domain of the host, for example a")
RACK_MISSING_REMOVE = RACK_MISSING.variant(advice="remove it (default: from datacenter and rack)")
RACK_MISSING_BOTH = RACK_MISSING.variant(
    advice="remove it, and put the host into a rack_* group, or set rack to the failure domain of the host, "
    "for example a"
)


def at_set_variable(problem: Problem, standing: Standing) -> Problem:
    """Return a problem of two contradicting variables, changed to name the variable that the site sets.

    Other problems are returned unchanged. `standing` knows the variables of each host.
    """
    if problem.code == LISTENER_PORT.code:
        return _port(problem, standing.raw(problem.hosts[0]))
    if problem.code in (RACK_MISSING.code, LISTENERS_NONE.code) and problem.hosts:
        return _empty(problem, standing.raw(problem.hosts[0]))
    if problem.code == CERTIFICATE_DAYS.code:
        return _days(problem, standing.raw(problem.hosts[0]))
    if problem.code == AUTHORITY_NONE.code and problem.variable == "infra_trusted" and problem.value:
        return _authority(problem, standing.raw(problem.hosts[0]))
    if problem.code == "DATABASE_OTHER" and "port" in problem.details:
        return _database_port(problem, standing, problem.details["server"], str(problem.details["port"]))
    return problem


def with_observers(found: Sequence[Problem], standing: Standing, model: Model) -> list[Problem]:
    """Return the problems in `found`, those of wrong sizes of voting groups replaced by one of zookeeper_observers.

    The project computes zookeeper_groups from zookeeper_observers. If the site itself sets zookeeper_groups, the
    problems are returned unchanged. `standing` knows the variables of each host.
    """
    shapes = [problem for problem in found if problem.code in ("ZOOKEEPER_GROUP_EVEN", "ZOOKEEPER_GROUP_SIZES")]
    raw = standing.raw(shapes[0].hosts[0]) if shapes else {}
    is_derived = shapes and _is_set(raw, "zookeeper_observers") and not _is_set(raw, "zookeeper_groups")
    better = hierarchy.of_observers(model) if is_derived else None
    return [*(problem for problem in found if problem not in shapes), better] if better else [*found]


def _is_set(raw: Mapping[str, Any], name: str) -> bool:
    """Tell whether the site, and not the project, sets a variable of a host; `raw` are the variables as written."""
    file = file_of(raw.get(name))
    return name in raw and not (file and file.startswith(str(FOLDER)))


def _empty(problem: Problem, raw: Mapping[str, Any]) -> Problem:
    """Return the problem of a missing rack or listener at the empty variable that the site sets, if it sets one."""
    if problem.code == LISTENERS_NONE.code:
        is_standard = _is_set(raw, "standard_listeners") and not _is_set(raw, "kafka_listeners")
        return LISTENERS_NONE_STANDARD.instead_of(problem, variable="standard_listeners") if is_standard else problem
    is_stretched = raw.get("layout", "single") != "single"
    if _is_set(raw, "kafka_rack"):
        kind = RACK_MISSING_REMOVE if is_stretched or raw.get("rack") else RACK_MISSING_BOTH
        return kind.instead_of(problem, value=raw["kafka_rack"])
    if _is_set(raw, "rack") and not is_stretched:
        return RACK_MISSING_EMPTY.instead_of(problem, variable="rack", value=raw["rack"])
    return problem


def _port(problem: Problem, raw: Mapping[str, Any]) -> Problem:
    """Return the problem of two listeners with one port at client_port or replication_port, whichever the site sets."""
    is_ours = problem.variable == "kafka_listeners[REPLICATION]" and problem.details["other"] == "CLIENT"
    ports = [
        name
        for name in ("client_port", "replication_port")
        if _is_set(raw, name) and whole(raw[name]) == whole(problem.value)
    ]
    if not is_ours or _is_set(raw, "kafka_listeners") or not ports:
        return problem
    return LISTENER_PORT_BOTH.instead_of(problem, variable=ports[-1])


def _authority(problem: Problem, raw: Mapping[str, Any]) -> Problem:
    """Return the problem of an untrusted CA at infra_authority, if the site sets that variable, not infra_trusted."""
    if _is_set(raw, "infra_trusted") or not _is_set(raw, "infra_authority"):
        return problem
    return AUTHORITY_NONE_UNTRUSTED.instead_of(
        problem, variable="infra_authority", value=raw["infra_authority"], trusted=problem.value
    )


def _database_port(problem: Problem, standing: Standing, server: str, port: str) -> Problem:
    """Return the problem of a job's database port, reported at the server's host if only this host sets another port.

    `server` is the server's host, `port` the port that it sets.
    """
    host = problem.hosts[0]
    own, used = standing.raw(host).get("postgresql_port"), standing.on(host, "spark_job_jobs")
    if str(own) != str(problem.value) or "postgresql_port" not in used:
        return problem
    return SITE_DIFFERS_DATABASE.problem(
        (server,), "postgresql_port", port, group=problem.group, warning=problem.warning, who="hosts", port=own
    )


def _days(problem: Problem, raw: Mapping[str, Any]) -> Problem:
    """Return the problem CERTIFICATE_DAYS, at pki_renew_days if the site sets this variable and not pki_days."""
    if problem.variable != "pki_days" or _is_set(raw, "pki_days") or not _is_set(raw, "pki_renew_days"):
        return problem
    return CERTIFICATE_DAYS_RENEW.instead_of(
        problem, variable="pki_renew_days", value=raw["pki_renew_days"], days=problem.value
    )
