"""Reads, on the control node, the argument specs of roles and of the site variables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ansible.module_utils.common.yaml import yaml_load

ROLES_PATH = Path(__file__).resolve().parents[2] / "roles"
WORDS_PATH = Path(__file__).resolve().parents[1] / "definitions" / "site.yml"


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
