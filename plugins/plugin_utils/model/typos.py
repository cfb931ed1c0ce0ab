"""Decides whether a name is a typo of another name."""

from __future__ import annotations

import re
from collections.abc import Collection

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest


def typo_of(name: str, known: Collection[str]) -> str | None:
    """Return the name in `known` of which `name` is probably a typo; None if there is no such name.

    Names that differ in a number or in the number of words do not count as typos of each other.
    """
    near = nearest(name, known)
    words, near_words = (re.findall(r"\d+|[a-z]+", text.lower()) for text in (name, near or ""))
    numbers, near_numbers = ([word for word in parts if word.isdigit()] for parts in (words, near_words))
    return near if near and len(words) == len(near_words) and numbers == near_numbers else None
