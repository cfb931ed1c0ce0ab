"""Settings of running brokers, through kafka-python, which alone knows those of all brokers; no Ansible import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import ALL, MESSAGE, Found, Known
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin, refused
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.live_config import LIVE, Running, in_ms, synonyms

BROKER = 4
"""Kafka's number of the kind of resource."""
OF_BROKER, OF_ALL, OF_FILE, DEFAULT = 2, 3, 4, 5
"""Its numbers of who set a value: for one broker, for all, the file that a broker was started with, nobody."""
SET, DELETE = 0, 1
Own = dict[str, str | None]


def describe(admin: Admin, broker: int) -> tuple[Own, Own, dict[str, Known]]:
    """Return what was set for one broker and, as it sees them, for all, and all that it knows. Raises AdminError."""
    found = _described(admin, broker)
    known = {
        entry.name: Known(entry.read_only, entry.is_sensitive, None if entry.is_sensitive else entry.value)
        for entry in found[str(broker)]
        if entry.config_type  # 0 of a name that brokers do not know
    }
    return _set(found[str(broker)], OF_BROKER), _set(found[ALL], OF_ALL), known


def running(admin: Admin, broker: int) -> Running:
    """Return what a broker was started with, and what was set beside that. Raises AdminError."""
    found = _described(admin, broker)
    own = found[str(broker)]
    begun, default = (_by(own, sources) for sources in ((OF_FILE, DEFAULT), (DEFAULT,)))
    return Running(_set(own, OF_BROKER), _set(found[ALL], OF_ALL), begun, default)


def _described(admin: Admin, broker: int) -> dict[str, Any]:
    """Return what a broker says of its own settings, and of those of all, by the names of these two."""
    from kafka.protocol.admin import DescribeConfigsRequest as Request

    asked = Request(
        resources=[(BROKER, str(broker), None), (BROKER, ALL, None)],
        include_synonyms=True,
        include_documentation=False,
    )
    found: dict[str, Any] = {}
    for one in kafka_python.of(admin).ask(asked, ASK, broker).results:
        if one.error_code:
            raise refused(f"broker {broker}: {kafka_python.words(one)}")
        found[one.resource_name] = one.configs or []
    return found


def _set(entries: Any, source: int) -> Own:
    """Return what was set by this source under its own name: an entry has the values of its synonyms, too."""
    return {
        entry.name: one.value
        for entry in entries
        for one in entry.synonyms or []
        if one.name == entry.name and one.source == source
    }


def _by(entries: Any, sources: Sequence[int]) -> dict[str, str]:
    """Return the values that hold where these sources alone count, the first of them most.

    Of what goes before an entry under another name Kafka leaves out what comes before the entry's own: a file's hours
    stand in the entry of the hours alone (ConfigHelper.configSynonyms).
    """
    by_source = {source: _set(entries, source) for source in sources}
    found: dict[str, str] = {}
    for name in LIVE:
        said = [(one, by_source[source].get(one)) for source in sources for one in synonyms(name)]
        for one, value in said:
            if value and name not in found:
                found[name] = in_ms(one, value)
    return found


def found(admin: Admin, brokers: Mapping[int, Any]) -> Found:
    """Return what is set for all brokers, and for each that is there. Raises AdminError."""
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
    """Have a broker set, and take back, settings of a scope; return why it does not, '' where it does.

    Raises AdminError.
    """
    from kafka.protocol.admin import IncrementalAlterConfigsRequest as Request

    entries = [(key, DELETE if value is None else SET, value) for key, value in sorted(settings.items())]
    asked = Request(resources=[(BROKER, scope, entries)], validate_only=validate_only)
    said = kafka_python.of(admin).ask(asked, ASK if validate_only else admin.patience, broker).responses[0]
    return kafka_python.words(said) if said.error_code else ""
