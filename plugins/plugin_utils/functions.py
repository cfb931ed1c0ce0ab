"""What a host can be: functions/<name>.yml describe it once, the group of that name says which hosts are it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ansible.module_utils.common.yaml import yaml_load

KINDS = ("certificates", "truststores", "units", "mounts", "ports")
FOLDER = Path(__file__).resolve().parents[2] / "functions"


@dataclass(frozen=True)
class Function:
    """One file: the group's name, the roles that its hosts get, and what it adds to the inventory."""

    name: str
    order: int = 0
    """Where its hosts come among the layers, from below."""
    roles: tuple[str, ...] = ()
    heaps: tuple[str, ...] = ()
    """Inputs that say how much memory its processes take for good."""
    open_files: tuple[str, ...] = ()
    """Inputs that say how many files its processes open."""
    certificates: Any = ()
    """Entries of pki_certificates. This and the following are templates of a host."""
    truststores: Any = ()
    """Entries of pki_truststores."""
    units: Any = ()
    """systemd units that run there."""
    mounts: Any = ()
    """Paths that are file systems of their own."""
    ports: Any = ()
    """Ports that it opens, each {port, from, action}.

    `from` names groups, or `client` and `admin` (plugin_utils/firewall.py).
    """
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Variables below everything that a site writes; templates of a host."""


def read(load: Callable[[Path], Any] | None = None) -> dict[str, Function]:
    """Return the functions by name, `all` first, in their order.

    `load` reads a file, as Ansible's loader does where templates are to be computed.
    """
    found = []
    for file in FOLDER.glob("*.yml"):
        data = dict(load(file)) if load else yaml_load(file.read_text(encoding="utf-8"))
        found.append(
            Function(
                file.stem, **{**data, **{name: tuple(data.get(name, ())) for name in ("roles", "heaps", "open_files")}}
            )
        )
    return {function.name: function for function in sorted(found, key=lambda function: function.order)}


@cache
def _plain() -> dict[str, Function]:
    return read()


def laid() -> frozenset[str]:
    """Return the names of the variables that every host has from here."""
    return frozenset(name for function in _plain().values() for name in function.variables)


@cache
def functions() -> dict[str, Function]:
    """Return the functions that hosts can have, by name, without `all`; templates in them are plain text."""
    return {name: function for name, function in _plain().items() if name != "all"}


def variables(known: Mapping[str, Function]) -> dict[str, Any]:
    """Return what every host gets.

    The variables of all functions, and in `function_<kind>` what hosts of each have of it. Raises ValueError where two
    functions say the same variable: every host has both, and nobody could tell which goes before.
    """
    found: dict[str, Any] = {}
    for function in known.values():
        twice = sorted(found.keys() & function.variables.keys())
        if twice:
            others = ", ".join(name for name, other in known.items() if twice[0] in other.variables)
            raise ValueError(f"functions/*.yml: {twice[0]} is said in {others}; keep one, in all.yml")
        found |= function.variables
    for kind in KINDS:
        found[f"function_{kind}"] = {
            name: items for name, function in known.items() if (items := getattr(function, kind))
        }
    return found
