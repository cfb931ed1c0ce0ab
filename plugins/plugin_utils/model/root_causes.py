"""Finds problems that only follow from another problem; preflight does not report such problems.

If the template of a variable uses a missing or mistyped variable, its value cannot be right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# By code: the variables that a rule compares with the variable that it reports.
COMPARED = {
    "BOOTSTRAP_UNKNOWN": ("kafka_listeners",),
    "FIREWALL_PEER": (
        "kafka_listeners",
        "client_network",
        "replication_network",
        "client_address",
        "replication_address",
    ),
    "JOB_PROTOCOL": ("kafka_listeners",),
    "JOB_MECHANISM": ("kafka_listeners",),
    "JOB_LISTENER": ("kafka_listeners",),
    "PRINCIPAL_NOT_SUPER": ("kafka_super_users",),
    "TOPIC_PARTITIONS": ("kafka_topic_defaults",),
    "ADVERTISED_SHARED": ("kafka_listeners",),
    "ADMIN_LOCKED_OUT": ("kafka_super_users",),
    "TOPIC_DATACENTER_LOSS": ("kafka_replication_factor", "datacenter"),
    "TOPIC_DATACENTER_STOPS": ("kafka_replication_factor", "datacenter"),
    "TOPIC_MIN_ISR_ONE": ("kafka_replication_factor",),
    "ACL_UNKNOWN_USER": ("kafka_users",),
    "JOB_LOGIN": ("kafka_users",),
    "CERTIFICATE_NAMES": ("kafka_listeners",),
    "ZOOKEEPER_EVEN": ("layout",),
    "ZOOKEEPER_DATACENTER_MAJORITY": ("layout", "datacenter"),
    "MIN_ISR_TOO_LOW": ("layout", "datacenter"),
    "MIN_ISR_STOPS": ("layout", "datacenter"),
    "RACK_MISSING": ("layout", "datacenter"),
    "DATACENTER_WITHOUT_ZOOKEEPER": ("datacenter",),
    "LAYOUT_DATACENTERS": ("datacenter",),
    "RACK_UNEVEN": ("datacenter",),
    "JOB_ACL": ("kafka_users",),
    "JOB_TOPIC": ("kafka_topics",),
    "GRANT_TOPIC": ("kafka_topics",),
    "ACL_UNKNOWN_TOPIC": ("kafka_topics",),
    "QUOTA_UNKNOWN_USER": ("kafka_users",),
    "JOB_STANDBY": ("spark_job_jobs", "standby"),
    "JOB_TWICE": ("spark_job_jobs",),
}
TEMPLATE = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)
NAME = re.compile(r"[A-Za-z_]\w*")


def base(variable: str) -> str:
    """Return the name of the variable in a place: "kafka_listeners" for "kafka_listeners[CLIENT].port"."""
    return re.split(r"[.[]", variable, maxsplit=1)[0]


def meant_by(problem: Problem) -> str | None:
    """Return the known variable whose name is similar to the misspelt variable of a problem.

    Return None if `problem` is not an error about an unknown variable, or if no known name is similar.
    """
    if problem.code not in ("VARIABLE_SUSPECT", "VARIABLE_UNKNOWN") or problem.warning:
        return None
    near = problem.details.get("near")
    return str(near) if near else None


def texts(value: Any) -> Iterator[str]:
    """Yield the texts between {{ and }}, or {% and %}, in a value; lists and mappings are searched too."""
    if isinstance(value, str):
        if "{{" in value or "{%" in value:
            yield from TEMPLATE.findall(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from texts(item)


class Standing:
    """Finds the variables on which a variable of a host depends, by the templates in its value and in their values."""

    def __init__(self, raw: Callable[[str], Mapping[str, Any]]) -> None:
        """Use `raw`, a function that returns {variable: value before templating} of a host."""
        self.raw = raw
        self._known: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}

    def on(self, host: str, variable: str) -> dict[str, tuple[str, ...]]:
        """Return {name: templates in its value} of `variable` and of all variables that it depends on.

        Names of unset variables are included. Every word in a template counts as a variable, so some names are no
        variables.
        """
        key = (host, variable)
        if key not in self._known:
            raw, templates, left = self.raw(host), dict[str, tuple[str, ...]](), [variable]
            while left:
                name = left.pop()
                if name not in templates:
                    known = name in raw and name not in ("groups", "hostvars")
                    templates[name] = tuple(texts(raw[name])) if known else ()
                    left += [word for text in templates[name] for word in NAME.findall(text)]
            self._known[key] = templates
        return self._known[key]


class Causes:
    """The variables that problems have reported as wrong, to find problems that follow from them."""

    def __init__(self, standing: Standing) -> None:
        """Start without wrong variables; `standing` finds the dependencies between variables."""
        self._standing = standing
        self._wrong: dict[str, dict[str | None, set[int]]] = {}
        """By variable and host, the ids of the problems that report it: no problem explains itself."""

    def add(self, problem: Problem, names: Iterable[str] = ()) -> None:
        """Remember that `problem` reports the variables `names` as wrong; by default, the problem's own variable."""
        for name in names or [base(problem.variable)]:
            for host in problem.hosts or (None,):
                self._wrong.setdefault(name, {}).setdefault(host, set()).add(id(problem))

    def explain(self, problem: Problem) -> bool:
        """Tell whether a problem follows from a wrong variable.

        This is so if the problem's variable depends on a variable that another problem reports as wrong.
        """
        if not self._wrong:
            return False
        if any(name in self._wrong for name in COMPARED.get(problem.code, ())):
            return True
        variable = base(problem.variable)
        for host in problem.hosts or ():
            dependencies = self._standing.on(host, variable)
            if any(self._others(name, host, problem) for name in dependencies if name != variable):
                return True
        return False

    def _others(self, name: str, host: str, problem: Problem) -> bool:
        """Tell whether a problem other than `problem` reports the variable `name` of a host as wrong."""
        by_host = self._wrong.get(name, {})
        return any(by_host.get(key, set()) - {id(problem)} for key in (host, None))
