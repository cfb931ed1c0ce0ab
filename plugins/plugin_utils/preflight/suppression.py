"""Drops each problem that another problem explains, since one correction solves both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import base
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.yaml_numbers import NUMBER_OTHER
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# By code, the codes that explain it, on any hosts: jobs run on other hosts than brokers.
ANYWHERE: Mapping[str, tuple[str, ...]] = {
    "RACK_UNEVEN": ("DATACENTER_GROUP", "LAYOUT_DATACENTERS", "RACK_GROUP", "RACK_SAME", "RACK_TWICE"),
    "JOB_LISTENER": ("BROKERS_LISTENER",),  # the brokers use a listener of clients, or one without a login
    "DATABASE_USER_OWNS": ("DATABASE_OWNER",),  # a database with several owners belongs to the job too
}
# The same, if both have a host in common, or one is of the whole inventory.
SAME_HOSTS: Mapping[str, tuple[str, ...]] = {
    "ADDRESS_RESERVED": ("NETWORK_ELSEWHERE",),  # the last address of a network that is too small
    "CERTIFICATE_NAMES": ("CERTIFICATE_DUPLICATE",),  # the names of the other certificate
    "CERTIFICATE_UNTRUSTED": ("CERTIFICATE_DUPLICATE",),
    "HEAP_LARGE": ("HEAP_MEMORY",),
    "INTERNAL_TOPICS_DIFFER": ("PROPERTY_TWICE",),
    "KEYSTORE_UNKNOWN": ("KEYSTORE_FORM",),
    "NETWORK_ELSEWHERE": ("NETWORK_OVERLAP",),
    "PRINCIPAL_NOT_SUPER": ("CERTIFICATE_DUPLICATE",),
    "STORE_GROUP": ("CERTIFICATE_DUPLICATE",),
    # With one group for each datacenter, a wrong group changes the number of groups.
    "ZOOKEEPER_GROUP_EVEN": ("ZOOKEEPER_GROUP_MIXED", "ZOOKEEPER_GROUP_NONE", "ZOOKEEPER_GROUP_TWICE"),
    "ZOOKEEPER_GROUP_MIXED": ("ZOOKEEPER_GROUP_TWICE",),
    "ZOOKEEPER_GROUPS_MISSING": ("DATACENTER_MISSING",),
    "ZOOKEEPER_GROUP_SIZES": ("ZOOKEEPER_GROUP_MIXED", "ZOOKEEPER_GROUP_NONE", "ZOOKEEPER_GROUP_TWICE"),
    # The brokers use a listener of clients, or one without a login.
    "FIREWALL_PEER": ("BROKERS_LISTENER",),
    # Its file is that of the brokers, or the brokers trust its CA.
    "LISTENER_CLIENT_CA": ("BROKERS_LISTENER", "CERTIFICATE_DUPLICATE", "CLIENTS_TRUSTED"),
    "LISTENER_NETWORK": ("BROKERS_LISTENER",),
}
# The same, if both are of the same entry or setting.
SAME_ENTRY: Mapping[str, tuple[str, ...]] = {
    "CLIENTS_TRUSTED": ("AUTHORITY_NONE",),
    "DICT_REPLACED": ("GROUP_SHADOWED",),
    "GROUP_RIVALS": ("GROUP_SHADOWED",),
    "JOB_ACL": ("JOB_CONFIG",),
    "KEYSTORE_UNKNOWN": ("PATH_FORM",),
    "TRUSTSTORE_UNKNOWN": ("PATH_FORM",),
    "NETWORK_MISSING": ("FIREWALL_CLIENTS", "FIREWALL_PEER"),
    "VARIABLE_UNREAD": ("GROUP_SHADOWED",),  # of a group that also has brokers, which read it
    # One broker has another value than the others: correcting that solves both.
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
# Problems that count datacenters and racks: wrong if a host is in the groups of two datacenters.
PLACES = re.compile(
    r"ADDRESS_OUTSIDE|DATACENTER_(MISSING|WITHOUT_ZOOKEEPER)|LAYOUT_DATACENTERS|MIN_ISR_(STOPS|TOO_LOW)|PROMISE_UNKEPT"
    r"|RACK_(IN_TWO_DATACENTERS|ODD|UNEVEN)|TOPIC_DATACENTER_\w+|ZOOKEEPER_(DATACENTER_MAJORITY|GROUP\w*|INDISPENSABLE)"
)
PRINCIPALS = ("ACL_PRINCIPAL", "SUPER_USER_INVALID")
# The same, if both have the same value.
SAME_VALUE: Mapping[str, tuple[str, ...]] = {"JOB_MECHANISM": ("USER_MECHANISM",)}


def is_explained(problem: Problem, problems: Iterable[Problem]) -> bool:
    """Tell whether one of `problems` is the cause of `problem`, so that correcting the cause solves both."""
    return any(_explains(other, problem) for other in problems)


def _explains(other: Problem, problem: Problem) -> bool:
    endpoints = problem.details.get("endpoints")
    if endpoints and (problem.code, other.code) == ("FIREWALL_PEER", "BOOTSTRAP_UNKNOWN"):
        return set(endpoints) <= {entry.strip() for entry in str(other.value).split(",")}  # not where clients connect
    if other.warning and not problem.warning:
        return False  # an accepted risk hides no error
    together = not (problem.hosts and other.hosts and set(problem.hosts).isdisjoint(other.hosts))
    if other.code in ANYWHERE.get(problem.code, ()):
        return True
    if other.code in SAME_HOSTS.get(problem.code, ()):
        return together
    if other.code in SAME_ENTRY.get(problem.code, ()):
        return together and _inside(other.variable, problem.variable)
    if other.code in SAME_VALUE.get(problem.code, ()):
        return bool(problem.value == other.value)
    pair = (problem.code, other.code)
    if pair in (("LIMIT_MEANT", "PROPERTY_ORDER"), ("PROPERTY_ORDER", "LIMIT_MEANT")):  # the error explains the warning
        return together and problem.variable == other.variable and (problem.warning or pair[0] == "PROPERTY_ORDER")
    if other.code == NUMBER_OTHER.code != problem.code:  # a problem of the number that YAML reads
        place, other_place = (re.sub(r"[\[\].]+", ".", item.variable).strip(".") for item in (problem, other))
        if problem.code in PRINCIPALS:  # their places have the principal or no number
            place, other_place = base(place), base(other_place)
        same_number = str(other.details.get("number")) == str(problem.value)
        return together and same_number and _is_item(other_place, place)
    if pair == ("LISTENER_PLAINTEXT", "SECURITY_PLAINTEXT"):
        return together and problem.value == "PLAINTEXT"  # the profile makes every listener plaintext
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
        has_grant = resource == "group" if other.code == "GRANT_LACKS" else resource is not None
        return has_grant and other.variable.startswith(f"kafka_users[{user}].grants[")
    if other.code == "DATACENTER_GROUP" and other.details.get("groups"):
        return bool(PLACES.fullmatch(problem.code)) or (
            pair[0] == pair[1] and together and not problem.details.get("groups")
        )
    if pair == ("CERTIFICATE_NAME", "HOST_NAME"):
        return problem.value in other.hosts
    if pair == ("NOT_COMPUTED", "USER_CREDENTIAL"):
        user = problem.details.get("user_without_password")
        return bool(user) and other.variable.startswith(f"kafka_users[{user}]")
    return pair == ("GRANT_TOPIC", "TOPIC_NEEDED") and other.variable == f"kafka_topics[{problem.value}]"


def _is_item(item: str, place: str) -> bool:
    """Tell whether the place `item` is `place` or an item of the list there; both have dots between their parts.

    A grant is named by its verb, as kafka_users.orders.grants.consume.consume, or by its number in the list.
    """
    user, grants, rest = place.partition(".grants.")
    grant = rf"\.grants\.\d+\.{re.escape(rest.rpartition('.')[2])}" if grants else ""
    return bool(re.fullmatch(rf"{re.escape(user)}{grant}(\.\d+)?", item))


def _inside(place: str, other: str) -> bool:
    """Tell whether two places such as `kafka_config[acks]` are the same, or one contains the other."""
    return place.startswith(other) or other.startswith(place)
