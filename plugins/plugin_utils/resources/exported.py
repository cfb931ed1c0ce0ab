"""Writes the result of the module kafka_export as a YAML file of variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml


class Unsafe(str):
    """A text that Ansible must not evaluate as a template; `Dumper` writes it with the YAML tag !unsafe."""


class Dumper(yaml.SafeDumper):
    """A YAML dumper that writes each Unsafe text with the tag !unsafe."""


Dumper.add_representer(Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text)))


def plain(value: Any) -> Any:
    """Return a copy of a value in Python's own types, without Ansible's tags.

    Texts that Ansible could evaluate as templates become Unsafe.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, str):
        text = "".join(value)  # without Ansible's own marks
        return Unsafe(text) if "{" in text or text.startswith("#") else text
    return value


def written(variables: Mapping[str, Any]) -> str:
    """Return, as YAML, the variables that the module kafka_export found.

    Names of topics and users may come from any client with the right to create a topic or ACL, so the file marks texts
    that look like templates as !unsafe. Passwords of users stay templates: kafka_export writes them.
    """
    result = plain(variables)
    for user in result.get("kafka_users") or []:
        if "password" in user:
            user["password"] = str(user["password"])
    return yaml.dump(result, Dumper=Dumper, indent=2, sort_keys=False, allow_unicode=True, default_flow_style=False)
