"""Mistakes that are the other side of one that is said better: both are mended by one word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import base
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.template_errors import SECRETLESS
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# By the code that follows, the codes from which it does, wherever they are said: of jobs, which run on other hosts.
ANYWHERE: Mapping[str, tuple[str, ...]] = {
    "JOB_LISTENER": ("BROKERS_LISTENER",),  # one for clients, or one without a login
    "DATABASE_USER_OWNS": ("DATABASE_OWNER",),  # a database that several own is the job's too
}
# The same, said of the same hosts, or of the whole site.
OF_HOSTS: Mapping[str, tuple[str, ...]] = {
    "ADDRESS_RESERVED": ("NETWORK_ELSEWHERE",),  # the last of a network that is too small
    "CERTIFICATE_NAMES": ("CERTIFICATE_DUPLICATE",),  # those of the other one
    "CERTIFICATE_UNTRUSTED": ("CERTIFICATE_DUPLICATE",),
    "HEAP_LARGE": ("HEAP_MEMORY",),
    "INTERNAL_TOPICS_DIFFER": ("PROPERTY_TWICE",),
    "KEYSTORE_UNKNOWN": ("KEYSTORE_FORM",),
    "NETWORK_ELSEWHERE": ("NETWORK_OVERLAP",),
    "PRINCIPAL_NOT_SUPER": ("CERTIFICATE_DUPLICATE",),
    "STORE_GROUP": ("CERTIFICATE_DUPLICATE",),
    "RACK_UNEVEN": ("DATACENTER_GROUP", "LAYOUT_DATACENTERS", "RACK_GROUP", "RACK_SAME", "RACK_TWICE"),
    # The one group for each datacenter has another number.
    "ZOOKEEPER_GROUP_EVEN": ("ZOOKEEPER_GROUP_MIXED", "ZOOKEEPER_GROUP_NONE", "ZOOKEEPER_GROUP_TWICE"),
    "ZOOKEEPER_GROUP_MIXED": ("ZOOKEEPER_GROUP_TWICE",),
    "ZOOKEEPER_GROUPS_MISSING": ("DATACENTER_MISSING",),
    "ZOOKEEPER_GROUP_SIZES": ("ZOOKEEPER_GROUP_MIXED", "ZOOKEEPER_GROUP_NONE", "ZOOKEEPER_GROUP_TWICE"),
    # The brokers' listener is one for clients, or one without a login.
    "FIREWALL_PEER": ("BROKERS_LISTENER",),
    # The file of which is the brokers', or whose CA these trust.
    "LISTENER_CLIENT_CA": ("BROKERS_LISTENER", "CERTIFICATE_DUPLICATE", "CLIENTS_TRUSTED"),
    "LISTENER_NETWORK": ("BROKERS_LISTENER",),
}
# The same, said of the same entry or setting.
OF_ENTRY: Mapping[str, tuple[str, ...]] = {
    "CLIENTS_TRUSTED": ("AUTHORITY_NONE",),
    "DICT_REPLACED": ("GROUP_SHADOWED",),
    "GROUP_RIVALS": ("GROUP_SHADOWED",),
    "JOB_ACL": ("JOB_CONFIG",),
    "VARIABLE_UNREAD": ("GROUP_SHADOWED",),  # of a group that has brokers too: it is there for them
    # What one broker says otherwise than the others is mended with that.
    "MIN_ISR_ONE": ("PROPERTY_TWICE", "BROKERS_DIFFER"),
    "MIN_ISR_EQUAL": ("PROPERTY_TWICE", "BROKERS_DIFFER"),
    "MIN_ISR_TOO_HIGH": ("BROKERS_DIFFER",),
    "REPLICATION_ONE": ("BROKERS_DIFFER",),
    "REPLICATION_TOO_HIGH": ("BROKERS_DIFFER",),
    "LISTENER_UNKNOWN": ("BROKERS_DIFFER",),
    "CHROOT_INVALID": ("BROKERS_DIFFER",),
    "SUPER_USER_INVALID": ("BROKERS_DIFFER",),
}
# Mistakes in a grant that explain why a job of its user has no permission. GRANT_LACKS (a consumer without a group)
# explains a missing permission on a group only.
GRANTS = ("GRANT_BESIDE", "GRANT_EMPTY", "GRANT_LACKS", "GRANT_STAR", "GRANT_VERBS")
# What is counted of datacenters, where a host is in the groups of two of them.
OF_PLACES = re.compile(
    r"ADDRESS_OUTSIDE|DATACENTER_(MISSING|WITHOUT_ZOOKEEPER)|LAYOUT_DATACENTERS|MIN_ISR_(STOPS|TOO_LOW)|PROMISE_UNKEPT"
    r"|RACK_(IN_TWO_DATACENTERS|ODD|UNEVEN)|TOPIC_DATACENTER_\w+|ZOOKEEPER_(DATACENTER_MAJORITY|GROUP\w*|INDISPENSABLE)"
)
# The same, said of the same value.
OF_VALUE: Mapping[str, tuple[str, ...]] = {"JOB_MECHANISM": ("USER_MECHANISM",)}


def follows(problem: Problem, found: Iterable[Problem]) -> bool:
    """Tell whether another of the problems found is said better, and mended by the same word."""
    return any(_follows(problem, other) for other in found)


def _follows(problem: Problem, other: Problem) -> bool:
    if other.warning and not problem.warning:
        return False  # a risk that is accepted hides none that is not
    together = not (problem.hosts and other.hosts and set(problem.hosts).isdisjoint(other.hosts))
    if other.code in ANYWHERE.get(problem.code, ()):
        return True
    if other.code in OF_HOSTS.get(problem.code, ()):
        return together
    if other.code in OF_ENTRY.get(problem.code, ()):
        return together and _inside(other.variable, problem.variable)
    if other.code in OF_VALUE.get(problem.code, ()):
        return bool(problem.value == other.value)
    pair = (problem.code, other.code)
    if pair in (("LIMIT_MEANT", "PROPERTY_ORDER"), ("PROPERTY_ORDER", "LIMIT_MEANT")):  # the warning is in the other
        return together and problem.variable == other.variable and (problem.warning or pair[0] == "PROPERTY_ORDER")
    if other.code == "NUMBER_OTHER" != problem.code:  # of the number that YAML makes of it
        one, two = (re.sub(r"[\[\].]+", ".", found.variable).strip(".") for found in (problem, other))
        return together and one == two and str(problem.value) == str(other.details["number"])
    if pair == ("LISTENER_PLAINTEXT", "SECURITY_PLAINTEXT"):
        return together and problem.value == "PLAINTEXT"  # of which the profile makes every listener
    if pair == ("MIN_ISR_TOO_LOW", "RACK_TOO_MANY"):
        replicas = other.details.get("replicas")
        return replicas is not None and 2 * int(problem.value) > replicas + replicas % 2
    if pair == ("FIREWALL_SOURCE", "INPUT_NOT_A_LIST"):
        return together and bool(problem.value == other.value) and base(other.variable).endswith("firewall_rules")
    if pair == ("JOB_ACL", "JOB_TOPIC"):
        topic = problem.details.get("name") if problem.details.get("resource") == "topic" else None
        return together and _inside(other.variable, problem.variable) and topic == str(other.value)
    if problem.code == "JOB_ACL" and other.code in GRANTS:
        user, resource = problem.details.get("user"), problem.details.get("resource")
        explained = resource == "group" if other.code == "GRANT_LACKS" else resource is not None
        return explained and other.variable.startswith(f"kafka_users[{user}].grants[")
    if other.code == "DATACENTER_GROUP" and "other_group" in other.details:  # the host is in groups of two datacenters
        return bool(OF_PLACES.fullmatch(problem.code)) or (
            pair[0] == pair[1] and together and "other_group" not in problem.details
        )
    if pair == ("NOT_COMPUTED", "USER_CREDENTIAL"):
        name = SECRETLESS.search(problem.message)
        return name is not None and other.variable.startswith(f"kafka_users[{name[1]}]")
    return pair == ("GRANT_TOPIC", "TOPIC_NEEDED") and other.variable == f"kafka_topics[{problem.value}]"


def _inside(one: str, other: str) -> bool:
    """Tell whether two places are one, or one is in the other."""
    return one.startswith(other) or other.startswith(one)
