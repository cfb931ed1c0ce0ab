"""Values as inventories hold them: text or number, a dict or something else in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import PurePosixPath
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

WILDCARDS = ("0.0.0.0", "::", "")


def whole(value: Any) -> int | None:
    """Return a whole number, also one written as text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,400}\s*", value) else None


def seconds(value: Any) -> str | None:
    """Return what a plain number of milliseconds would be as seconds, as 7d; None where those cannot be meant.

    They are where it is less than an hour, a whole number of hours as seconds, and none of minutes as it is.
    """
    number = whole(value)
    if number is None or not 0 < number < 3_600_000 or number % 3600 or not number % 60_000:
        return None
    return f"{number // 86400}d" if number % 86400 == 0 else f"{number // 3600}h"


def tiny(value: Any) -> bool:
    """Tell whether a plain number of milliseconds is less than a second, and something."""
    return 0 < (whole(value) or 0) < 1000


def in_seconds(name: str, number: int | None, usual: Any) -> bool:
    """Tell whether milliseconds are about the usual number of seconds: these were meant."""
    plain = name.endswith(".ms") and number is not None and number % 60_000 != 0
    return plain and isinstance(usual, int) and 5_000 <= usual < 10**12 and usual <= 4000 * (number or 0) <= 16 * usual


def subnet(value: Any) -> IPv4Network | IPv6Network | None:
    """Return a network; None for what is none."""
    try:
        return ip_network(str(value))
    except ValueError:
        return None


def is_address(value: Any) -> bool:
    """Tell an IPv4 or IPv6 address from a name."""
    try:
        ip_address(str(value))
    except ValueError:
        return False
    return True


def v6(value: Any) -> bool:
    """Tell whether an address or a subnet is one of IPv6."""
    try:
        return ip_network(str(value), strict=False).version == 6
    except ValueError:
        return False


def inside(address: Any, network: Any) -> bool:
    """Tell whether an address is in a network; a name is in none."""
    found = subnet(network)
    return found is not None and is_address(address) and ip_address(str(address)) in found


def plain_path(path: str) -> str:
    """Return a path in the one form in which paths can be compared."""
    return str(PurePosixPath(re.sub("^//+", "/", path)))


@lru_cache(maxsize=1024)  # hosts have the same paths
def below(path: str, *folders: str) -> str | None:
    """Return the folder that a path is in, or is; None where it is in none of them."""
    parts = PurePosixPath(plain_path(path))
    return next((name for name in folders if PurePosixPath(plain_path(name)) in (parts, *parts.parents)), None)


def members(value: Any) -> list[int | None]:
    """Return the ids of a group, written as a list or as ZooKeeper writes it (1:2:3)."""
    items = str(value).split(":") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else [value]
    return [whole(item) for item in items]


def as_written(settings: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return properties with each list as its file has it: of one item, it is what the product reads as that item."""
    return {name: text_of(value) if isinstance(value, (list, tuple)) else value for name, value in settings.items()}


def holders(pairs: Iterator[tuple[Any, str]]) -> dict[Any, list[str]]:
    """Return {value: places} of the values that are at more than one place."""
    found: dict[Any, list[str]] = {}
    for value, place in pairs:
        found.setdefault(value, []).append(place)
    return {value: places for value, places in found.items() if len(places) > 1}


@dataclass(frozen=True)
class Inputs:
    """The inputs of one host: role inputs and site words, with their defaults.

    One that is not set, or could not be computed, is absent.
    """

    values: Mapping[str, Any]
    defaults: Mapping[str, Any]

    def get(self, name: str) -> Any:
        """Return an input, else its default, else None."""
        value = self.values.get(name)
        return self.defaults.get(name) if value is None else value

    def mapping(self, name: str) -> Mapping[Any, Any]:
        """Return an input that is a dict; {} where it is not (reported with the role's inputs)."""
        value = self.get(name)
        return value if isinstance(value, Mapping) else {}

    def sequence(self, name: str) -> Sequence[Any]:
        """Return an input that is a list; [] where it is not (reported with the role's inputs)."""
        value = self.get(name)
        return value if isinstance(value, Sequence) and not isinstance(value, str) else []

    def entries(self, name: str) -> list[Mapping[str, Any]]:
        """Return the dicts of a list."""
        return [item for item in self.sequence(name) if isinstance(item, Mapping)]

    def whole(self, name: str) -> int | None:
        """Return an input that is a whole number, also one written as text; None where it is not."""
        return whole(self.get(name))

    def text(self, name: str) -> str | None:
        """Return an input as text; None where there is none."""
        value = self.get(name)
        return None if value is None else str(value)

    def on(self, name: str) -> bool:
        """Tell whether a switch is on, also where -e gave it as text."""
        value = self.get(name)
        return bool(switch(value)) if isinstance(value, str) else bool(value)
