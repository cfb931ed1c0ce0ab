"""The inputs of the role pki, as options of the action certificates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

# Inputs of the role that are not options of the action.
OF_THE_ROLE = ("pki_users",)


def documented(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an argument spec as documentation requires them: `options` become `suboptions`."""
    keys = {"options": "suboptions"}
    return {
        name: {
            keys.get(key, key): documented(value) if key == "options" else value
            for key, value in option.items()
            if key != "no_log"
        }
        for name, option in spec.items()
    }


def options() -> dict[str, Any]:
    """Return the role's inputs without their prefix, none of them required.

    With the option `hosts`, the module reads these inputs from the variables of each host.
    """
    spec = {
        name.removeprefix("pki_"): option for name, option in argument_spec("pki").items() if name not in OF_THE_ROLE
    }
    return documented({name: {**option, "required": False} for name, option in spec.items()})


class ModuleDocFragment:
    """Options read from meta/argument_specs.yml, so that the documentation matches the role."""

    DOCUMENTATION = yaml.safe_dump({"options": options()}, sort_keys=False)
