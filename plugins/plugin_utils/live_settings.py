"""Which lines of a broker's file a running broker can be told, and which it reads when it starts alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import dangerous
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.live_config import LIVE, THREADS, in_ms, synonyms
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_config import OF_CLEANER, room_for_cleaners
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import text_of

FORMS = {**dict.fromkeys(THREADS, r"[1-9]\d*"), "compression.type": r"\w+"}
"""Of values that can be told, where they are not any whole number: a running broker is left one thread at least."""


def live_settings(
    properties: Mapping[str, Any], heap: Any, elsewhere: Collection[str] | None = None
) -> dict[str, str | None]:
    """Return by name what a running broker can be told: what its file says, times in ms, None where it says nothing.

    Left to a restart are a value that a cluster does not stand, one that only the broker itself can resolve, and what
    makes the log cleaner begin anew where the heap has no room for a second one. What is said `elsewhere`, of running
    brokers, is told there.
    """
    told, room = dict[str, str | None](), room_for_cleaners(properties, heap)
    for name in LIVE:
        if name in OF_CLEANER and not room:
            continue
        said = next(((one, properties[one]) for one in synonyms(name) if properties.get(one) is not None), None)
        if said is None:
            told[name] = None
            continue
        value = text_of(said[1])
        if re.fullmatch(FORMS.get(name, r"-?\d+"), value) and not dangerous(name, value):
            told[name] = in_ms(said[0], value)
    return {name: value for name, value in told.items() if name not in (elsewhere or ())}


def start_settings(properties: Mapping[str, Any], heap: Any) -> dict[str, Any]:
    """Return the other lines of a broker's file: a difference in these is a restart owed."""
    told = {synonym for name in live_settings(properties, heap) for synonym in synonyms(name)}
    return {str(name): value for name, value in properties.items() if str(name) not in told}
