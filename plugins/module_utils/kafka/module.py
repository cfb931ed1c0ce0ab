"""An Ansible module with client properties among its options, whose secrets no answer and no journal has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ansible.module_utils.basic import AnsibleModule

SECRET = re.compile(r"(password|secret|jaas\.config|ssl\.key\.pem|keystore\.key)$")
"""Ends of the names of properties, librdkafka's and Java's."""


def secrets(value: Any, name: str = "") -> Iterator[str]:
    """Yield the secret texts inside options, wherever they stand."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from secrets(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from secrets(item)
    elif value not in (None, "") and SECRET.search(name):
        yield str(value)


class KafkaModule(AnsibleModule):  # type: ignore[misc]
    """AnsibleModule knows secrets by option; those of a dict of properties it would log and return."""

    def _load_params(self) -> None:
        """Read the options, before anything of them is logged or refused."""
        super()._load_params()
        found = set(secrets(self.params))
        # The journal gets the text of a dict, where backslashes and line ends are escaped.
        self.no_log_values |= found | {repr(text)[1:-1] for text in found}
