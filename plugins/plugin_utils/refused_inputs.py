"""What argument specs refuse of one input, option by option: unknown keys, types, choices, what is missing."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from functools import cache
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec, site_words

# How Ansible says it.
UNKNOWN = re.compile(r"(?:Unsupported parameters for .*module: )?(.+?)\. Supported parameters include: (.+?)")
MISSING = re.compile(r"missing required arguments: (.+?)(?: -> (.*))?")
TYPE = re.compile(r"argument '(\w+)' is of type \w+.*unable to convert to (\w+)", re.DOTALL)
KINDS = {"int": "a whole number", "bool": "true or false", "list": "a list", "dict": "a mapping"}
_KNOWN: dict[Hashable, list[tuple[str, str]]] = {}
"""By role, name and value: most hosts have the same."""


def refused(role: str, name: str, given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the place and what is wrong there; `given` is {} where the input is not set.

    Of a list of dicts the entry is named in which something is wrong.
    """
    key = (role, name, repr(given))
    if key not in _KNOWN:
        _KNOWN[key] = list(_refused(role, name, given))
    return _KNOWN[key]


@cache
def _validator(role: str, name: str) -> ArgumentSpecValidator:
    options = site_words() if role == "site" else argument_spec(role)
    return ArgumentSpecValidator({name: options[name]})


def _refused(role: str, name: str, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    validator = _validator(role, name)
    whole, entries = _messages(validator, given), given.get(name)
    found = []
    for number, entry in enumerate(entries) if whole and isinstance(entries, (list, tuple)) else ():
        own = entry.get("principal") or entry.get("name") if isinstance(entry, Mapping) else None
        place = f"{name}[{own if isinstance(own, str) else number}]"
        texts = _messages(validator, {name: [entry]})
        found += [(place, text) for text in _in_words([text.replace(f" found in {name}", "") for text in texts], name)]
    yield from found or ((name, text) for text in _in_words(whole, name))


def _in_words(said: list[str], name: str) -> list[str]:
    """Say once what of an entry is unknown, with the key that was meant, and what is missing."""
    unknown, missing, others = list[str](), list[str](), list[str]()
    for text in said:
        if found := UNKNOWN.fullmatch(text):
            valid = found[2].split(", ")
            for key in found[1].split(", "):
                near = nearest(key.rpartition(".")[2], valid)
                short = key.removeprefix(f"{name}.")
                unknown.append(f"no key {short}" + (f", and {near} may be meant" if near else ""))
            unknown[-1] += f"; there are {found[2]}"
        elif found := MISSING.fullmatch(text):
            missing.append(f"{found[1]} is missing" + (f" in {found[2]}" if found[2] else ""))
        elif found := TYPE.match(text):
            others.append(f"{found[1]} is not {KINDS.get(found[2], found[2])}")
        else:
            others.append(text)
    return others + ([", and ".join([*missing, *unknown])] if missing or unknown else [])


def _messages(validator: ArgumentSpecValidator, given: Mapping[str, Any]) -> list[str]:
    try:
        return [text.rstrip(".") for text in validator.validate(given).error_messages]
    except (TypeError, OverflowError, ValueError):  # Ansible's own, as for infinity: words.types says it
        return []
