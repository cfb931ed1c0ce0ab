"""Limits on what moving replicas may take of brokers and networks: set for a plan, and taken back after it.

Two settings make one: a rate of each broker, and for each topic the replicas that it holds for. Both may be somebody
else's already; what was there before stays, and comes back. Who is `there` is for the controller to say: a broker that
has just started knows no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import broker_config, moves, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.topics import Settings
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.topics import THROTTLES

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
COPIES = "replica.alter.log.dirs.io.max.bytes.per.second"
"""What a broker may copy from one of its log dirs to another."""
LEADER, FOLLOWER = THROTTLES
EVERY = "*"


def lists_of(made: Iterable[Move]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return by topic and setting whom the rates are to hold for: who has a replica sends, who gets one takes."""
    found: dict[str, dict[str, list[str]]] = {}
    for move in made:
        if move.added:
            both = found.setdefault(move.topic, {LEADER: [], FOLLOWER: []})
            both[LEADER] += [f"{move.number}:{one}" for one in move.before]
            both[FOLLOWER] += [f"{move.number}:{one}" for one in move.added]
    return {topic: {key: tuple(entries) for key, entries in both.items()} for topic, both in found.items()}


def entries(text: str | None) -> list[str]:
    """Return the entries of a list of replicas."""
    return [one for one in (text or "").split(",") if one]


def limiting(record: Record, brokers: Collection[int]) -> dict[int, tuple[str, ...]]:
    """Return by broker what limits it for a record: of those that are there, and of all that copy between log dirs."""
    involved = {one for move in record.moves if move.added for one in (*move.before, *move.after)}
    between = {shift.broker: (COPIES,) for shift in record.shifts}
    return {**dict.fromkeys(sorted(involved & {*brokers}), RATES), **between}


def whose(broker: str, key: str, value: str | None, others: Iterable[Record]) -> Record | None:
    """Return which of other runs' records has set a rate of a broker, None where none of them has."""
    named = [one for one in others if key in one.rates.get(broker, {})]
    return next((one for one in named if value in {str(rate) for rate in one.used}), None)


def put_by(others: Iterable[Record], topic: str, key: str) -> set[str]:
    """Return the entries of a list of replicas that other runs need, each of which counts them as put in by itself."""
    return {entry for one in others for entry in one.lists.get(topic, {}).get(key, ())}


def planned(admin: Admin, record: Record, there: Metadata, others: Sequence[Record] = ()) -> Record:
    """Return the record with what is to be put in for it, and the rates that are there now. Raises AdminError.

    What it has noted before stays noted: then it was interrupted, and what is there now may be its own. Of what one of
    the `others` has put in, whose runs go on or were interrupted, is noted what was there before that: whichever of
    them ends last takes it back.
    """
    wanted = lists_of(record.moves) if record.rate else {}
    now = _lists(admin, wanted, there)
    lists = {topic: dict(both) for topic, both in record.lists.items()}
    for topic, both in wanted.items():
        for key, new in both.items():
            has = entries(now.get(topic, {}).get(key))
            ours = lists.setdefault(topic, {}).get(key, ())
            stays = {*has} - put_by(others, topic, key) | {*ours}
            lists[topic][key] = (*ours, *(one for one in new if one not in stays and EVERY not in has))
    rates = {broker: dict(values) for broker, values in record.rates.items()}
    for broker, keys in limiting(record, there.brokers).items() if record.rate else ():
        if (name := str(broker)) not in rates:
            own = broker_config.describe(admin, broker)[0]
            rates[name] = {key: _before(name, key, own.get(key), others) for key in keys}
    used = tuple(dict.fromkeys((*record.used, *([record.rate] if record.rate else []))))
    return replace(record, lists=lists, rates=rates, used=used)


def _before(broker: str, key: str, now: str | None, others: Iterable[Record]) -> str | None:
    """Return a rate as it was before other runs set it."""
    other = whose(broker, key, now, others)
    return other.rates[broker][key] if other else now


def put_in(admin: Admin, record: Record, there: Metadata) -> None:
    """Set what a record says. Raises AdminError."""
    now = _lists(admin, record.lists, there)
    changes = []
    for topic, both in record.lists.items() if record.rate else ():
        texts = {key: entries(now[topic].get(key)) for key in both if topic in now}
        sets = {
            key: ",".join(dict.fromkeys((*has, *both[key])))
            for key, has in texts.items()
            if EVERY not in has and {*both[key]} - {*has}
        }
        changes += [Settings(topic, sets)] if sets else []
    _told(topics.configure(admin, changes))
    for broker, keys in limiting(record, there.brokers).items() if record.rate else ():
        tell(admin, str(broker), dict.fromkeys(keys, str(record.rate)))


def take_out(admin: Admin, record: Record, there: Metadata, others: Sequence[Record] = ()) -> list[str]:
    """Take back what a record put in and none of the `others` needs.

    Return what was not taken back: of a broker that is away, or set by somebody else meanwhile. Raises AdminError.
    """
    now = _lists(admin, record.lists, there)
    changes = []
    for topic, both in record.lists.items():
        ours = {key: {*both[key]} - put_by(others, topic, key) for key in both}
        has = {key: entries(now.get(topic, {}).get(key)) for key in both}
        rest = {key: [one for one in has[key] if one not in ours[key]] for key in both}
        sets = {key: ",".join(rest[key]) for key in both if rest[key] and rest[key] != has[key]}
        gone = [key for key in both if has[key] and not rest[key]]
        changes += [Settings(topic, sets, gone)] if sets or gone else []
    _told(topics.configure(admin, changes))
    left, used = list[str](), {str(rate) for rate in record.used}
    for broker, before in record.rates.items():
        if int(broker) not in there.brokers:
            left.append(f"broker {broker} is away and keeps {', '.join(before)}")
            continue
        own = broker_config.describe(admin, int(broker))[0]
        set_by_us = {key: value for key, value in before.items() if own.get(key) in used}
        tell(admin, broker, {key: _next(broker, key, others) or value for key, value in set_by_us.items()})
        left += [
            f"broker {broker}: somebody else set {key} to {own.get(key) or 'nothing'} meanwhile; it stays so"
            for key, value in before.items()
            if own.get(key) != value and key not in set_by_us and not whose(broker, key, own.get(key), others)
        ]
    return left


def _next(broker: str, key: str, others: Iterable[Record]) -> str | None:
    """Return the rate that another run needs of a broker, None where none does."""
    return next((str(one.rate) for one in others if one.rate and key in one.rates.get(broker, {})), None)


def left_behind(admin: Admin, brokers: Iterable[int]) -> dict[int, str]:
    """Return by broker the rate that somebody left there; none while replicas are moved. Raises AdminError."""
    found = {}
    for name, settings in topics.describe(admin, "BROKER", [str(broker) for broker in brokers]).items():
        rates = [settings[key].value for key in RATES if key in settings and settings[key].dynamic]
        if rates:
            found[int(name)] = rates[0] or ""
    return {} if found and moves.running(admin) else found


def of_copies(admin: Admin, brokers: Iterable[int]) -> dict[int, str]:
    """Return by broker the rate that was set for copies between its log dirs. Raises AdminError."""
    found = topics.describe(admin, "BROKER", [str(broker) for broker in brokers])
    return {
        int(name): settings[COPIES].value or ""
        for name, settings in found.items()
        if COPIES in settings and settings[COPIES].dynamic
    }


def _lists(admin: Admin, wanted: Collection[str], there: Metadata) -> dict[str, dict[str, str]]:
    """Return the throttled replicas of topics, of those that are there."""
    if not wanted:
        return {}
    found = topics.describe(admin, "TOPIC", sorted(set(wanted) & there.topics.keys()))
    return {
        name: {key: settings[key].value or "" for key in THROTTLES if key in settings and settings[key].dynamic}
        for name, settings in found.items()
    }


def tell(admin: Admin, broker: str, values: Mapping[str, str | None]) -> None:
    """Set, and take back, settings of a broker that are otherwise now. Raises AdminError."""
    own = broker_config.describe(admin, int(broker))[0]
    changed = {key: value for key, value in values.items() if own.get(key) != value}
    if changed and (why := broker_config.write(admin, broker, changed, int(broker))):
        raise AdminError(f"broker {broker}: {why}")


def _told(failed: Mapping[str, str]) -> None:
    if failed:
        raise AdminError("; ".join(f"topic {name}: {why}" for name, why in failed.items()))
