"""Topics that applications make for themselves, and no inventory declares, as far as users and ACLs show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import (
    MIRROR_TOPICS,
    grants_of,
    listed,
)

MIRROR = MIRROR_TOPICS[0].rstrip("*")
# StreamsBuilder names them <application.id>-<store or operator>-changelog and -repartition.
OF_STREAMS = ("-changelog", "-repartition")
Own = tuple[str, str, tuple[str, ...]]
"""A name, or a beginning and a star; what is called so; how the rest ends of those that a site declares itself."""


def own_topics(model: Model) -> Iterator[Own]:
    """Yield what applications make: Streams, MirrorMaker and Connect, by their grants or by ACLs that say as much."""
    for user in model.present("kafka_users"):
        for grant in grants_of(user):
            yield from _of_grant(f"kafka_users[{user.get('name')}]", grant)
    yield from _of_acls([entry for entry in model.present("kafka_acls") if entry.get("permission") != "deny"])


def declared(own: Own, topics: Sequence[str]) -> bool:
    """Tell whether a site declares some of them: then it knows which are there, and the rest are nobody's."""
    name, _, ends = own
    begin = name.removesuffix("*")
    return name in topics or any(
        name.endswith("*") and topic.startswith(begin) and topic.endswith(ends or ("",)) for topic in topics
    )


def _of_grant(place: str, grant: Mapping[str, Any]) -> Iterator[Own]:
    for application in listed(grant.get("streams")):
        yield _streams(application, place)
    if grant.get("mirror_maker") is not None:
        yield from _mirror(place)
        for alias in listed(grant.get("source")) if grant["mirror_maker"] == "target" else ():
            yield f"{alias}.*", f"what the mirror of {place} makes of the topics of {alias}", ()
    for topic in listed(grant.get("topics")) if grant.get("connect") is not None else ():
        yield topic, f"topics in which Connect keeps its state ({place})", ()


def _streams(application: str, place: str) -> Own:
    return (
        f"{application}-*",
        f"changelogs and repartition topics of Kafka Streams' {application} ({place})",
        OF_STREAMS,
    )


def _mirror(place: str) -> Iterator[Own]:
    for topic in MIRROR_TOPICS:
        yield topic, f"what the mirror of {place} keeps for itself", ()


def _of_acls(acls: Sequence[Mapping[str, Any]]) -> Iterator[Own]:
    """Who may make topics that begin with the name of his group is an application; with those of mm2 a mirror."""
    for principal in dict.fromkeys(str(entry.get("principal")) for entry in acls):
        own = [entry for entry in acls if entry.get("principal") == principal]
        begins = {str(entry.get("name")) for entry in own
                  if entry.get("pattern") == "prefixed" and _may(entry, "topic", "CREATE")}  # fmt: skip
        groups = {str(entry.get("name")) for entry in own if _may(entry, "group", "READ")}
        place = f"kafka_acls[{principal}]"
        mirror = any(begin.startswith(MIRROR) for begin in begins)
        yield from _mirror(place) if mirror else ()
        for begin in sorted(begins):
            if begin.removesuffix("-") in groups:
                yield _streams(begin.removesuffix("-"), place)
            elif mirror and begin.endswith("."):
                yield f"{begin}*", f"what the mirror of {place} makes of the topics of {begin[:-1]}", ()


def _may(entry: Mapping[str, Any], kind: str, operation: str) -> bool:
    said = {str(one).upper() for one in listed(entry.get("operations"))}
    return entry.get("resource") == kind and bool(said & {operation, "ALL"})
