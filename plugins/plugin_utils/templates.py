"""Finds the templates inside a value of the inventory, and the variables that they use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, TemplateSyntaxError, nodes

# Names in a template that make its value depend on more than the variables that it names.
UNCACHED = {"lookup", "query", "q", "vars", "now", "varnames"}


@cache
def undeclared(text: str) -> frozenset[str] | None:
    """Return the names of the variables that a Jinja template uses.

    Returns None if the syntax of the template is invalid, or if its value depends on more than named variables: on a
    lookup, on the time, or on variables whose names are computed.
    """
    try:
        names = {node.name for node in Environment().parse(text).find_all(nodes.Name)}
    except TemplateSyntaxError:
        return None
    return None if names & UNCACHED else frozenset(names)


def templates(value: Any) -> Iterator[str]:
    """Yield every text inside `value` that contains a template; keys of dicts are searched too."""
    if isinstance(value, str):
        if "{{" in value or "{%" in value:
            yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from templates(key)
            yield from templates(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from templates(item)


def encrypted(value: Any) -> Iterator[Any]:
    """Yield the texts inside `value` that are encrypted with !vault; Ansible decrypts each at its first use."""
    if type(value).__name__ == "EncryptedString":
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from encrypted(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from encrypted(item)
