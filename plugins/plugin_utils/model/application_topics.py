"""Finds topics that applications (Kafka Streams, MirrorMaker, Connect) create for themselves.

The grants in kafka_users and the entries of kafka_acls show which applications there are.
"""

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
ApplicationTopics = tuple[str, str, tuple[str, ...]]
"""(name, or prefix and a star; description for messages; endings of the names that a site may declare itself)."""


def topics_of_applications(model: Model) -> Iterator[ApplicationTopics]:
    """Yield the topics that Kafka Streams, MirrorMaker and Connect create: (name, description, endings).

    `name` may be a prefix and a star. `description` is a text for messages. `endings` are the endings of those topics
    that a site may declare itself. Applications are recognized by grants in kafka_users, or by ACLs that allow the
    same.
    """
    for user in model.present("kafka_users"):
        for grant in grants_of(user):
            yield from _of_grant(f"kafka_users[{user.get('name')}]", grant)
    yield from _of_acls([entry for entry in model.present("kafka_acls") if entry.get("permission") != "deny"])


def any_declared(topics: ApplicationTopics, known: Sequence[str]) -> bool:
    """Tell whether the site declares at least one of the topics that an application creates.

    `topics` is (name, or prefix and a star; description; endings of the topics that a site may declare). `known` are
    the names of the topics that the site declares.
    """
    name, _, endings = topics
    prefix = name.removesuffix("*")
    return name in known or any(
        name.endswith("*") and topic.startswith(prefix) and topic.endswith(endings or ("",)) for topic in known
    )


def _of_grant(place: str, grant: Mapping[str, Any]) -> Iterator[ApplicationTopics]:
    """Yield the topics that the application behind one grant creates; `place` names the user, as kafka_users[alice]."""
    for application in listed(grant.get("streams")):
        yield _streams(application, place)
    if grant.get("mirror_maker") is not None:
        yield from _mirror(place)
        for alias in listed(grant.get("source")) if grant["mirror_maker"] == "target" else ():
            yield _mirrored(alias, place)
    for topic in listed(grant.get("topics")) if grant.get("connect") is not None else ():
        yield topic, f"topics in which Connect keeps its state ({place})", ()


def _streams(application: str, place: str) -> ApplicationTopics:
    return (
        f"{application}-*",
        f"changelogs and repartition topics of the Kafka Streams application {application} ({place})",
        OF_STREAMS,
    )


def _mirror(place: str) -> Iterator[ApplicationTopics]:
    for topic in MIRROR_TOPICS:
        yield topic, f"internal topics of the mirror of {place}", ()


def _mirrored(alias: str, place: str) -> ApplicationTopics:
    return f"{alias}.*", f"topics of {alias} that the mirror of {place} copies", ()


def _of_acls(acls: Sequence[Mapping[str, Any]]) -> Iterator[ApplicationTopics]:
    """Yield the topics of those principals whose ACLs look like those of an application.

    A principal that may create topics with a prefix, and read the group named like that prefix, is a Streams
    application. A principal that may create MirrorMaker's internal topics (mm2-) is MirrorMaker.
    """
    for principal in dict.fromkeys(str(entry.get("principal")) for entry in acls):
        of_principal = [entry for entry in acls if entry.get("principal") == principal]
        prefixes = {str(entry.get("name")) for entry in of_principal
                    if entry.get("pattern") == "prefixed" and _allows(entry, "topic", "CREATE")}  # fmt: skip
        groups = {str(entry.get("name")) for entry in of_principal if _allows(entry, "group", "READ")}
        place = f"kafka_acls[{principal}]"
        mirror = any(prefix.startswith(MIRROR) for prefix in prefixes)
        yield from _mirror(place) if mirror else ()
        for prefix in sorted(prefixes):
            if prefix.removesuffix("-") in groups:
                yield _streams(prefix.removesuffix("-"), place)
            elif mirror and prefix.endswith("."):
                yield _mirrored(prefix[:-1], place)


def _allows(entry: Mapping[str, Any], resource: str, operation: str) -> bool:
    operations = {str(item).upper() for item in listed(entry.get("operations"))}
    return entry.get("resource") == resource and bool(operations & {operation, "ALL"})
