"""An Ansible module that hides the secrets in client properties from its result and from the journal of its host."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

SECRET = re.compile(r"(password|passphrase|secret|jaas\.config|oauthbearer\.config|ssl\.key\.pem|keystore\.key)$")
"""Ends of the names of properties, librdkafka's and Java's."""


def secrets(value: Any, name: str = "") -> Iterator[str]:
    """Yield the secrets inside options, at any depth: values whose key ends like the name of a secret property.

    `name` is the key of `value` itself, '' if it has none.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            yield from secrets(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from secrets(item, name)
    elif value not in (None, "") and SECRET.search(name):
        yield str(value)


def wrong_types(given: Any, options: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """Yield messages about values that Ansible would convert to another type without a warning.

    These are a boolean given for a number or string, and a list or dict given for a string. `given` are the values,
    `options` is the argument spec, and `place` is the prefix for names in messages.
    """
    for name, option in options.items():
        value = given.get(name) if isinstance(given, dict) else None
        kind, where = option.get("type", "str"), f"{place}{name}"
        if isinstance(value, bool) and kind in ("int", "str"):
            yield f"{where}: is {str(value).lower()}; write a {'number' if kind == 'int' else 'string'}"
        elif isinstance(value, (list, dict)) and kind == "str":
            yield f"{where}: is a {'list' if isinstance(value, list) else 'mapping'}; write a string"
        elif kind == "dict":
            yield from wrong_types(value, option.get("options") or {}, f"{where}.")
        for number, item in enumerate(value if isinstance(value, list) and kind == "list" else []):
            entry = item.get("name", number) if isinstance(item, dict) else number
            if option.get("elements") == "dict":
                yield from wrong_types(item, option.get("options") or {}, f"{where}[{entry}].")
            elif isinstance(item, (bool, list, dict)):
                yield f"{where}[{entry}]: is not a string; write a string"


class KafkaModule(AnsibleModule):  # type: ignore[misc]
    """An AnsibleModule that also hides secrets inside dicts (AnsibleModule hides only whole options)."""

    def __init__(self, argument_spec: dict[str, Any], **more: Any) -> None:
        """Fail if options have a wrong type, with all of them in one message; `more` is passed to AnsibleModule."""
        super().__init__(argument_spec=argument_spec, **more)
        if mistakes := list(wrong_types(self.given, argument_spec)):
            self.fail_json(msg="; ".join(mistakes))

    def _load_params(self) -> None:
        """Read the options, and register the secrets in them before anything is logged."""
        super()._load_params()
        self.given = copy.deepcopy(self.params)
        texts = set(secrets(self.params))
        # The journal gets the repr of a dict, where backslashes and line ends are escaped.
        self.no_log_values |= texts | {repr(text)[1:-1] for text in texts}
