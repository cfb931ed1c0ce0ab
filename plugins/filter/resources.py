"""Topics, ACLs and quotas of the inventory, as the modules take them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.users import gone
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import principals
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources import (
    broker_config,
    exported,
    grants,
    quotas,
    topics,
)

Entries = Sequence[Mapping[str, Any]]


def _all(what: str, calls: Iterable[tuple[str, Callable[[], dict[str, Any]]]]) -> list[dict[str, Any]]:
    """Return what the calls return. Raises AnsibleFilterError with all that is wrong."""
    found, wrong = [], []
    for place, call in calls:
        try:
            found.append(call())
        except ValueError as error:
            wrong.append(f"{place}{error}")
    if wrong:
        raise AnsibleFilterError(f"{what}: {'; '.join(wrong)}")
    return found


def resolved_topics(
    declared: Entries | None, defaults: Mapping[str, Any] | None = None, replication_factor: int = topics.REPLICAS
) -> list[dict[str, Any]]:
    """Return topics with profile, defaults and units resolved, as kafka_topics takes them."""
    calls = (
        ("", lambda topic=topic: topics.resolved(topic, defaults or {}, int(replication_factor)))
        for topic in declared or []
    )
    return _all("kafka_topics", calls)


def granted_acls(users: Entries | None, acls: Entries | None = None) -> list[dict[str, Any]]:
    """Return the ACLs that users' grants come to, and the literal ones that none of them says already."""
    found = grants.granted(users or [])
    literal = [_texts(entry) for entry in acls or []]
    return [*found, *(entry for entry in literal if entry not in found)]


def _texts(acl: Mapping[str, Any]) -> dict[str, Any]:
    """Return an ACL whose numbers are texts, as the module takes them: a topic may be named 5."""
    found = {
        key: [str(item) for item in value] if isinstance(value, (list, tuple)) else value for key, value in acl.items()
    }
    return {key: str(value) if isinstance(value, (int, float)) else value for key, value in found.items()}


def resolved_quotas(users: Entries | None, entries: Entries | None = None) -> list[dict[str, Any]]:
    """Return the quotas of users and of kafka_quotas, as the module of that name takes them."""
    calls = (
        (f"{place}: ", lambda entry=entry: quotas.resolved(entry))
        for place, entry in quotas.declared(users or [], entries or [])
    )
    found, absent = _all("quotas", calls), gone([user for user in users or [] if user.get("name")])
    whole = [(name, None, "absent") for name in absent]
    return [
        *(entry for entry in found if (entry["user"], entry["client_id"], entry["state"]) not in whole),
        *({"user": name, "client_id": None, "values": {}, "state": "absent", "every_client": True} for name in absent),
    ]


def resolved_broker_config(settings: Mapping[str, Any] | None) -> dict[str, str | None]:
    """Return settings of running brokers with units resolved, as kafka_broker_config takes them."""
    return broker_config.resolved(settings or {})


def scram_users(users: Entries | None) -> list[dict[str, Any]]:
    """Return users as the module kafka_access takes them: without grants and quotas."""
    return [{key: value for key, value in user.items() if key not in ("grants", "quotas")} for user in users or []]


def admin_principal(
    admin_listeners: Mapping[str, Mapping[str, Any]],
    listeners: Entries,
    certificates: Entries,
    config: Mapping[str, Any] | None = None,
) -> str:
    """Return whom brokers take the admin for, on the first of its listeners; '' where the inventory does not tell."""
    name, admin = next(iter(admin_listeners.items()))
    listener = next((dict(one) for one in listeners if one["name"] == name), {})
    protocol = str(listener.get("protocol"))
    if protocol.startswith("SASL_"):
        return f"User:{admin['sasl.username']}" if admin.get("sasl.username") else ""
    if protocol != "SSL":
        return "User:ANONYMOUS" if protocol == "PLAINTEXT" else ""
    own, every = f"listener.name.{name.lower()}.ssl.principal.mapping.rules", "ssl.principal.mapping.rules"
    said = config or {}
    rules = said.get(own) or listener.get("principal_mapping_rules") or said.get(every) or []
    file = PurePath(str(admin.get("ssl.certificate.location", ""))).stem
    subject = next((one.get("subject") for one in certificates if one.get("name") == file), None)
    found = principals.principal(principals.listed(rules), principals.written(subject)) if subject else ""
    return f"User:{found}" if found else ""


class FilterModule:
    """The filters under their names."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {
            "resolved_topics": resolved_topics,
            "granted_acls": granted_acls,
            "resolved_broker_config": resolved_broker_config,
            "scram_users": scram_users,
            "resolved_quotas": resolved_quotas,
            "exported_yaml": exported.written,
            "admin_principal": admin_principal,
        }
