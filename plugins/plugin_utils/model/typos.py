"""Tells a typo from another name."""

from __future__ import annotations

import re
from collections.abc import Collection

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest


def typo_of(name: str, known: Collection[str]) -> str | None:
    """Return the known name of which a name is a typo; None if they differ in a number or in the number of words."""
    near = nearest(name, known)
    words, near_words = (re.findall(r"\d+|[a-z]+", text.lower()) for text in (name, near or ""))
    numbers, near_numbers = ([word for word in parts if word.isdigit()] for parts in (words, near_words))
    return near if near and len(words) == len(near_words) and numbers == near_numbers else None
