"""Recognizes secrets by the name and the text of a setting.

Preflight rejects secrets that are not encrypted, and diffs of files hide secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.files import HINT
from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import with_tags_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

NAME = re.compile(
    r"(password|passwd|passphrase|secret|token|credential)s?$|(secret|master|keystore)\.key$|^ansible_\w+_pass$",
    re.IGNORECASE,
)
# Keys of systemd units that name the file of a secret.
NAMED = ("LoadCredential", "ImportCredential")
# Settings of PostgreSQL that may contain a secret: connection strings, and commands that the server runs.
WORDS = re.compile(r"_(conninfo|command)$")
WITHIN = re.compile(
    r"(passw|passphrase|secret|token)\w*\s*=\s*[\"']?(?![$%/{])[^\s\"']"  # the name of a file is no secret
    r"|(?<=\s)--?[\w-]*(password|passphrase|secret|token)\s+(?![$%/{-])\S"
    r"|://[^/\s:@]+:(?![$%{])[^/\s@]+@",
    re.IGNORECASE,
)
# A command that prints its arguments.
PRINTS = re.compile(r"\s*(/\S*/)?(echo|printf)\b")
# A JAAS text without options, as a listener has: its users are elsewhere.
BARE = re.compile(r"\s*[\w.$]+\s+(required|requisite|sufficient|optional)\s*;\s*", re.IGNORECASE)
# A configuration provider of Kafka reads the value on the host, for example from a file.
REFERENCE = re.compile(r"\$\{[\w.-]+:[^${}]+\}")


def is_secret(path: str, text: str) -> bool:
    """Tell whether `text` at the place `path` of the inventory is a secret, such as a password.

    The name at the end of `path` decides, for example in `kafka_config[ssl.key.password]`. Every text inside `vault` is
    secret, and so is a JAAS text with options; a reference to a configuration provider is not. For commands and
    connection strings of PostgreSQL the text itself decides.
    """
    if path.partition("[")[0] == "vault":
        return True
    name = path.rpartition("[")[2].rstrip("]")
    if name in NAMED or (name == "credential" and switch(text) is not None) or REFERENCE.fullmatch(text):
        return False
    if WORDS.search(name):
        return bool(WITHIN.search(text) or (name.endswith("passphrase_command") and PRINTS.match(text)))
    return bool(text) and (not BARE.fullmatch(text) if name.endswith("jaas.config") else _named(name))


@lru_cache(maxsize=4096)  # hosts have the same names
def _named(name: str) -> bool:
    return bool(NAME.search(name))


def texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield (place, text) for each text or number inside `value`; `path` is the place of `value` itself.

    Texts that are items of a list are skipped, since only the key of a text tells whether it is a secret. Inside
    `vault` they are yielded too: everything there is secret.
    """
    if isinstance(value, str):
        yield path, value  # the object itself: Ansible's tags have its origin
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, with_tags_of(value, str(value))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts(f"{path}[{key}]", item)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            if not isinstance(item, str) or path.startswith("vault"):
                name = item.get("name") if isinstance(item, Mapping) else None
                yield from texts(f"{path}[{number if name is None else name}]", item)


def has_secret(settings: Mapping[str, Any]) -> bool:
    """Tell whether a file with these settings may contain a secret; `settings` is {name: value}, also nested."""
    return any(is_secret(path, text) or HINT.search(f"{path}={text}") for path, text in texts("", settings))
