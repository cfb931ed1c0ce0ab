"""Wraps the private API of Ansible that this project uses; a test fails if Ansible changes it.

The test is tests/unit/test_ansible_internals.py.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from ansible._internal._datatag._tags import Origin, VaultedValue
from ansible.errors import AnsibleError
from ansible.inventory.helpers import sort_groups
from ansible.module_utils._internal._datatag import AnsibleTagHelper
from ansible.plugins.loader import init_plugin_loader

COLLECTION = "ansible_collections.millrace.kafka"


def written_in(text: str) -> str | None:
    """Return the path of the inventory file that contains a text; None if the text was computed or passed with -e."""
    return written_at(text)[0]


def written_at(value: Any) -> tuple[str | None, int | None, int | None]:
    """Return (path, line, column) at which a value begins in a file of the inventory; each is None if unknown."""
    origin = Origin.get_tag(value)
    return (origin.path, origin.line_num, origin.col_num) if origin else (None, None, None)


def as_text(value: float) -> str:
    """Return a number as text; Ansible's tag on the number, which records its file and line, is copied to the text."""
    text: str = AnsibleTagHelper.tag_copy(value, str(value))
    return text


def was_vaulted(text: str) -> bool:
    """Tell whether a text was encrypted in the inventory, alone (encrypt_string) or with its whole file."""
    path = written_in(text)
    return bool(VaultedValue.is_tagged_on(text)) or (path is not None and _is_vault(path))


def decrypted(value: Any) -> Any:
    """Return `value` with each text inside it that was encrypted alone (encrypt_string) as a text.

    The texts keep the tags by which `was_vaulted` knows them. `value` itself is returned if nothing in it is encrypted;
    a text that cannot be decrypted stays encrypted: its first use raises AnsibleError.
    """
    if type(value).__name__ == "EncryptedString":
        with suppress(AnsibleError, ReferenceError):  # ReferenceError: outside a run, without a vault password
            return str(value)
    elif isinstance(value, Mapping):
        items = {key: decrypted(item) for key, item in value.items()}
        if any(items[key] is not item for key, item in value.items()):
            return AnsibleTagHelper.tag_copy(value, items)
    elif isinstance(value, (list, tuple)):
        entries = [decrypted(item) for item in value]
        if any(new is not item for new, item in zip(entries, value, strict=True)):
            return AnsibleTagHelper.tag_copy(value, entries)
    return value


@cache
def _is_vault(path: str) -> bool:
    """Tell whether ansible-vault encrypted a whole file; the values read from such a file do not record this."""
    try:
        with open(path, "rb") as stream:
            return stream.read(14) == b"$ANSIBLE_VAULT"
    except OSError:
        return False


def by_precedence(groups: Iterable[Any]) -> list[Any]:
    """Return groups of the inventory, lowest precedence first: variables of a later group override earlier ones."""
    ordered: list[Any] = sort_groups(groups)
    return ordered


def runtime_variables(variable_manager: Any, host: str) -> set[str]:
    """Return the names of the variables of a host that this run itself has set: registered, set_fact or include_vars.

    `variable_manager` is Ansible's VariableManager.
    """
    caches = (getattr(variable_manager, name) for name in ("_nonpersistent_fact_cache", "_vars_cache"))
    return {name for cache in caches for name in cache.get(host, ())}


def set_extra_variables(variable_manager: Any, extra: Mapping[str, Any]) -> None:
    """Add `extra`, {name: value}, to Ansible's variable manager as if the variables were passed with -e.

    They then override all other variables.
    """
    variable_manager._extra_vars = {**variable_manager._extra_vars, **extra}


@cache
def find_collections() -> None:
    """Enable templates to find plugins by their full names in a program that is not one of Ansible's commands.

    If Python already imported this collection as an ordinary package, the collection is imported again through Ansible.
    """
    init_plugin_loader()
    packages = [
        name
        for name, module in sys.modules.items()
        if f"{COLLECTION}.".startswith(f"{name}.") or _is_folder(name, module)
    ]
    for name in packages:
        sys.modules.pop(name)
    sys.path_importer_cache.clear()
    for name in sorted(packages):
        importlib.import_module(name)


def _is_folder(name: str, module: Any) -> bool:
    return name.startswith(f"{COLLECTION}.") and getattr(module, "__file__", None) is None
