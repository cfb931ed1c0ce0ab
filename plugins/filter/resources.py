"""Filters that convert topics, ACLs, users and quotas of the inventory to options of the modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.users import gone
from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import mapping_rules
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
    """Call the function of each (place, function) pair in `calls`, and return the results.

    Raises AnsibleFilterError that names `what` and lists the errors of all calls, each after its place.
    """
    results, errors = [], []
    for place, call in calls:
        try:
            results.append(call())
        except ValueError as error:
            errors.append(f"{place}{error}")
    if errors:
        raise AnsibleFilterError(f"{what}: {'; '.join(errors)}")
    return results


def resolved_topics(
    declared: Entries | None, defaults: Mapping[str, Any] | None = None, replication_factor: int = topics.REPLICAS
) -> list[dict[str, Any]]:
    """Return the entries of kafka_topics in the form that the module kafka_topics expects.

    `defaults` is kafka_topic_defaults; `replication_factor` is used if neither a topic nor the defaults set it.
    Profiles are applied and units converted: 7d to milliseconds, 20MiB to bytes. Raises AnsibleFilterError that lists
    all errors.
    """
    calls = (
        ("", lambda topic=topic: topics.resolved(topic, defaults or {}, int(replication_factor)))
        for topic in declared or []
    )
    return _all("kafka_topics", calls)


def granted_acls(users: Entries | None, acls: Entries | None = None) -> list[dict[str, Any]]:
    """Return the ACLs that the grants of `users` require, then the entries of `acls` that are not among them.

    `users` are entries of kafka_users, `acls` are entries of kafka_acls.
    """
    granted = grants.granted(users or [])
    literal = [_with_strings(entry) for entry in acls or []]
    return [*granted, *(entry for entry in literal if entry not in granted)]


def _with_strings(acl: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of kafka_acls with numbers as strings, as the module converts them: a topic may be named 5."""
    converted = {
        key: [str(item) for item in value] if isinstance(value, (list, tuple)) else value for key, value in acl.items()
    }
    return {key: str(value) if isinstance(value, (int, float)) else value for key, value in converted.items()}


def resolved_quotas(users: Entries | None, entries: Entries | None = None) -> list[dict[str, Any]]:
    """Return the quotas in kafka_users (`users`) and kafka_quotas (`entries`) as the module kafka_quotas expects them.

    Units are converted: 20MiB to bytes. A user who is absent in all entries of kafka_users gets one entry that deletes
    all quotas of the user. Raises AnsibleFilterError that lists all errors.
    """
    calls = (
        (f"{place}: ", lambda entry=entry: quotas.resolved(entry))
        for place, entry in quotas.declared(users or [], entries or [])
    )
    entries_resolved, absent = _all("quotas", calls), gone([user for user in users or [] if user.get("name")])
    whole = [(name, None, "absent") for name in absent]
    return [
        *(entry for entry in entries_resolved if (entry["user"], entry["client_id"], entry["state"]) not in whole),
        *({"user": name, "client_id": None, "values": {}, "state": "absent", "every_client": True} for name in absent),
    ]


def resolved_broker_config(settings: Mapping[str, Any] | None) -> dict[str, str | None]:
    """Return dynamic settings of brokers as the module kafka_broker_config expects them, as strings.

    Units are converted: 7d to milliseconds, 20MiB to bytes. None, which removes a setting, stays.
    """
    return broker_config.resolved(settings or {})


def scram_users(users: Entries | None) -> list[dict[str, Any]]:
    """Return entries of kafka_users without the keys grants and quotas, as the option `users` of kafka_access."""
    return [{key: value for key, value in user.items() if key not in ("grants", "quotas")} for user in users or []]


def admin_principal(
    admin_listeners: Mapping[str, Mapping[str, Any]],
    listeners: Entries,
    certificates: Entries,
    config: Mapping[str, Any] | None = None,
) -> str:
    """Return the principal (User:NAME) as which the admin is authenticated on the first of `admin_listeners`.

    `admin_listeners` is {listener: client properties}, `listeners` are entries of kafka_listeners. With TLS the
    principal results from the subject of the admin's certificate (in `certificates`, entries of pki_certificates) and
    the mapping rules of the listener or of `config`, the broker properties. Returns '' if the inventory does not
    determine it.
    """
    name, admin = next(iter(admin_listeners.items()))
    listener = next((dict(entry) for entry in listeners if entry["name"] == name), {})
    protocol = str(listener.get("protocol"))
    if protocol.startswith("SASL_"):
        return f"User:{admin['sasl.username']}" if admin.get("sasl.username") else ""
    if protocol != "SSL":
        return "User:ANONYMOUS" if protocol == "PLAINTEXT" else ""
    own, every = f"listener.name.{name.lower()}.ssl.principal.mapping.rules", "ssl.principal.mapping.rules"
    settings = config or {}
    rules = settings.get(own) or listener.get("principal_mapping_rules") or settings.get(every) or []
    subject = next(iter(principals.shown_subjects(admin, certificates)), None)
    user = principals.principal(mapping_rules(rules), subject) if subject else ""
    return f"User:{user}" if user else ""


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {
            "resolved_topics": resolved_topics,
            "granted_acls": granted_acls,
            "resolved_broker_config": resolved_broker_config,
            "scram_users": scram_users,
            "resolved_quotas": resolved_quotas,
            "exported_yaml": exported.written,
            "admin_principal": admin_principal,
        }
