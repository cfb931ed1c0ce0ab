"""Rules on variables: names that begin like a role's are known, secrets are no words that everybody tries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
# What a site says besides, and the input that has it.
BESIDES = {
    "site_listeners": "kafka_listeners",
    "site_firewall_rules": "base_firewall_rules",
    "site_certificates": "pki_certificates",
    "site_truststores": "pki_truststores",
}


def names(model: Model) -> Iterator[Problem]:
    """A variable that begins with a role's name is one of its inputs; one that is almost a site word is suspect."""
    words = frozenset(name for name in model.known if not _prefixed(model, name))
    everywhere = laid()
    for host, found in model.names.items():
        for name in found - model.known:
            if _prefixed(model, name):
                near = nearest(name, model.known)
                advice = f"did you mean {near}?" if near else "the roles' README tables list the inputs"
                yield Problem(
                    (host,),
                    name,
                    "VARIABLE_UNKNOWN",
                    None,
                    "no role has an input of this name, so it does nothing",
                    advice,
                )
            elif not name.startswith(("ansible_", "group", "inventory_", "omit", "play", "role_", "_")):
                near = nearest(name, words)
                there = near in found - everywhere
                if near and abs(len(near) - len(name)) <= 2 and not there and name not in everywhere and len(name) > 4:
                    wrong = "nothing of ours reads a variable of this name"
                    yield Problem((host,), name, "VARIABLE_SUSPECT", None, wrong, f"did you mean {near}?", warning=True)


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
    for host, values in model.hosts.items():
        for variable, value in values.items():
            for path, found in texts(variable, value):
                if is_secret(path, found) and _guessable(found):
                    wrong = "a secret that everybody tries first"
                    yield Problem(
                        (host,), path, "SECRET_DEFAULT", None, wrong, "make a random one, and keep it in a vaulted file"
                    )


def _guessable(text: str) -> bool:
    inside = re.search(r"password\s*=\s*[\"']([^\"']*)", text)
    return (inside.group(1) if inside else text).strip().lower() in DEFAULTS
