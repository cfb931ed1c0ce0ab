"""Checks the quotas in kafka_users and kafka_quotas."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typos import typo_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.quotas import DEFAULT, NAMES, declared, rate

LEAST_RATE = 1024  # bytes per second: a smaller rate is probably a number without its unit
SHARE = "request_percentage"

QUOTA_ENTITY = ProblemKind(
    "QUOTA_ENTITY",
    "the quota has neither user nor client_id",
    f"set one of the two to a name, or to {DEFAULT} for all that have no quota of their own",
)
QUOTA_DUPLICATE = ProblemKind("QUOTA_DUPLICATE", "declared twice", "keep one of the two")
QUOTA_EMPTY = ProblemKind("QUOTA_EMPTY", "the quota has no limit", "set at least one of {limits}, or state: absent")
QUOTA_VALUE = ProblemKind("QUOTA_VALUE", "not a number above 0", "write a number above 0")
QUOTA_VALUE_RATE = QUOTA_VALUE.variant(
    message="neither a number above 0 nor a size",
    advice="write the bytes per second as a number above 0, or as a whole number of KiB, MiB or GiB, for example 20MiB",
)
QUOTA_VALUE_SMALL = QUOTA_VALUE.variant(
    message="so few bytes per second that requests wait for minutes", advice="write {size} if you mean MiB"
)
QUOTA_VALUE_SHARE = QUOTA_VALUE.variant(
    message="less than 1 percent of one thread: a whole thread is 100",
    advice="write {percent} if you mean that fraction of a thread",
)


def values(model: Model) -> Iterator[Problem]:
    """Yield a problem for each quota without a user and client, without a limit, or declared twice.

    Also yield a problem for each limit that is not a number above 0, or so small that another unit was probably
    intended.
    """
    hosts, seen = names(model.brokers), set[tuple[str, str]]()
    for place, entry in declared(model.cluster_entries("kafka_users"), model.cluster_entries("kafka_quotas")):
        entity = (str(entry.get("user") or ""), str(entry.get("client_id") or ""))
        if entity == ("", ""):
            yield QUOTA_ENTITY.problem(hosts, place)
        elif entity in seen:
            yield QUOTA_DUPLICATE.problem(hosts, place)
        seen.add(entity)
        limits = [name for name in NAMES if entry.get(name) is not None]
        if not limits and entry.get("state") != "absent":
            yield QUOTA_EMPTY.problem(hosts, place, limits=NAMES)
        for name in limits:
            number, value = rate(name, entry[name]), entry[name]
            if number is None or not 0 < number < float("inf"):
                kind = QUOTA_VALUE_RATE if name.endswith("_byte_rate") else QUOTA_VALUE
                yield kind.problem(hosts, f"{place}.{name}", value)
            elif name.endswith("_byte_rate") and number < LEAST_RATE:
                size = f"{number:.0f}MiB" if number == int(number) else f"{max(1, round(1024 * number))}KiB"
                yield QUOTA_VALUE_SMALL.problem(hosts, f"{place}.{name}", value, warning=True, size=size)
            elif name == SHARE and number < 1:
                percent = f"{100 * number:g}"
                yield QUOTA_VALUE_SHARE.problem(hosts, f"{place}.{name}", value, warning=True, percent=percent)


QUOTA_UNKNOWN_USER = ProblemKind(
    "QUOTA_UNKNOWN_USER", "not a user of kafka_users", "declare the user, or correct the name"
)
QUOTA_UNKNOWN_USER_TYPO = QUOTA_UNKNOWN_USER.variant(advice="did you mean {near}?")


def users(model: Model) -> Iterator[Problem]:
    """Yield a problem for each quota whose user is not in kafka_users."""
    known = {str(user.get("name")) for user in model.present("kafka_users")}
    for place, entry in declared([], model.present("kafka_quotas")) if known else ():
        name = entry.get("user")
        if name not in (None, "", DEFAULT) and str(name) not in known:
            plain = str(name).removeprefix("User:")
            near = DEFAULT if plain.lower() == "default" else plain if plain in known else typo_of(plain, known)
            kind = QUOTA_UNKNOWN_USER_TYPO if near else QUOTA_UNKNOWN_USER
            yield kind.problem(names(model.brokers), f"{place}.user", name, warning=not near, near=near)
