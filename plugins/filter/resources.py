"""Topics, ACLs and quotas of the inventory, as the modules take them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.plugin_utils.resources import grants, quotas, topics

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
    return _all("quotas", calls)


def scram_users(users: Entries | None) -> list[dict[str, Any]]:
    """Return users as the module kafka_access takes them: without grants and quotas."""
    return [{key: value for key, value in user.items() if key not in ("grants", "quotas")} for user in users or []]


class FilterModule:
    """The filters under their names."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {
            "resolved_topics": resolved_topics,
            "granted_acls": granted_acls,
            "scram_users": scram_users,
            "resolved_quotas": resolved_quotas,
        }
