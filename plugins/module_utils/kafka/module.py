"""An Ansible module with client properties among its options, whose secrets no answer and no journal has."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

SECRET = re.compile(r"(password|passphrase|secret|jaas\.config|oauthbearer\.config|ssl\.key\.pem|keystore\.key)$")
"""Ends of the names of properties, librdkafka's and Java's."""


def secrets(value: Any, name: str = "") -> Iterator[str]:
    """Yield the secret texts inside options, wherever they stand."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from secrets(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from secrets(item, name)
    elif value not in (None, "") and SECRET.search(name):
        yield str(value)


def mistaken(given: Any, options: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """Yield values that Ansible would make something else of: true a number, a list or a mapping a text."""
    for name, option in options.items():
        value = given.get(name) if isinstance(given, dict) else None
        kind, where = option.get("type", "str"), f"{place}{name}"
        if isinstance(value, bool) and kind in ("int", "str"):
            yield f"{where}: {str(value).lower()}, and a {'number' if kind == 'int' else 'text'} is wanted"
        elif isinstance(value, (list, dict)) and kind == "str":
            yield f"{where}: a {'list' if isinstance(value, list) else 'mapping'}, and a text is wanted"
        elif kind == "dict":
            yield from mistaken(value, option.get("options") or {}, f"{where}.")
        for number, item in enumerate(value if isinstance(value, list) and kind == "list" else []):
            entry = item.get("name", number) if isinstance(item, dict) else number
            if option.get("elements") == "dict":
                yield from mistaken(item, option.get("options") or {}, f"{where}[{entry}].")
            elif isinstance(item, (bool, list, dict)):
                yield f"{where}[{entry}]: a text is wanted, and this is none"


class KafkaModule(AnsibleModule):  # type: ignore[misc]
    """AnsibleModule knows secrets by option; those of a dict of properties it would log and return."""

    def __init__(self, argument_spec: dict[str, Any], **more: Any) -> None:
        """Refuse what is of another type than is wanted, all of it at once."""
        super().__init__(argument_spec=argument_spec, **more)
        if wrong := list(mistaken(self.given, argument_spec)):
            self.fail_json(msg="; ".join(wrong))

    def _load_params(self) -> None:
        """Read the options, before anything of them is logged or refused."""
        super()._load_params()
        self.given = copy.deepcopy(self.params)
        found = set(secrets(self.params))
        # The journal gets the text of a dict, where backslashes and line ends are escaped.
        self.no_log_values |= found | {repr(text)[1:-1] for text in found}
