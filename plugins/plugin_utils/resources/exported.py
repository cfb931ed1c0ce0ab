"""What kafka_export found, as the text of a file of variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml


class Unsafe(str):
    """A text that Ansible is not to read as a template."""


class Dumper(yaml.SafeDumper):
    """Writes such texts with the tag that says so."""


Dumper.add_representer(Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text)))


def plain(value: Any) -> Any:
    """Return a value in Python's own types; every text with which a template could begin is marked."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, str):
        text = "".join(value)  # without Ansible's own marks
        return Unsafe(text) if "{" in text or text.startswith("#") else text
    return value


def written(variables: Mapping[str, Any]) -> str:
    """Return the variables of kafka_export as YAML.

    Who may make an ACL or a topic chose its name: a file that is loaded must not run it. Templates are the passwords
    of users alone, which kafka_export makes.
    """
    told = plain(variables)
    for user in told.get("kafka_users") or []:
        if "password" in user:
            user["password"] = str(user["password"])
    return yaml.dump(told, Dumper=Dumper, indent=2, sort_keys=False, allow_unicode=True, default_flow_style=False)
