"""Validates one role input against the argument spec: unknown and missing keys, types, choices."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.variable_names import INPUT_REFUSED
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec, site_words

INPUT_REFUSED_TYPE = INPUT_REFUSED.variant(message="{key} is not {type}")
INPUT_REFUSED_KEYS = INPUT_REFUSED.variant(message="{faults}")

# Texts of Ansible's validator.
UNKNOWN = re.compile(r"(?:Unsupported parameters for .*module: )?(.+?)\. Supported parameters include: (.+?)")
MISSING = re.compile(r"missing required arguments: (.+?)(?: -> (.*))?")
TYPE = re.compile(r"argument '(\w+)' is of type \w+.*unable to convert to (\w+)", re.DOTALL)
CHOICE = re.compile(r"value of \w+ must be one of: ")
OTHER_TYPE = re.compile(r"unable to convert|must be of type|could not parse")
TYPES = {"int": "a whole number", "bool": "true or false", "list": "a list", "dict": "a mapping"}


@dataclass(frozen=True)
class Refusal:
    """One error in the value of a role input: its place, and the kind and details of the problem to report.

    The detail `failure` is `type`, `choice`, `keys` or '' (any other error).
    """

    place: str
    kind: ProblemKind
    details: Mapping[str, Any]


_CACHE: dict[Hashable, list[Refusal]] = {}
"""The errors by role, input and value: most hosts have the same values."""


def refusals(role: str, name: str, given: Mapping[str, Any]) -> list[Refusal]:
    """Return the errors in the value of one input, by the argument spec of its role.

    `role` is "site" for site variables, `name` is the input. `given` is {name: value}, or {} if the input is not set.
    If the value is a list of dicts, the place of an error names the entry.
    """
    key = (role, name, repr(given))
    if key not in _CACHE:
        _CACHE[key] = list(_refusals(role, name, given))
    return _CACHE[key]


@cache
def _validator(role: str, name: str) -> ArgumentSpecValidator:
    options = site_words() if role == "site" else argument_spec(role)
    return ArgumentSpecValidator({name: options[name]})


def _refusals(role: str, name: str, given: Mapping[str, Any]) -> Iterator[Refusal]:
    validator = _validator(role, name)
    errors, entries = _errors(validator, given), given.get(name)
    in_entries = []
    for number, entry in enumerate(entries) if errors and isinstance(entries, (list, tuple)) else ():
        title = entry.get("principal") or entry.get("name") if isinstance(entry, Mapping) else None
        place = f"{name}[{title if isinstance(title, str) else number}]"
        texts = [text.replace(f" found in {name}", "") for text in _errors(validator, {name: [entry]})]
        in_entries += list(_read(place, texts, name))
    yield from in_entries or _read(name, errors, name)


def _read(place: str, errors: list[str], name: str) -> Iterator[Refusal]:
    """Yield the Refusal for each message of Ansible's validator in `errors`, unknown and missing keys last.

    `place` is where the errors are, `name` the input. An unknown key is shown with the most similar valid key.
    """
    unknown, missing = list[str](), list[str]()
    for text in errors:
        if match := UNKNOWN.fullmatch(text):
            keys = [_with_nearest(key, match[2].split(", "), name) for key in match[1].split(", ")]
            unknown.append(f"unknown key {', '.join(keys)} (valid keys: {match[2]})")
        elif match := MISSING.fullmatch(text):
            missing.append(f"missing key {match[1]}" + (f" in {match[2]}" if match[2] else ""))
        elif match := TYPE.match(text):
            failure = "type" if match[2] in TYPES else ""
            details = {"failure": failure, "key": match[1], "type": TYPES.get(match[2], match[2])}
            yield Refusal(place, INPUT_REFUSED_TYPE, details)
        else:
            failure = "choice" if CHOICE.match(text) else "type" if OTHER_TYPE.search(text) else ""
            yield Refusal(place, INPUT_REFUSED, {"failure": failure, "fault": text})
    if missing or unknown:
        yield Refusal(place, INPUT_REFUSED_KEYS, {"failure": "keys", "faults": [*missing, *unknown]})


def _with_nearest(key: str, valid: list[str], name: str) -> str:
    """Return an unknown key of the input `name`, with the most similar of the `valid` keys as a suggestion."""
    near = nearest(key.rpartition(".")[2], valid)
    short = key.removeprefix(f"{name}.")
    return f"{short} (did you mean {near}?)" if near else short


def _errors(validator: ArgumentSpecValidator, given: Mapping[str, Any]) -> list[str]:
    try:
        return [text.rstrip(".") for text in validator.validate(given).error_messages]
    except (TypeError, OverflowError, ValueError):  # Ansible's own, as for infinity: variable_names.types reports it
        return []
