"""Tells a slip of the pen from another name."""

from __future__ import annotations

import re
from collections.abc import Collection

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest


def slip(name: str, known: Collection[str]) -> str | None:
    """Return the known name from which another differs by a slip alone: by letters, not by what tells names apart."""
    near = nearest(name, known)
    told = [re.findall(r"\d+|[a-z]+", text.lower()) for text in (name, near or "")]
    apart = [word for word in told[0] if word.isdigit()] != [word for word in told[1] if word.isdigit()]
    return near if near and len(told[0]) == len(told[1]) and not apart else None
