"""Checks of monitoring hosts: the login of the exporter of lag, what it watches, and where pages listen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.logins import super_users
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.permissions import covers
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.regular_expressions import (
    meant_by_wildcard,
    mistake_in,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typos import typo_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import (
    grants_of,
    listed,
    principal_of,
)

MONITORING_USER = ProblemKind(
    "MONITORING_USER",
    "the user has no right on any {resource}: the exporter could not see one, and no alert on them could fire",
    "add {{exporter: true}} to its grants in kafka_users",
)
# Rights that show a topic or a group: Kafka derives DESCRIBE from each of the others.
SHOWN = frozenset({"ALL", "ALTER", "DELETE", "DESCRIBE", "READ", "WRITE"})


def users(model: Model) -> Iterator[Problem]:
    """Yield a problem for the first kind of resource that the user of an exporter cannot see at all."""
    for host in _hosts(model):
        principal = _restricted(model, host)
        if not principal:
            continue
        shown = {
            str(entry.get("resource"))
            for entry in model.acls
            if entry.get("principal") in (principal, "User:*")
            and str(entry.get("permission") or "allow").lower() == "allow"
            and SHOWN & {str(one).upper() for one in listed(entry.get("operations"))}
        }
        for resource in ("topic", "group"):
            if resource not in shown:
                user = principal.partition(":")[2]
                yield host.report(MONITORING_USER, "lag_exporter_user", user, resource=resource)
                break


def _restricted(model: Model, host: Machine) -> str:
    """Return the principal of an exporter's user; "" if it may do everything, or if another rule reports the user."""
    supers = {name for broker in model.brokers for name, _ in super_users(broker)}
    principal = _principal(host)
    present = (one for one in host.inputs.entries("kafka_users") if one.get("state") != "absent")
    declared = any(f"User:{one.get('name')}" == principal for one in present)
    return principal if supers and declared and principal not in supers else ""


def _principal(host: Machine) -> str:
    """Return the principal of an exporter's user."""
    user = host.inputs.mapping("lag_exporter_client").get("sasl.username") or host.inputs.get("lag_exporter_user")
    return f"User:{user}"


MONITORING_CANARY_TOPIC = ProblemKind(
    "MONITORING_CANARY_TOPIC",
    "kafka_topics does not declare this topic: the canary would send nothing",
    "declare it with config: {{retention.ms: 1h, segment.ms: 1h}}, or correct the name",
)
MONITORING_CANARY_TOPIC_NEAR = MONITORING_CANARY_TOPIC.variant(advice="did you mean {near}? Otherwise declare it")
MONITORING_CANARY_USER = ProblemKind(
    "MONITORING_CANARY_USER",
    "no ACL allows {principal} {operation} on this topic: the canary would fail",
    "add canary: {topic} to its grant of exporter in kafka_users",
)
MONITORING_CANARY_USER_DENIED = MONITORING_CANARY_USER.variant(
    message="an ACL denies {principal} {operation} on this topic: the canary would fail",
    advice="narrow the denial in kafka_acls",
)


MONITORING_CANARY_SHARED = ProblemKind(
    "MONITORING_CANARY_SHARED",
    "{principal} may write to this topic: the canary would write among the records of an application",
    "declare a topic for the canary alone",
)


def canary(model: Model) -> Iterator[Problem]:
    """Yield a problem for each canary whose topic is not declared, or is that of an application.

    Also yield a problem for each canary whose user may not write and read its topic.
    """
    name = "lag_exporter_canary_topic"
    known = [topic.name for topic in topics_of(model) if topic.entry.get("state") != "absent"]
    reported = {host for problem in users(model) for host in problem.hosts}
    for host in _hosts(model):
        topic = host.inputs.text(name)
        if topic and topic not in known:
            near = typo_of(topic, known)
            kind = MONITORING_CANARY_TOPIC_NEAR if near else MONITORING_CANARY_TOPIC
            yield host.report(kind, name, topic, near=near)
        elif topic and (principal := _writer(model, topic)):
            yield host.report(MONITORING_CANARY_SHARED, name, topic, principal=principal)
        elif topic and host.name not in reported and (principal := _restricted(model, host)):
            yield from _canary_user(model, host, topic, principal)


def _writer(model: Model, topic: str) -> str:
    """Return a principal that may write to a topic by its name, and not as a canary; "" without one."""
    users = model.present("kafka_users")
    own = {principal_of(user) for user in users if any(topic in listed(one.get("canary")) for one in grants_of(user))}
    own |= {_principal(host) for host in _hosts(model)}
    for acl in model.acls:
        other = acl.get("name") != "*" and acl.get("permission") != "deny" and acl.get("principal") not in own
        if other and covers(acl, "WRITE", "topic", topic, "literal"):
            return str(acl.get("principal"))
    return ""


def _canary_user(model: Model, host: Machine, topic: str, principal: str) -> Iterator[Problem]:
    """Yield a problem for the first operation of a canary that no ACL allows, or an ACL denies."""
    acls = [one for one in model.acls if one.get("principal") in (principal, "User:*")]
    for operation in ("WRITE", "READ"):
        fitting = [one for one in acls if covers(one, operation, "topic", topic, "literal")]
        denied = any(one.get("permission") == "deny" for one in fitting)
        if denied or not fitting:
            kind = MONITORING_CANARY_USER_DENIED if denied else MONITORING_CANARY_USER
            name = "lag_exporter_canary_topic"
            yield host.report(kind, name, topic, principal=principal, operation=operation, topic=topic)
            break


MONITORING_GROUPS = ProblemKind(
    "MONITORING_GROUPS", "not a regular expression: {why}", "correct it, for example billing-.* for billing-1"
)
MONITORING_GROUPS_STAR = MONITORING_GROUPS.variant(
    message="a wildcard of file names: in a regular expression, the star repeats the character before it",
    advice="write {near}",
)
MONITORING_GROUPS_NONE = MONITORING_GROUPS.variant(
    message="no consumer group would be watched", advice="write [.*], or the groups to watch"
)


def patterns(model: Model) -> Iterator[Problem]:
    """Yield a problem for each pattern of consumer groups that matches nothing, or is a wildcard of file names."""
    for host in _hosts(model):
        if host.inputs.values.get("lag_exporter_groups") == []:
            yield host.report(MONITORING_GROUPS_NONE, "lag_exporter_groups", [])
        for name in ("lag_exporter_groups", "lag_exporter_groups_exclude"):
            for text in map(str, host.inputs.sequence(name)):
                if near := meant_by_wildcard(text):
                    yield host.report(MONITORING_GROUPS_STAR, name, text, near=near)
                elif why := mistake_in(text):
                    yield host.report(MONITORING_GROUPS, name, text, why=why)


MONITORING_OPEN = ProblemKind(
    "MONITORING_OPEN",
    "not a loopback address: other hosts could open its pages, which have neither TLS nor a login",
    "use 127.0.0.1, and a tunnel, or a proxy with TLS and a login in front of it",
)
MONITORING_OPEN_6 = MONITORING_OPEN.variant(
    message="an address of IPv6: the options of the services have the form ADDRESS:PORT", advice="use 127.0.0.1"
)
ADDRESSES = ("lag_exporter_address", "prometheus_address", "prometheus_alertmanager_address")


def addresses(model: Model) -> Iterator[Problem]:
    """Yield a problem for each service of a monitoring host that would listen beyond the host."""
    for host in _hosts(model):
        for name in ADDRESSES:
            value = host.inputs.values.get(name)
            if value is None or value == "localhost":
                continue
            try:
                address = ip_address(str(value))
            except ValueError:
                yield host.report(MONITORING_OPEN, name, value)
                continue
            if address.version == 6:
                yield host.report(MONITORING_OPEN_6, name, value)
            elif not address.is_loopback:
                yield host.report(MONITORING_OPEN, name, value)


MONITORING_VALUE = ProblemKind("MONITORING_VALUE", "not a value that Prometheus accepts", "write {example}")
MONITORING_VALUE_JOB = MONITORING_VALUE.variant(
    message="Prometheus has a job of this name already", advice="write another job_name"
)
JOBS = ("lag_exporter", "node", "kafka", "zookeeper")
"""Names of the jobs in roles/prometheus."""
DURATION = re.compile("(?=.)" + "".join(f"([0-9]+{unit})?" for unit in ("y", "w", "d", "h", "m", "s", "ms")))
# By input: what Prometheus accepts, and an example.
VALUES = {
    "prometheus_retention": (DURATION, "15d"),
    "prometheus_interval": (DURATION, "15s"),
    "prometheus_retention_size": (re.compile(r"0|[0-9]+([.][0-9]+)?([KMGTPE]i?)?B"), "10GB"),
}


def values(model: Model) -> Iterator[Problem]:
    """Yield a problem for each duration, size and name of a job that Prometheus would refuse."""
    for host in _hosts(model):
        for entry in host.inputs.entries("prometheus_scrape_configs"):
            if entry.get("job_name") in JOBS:
                yield host.report(MONITORING_VALUE_JOB, "prometheus_scrape_configs", entry["job_name"])
        for name, (pattern, example) in VALUES.items():
            value = host.inputs.values.get(name)
            if value is not None and not pattern.fullmatch(str(value)):
                yield host.report(MONITORING_VALUE, name, value, example=example)


MONITORING_ALERTS = ProblemKind(
    "MONITORING_ALERTS", "no receiver of this name: Alertmanager would not start", "correct it, or add the receiver"
)
MONITORING_ALERTS_NEAR = MONITORING_ALERTS.variant(advice="did you mean {near}?")
MONITORING_ALERTS_NONE = MONITORING_ALERTS.variant(
    message="{key} is missing: Alertmanager would not start", advice="add it, as docs/monitoring.md shows"
)
MONITORING_ALERTS_KEY = MONITORING_ALERTS.variant(
    message="not a key of Alertmanager's configuration", advice="use one of {known}"
)
MONITORING_ALERTS_KEY_NEAR = MONITORING_ALERTS_KEY.variant(advice="did you mean {near}?")
ALERTMANAGER = ("global", "inhibit_rules", "mute_time_intervals", "receivers", "route", "templates", "time_intervals")


def receivers(model: Model) -> Iterator[Problem]:
    """Yield a problem for each key and each receiver with which Alertmanager would not start."""
    name = "prometheus_alertmanager_config"
    for host in _hosts(model):
        config = host.inputs.mapping(name)
        for key in config:
            if key not in ALERTMANAGER:
                near = nearest(str(key), ALERTMANAGER)
                kind = MONITORING_ALERTS_KEY_NEAR if near else MONITORING_ALERTS_KEY
                yield host.report(kind, f"{name}.{key}", None, near=near, known=", ".join(ALERTMANAGER))
        route = config.get("route")
        present = [str(one.get("name")) for one in _mappings(config.get("receivers"))]
        for key in ("route", "receivers") if config else ():
            if not config.get(key):
                yield host.report(MONITORING_ALERTS_NONE, name, None, key=key)
        if isinstance(route, Mapping) and not route.get("receiver"):
            yield host.report(MONITORING_ALERTS_NONE, f"{name}.route", None, key="receiver")
        for receiver in dict.fromkeys(_routed(route)) if present else ():
            if receiver not in present:
                near = nearest(receiver, present)
                kind = MONITORING_ALERTS_NEAR if near else MONITORING_ALERTS
                yield host.report(kind, f"{name}.route", receiver, near=near)


def _routed(route: Any) -> Iterator[str]:
    """Yield the receivers of a route of Alertmanager, and of the routes in it."""
    if isinstance(route, Mapping):
        if route.get("receiver"):
            yield str(route["receiver"])
        for inner in _mappings(route.get("routes")):
            yield from _routed(inner)


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, (list, tuple)) else []


MONITORING_METRICS = ProblemKind(
    "MONITORING_METRICS",
    "not in the group metrics: without its certificate, Prometheus could not read the metrics of {first}",
    "add {host} to the group metrics",
)


def metrics(model: Model) -> Iterator[Problem]:
    """Yield a problem for each monitoring host that has no certificate with which it could read metrics of hosts."""
    serving = model.groups.get("metrics", ())
    for host in _hosts(model):
        if serving and host.name not in serving:
            yield host.report(MONITORING_METRICS, "", None, first=sorted(serving)[0], host=host.name)


def _hosts(model: Model) -> list[Machine]:
    return [model.machines[name] for name in model.groups.get("monitoring", ())]
