"""An Ansible module that hides the secrets inside client properties from its result and from the host's journal."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

SECRET = re.compile(r"(password|passphrase|secret|jaas\.config|oauthbearer\.config|ssl\.key\.pem|keystore\.key)$")
"""Ends of the names of properties, librdkafka's and Java's."""


def secrets(value: Any, name: str = "") -> Iterator[str]:
    """Yield the secrets inside options, at any depth."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from secrets(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from secrets(item, name)
    elif value not in (None, "") and SECRET.search(name):
        yield str(value)


def wrong_types(given: Any, options: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """Yield values that Ansible would convert: a boolean to a number or a string, a list or a mapping to a string."""
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
    """An AnsibleModule that also hides secrets inside dicts: AnsibleModule hides whole options only."""

    def __init__(self, argument_spec: dict[str, Any], **more: Any) -> None:
        """Reject values of a wrong type, all of them at once."""
        super().__init__(argument_spec=argument_spec, **more)
        if mistakes := list(wrong_types(self.given, argument_spec)):
            self.fail_json(msg="; ".join(mistakes))

    def _load_params(self) -> None:
        """Read the options, and register their secrets before anything is logged."""
        super()._load_params()
        self.given = copy.deepcopy(self.params)
        texts = set(secrets(self.params))
        # The journal gets the repr of a dict, where backslashes and line ends are escaped.
        self.no_log_values |= texts | {repr(text)[1:-1] for text in texts}
