"""Entries that Kafka would take for something else, or of which two speak of one thing. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

Entries = Sequence[Mapping[str, Any]]
NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
"""org.apache.kafka.common.internals.Topic."""
MOST_PARTITIONS = 100_000
"""The library makes no more in one request."""
MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256")


def topics(wanted: Entries) -> dict[str, list[str]]:
    """Return by name of a topic why its entry is none."""
    wrong: dict[str, list[str]] = {}
    for name, times in Counter(str(topic["name"]) for topic in wanted).items():
        if times > 1:
            wrong.setdefault(name, []).append(f"declared {times} times; keep one entry")
        if not NAME.fullmatch(name):
            why = "no topic has such a name; use up to 249 letters, figures, . _ and - alone"
            wrong.setdefault(name, []).append(why)
    for topic in wanted:
        for key, most in (("partitions", MOST_PARTITIONS), ("replication_factor", 32_767)):
            number = topic.get(key)
            if number is not None and not 1 <= number <= most:
                text = f"{key} {number}: not from 1 to {most}; say another, or leave it out"
                wrong.setdefault(str(topic["name"]), []).append(text)
    return wrong


def users(wanted: Entries) -> Iterator[str]:
    """Yield names that nobody could log in with, and credentials of which two entries speak."""
    seen: set[tuple[str, str]] = set()
    for user in wanted:
        name, every = str(user["name"]), user.get("state") == "absent" and user.get("mechanism") is None
        if not name or name != name.strip() or not name.isprintable():
            yield f"user {name!r}: no name, or one with a blank at an end or a sign that nobody sees; correct it"
        without = not user.get("credential", True)
        meant = MECHANISMS if every or without else (user.get("mechanism") or MECHANISMS[0],)
        if twice := sorted(seen & {(name, one) for one in meant}):
            yield f"user {name}: two entries speak of its {twice[-1][1]}; keep one of them"
        seen |= {(name, one) for one in meant}


def acl(item: Mapping[str, Any]) -> Iterator[str]:
    """Yield why an ACL would be of nobody, or about nothing."""
    if item["principal"] == "User:":
        yield "nobody is named; write the name behind User:"
    if not item["operations"]:
        yield "no operation, so nothing would be allowed or denied; name some"
    if item["resource"] == "cluster" and item.get("name") not in (None, "", "kafka-cluster"):
        yield f"the cluster has no name, and {item['name']} would be left out; take it out"
    if item.get("pattern") == "prefixed" and item.get("name") == "*":
        yield "prefixed, a star is a beginning that no name has; all is pattern: literal"
    host = item.get("host") or "*"
    try:
        known = host == "*" or bool(ip_address(host))
    except ValueError:
        known = False
    if not known:
        yield f"host {host}: brokers compare the address that a client comes from as a text; write one address, or *"


def scope(prune: Mapping[str, Any] | None, kind: str) -> list[str]:
    """Return the refusal of names in a scope that would match nothing, though more is meant."""
    return [
        f"prune: {kind}: {one or 'an empty name'} stands for nothing; write whole names, or a beginning and one star"
        for one in (prune or {}).get(kind) or []
        if not one or "*" in one[:-1]
    ]
