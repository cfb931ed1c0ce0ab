"""The roles' own inputs, as their meta/argument_specs.yml say them. For the control node."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ansible.module_utils.common.yaml import yaml_load

ROLES_PATH = Path(__file__).resolve().parents[2] / "roles"


@cache
def argument_spec(role: str) -> dict[str, Any]:
    """Return the options of a role's main entry point."""
    with (ROLES_PATH / role / "meta" / "argument_specs.yml").open(encoding="utf-8") as stream:
        options: dict[str, Any] = yaml_load(stream)["argument_specs"]["main"]["options"]
    return options


def role_input(values: Mapping[str, Any], name: str) -> Any:
    """Return an input of the role that its name begins with: from the host's variables, else the role's default."""
    value = values.get(name)
    return argument_spec(name.partition("_")[0])[name].get("default") if value is None else value
