"""Rules on variables: names that begin like a role's are known, secrets are no words that everybody tries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import takewhile
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, laid
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import is_secret, texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

# What installers, tutorials and test benches put where a secret belongs.
DEFAULTS = {
    "changeme",
    "change_me",
    "change-me",
    "changeit",
    "password",
    "passwd",
    "secret",
    "admin",
    "admin-secret",
    "kafka",
    "test",
    "123456",
}
# Inputs that are not said, or that say something where they are empty; ids and places have rules of their own.
UNSAID = (
    "rack",
    "kafka_rack",
    "kafka_broker_id",
    "zookeeper_id",
    "organization",
    "client_address",
    "replication_address",
    "pki_requests_directory",
    "pki_signed_directory",
    "kafka_zookeeper_keystore",
)
NEEDED = (
    "archives",
    "infra_authority",
    "kafka_admin_listeners",
    "kafka_version",
    "zookeeper_servers",
    "zookeeper_version",
)
# What a site says besides, and the input that has it.
BESIDES = {
    "site_listeners": "kafka_listeners",
    "site_firewall_rules": "base_firewall_rules",
    "site_certificates": "pki_certificates",
    "site_truststores": "pki_truststores",
}


# What a verb is told (-e), and is almost a known name.
OF_VERBS = {"replication_factor"}


def names(model: Model) -> Iterator[Problem]:
    """A variable that begins with a role's name is one of its inputs; one that is almost a known name is suspect.

    preflight/unused_variables.py then drops those that a template of the site reads.
    """
    everywhere, meant = laid() | OF_VERBS, cache(partial(_meant, model, *_parted(model)))
    for host, found in model.names.items():
        for name in found - model.known:
            if _prefixed(model, name):
                near = nearest(name, model.known)
                advice = f"did you mean {near}?" if near else "the roles' README tables list the inputs"
                wrong = "no role has an input of this name, so it does nothing"
                yield Problem((host,), name, "VARIABLE_UNKNOWN", None, wrong, advice)
            elif not name.startswith(("ansible_", "group", "inventory_", "omit", "play", "role_", "_")):
                near = meant(name)
                alike = near == _plain(name)  # the same word, as Ansible does not read it
                role = near is not None and near.partition("_")[2] == name.partition("_")[2] != ""  # zookeper_heap
                there = near in found - everywhere and not alike
                if near and (role or not there) and not _numbered(name, near) and name not in everywhere:
                    wrong = "nothing of ours reads a variable of this name"
                    advice = f"did you mean {near}?"
                    other = role and there and not _slipped(name.partition("_")[0], near.partition("_")[0])
                    yield Problem((host,), name, "VARIABLE_SUSPECT", None, wrong, advice, warning=other)


def _parted(model: Model) -> tuple[list[str], list[str]]:
    """Return the words that belong to no role, and the inputs of roles."""
    inputs = {word for word in model.known if _prefixed(model, word)}
    return sorted(model.known - inputs), sorted(inputs)


def _meant(model: Model, words: Sequence[str], inputs: Sequence[str], name: str) -> str | None:
    """Return the input or word that a name was probably meant for."""
    plain = _plain(name)
    if plain in model.known:
        return plain
    near = nearest(name, words)
    if near and abs(len(near) - len(name)) <= 2 and len(name) > 4:
        return near
    near = nearest(name, inputs)
    return near if near and len(name) > 8 and "_" in plain else None


def _numbered(name: str, near: str) -> bool:
    """Tell whether a name is that of one of several, as kafka2_heap: nobody types a figure for a letter."""
    own, meant = (re.findall(r"\d", text.partition("_")[0]) for text in (name, near))
    return "_" in name and own != meant


def _slipped(word: str, meant: str) -> bool:
    """Tell whether one letter is too many, too few or another: zookeper, and not postgres, which is a word as well."""
    begin = _shared(word, meant)
    end = _shared(word[begin:][::-1], meant[begin:][::-1])
    return max(len(word), len(meant)) - begin - end <= 1


def _shared(word: str, other: str) -> int:
    """Return with how many letters both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))


def _plain(name: str) -> str:
    """Return a name as Ansible's are written: kafka_config for kafka-config and kafkaConfig."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")


def _prefixed(model: Model, name: str) -> bool:
    return any(name.startswith(f"{prefix}_") for prefix in model.prefixes)


def types(model: Model) -> Iterator[Problem]:
    """Every value is of the type that its role declares."""
    yield from model.mistyped


def mistyped(host: str, variable: str, value: Any, wrong: str) -> Problem:
    """Return the problem of a value of another type; it is shown unless its name is a secret's."""
    base = re.split(r"[.[]", variable)[0]
    hidden = value is None or base == "vault" or is_secret(variable.rpartition(".")[2], str(value))
    code = "INPUT_NOT_A_LIST" if wrong.endswith("a list is wanted") else "INPUT_REFUSED"
    if code == "INPUT_NOT_A_LIST" and not hidden:
        advice = f"write it as [{value}]"
    elif wrong.endswith("a text is wanted") and isinstance(value, bool):
        advice = "put it in quotes: yes, no, on and off are true and false in YAML"
    else:
        roles = {role for function in functions().values() for role in function.roles}
        role = next((role for role in sorted(roles) if base in argument_spec(role)), None)
        advice = f"{f'roles/{role}' if role else 'inventories'}/README.md lists the valid names and types"
    return Problem((host,), variable, code, None if hidden else value, wrong, advice)


def nothing(host: str, values: Mapping[str, Any], options: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield what is written and says nothing: null is not the default, and templates would make None of it."""
    for name, value in values.items():
        option = options.get(name, {})
        kind = str(option.get("type") or "str")
        if value is None and name not in UNSAID and ("default" in option or name in laid()):
            written = {"list": " []", "dict": " {}"}.get(kind, "")
            wrong = "nothing is written there, and that is not the default"
            advice = f"write a value, or{f'{written} where none is meant, or' if written else ''} take the line out"
            yield Problem((host,), name, "VALUE_NONE", None, wrong, advice)
        empty = isinstance(value, str) and not value.strip() and not name.endswith("_checksum")  # ARCHIVE_CLEAR
        if (empty and (kind == "path" or option.get("required") or name in NEEDED) and name not in UNSAID) or (
            name in NEEDED and isinstance(value, (Mapping, list, tuple)) and not value
        ):
            yield Problem((host,), name, "VALUE_NONE", None, "empty", "write a value, or take the line out")


def lists(model: Model) -> Iterator[Problem]:
    """A list of the site's own has what the site says besides: the wiring puts that into its own list alone."""
    for machine in model.functional:
        for besides, own in BESIDES.items():
            there = {_identity(entry) for entry in machine.inputs.entries(own)}
            lost = [entry for entry in machine.inputs.entries(besides) if _identity(entry) not in there]
            if lost and own in machine.inputs.values:
                shown = ", ".join(str(entry.get("name") or entry.get("port") or entry.get("path")) for entry in lost)
                wrong = f"is written anew, so {shown} of {besides} is not in it"
                advice = f"take {own} out, which then has the usual and {besides}, or put all into it"
                yield machine.problem(own, "LIST_REPLACED", None, wrong, advice)


def _identity(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what an entry is told by, however its values are written."""
    return tuple(str(entry.get(key)) for key in ("name", "port", "path"))


def secrets(model: Model) -> Iterator[Problem]:
    """No secret is a default; the value is never shown."""
    seen: dict[str, tuple[Any, list[tuple[str, str]]]] = {}  # hosts are told much alike
    for host, values in model.hosts.items():
        vault = {found for _, found in texts("vault", values.get("vault")) if _guessable(found)}
        for variable, value in values.items():
            if variable not in seen or seen[variable][0] != value:
                guessable = [found for found in texts(variable, value) if is_secret(*found) and _guessable(found[1])]
                seen[variable] = value, guessable
            for path, found in seen[variable][1]:
                if variable == "vault" or _inner(found) not in vault:  # else said where it is written
                    wrong = "a secret that everybody tries first"
                    yield Problem(
                        (host,), path, "SECRET_DEFAULT", None, wrong, "make a random one, and keep it in a vaulted file"
                    )


def _guessable(text: str) -> bool:
    return _inner(text).strip().lower() in DEFAULTS


def _inner(text: str) -> str:
    """Return the password of a login, or the text itself."""
    inside = "password" in text and re.search(r"password\s*=\s*[\"']([^\"']*)", text)
    return inside.group(1) if inside else text
