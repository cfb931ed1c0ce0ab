"""Finds the secrets of an inventory in texts: in plain text, in Base64, and URL-encoded.

It protects the support bundle against secrets that the redaction on hosts does not recognize.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from ansible.errors import AnsibleError

from ansible_collections.millrace.kafka.plugins.module_utils.host.properties import escaped
from ansible_collections.millrace.kafka.plugins.module_utils.host.redaction import REMOVED
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.encrypted_values import encrypted_texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import is_secret, texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import templates

LEAST = 6
"""A shorter text is not searched: it is a part of many other words."""
LEAST_LINE = 16
"""The shortest line of a secret of several lines that is searched alone."""
OWN = ("hostvars", "groups")
KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n(?P<body>[^-]*)-----END")
MOST_KEY_BYTES = 65_536


@dataclass(frozen=True)
class Found:
    """The secrets of an inventory."""

    texts: Mapping[str, str]
    """{secret: the place in the inventory, such as `vault[passwords][orders]`}."""
    keys: Mapping[str, str]
    """{line of a private key: path of its file on the control node}."""
    short: int
    """The number of secrets that are too short to be searched."""
    unread: tuple[str, ...]
    """Variables and files that could not be read, so that their secrets are not searched."""


def secrets_of(reader: Reader, hostvars: Any) -> Found:
    """Return the secrets of an inventory; `hostvars` are Ansible's HostVars.

    A text is a secret if ansible-vault encrypted it, if it is inside `vault`, or if its variable or key is named like a
    secret, as in preflight.
    """
    found, unread, directories = dict[str, str](), list[str](), dict[str, None]()
    for text in encrypted_texts(reader):
        found.setdefault(str(text), "a text that ansible-vault encrypted")
    model = reader.read()
    for host in reader.all_groups["all"]:
        raw = reader.raw(host)
        values = {**raw, **model.hosts.get(host, {})}
        for name in ("vault", "pki_directory"):
            try:
                values[name] = hostvars[host].get(name)
            except (AnsibleError, KeyError) as error:
                unread.append(f"{name} of {host}: {type(error).__name__}")
        directories[str(values["pki_directory"] or "")] = None
        for name, value in values.items():
            if name not in OWN:
                found |= {text: place for place, text in texts(str(name), value) if is_secret(place, text)}
    usable = {text: place for text, place in found.items() if text.strip() and not any(templates(text))}
    keys = {line: path for folder in directories if folder for line, path in _keys(folder, unread)}
    searched = {text: place for text, place in usable.items() if len(text) >= LEAST}
    return Found(searched, keys, len(usable) - len(searched), tuple(dict.fromkeys(unread)))


def _keys(folder: str, unread: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (a line from the middle, path) of each private key in a folder; adds files without access to `unread`."""
    for path in sorted(Path(folder).rglob("*")):
        try:
            if not path.is_file() or path.stat().st_size > MOST_KEY_BYTES:
                continue
            content = path.read_bytes().decode(errors="replace")
        except OSError as error:
            unread.append(f"{path}: {error.strerror}")
            continue
        for key in KEY.finditer(content):
            lines = key["body"].split()
            yield lines[len(lines) // 2], str(path)


def forms(secret: str) -> set[str]:
    """Return a secret in the forms in which it is searched: plain, escaped, URL-encoded, and in Base64.

    In Base64, the secret may begin at each of three places of a group of bytes; characters that also depend on the
    bytes beside the secret are left out.
    """
    plain = {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        html.escape(secret),
        escaped(secret),
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
    }
    lower = {re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), text) for text in plain}
    return plain | lower | encoded_forms(secret.encode())


def encoded_forms(secret: bytes) -> set[str]:
    """Return what Base64, standard and for URLs, makes of a secret within a longer text."""
    found = set[str]()
    for offset in range(3):
        begin, end = -(-8 * offset // 6), 8 * (offset + len(secret)) // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.add(encode(b"\0" * offset + secret + b"\0" * 3).decode()[begin:end])
    return found


@dataclass
class Search:
    """Searches texts for the secrets in `found`, and counts what it removed."""

    found: Found
    hits: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By (name of the text, place of the secret), how often the secret was removed."""

    def __post_init__(self) -> None:
        """Compute the forms of all secrets, the longest first: a secret may be a part of another one."""
        self._forms = sorted(
            (
                (form, place, form in encoded_forms(part.encode()))
                for text, place in self.found.texts.items()
                for part in _parts(text)
                for form in forms(part)
            ),
            key=lambda item: -len(item[0]),
        )

    def clean(self, name: str, text: str) -> str:
        """Return a text without the secrets; `name` is what `hits` calls the text."""
        for line, path in self.found.keys.items():
            if line in text:
                self.hits[name, f"the private key {path}"] += 1
                return f"{REMOVED}\n"
        for form, place, encoded in self._forms:
            if form in text:
                around = "[A-Za-z0-9+/_-]*" if encoded else ""
                pattern = f"{around}{re.escape(form)}{around}{'=*' if encoded else ''}"
                text, number = re.subn(pattern, REMOVED, text)
                self.hits[name, place] += number
        return text


def _parts(text: str) -> list[str]:
    """Return a secret, and if it has several lines, also each long one."""
    lines = [line.strip() for line in text.splitlines()]
    long = [line for line in lines if len(line) >= LEAST_LINE and not line.startswith("-----")]
    return [text, *long] if len(lines) > 1 else [text]
