"""Converts quotas (of users, clients, or a user with a client) to options of the module kafka_quotas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.amounts import amount, units_of

DEFAULT = "<default>"
"""The name for all users or clients without a quota of their own, as Kafka spells it (ConfigEntityName)."""
NAMES = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
NUMBER = re.compile(r"[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?")


def rate(name: str, value: Any) -> float | None:
    """Return the limit of the quota `name` (one of NAMES) as a number; 20MiB becomes a number of bytes.

    Returns None if `value` is neither a number nor a size.
    """
    size = amount(value, units_of(name))
    if size is not None:
        return float(size)
    if isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
        return None  # float() reads 1_000 and digits of other scripts
    try:
        return None if isinstance(value, (bool, Mapping)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _entity(name: Any) -> str | None:
    return "" if name == DEFAULT else None if name in (None, "") else str(name)


def declared(
    users: Sequence[Mapping[str, Any]], quotas: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (place in the inventory, quota) of each declared quota; a quota has the form of an entry of kafka_quotas.

    `users` are entries of kafka_users, whose key `quotas` can declare a quota; `quotas` are entries of kafka_quotas.
    """
    for user in users:
        if isinstance(user.get("quotas"), Mapping):
            own = {"user": user.get("name"), "state": user.get("state"), **user["quotas"]}
            yield f"kafka_users[{user.get('name')}].quotas", own
    for entry in quotas:
        parts = [str(entry[key]) for key in ("user", "client_id") if entry.get(key) not in (None, "")]
        yield f"kafka_quotas[{', '.join(parts)}]", entry


def resolved(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return `entry` of kafka_quotas as a dict {user, client_id, values, state} for the module kafka_quotas.

    In the result, '' is the default user or client, and None means that the quota does not depend on it. Raises
    ValueError if a limit is neither a number nor a size.
    """
    values = {}
    for name in NAMES:
        if entry.get(name) is not None:
            number = rate(name, entry[name])
            if number is None:
                raise ValueError(f"{name} = {entry[name]}: not a number or a size such as 20MiB")
            values[name] = number
    absent = entry.get("state") == "absent"
    return {
        "user": _entity(entry.get("user")),
        "client_id": _entity(entry.get("client_id")),
        "values": {} if absent else values,
        "state": "absent" if absent else "present",
    }
