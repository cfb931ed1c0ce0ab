"""Finds the templates inside a value of the inventory, and the variables that they use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from ansible.errors import AnsibleError
from ansible.parsing.vault import EncryptedString
from jinja2 import Environment, TemplateSyntaxError, nodes

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import with_tags_of

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
    if isinstance(value, EncryptedString):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from encrypted(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from encrypted(item)


def same(one: Any, other: Any) -> bool:
    """Compare two values of the inventory; if a text in them cannot be decrypted, they are equal as written."""
    try:
        return bool(one == other)
    except AnsibleError:
        return one is other or repr(one) == repr(other)


def decrypted(value: Any) -> Any:
    """Return `value` with each text inside it that was encrypted alone (encrypt_string) as a text.

    The texts keep the tags by which `was_vaulted` knows them. `value` itself is returned if nothing in it is encrypted;
    a text that cannot be decrypted stays encrypted: its first use raises AnsibleError.
    """
    if isinstance(value, EncryptedString):
        with suppress(AnsibleError, ReferenceError):  # ReferenceError: outside a run, without a vault password
            return str(value)
    elif isinstance(value, Mapping):
        items = {key: decrypted(item) for key, item in value.items()}
        if any(items[key] is not item for key, item in value.items()):
            return with_tags_of(value, items)
    elif isinstance(value, (list, tuple)):
        entries = [decrypted(item) for item in value]
        if any(new is not item for new, item in zip(entries, value, strict=True)):
            return with_tags_of(value, entries)
    return value
