"""Reads values of inventories.

A number may be written as text. A value of the wrong type is read as None or as empty; other checks report it.
"""

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
    """Return a whole number, which may be written as text; None for any other value."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,400}\s*", value) else None


# Names that the /etc/hosts of each Linux has for the host itself, for the network or for groups of hosts.
LOCAL_NAME = re.compile(
    r"(.+\.)?localhost[46]?(\.localdomain[46]?)?\.?|(ip6|ipv6)-\w+|broadcasthost|localdomain", re.IGNORECASE
)


LABEL = r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)"
HOST_NAME = re.compile(rf"{LABEL}(\.{LABEL})*")


def is_host_name(name: str) -> bool:
    """Tell whether a text can be the name of a host in /etc/hosts."""
    return HOST_NAME.fullmatch(name) is not None and len(name) <= 253


def is_local_name(name: str) -> bool:
    """Tell whether every host already has this name, as localhost, so that no other host can have it."""
    return LOCAL_NAME.fullmatch(name) is not None


def seconds(value: Any) -> str | None:
    """Return a number that was probably written in seconds instead of milliseconds as a duration, such as "7d".

    Return None for other values. As seconds, such a number is a whole number of hours. As milliseconds, it is below an
    hour and no whole number of minutes.
    """
    number = whole(value)
    if number is None or not 0 < number < 3_600_000 or number % 3600 or not number % 60_000:
        return None
    return f"{number // 86400}d" if number % 86400 == 0 else f"{number // 3600}h"


def tiny(value: Any) -> bool:
    """Tell whether a number of milliseconds is more than 0 and less than a second."""
    return 0 < (whole(value) or 0) < 1000


def in_seconds(name: str, number: int | None, default: Any) -> bool:
    """Tell whether the value of a property in milliseconds was probably written in seconds.

    `name` is the property, `number` its value, `default` its default in milliseconds. Return True if `number`, read as
    seconds, is near the default.
    """
    plain = name.endswith(".ms") and number is not None and number % 60_000 != 0
    return (
        plain
        and isinstance(default, int)
        and 5_000 <= default < 10**12
        and default <= 4000 * (number or 0) <= 16 * default
    )


def subnet(value: Any) -> IPv4Network | IPv6Network | None:
    """Return a value such as 198.51.100.0/24 as a network object; None if the value is not a network."""
    try:
        return ip_network(str(value))
    except ValueError:
        return None


def is_address(value: Any) -> bool:
    """Tell whether a value is an IPv4 or IPv6 address, and not a name."""
    try:
        ip_address(str(value))
    except ValueError:
        return False
    return True


def v6(value: Any) -> bool:
    """Tell whether an address or a subnet is IPv6."""
    try:
        return ip_network(str(value), strict=False).version == 6
    except ValueError:
        return False


def inside(address: Any, network: Any) -> bool:
    """Tell whether an address is in a network; False if `address` is a host name or `network` is invalid."""
    parsed = subnet(network)
    return parsed is not None and is_address(address) and ip_address(str(address)) in parsed


def plain_path(path: str) -> str:
    """Return a path without double and trailing slashes, so that equal paths are equal texts."""
    return str(PurePosixPath(re.sub("^//+", "/", path)))


@lru_cache(maxsize=1024)  # hosts have the same paths
def below(path: str, *folders: str) -> str | None:
    """Return the first of `folders` that contains `path` or equals it; None if no folder does."""
    parts = PurePosixPath(plain_path(path))
    return next((name for name in folders if PurePosixPath(plain_path(name)) in (parts, *parts.parents)), None)


def members(value: Any) -> list[int | None]:
    """Return the server ids of a ZooKeeper group, which is a list or a text such as 1:2:3; None for each invalid id."""
    items = str(value).split(":") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else [value]
    return [whole(item) for item in items]


def as_written(settings: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the properties with each list converted to the text that a properties file contains."""
    return {name: text_of(value) if isinstance(value, (list, tuple)) else value for name, value in settings.items()}


def holders(pairs: Iterator[tuple[Any, str]]) -> dict[Any, list[str]]:
    """Return {value: its places} of the values that occur in several places; `pairs` are (value, place)."""
    places_of: dict[Any, list[str]] = {}
    for value, place in pairs:
        places_of.setdefault(value, []).append(place)
    return {value: places for value, places in places_of.items() if len(places) > 1}


@dataclass(frozen=True)
class Inputs:
    """The values of the variables of one host, with defaults.

    A variable that is not set, or whose value could not be computed, is missing in `values`.
    """

    values: Mapping[str, Any]
    defaults: Mapping[str, Any]

    def get(self, name: str) -> Any:
        """Return the value of a variable, or its default if it is null or not set; None if it has no default."""
        value = self.values.get(name)
        return self.defaults.get(name) if value is None else value

    def mapping(self, name: str) -> Mapping[Any, Any]:
        """Return the value of a variable that should be a dict.

        Return {} if the value has another type; another rule reports this.
        """
        value = self.get(name)
        return value if isinstance(value, Mapping) else {}

    def sequence(self, name: str) -> Sequence[Any]:
        """Return the value of a variable that should be a list.

        Return [] if the value has another type; another rule reports this.
        """
        value = self.get(name)
        return value if isinstance(value, Sequence) and not isinstance(value, str) else []

    def entries(self, name: str) -> list[Mapping[str, Any]]:
        """Return the entries of a list variable that are dicts; other entries are left out."""
        return [item for item in self.sequence(name) if isinstance(item, Mapping)]

    def whole(self, name: str) -> int | None:
        """Return the value of a variable as a whole number, which may be written as text; None for any other value."""
        return whole(self.get(name))

    def text(self, name: str) -> str | None:
        """Return a variable as text; None if it is not set and has no default."""
        value = self.get(name)
        return None if value is None else str(value)

    def on(self, name: str) -> bool:
        """Tell whether a boolean variable is true.

        The value may be a text such as "yes", as `ansible-playbook -e` passes values.
        """
        value = self.get(name)
        return bool(switch(value)) if isinstance(value, str) else bool(value)
