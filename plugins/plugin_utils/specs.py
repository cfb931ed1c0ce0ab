"""Reads, on the control node, the argument specs of roles and of the site variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ansible.module_utils.common.yaml import yaml_load

ROLES_PATH = Path(__file__).resolve().parents[2] / "roles"
WORDS_PATH = Path(__file__).resolve().parents[1] / "definitions" / "site.yml"


EXAMPLE = re.compile(r"for example (?:`([^`]+)`|([^\s,]*[^\s,.]))")
# By type of a variable, a value of this type.
OF_TYPE = {"bool": "true", "dict": "{name: value}", "int": "1", "list": "[value]"}


class Described(NamedTuple):
    """A variable that this project knows, for the advice to set it."""

    example: str
    """A line of an inventory, such as `datacenter: dc1`."""
    page: str
    description: str
    """The first sentence of its description."""


def described(name: str) -> Described | None:
    """Return how to set a site variable or role input; None if this project knows no variable of this name.

    The example is taken from the description, else from the default, else from the type.
    """
    role = role_of().get(name)
    option = argument_spec(role).get(name) if role else site_words().get(name)
    if option is None:
        return None
    text = " ".join(str(option.get("description") or "").split())
    found, default = EXAMPLE.search(text), option.get("default")
    value = next((group for group in found.groups() if group), "") if found else ""
    if not value and default not in (None, "", [], {}):
        value = str(default).lower() if isinstance(default, bool) else str(default)
    value = value or OF_TYPE.get(str(option.get("type")), "text")
    page = f"roles/{role}/README.md" if role else "inventories/README.md"
    return Described(f"{name}: {value}", page, re.split(r"\.(?= |$)|;|, for example", text, maxsplit=1)[0])


@cache
def argument_spec(role: str) -> dict[str, Any]:
    """Return {input name: spec} of a role, from meta/argument_specs.yml (its main entry point)."""
    with (ROLES_PATH / role / "meta" / "argument_specs.yml").open(encoding="utf-8") as stream:
        options: dict[str, Any] = yaml_load(stream)["argument_specs"]["main"]["options"]
    return options


@cache
def site_words() -> dict[str, Any]:
    """Return {variable name: spec} of the site variables, from plugins/definitions/site.yml."""
    with WORDS_PATH.open(encoding="utf-8") as stream:
        words: dict[str, Any] = yaml_load(stream)
    return words


@cache
def role_of() -> dict[str, str]:
    """Return {input name: role} for all inputs of all roles of the collection.

    Raises ValueError if two roles have an input of the same name.
    """
    roles: dict[str, str] = {}
    for role in sorted(path.parents[1].name for path in ROLES_PATH.glob("*/meta/argument_specs.yml")):
        for name in argument_spec(role):
            if name in roles:
                raise ValueError(f"{name} is an input of the roles {roles[name]} and {role}; keep one of them")
            roles[name] = role
    return roles


def role_input(values: Mapping[str, Any], name: str) -> Any:
    """Return the value of the role input `name` on one host; if the host does not set it, the role's default.

    `values` is {name: value} of the host's variables. Raises ValueError if no role has an input of this name.
    """
    value, role = values.get(name), role_of().get(name)
    if role is None:
        raise ValueError(f"{name} is no input of any role; correct the name (roles/*/meta/argument_specs.yml)")
    return argument_spec(role)[name].get("default") if value is None else value
