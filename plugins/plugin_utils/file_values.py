"""Finds values in the files of an inventory, for versions of Ansible that do not tell where a value was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import is_vault
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import encrypted

SUFFIXES = ("", ".yml", ".yaml", ".json")  # that Ansible reads
Scalar = tuple[str, str]
"""A key and its text as written; items of a list and values at a number have the key around them."""


class FileValues:
    """The texts in the files of an inventory, each with its key; files that are encrypted as a whole are decrypted."""

    def __init__(self, folders: Iterable[str], loader: Any) -> None:
        """Read the files below `folders` at the first question; `loader` is Ansible's DataLoader."""
        self._folders, self._loader = sorted(folders), loader

    def is_plain(self, place: str, text: str) -> bool:
        """Tell whether a file that is not encrypted contains `text` at a key with the name of `place`, as a[b]."""
        return (_key(place), text.strip()) in self._plain

    def is_vaulted(self, text: str) -> bool:
        """Tell whether a file that is encrypted as a whole contains `text`, or !vault encrypted it."""
        return text in self._vaulted

    def numbers(self, place: str) -> list[str]:
        """Return the texts at keys with the name of `place`, as a[b], in files that are not encrypted."""
        return sorted(text for key, text in self._plain if key == _key(place))

    @cached_property
    def _plain(self) -> frozenset[Scalar]:
        found = set[Scalar]()
        for file in self._files:
            if not is_vault(str(file)):
                try:
                    found |= set(_scalars("", yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)))
                except (OSError, UnicodeDecodeError, yaml.YAMLError):
                    continue  # not a file of variables: Ansible has read all of those
        return frozenset(found)

    @cached_property
    def _vaulted(self) -> frozenset[str]:
        found = set[str]()
        for file in self._files:
            try:
                if is_vault(str(file)):
                    found |= set(_texts(self._loader.load_from_file(str(file))))
                elif "!vault" in file.read_text(encoding="utf-8"):
                    found |= {str(text) for text in encrypted(self._loader.load_from_file(str(file)))}
            except (AnsibleError, OSError, UnicodeDecodeError, ReferenceError):
                continue  # of another password, or no file of variables: no variable comes from it
        return frozenset(found)

    @property
    def _files(self) -> list[Path]:
        files = (file for folder in self._folders for file in sorted(Path(folder).rglob("[!.]*")))
        return [file for file in files if file.suffix in SUFFIXES and file.is_file()]


def _key(place: str) -> str:
    """Return the last key of a place that is not the number of an item, as `b` of a[b][0]."""
    keys = [key.rstrip("]") for key in place.split("[")]
    return next((key for key in reversed(keys) if not key.isdigit()), "")


def _scalars(key: str, node: yaml.Node | None) -> Iterator[Scalar]:
    if isinstance(node, yaml.ScalarNode) and not node.tag.startswith("!vault"):
        yield key, str(node.value).strip()
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _scalars(key, item)
    elif isinstance(node, yaml.MappingNode):
        for name, item in node.value:
            yield from _scalars(key if name.value.isdigit() else str(name.value), item)  # as in `_key`


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif value is not None:
        yield str(value)
