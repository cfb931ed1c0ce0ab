"""What a broker's server.properties says of it. Written for Python 3.9 without any package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def read(path: str) -> dict[str, str]:
    """Return the lines `key=value` of a properties file; those that Java would read otherwise are left out."""
    before, found = "", {}
    for line in Path(path).read_text("latin-1").split("\n"):
        if "\\" not in before + line and "=" in line and not line.startswith(("#", "!")):
            key, _, value = line.partition("=")
            found[key] = value
        before = line
    return found


def own_endpoints(properties: Mapping[str, str]) -> list[str]:
    """Return the endpoints that the broker registers."""
    return properties.get("advertised.listeners", properties["listeners"]).split(",")


def place(properties: Mapping[str, str]) -> str:
    """Return the znode of its registration, below the chroot."""
    return f"/brokers/ids/{properties['broker.id']}"
