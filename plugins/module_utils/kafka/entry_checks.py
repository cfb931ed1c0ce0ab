"""Checks declared entries: invalid names and numbers, and two entries for one resource. No I/O."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

Entries = Sequence[Mapping[str, Any]]
NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
"""A valid name of a topic (org.apache.kafka.common.internals.Topic)."""
MOST_PARTITIONS = 100_000
"""Maximum number of partitions that the client library creates in one request."""
MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256")


def topics(wanted: Entries) -> dict[str, list[str]]:
    """Return {topic: mistakes} of entries of kafka_topics: invalid names and numbers, and names declared twice."""
    mistakes: dict[str, list[str]] = {}
    for name, times in Counter(str(topic["name"]) for topic in wanted).items():
        if times > 1:
            mistakes.setdefault(name, []).append(f"declared {times} times; keep one entry")
        if not NAME.fullmatch(name):
            why = "not a valid name; use at most 249 characters: letters, digits, . _ and -"
            mistakes.setdefault(name, []).append(why)
    for topic in wanted:
        for key, most in (("partitions", MOST_PARTITIONS), ("replication_factor", 32_767)):
            number = topic.get(key)
            if number is not None and not 1 <= number <= most:
                text = f"{key} {number}: not between 1 and {most}; set another number, or remove it"
                mistakes.setdefault(str(topic["name"]), []).append(text)
    return mistakes


def has_unusable_characters(password: str) -> bool:
    """Tell whether a password has a control character, or a blank or line end at an end: not every client sends it."""
    return password != password.strip() or any(unicodedata.category(character) == "Cc" for character in password)


def users(wanted: Entries) -> Iterator[str]:
    """Yield messages about entries of kafka_users: invalid names and passwords, and a credential in two entries."""
    seen: set[tuple[str, str]] = set()
    for user in wanted:
        name, every = str(user["name"]), user.get("state") == "absent" and user.get("mechanism") is None
        if not name or name != name.strip() or not name.isprintable():
            yield f"user {name!r}: the name is empty, or has an outer blank or an invisible character; correct it"
        if has_unusable_characters(str(user.get("password") or "")) and user.get("state") != "absent":
            yield f"user {name}: its password has an outer blank, a line end or a control character; set another"
        without = not user.get("credential", True)
        mechanisms = MECHANISMS if every or without else (user.get("mechanism") or MECHANISMS[0],)
        if twice := sorted(seen & {(name, mechanism) for mechanism in mechanisms}):
            yield f"user {name}: two entries declare its {twice[-1][1]} password; keep one of them"
        seen |= {(name, mechanism) for mechanism in mechanisms}


def acl(item: Mapping[str, Any]) -> Iterator[str]:
    """Yield the mistakes of an entry of kafka_acls with which its ACLs match no request, or a value is ignored."""
    if item["principal"] == "User:":
        yield "the principal has no name; write the name after User:"
    if not item["operations"]:
        yield "no operations, so nothing would be allowed or denied; name at least one"
    if item["resource"] == "cluster" and item.get("name") not in (None, "", "kafka-cluster"):
        yield f"the cluster has no name, so name: {item['name']} would be ignored; remove it"
    if item.get("pattern") == "prefixed" and item.get("name") == "*":
        yield "with pattern: prefixed, * matches no name; use pattern: literal to match all"
    host = item.get("host") or "*"
    try:
        known = host == "*" or bool(ip_address(host))
    except ValueError:
        known = False
    if not known:
        yield f"host {host}: is not an address, and brokers compare it with a client's address; write an address or *"


def scope(prune: Mapping[str, Any] | None, kind: str) -> list[str]:
    """Return messages about patterns of kafka_prune that match nothing: '', or a pattern with `*` before its end.

    `kind` is the key of `prune` whose patterns are checked: topics, acls, users or quotas.
    """
    return [
        f"prune: {kind}: {name or 'an empty name'} matches nothing; write full names, or a prefix that ends with *"
        for name in (prune or {}).get(kind) or []
        if not name or "*" in name[:-1]
    ]
