"""What holds a secret, by its name and its text.

What the model check refuses in the clear, files keep out of diffs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.files import HINT
from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import as_text
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

NAME = re.compile(
    r"(password|passwd|passphrase|secret|token|credential)s?$|(secret|master|keystore)\.key$|^ansible_\w+_pass$",
    re.IGNORECASE,
)
# Keys of systemd's units that name where one is.
NAMED = ("LoadCredential", "ImportCredential")
# Settings of PostgreSQL that may hold one among other words: where a standby connects to, what the server runs.
WORDS = re.compile(r"_(conninfo|command)$")
WITHIN = re.compile(
    r"(passw|passphrase|secret|token)\w*\s*=\s*[\"']?(?![$%/{])[^\s\"']"  # of a file only its name is said
    r"|(?<=\s)--?[\w-]*(password|passphrase|secret|token)\s+(?![$%/{-])\S"
    r"|://[^/\s:@]+:(?![$%{])[^/\s@]+@",
    re.IGNORECASE,
)
# Says its words itself.
SAYS = re.compile(r"\s*(/\S*/)?(echo|printf)\b")
# A JAAS text without options: a listener's, whose users are elsewhere.
BARE = re.compile(r"\s*[\w.$]+\s+(required|requisite|sufficient|optional)\s*;\s*", re.IGNORECASE)


def is_secret(path: str, text: str) -> bool:
    """Tell whether a text is one by its place, as `kafka_config[ssl.key.password]`.

    In `vault` every text is, a JAAS text unless it is bare.
    """
    if path.partition("[")[0] == "vault":
        return True
    name = path.rpartition("[")[2].rstrip("]")
    if name in NAMED or (name == "credential" and switch(text) is not None):
        return False
    if WORDS.search(name):
        return bool(WITHIN.search(text) or (name.endswith("passphrase_command") and SAYS.match(text)))
    return bool(text) and (not BARE.fullmatch(text) if name.endswith("jaas.config") else _named(name))


@lru_cache(maxsize=4096)  # hosts have the same names
def _named(name: str) -> bool:
    return bool(NAME.search(name))


def texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers inside a value with their places.

    Those that stand in a list only where everything is a secret.
    """
    if isinstance(value, str):
        yield path, value  # itself: Ansible's marks say where it is from
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, as_text(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts(f"{path}[{key}]", item)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            if not isinstance(item, str) or path.startswith("vault"):  # what is a secret, a key says
                name = item.get("name") if isinstance(item, Mapping) else None
                yield from texts(f"{path}[{number if name is None else name}]", item)


def told(settings: Mapping[str, Any]) -> bool:
    """Tell whether a secret may be among the settings of a file, by its place or by a hint in name or text."""
    return any(is_secret(path, text) or HINT.search(f"{path}={text}") for path, text in texts("", settings))
