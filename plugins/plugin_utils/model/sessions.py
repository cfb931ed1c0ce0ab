"""Rules on the timeouts of ZooKeeper sessions: what the ensemble grants, and what brokers request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.ensemble import CONFIG, MIN_TICK
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

SESSION, DEFAULT_SESSION = "zookeeper.session.timeout.ms", 30000  # roles/kafka/vars/main/server_properties.yml
ZOOKEEPER_SESSION_RANGE = ProblemKind(
    "ZOOKEEPER_SESSION_RANGE",
    "minSessionTimeout {low} is longer than maxSessionTimeout {high}: no session could be granted",
    "remove both, or set them so that {sessions} ms, which brokers request, are between them",
)
ZOOKEEPER_SESSION_RANGE_MIN = ZOOKEEPER_SESSION_RANGE.variant(
    message="longer than the longest session of {high} ms (20 ticks): no session could be granted",
    advice="remove it, or set it to at most {least}, the session that brokers request",
)
ZOOKEEPER_SESSION_RANGE_MAX = ZOOKEEPER_SESSION_RANGE.variant(
    message="shorter than the shortest session of {low} ms (2 ticks): no session could be granted",
    advice="remove it, or set it to at least {most}, the session that brokers request",
)
SESSION_TIMEOUT = ProblemKind(
    "SESSION_TIMEOUT",
    "the ensemble allows {low} to {high} ms (2 to 20 ticks of {tick} ms), and would silently use the nearest limit",
    "set a value in that range, or a tickTime from {least_tick} to {most_tick}",
)
SESSION_TIMEOUT_RANGE = SESSION_TIMEOUT.variant(
    message="the ensemble allows {low} to {high} ms, and would silently use the nearest limit",
    advice="set a value in that range",
)
SESSION_TIMEOUT_TICK = SESSION_TIMEOUT.variant(
    message="the unit is milliseconds: sessions would expire after {high} ms at most, and servers would "
    "lose each other as fast",
    advice="remove it (default: 2000)",
)
SESSION_TIMEOUT_SERVERS = SESSION_TIMEOUT.variant(
    message="brokers request sessions of {session} ms ({property}), but the ensemble would allow only "
    "{low} to {high} ms",
    advice="remove it (default: 2000)",
)
SESSION_TIMEOUT_SERVERS_MAX = SESSION_TIMEOUT_SERVERS.variant(advice="raise it to at least {session}{or_remove}")
SESSION_TIMEOUT_SERVERS_MIN = SESSION_TIMEOUT_SERVERS.variant(advice="lower it to at most {session}{or_remove}")
UNREGISTERED_EARLY = ProblemKind(
    "UNREGISTERED_EARLY",
    "not longer than the broker's session ({property}, {session} ms): in that time a broker registers again by itself",
    "set at least {least} seconds, twice the session",
)


def session(model: Model) -> Iterator[Problem]:
    """Yield a problem if ZooKeeper would not grant the session timeout that brokers request.

    Also yield a problem if kafka_unregistered_timeout is so short that a host would restart its broker before the
    broker's session has expired.
    """
    if not model.servers:
        return
    config = model.servers[0].config
    tick = whole(config.get("tickTime", 2000)) or 2000
    low = whole(config.get("minSessionTimeout", 2 * tick)) or 2 * tick
    high = whole(config.get("maxSessionTimeout", 20 * tick)) or 20 * tick
    sessions = sorted({whole(broker.config.get(SESSION, DEFAULT_SESSION)) or 0 for broker in model.brokers} - {0})
    if low > high:
        yield _no_session(model, config, low, high, sessions or [DEFAULT_SESSION])
        return
    if tick < MIN_TICK:
        yield SESSION_TIMEOUT_TICK.problem(names(model.servers), f"{CONFIG}[tickTime]", tick, high=high)
        return
    for broker in model.brokers:
        requested = whole(broker.config.get(SESSION, DEFAULT_SESSION))
        if requested is None:
            continue
        seconds = broker.inputs.whole("kafka_unregistered_timeout") or 0
        if 0 < seconds * 1000 <= requested <= high:
            yield broker.report(
                UNREGISTERED_EARLY,
                "kafka_unregistered_timeout",
                seconds,
                property=SESSION,
                session=requested,
                least=2 * requested // 1000,
            )
        if not low <= requested <= high and SESSION in broker.config and _limit(config, requested, high) == "tickTime":
            ticks: dict[str, Any] = {"least_tick": max(-(-requested // 20), MIN_TICK), "most_tick": requested // 2}
            kind = SESSION_TIMEOUT if ticks["least_tick"] <= ticks["most_tick"] else SESSION_TIMEOUT_RANGE
            variable = f"kafka_config[{SESSION}]"
            yield broker.report(kind, variable, requested, low=low, high=high, tick=tick, **ticks)
    for requested in sessions:
        limit = _limit(config, requested, high)
        is_default = any(SESSION not in broker.config for broker in model.brokers) and requested == DEFAULT_SESSION
        if not low <= requested <= high and (limit != "tickTime" or is_default):
            yield _bounded(model, config, limit, requested, tick, low, high)


def _limit(config: Mapping[Any, Any], requested: int, high: int) -> str:
    """Return the property of the servers that excludes a session of `requested` ms; `high` is the longest session."""
    name = "maxSessionTimeout" if requested > high else "minSessionTimeout"
    return name if name in config else "tickTime"


def _no_session(model: Model, config: Mapping[Any, Any], low: int, high: int, sessions: Sequence[int]) -> Problem:
    """Return the problem of an ensemble whose shortest session, `low` ms, is longer than its longest, `high` ms.

    `sessions` are the sessions that brokers request.
    """
    set_names = [name for name in ("minSessionTimeout", "maxSessionTimeout") if name in config]
    details: dict[str, Any] = {
        "low": low,
        "high": high,
        "least": sessions[0],
        "most": sessions[-1],
        "sessions": list(sessions),
    }
    if len(set_names) != 1:
        return ZOOKEEPER_SESSION_RANGE.problem(names(model.servers), CONFIG, **details)
    kind = ZOOKEEPER_SESSION_RANGE_MIN if set_names[0] == "minSessionTimeout" else ZOOKEEPER_SESSION_RANGE_MAX
    return kind.problem(names(model.servers), f"{CONFIG}[{set_names[0]}]", config[set_names[0]], **details)


def _bounded(
    model: Model, config: Mapping[Any, Any], name: str, requested: int, tick: int, low: int, high: int
) -> Problem:
    """Return the problem of a property `name` of the servers that excludes the session that brokers request.

    `config` has the properties of the servers; `low` and `high` are the timeouts in ms that the ensemble grants.
    """
    kinds = {"maxSessionTimeout": SESSION_TIMEOUT_SERVERS_MAX, "minSessionTimeout": SESSION_TIMEOUT_SERVERS_MIN}
    details: dict[str, Any] = {"session": requested, "property": SESSION, "low": low, "high": high}
    or_remove = ", or remove it" if 2 * tick <= requested <= 20 * tick else ""
    variable, where = f"{CONFIG}[{name}]", names(model.servers)
    return kinds.get(name, SESSION_TIMEOUT_SERVERS).problem(
        where, variable, config.get(name), or_remove=or_remove, **details
    )
