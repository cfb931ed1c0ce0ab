"""Rules on quotas, and on what is deleted because nobody declares it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import in_scope
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.application_topics import declared as some_declared
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.application_topics import own_topics
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.logins import super_users
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typos import slip
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import listed
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.quotas import DEFAULT, NAMES, declared, rate

LEAST_RATE = 1024  # bytes a second: below it a unit was forgotten
SHARE = "request_percentage"
SCOPES = ("topics", "acls", "users", "quotas")


def values(model: Model) -> Iterator[Problem]:
    """Every quota is a number above 0, of somebody, once."""
    where, seen = names(model.brokers), set[tuple[str, str]]()
    for place, entry in declared(model.told("kafka_users"), model.told("kafka_quotas")):
        entity = (str(entry.get("user") or ""), str(entry.get("client_id") or ""))
        if entity == ("", ""):
            wrong, advice = "neither a user nor a client", f"name one, or {DEFAULT} for all who have none of their own"
            yield Problem(where, place, "QUOTA_ENTITY", None, wrong, advice)
        elif entity in seen:
            yield Problem(where, place, "QUOTA_DUPLICATE", None, "declared twice", "keep one of the two")
        seen.add(entity)
        given = [name for name in NAMES if entry.get(name) is not None]
        if not given and entry.get("state") != "absent":
            wrong, advice = "limits nothing", f"say one of {', '.join(NAMES)}, or state: absent"
            yield Problem(where, place, "QUOTA_EMPTY", None, wrong, advice)
        for name in given:
            number = rate(name, entry[name])
            if number is None or not 0 < number < float("inf"):
                wrong = "no number above 0" if number is not None else "not a number"
                advice = "write a number above 0" + (", or a size as 20MiB" if name.endswith("_byte_rate") else "")
                yield Problem(where, f"{place}.{name}", "QUOTA_VALUE", entry[name], wrong, advice)
            elif name.endswith("_byte_rate") and number < LEAST_RATE:
                wrong, advice = (
                    "bytes a second, so few that requests wait for minutes",
                    f"write {number:.0f}MiB if meant so",
                )
                yield Problem(where, f"{place}.{name}", "QUOTA_VALUE", entry[name], wrong, advice, warning=True)
            elif name == SHARE and number < 1:
                wrong = "percent of one thread, which is next to nothing: 100 is a whole one"
                advice = f"write {100 * number:g} if that part of a thread was meant"
                yield Problem(where, f"{place}.{name}", "QUOTA_VALUE", entry[name], wrong, advice, warning=True)


def users(model: Model) -> Iterator[Problem]:
    """Quotas are of users who are there."""
    known = {str(user.get("name")) for user in model.present("kafka_users")}
    for place, entry in declared([], model.present("kafka_quotas")) if known else ():
        name = entry.get("user")
        if name not in (None, "", DEFAULT) and str(name) not in known:
            wrong, advice = "none of kafka_users", "declare the user, or correct the name"
            plain = str(name).removeprefix("User:")
            near = DEFAULT if plain.lower() == "default" else plain if plain in known else slip(plain, known)
            advice = f"did you mean {near}?" if near else advice
            where = names(model.brokers)
            yield Problem(where, f"{place}.user", "QUOTA_UNKNOWN_USER", name, wrong, advice, warning=not near)


def prune(model: Model) -> Iterator[Problem]:
    """What is deleted has a scope and a limit, and is nobody's own."""
    where = names(model.brokers)
    for broker in model.brokers[:1]:
        said = broker.inputs.mapping("kafka_prune")
        scopes = {key: listed(said.get(key)) for key in SCOPES if said.get(key) is not None}
        limit = said.get("max_deletes")
        if not any(scopes.values()):
            if said:
                wrong, advice = "says nothing that may be deleted", f"name some in {', '.join(SCOPES)}, or take it out"
                yield Problem(where, "kafka_prune", "PRUNE_SCOPE", None, wrong, advice)
            continue
        if limit is None or (isinstance(limit, int) and limit < 1):
            wrong = "no limit: a list that was cut short would delete all the rest"
            yield Problem(where, "kafka_prune.max_deletes", "PRUNE_LIMIT", limit, wrong, "say how many at most, as 20")
        if scopes.get("topics") and not model.told("kafka_topics"):
            wrong = "kafka_topics declares none, so all of these would be deleted"
            yield Problem(where, "kafka_prune.topics", "PRUNE_SCOPE", None, wrong, "declare topics, or take it out")
        protected = {name for name, _ in super_users(broker)}
        yield from _scopes(where, scopes, protected)
        yield from _made(model, scopes.get("topics", []))


def _made(model: Model, scope: list[str]) -> Iterator[Problem]:
    """What applications make for themselves is in no scope: nobody declares it, and it is there to stay."""
    known = [topic.name for topic in topics_of(model) if topic.said.get("state") != "absent"]
    for name in (one for one in scope if not one.startswith("_") and one != "*"):
        found = dict.fromkeys(
            own[1] for own in own_topics(model) if _covers(name, own[0]) and not some_declared(own, known)
        )
        if found:
            wrong = f"it has {', and '.join(found)}: nobody declares them, so every run would delete them"
            advice = "write more of the names, or declare those that are to stay (manage: false)"
            yield Problem(names(model.brokers), "kafka_prune.topics", "PRUNE_PROTECTED", name, wrong, advice)


def _covers(name: str, own: str) -> bool:
    """Tell whether a name of a scope is all that an application's own is: a part may be meant."""
    return name == own or (name.endswith("*") and own.removesuffix("*").startswith(name[:-1]))


def _scopes(where: tuple[str, ...], scopes: Mapping[str, list[str]], protected: set[str]) -> Iterator[Problem]:
    for key, given in scopes.items():
        for name in given:
            place, begin = f"kafka_prune.{key}", name.rstrip("*")
            own = name if key == "acls" else f"User:{name}"
            if begin in ("", "User:") or any(character in name[:-1] + begin for character in "*?["):
                wrong = "everything there is" if begin in ("", "User:") else "only a star at the end stands for more"
                yield Problem(where, place, "PRUNE_SCOPE", name, wrong, "write how the names begin, as orders-*")
            elif key == "topics" and name.startswith("_"):
                wrong = "topics of Kafka and of products, which are never deleted here"
                yield Problem(where, place, "PRUNE_PROTECTED", name, wrong, "take it out")
            elif key in ("users", "quotas") and name.startswith("User:"):
                wrong = "names of users are meant here, and no user is called so: nothing would be deleted"
                yield Problem(where, place, "PRUNE_SCOPE", name, wrong, f"write it as {name.removeprefix('User:')}")
            elif key == "acls" and not name.startswith("User:"):
                wrong = "Kafka knows users alone, and compares the whole text"
                yield Problem(where, place, "PRUNE_SCOPE", name, wrong, f"write it as User:{name}")
            elif key != "topics" and any(in_scope(one, [own]) for one in protected):
                one = next(one for one in sorted(protected) if in_scope(one, [own]))
                wrong = f"{one}, a super user, is in it, and is never deleted here"
                yield Problem(where, place, "PRUNE_PROTECTED", name, wrong, "write more of the names")
