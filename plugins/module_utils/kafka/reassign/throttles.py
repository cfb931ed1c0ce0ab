"""Sets Kafka's replication throttles for a run, and removes them when the run ends.

A throttle consists of a rate for each broker, and for each topic the list of replicas to which the rates apply. Values
that another tool set before are kept or restored. The parameter `there` is always the controller's metadata, because
another broker that has just started may not know all brokers.
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
"""The rate at which a broker may copy between its log dirs."""
LEADER, FOLLOWER = THROTTLES
EVERY = "*"
"""A list of throttled replicas that contains all of them."""


def lists_of(made: Iterable[Move]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return {topic: {setting: throttled replicas as `partition:broker`}} for these moves.

    The setting for leaders has the replicas before the move, the setting for followers has the added replicas.
    """
    lists: dict[str, dict[str, list[str]]] = {}
    for move in made:
        if move.added:
            both = lists.setdefault(move.topic, {LEADER: [], FOLLOWER: []})
            both[LEADER] += [f"{move.number}:{broker}" for broker in move.before]
            both[FOLLOWER] += [f"{move.number}:{broker}" for broker in move.added]
    return {topic: {key: tuple(entries) for key, entries in both.items()} for topic, both in lists.items()}


def entries(text: str | None) -> list[str]:
    """Split the value of a setting of throttled replicas, as `0:1,0:2`, into its entries; [] for None."""
    return [entry for entry in (text or "").split(",") if entry]


def rates_of(record: Record, brokers: Collection[int]) -> dict[int, tuple[str, ...]]:
    """Return {broker: names of the rate settings to set} for a run.

    A run between brokers sets rates on the brokers of its moves, except brokers that are down (not in `brokers`). A run
    between log dirs sets rates on all of its brokers.
    """
    involved = {broker for move in record.moves if move.added for broker in (*move.before, *move.after)}
    between = {shift.broker: (COPIES,) for shift in record.shifts}
    return {**dict.fromkeys(sorted(involved & {*brokers}), RATES), **between}


def set_by(broker: str, key: str, value: str | None, others: Iterable[Record]) -> Record | None:
    """Return the record among `others` whose run set `key` of the broker to `value`; None if no run did."""
    candidates = [one for one in others if key in one.rates.get(broker, {})]
    return next((one for one in candidates if value in {str(rate) for rate in one.used}), None)


def entries_of(others: Iterable[Record], topic: str, key: str) -> set[str]:
    """Return the throttled replicas (`partition:broker`) that other runs still need in the topic's setting `key`."""
    return {entry for one in others for entry in one.lists.get(topic, {}).get(key, ())}


def planned(admin: Admin, record: Record, there: Metadata, others: Sequence[Record] = ()) -> Record:
    """Return the record with the throttled replicas to add, and with the rates that brokers have before the run.

    Values already in the record are kept: the run was interrupted, so the present values may be its own. `others` are
    records of runs that have not ended. If one of these runs set the present rate, the rate from before that run is
    stored, so that the last run to end restores it. Raises AdminError if the settings cannot be read.
    """
    wanted = lists_of(record.moves) if record.rate else {}
    now = _lists(admin, wanted, there)
    lists = {topic: dict(both) for topic, both in record.lists.items()}
    for topic, both in wanted.items():
        for key, new in both.items():
            has = entries(now.get(topic, {}).get(key))
            ours = lists.setdefault(topic, {}).get(key, ())
            stays = {*has} - entries_of(others, topic, key) | {*ours}
            lists[topic][key] = (*ours, *(entry for entry in new if entry not in stays and EVERY not in has))
    rates = {broker: dict(values) for broker, values in record.rates.items()}
    for broker, keys in rates_of(record, there.brokers).items() if record.rate else ():
        if (name := str(broker)) not in rates:
            own = broker_config.describe(admin, broker)[0]
            rates[name] = {key: _before(name, key, own.get(key), others) for key in keys}
    used = tuple(dict.fromkeys((*record.used, *([record.rate] if record.rate else []))))
    return replace(record, lists=lists, rates=rates, used=used)


def _before(broker: str, key: str, now: str | None, others: Iterable[Record]) -> str | None:
    """Return the value of a rate setting from before the other runs; `now` is its present value."""
    other = set_by(broker, key, now, others)
    return other.rates[broker][key] if other else now


def put_in(admin: Admin, record: Record, there: Metadata) -> None:
    """Set the throttles of a record in the cluster.

    Raises AdminError if the cluster rejects them or does not answer.
    """
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
    _raise_failures(topics.configure(admin, changes))
    for broker, keys in rates_of(record, there.brokers).items() if record.rate else ():
        configure_broker(admin, str(broker), dict.fromkeys(keys, str(record.rate)))


def take_out(admin: Admin, record: Record, there: Metadata, others: Sequence[Record] = ()) -> list[str]:
    """Remove the throttles of a record, except those that a run in `others` needs; restore the earlier values.

    Return notes on throttles that are left unchanged, because the broker is down or another tool changed them. Raises
    AdminError if the cluster rejects a change or does not answer.
    """
    now = _lists(admin, record.lists, there)
    changes = []
    for topic, both in record.lists.items():
        ours = {key: {*both[key]} - entries_of(others, topic, key) for key in both}
        has = {key: entries(now.get(topic, {}).get(key)) for key in both}
        rest = {key: [entry for entry in has[key] if entry not in ours[key]] for key in both}
        sets = {key: ",".join(rest[key]) for key in both if rest[key] and rest[key] != has[key]}
        deletes = [key for key in both if has[key] and not rest[key]]
        changes += [Settings(topic, sets, deletes)] if sets or deletes else []
    _raise_failures(topics.configure(admin, changes))
    notes, used = list[str](), {str(rate) for rate in record.used}
    for broker, before in record.rates.items():
        if int(broker) not in there.brokers:
            notes.append(f"broker {broker} is down and keeps the throttles {', '.join(before)}")
            continue
        own = broker_config.describe(admin, int(broker))[0]
        set_by_us = {key: value for key, value in before.items() if own.get(key) in used}
        restored = {key: _needed_rate(broker, key, others) or value for key, value in set_by_us.items()}
        configure_broker(admin, broker, restored)
        notes += [
            f"broker {broker}: another tool set {key} to {own.get(key) or 'nothing'} meanwhile; left unchanged"
            for key, value in before.items()
            if own.get(key) != value and key not in set_by_us and not set_by(broker, key, own.get(key), others)
        ]
    return notes


def _needed_rate(broker: str, key: str, others: Iterable[Record]) -> str | None:
    """Return the rate that another unfinished run needs for the setting `key` of the broker, None if none does."""
    return next((str(one.rate) for one in others if one.rate and key in one.rates.get(broker, {})), None)


def left_behind(admin: Admin, brokers: Iterable[int]) -> dict[int, str]:
    """Return {broker: rate} for brokers on which a throttle rate is set although no replicas are being moved.

    While replicas are moved, return {}. Raises AdminError if the cluster does not answer.
    """
    rates_left = {}
    for name, settings in topics.describe(admin, "BROKER", [str(broker) for broker in brokers]).items():
        rates = [settings[key].value for key in RATES if key in settings and settings[key].dynamic]
        if rates:
            rates_left[int(name)] = rates[0] or ""
    return {} if rates_left and moves.running(admin) else rates_left


def of_copies(admin: Admin, brokers: Iterable[int]) -> dict[int, str]:
    """Return {broker: rate} for brokers with a throttle for copies between their log dirs.

    Raises AdminError if the settings cannot be read.
    """
    described = topics.describe(admin, "BROKER", [str(broker) for broker in brokers])
    return {
        int(name): settings[COPIES].value or ""
        for name, settings in described.items()
        if COPIES in settings and settings[COPIES].dynamic
    }


def _lists(admin: Admin, wanted: Collection[str], there: Metadata) -> dict[str, dict[str, str]]:
    """Return {topic: {setting of throttled replicas: its value}} for those of the topics that exist."""
    if not wanted:
        return {}
    described = topics.describe(admin, "TOPIC", sorted(set(wanted) & there.topics.keys()))
    return {
        name: {key: settings[key].value or "" for key in THROTTLES if key in settings and settings[key].dynamic}
        for name, settings in described.items()
    }


def configure_broker(admin: Admin, broker: str, values: Mapping[str, str | None]) -> None:
    """Set dynamic settings of a broker; a value of None deletes the setting. Unchanged values are not written.

    Raises AdminError if the broker rejects the change or does not answer.
    """
    own = broker_config.describe(admin, int(broker))[0]
    changed = {key: value for key, value in values.items() if own.get(key) != value}
    if changed and (why := broker_config.write(admin, broker, changed, int(broker))):
        raise AdminError(f"broker {broker}: {why}")


def _raise_failures(failed: Mapping[str, str]) -> None:
    """Raise AdminError if `failed`, {topic: reason}, is not empty."""
    if failed:
        raise AdminError("; ".join(f"topic {name}: {why}" for name, why in failed.items()))
