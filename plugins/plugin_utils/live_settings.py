"""Splits the settings in a broker's file: those that a running broker can apply, and those that need a restart."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import below_minimum
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.live_config import LIVE, THREADS, in_ms, synonyms
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_config import OF_CLEANER, room_for_cleaners
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import text_of

FORMS = {**dict.fromkeys(THREADS, r"[1-9]\d*"), "compression.type": r"\w+"}
"""{setting: pattern of the values that a running broker accepts}; all other settings are whole numbers.

Numbers of threads must be at least 1.
"""


def live_settings(
    properties: Mapping[str, Any], heap: Any, elsewhere: Collection[str] | None = None
) -> dict[str, str | None]:
    """Return {name: value} of the broker settings that a running broker can apply without a restart.

    Values are texts, times in ms; None for a setting that the file does not set. `properties` is {name: value} of the
    broker's file, `heap` is its Java heap, such as 6g. A setting is left out if:

    - Kafka rejects its value as a dynamic setting, or only the broker can resolve the value;
    - the change recreates the log cleaner, and the heap has no room for a second cleaner;
    - its name is in `elsewhere`: the names that the inventory sets as dynamic settings.
    """
    settings, room = dict[str, str | None](), room_for_cleaners(properties, heap)
    for name in LIVE:
        if name in OF_CLEANER and not room:
            continue
        synonym = next((synonym for synonym in synonyms(name) if properties.get(synonym) is not None), None)
        if synonym is None:
            settings[name] = None
            continue
        value = text_of(properties[synonym])
        if re.fullmatch(FORMS.get(name, r"-?\d+"), value) and not below_minimum(name, value):
            settings[name] = in_ms(synonym, value)
    return {name: value for name, value in settings.items() if name not in (elsewhere or ())}


def start_settings(properties: Mapping[str, Any], heap: Any) -> dict[str, Any]:
    """Return {name: value} of the settings in a broker's file that need a restart if they change.

    `properties` is {name: value} of the file, `heap` is the broker's Java heap, such as 6g.
    """
    live = {synonym for name in live_settings(properties, heap) for synonym in synonyms(name)}
    return {str(name): value for name, value in properties.items() if str(name) not in live}
