"""Reads and writes dynamic settings of brokers, with kafka-python: confluent-kafka has no scope of all brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import ALL, MESSAGE, Found, Known
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin, refused
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.live_config import LIVE, Running, in_ms, synonyms

BROKER = 4
"""Kafka's number of the kind of resource BROKER."""
OF_BROKER, OF_ALL, OF_FILE, DEFAULT = 2, 3, 4, 5
"""Kafka's numbers for the source of a value: a setting of one broker, of all brokers, of the file, or a default."""
SET, DELETE = 0, 1
Own = dict[str, str | None]


def describe(admin: Admin, broker: int) -> tuple[Own, Own, dict[str, Known]]:
    """Return (a broker's own dynamic settings, the dynamic settings of all brokers, {setting: what is known of it}).

    The third value has all settings that the broker knows. Raises AdminError if the request is rejected or not
    answered.
    """
    entries = _described(admin, broker)
    known = {
        entry.name: Known(entry.read_only, entry.is_sensitive, None if entry.is_sensitive else entry.value)
        for entry in entries[str(broker)]
        if entry.config_type  # 0 for a name that brokers do not know
    }
    return _set(entries[str(broker)], OF_BROKER), _set(entries[ALL], OF_ALL), known


def running(admin: Admin, broker: int) -> Running:
    """Return the settings with which a broker was started, and its dynamic settings.

    Raises AdminError if the request is rejected or not answered.
    """
    entries = _described(admin, broker)
    own = entries[str(broker)]
    begun, default = (_by(own, sources) for sources in ((OF_FILE, DEFAULT), (DEFAULT,)))
    return Running(_set(own, OF_BROKER), _set(entries[ALL], OF_ALL), begun, default)


def _described(admin: Admin, broker: int) -> dict[str, Any]:
    """Return {scope: entries of DescribeConfigs} of one broker and of all brokers; the scope of all is ''.

    Raises AdminError if the request is rejected or not answered.
    """
    from kafka.protocol.admin import DescribeConfigsRequest as Request

    asked = Request(
        resources=[(BROKER, str(broker), None), (BROKER, ALL, None)],
        include_synonyms=True,
        include_documentation=False,
    )
    entries: dict[str, Any] = {}
    for one in kafka_python.of(admin).ask(asked, ASK, broker).results:
        if one.error_code:
            raise refused(f"broker {broker}: {kafka_python.error_text(one)}")
        entries[one.resource_name] = one.configs or []
    return entries


def _set(entries: Any, source: int) -> Own:
    """Return {setting: value} of entries whose value was set by this source, as OF_BROKER, under the entry's own name.

    An entry also lists the values of its synonyms, which are left out.
    """
    return {
        entry.name: one.value
        for entry in entries
        for one in entry.synonyms or []
        if one.name == entry.name and one.source == source
    }


def _by(entries: Any, sources: Sequence[int]) -> dict[str, str]:
    """Return {setting: value} of the settings in LIVE, if only these sources count; the first source has precedence.

    A file may use a synonym in another unit, as log.retention.hours. Kafka lists such a value only in the entry of that
    synonym (ConfigHelper.configSynonyms), so all entries are searched.
    """
    by_source = {source: _set(entries, source) for source in sources}
    values: dict[str, str] = {}
    for name in LIVE:
        candidates = [(one, by_source[source].get(one)) for source in sources for one in synonyms(name)]
        for synonym, value in candidates:
            if value and name not in values:
                values[name] = in_ms(synonym, value)
    return values


def found(admin: Admin, brokers: Mapping[int, Any]) -> Found:
    """Return the dynamic settings by scope (each broker in `brokers`, and all brokers), and all known settings.

    Raises AdminError if a request is rejected or not answered.
    """
    settings: dict[str, Own] = {ALL: {}}
    known: dict[str, Known] = {}
    for broker in sorted(brokers):
        own, everywhere, names = describe(admin, broker)
        settings[ALL] |= everywhere
        settings[str(broker)] = own
        largest = max(
            (one[MESSAGE] for one in (known, names) if (one.get(MESSAGE) or Known()).value),
            key=lambda one: int(one.value or 0),
            default=Known(),
        )
        known |= {**names, **({MESSAGE: largest} if MESSAGE in names else {})}
    return Found(settings, known)


def write(
    admin: Admin, scope: str, settings: Mapping[str, str | None], broker: int, validate_only: bool = False
) -> str:
    """Set and remove settings of a scope through one broker; return why the broker rejects them, '' if it accepts them.

    `scope` is a broker's id, or '' for all brokers; a value of None removes a setting. With `validate_only`, nothing is
    written. Raises AdminError if the request is rejected as a whole, or not answered.
    """
    from kafka.protocol.admin import IncrementalAlterConfigsRequest as Request

    entries = [(key, DELETE if value is None else SET, value) for key, value in sorted(settings.items())]
    asked = Request(resources=[(BROKER, scope, entries)], validate_only=validate_only)
    response = kafka_python.of(admin).ask(asked, ASK if validate_only else admin.patience, broker).responses[0]
    return kafka_python.error_text(response) if response.error_code else ""
