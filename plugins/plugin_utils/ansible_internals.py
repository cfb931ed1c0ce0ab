"""Wraps the private API of Ansible that this project uses: no other module has any.

If a version of Ansible has no such part, messages have no file and line of a value, and a vault in plain text is
reported value by value. Nothing else changes: callers that need more catch UntoldError and read the inventory's files
(file_values.py). The tests are tests/unit/test_ansible_internals.py and tests/model/test_secrets.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible import context
from ansible.inventory.manager import InventoryManager

TAGS = "ansible._internal._datatag._tags"
HELPER = "ansible.module_utils._internal._datatag"


class UntoldError(Exception):
    """This version of Ansible does not tell where a value was written, or whether it was encrypted."""


def place_of(value: Any) -> tuple[str | None, int | None, int | None]:
    """Return (path, line, column) at which a value begins in a file of the inventory; each is None for other values.

    Raises UntoldError if this version of Ansible does not tell.
    """
    try:
        origin = import_module(TAGS).Origin.get_tag(value)
        return (origin.path, origin.line_num, origin.col_num) if origin else (None, None, None)
    except Exception as error:
        raise UntoldError from error


def written_at(value: Any) -> tuple[str | None, int | None, int | None]:
    """Return (path, line, column) at which a value begins in a file of the inventory; each is None if unknown."""
    try:
        return place_of(value)
    except UntoldError:
        return (None, None, None)


def written_in(text: Any) -> str | None:
    """Return the path of the inventory file that contains a text; None if unknown, computed or passed with -e."""
    return written_at(text)[0]


def was_vaulted(text: str) -> bool:
    """Tell whether a text was encrypted in the inventory, alone (encrypt_string) or with its whole file.

    Raises UntoldError if this version of Ansible does not tell.
    """
    path = place_of(text)[0]
    try:
        return bool(import_module(TAGS).VaultedValue.is_tagged_on(text)) or (path is not None and is_vault(path))
    except Exception as error:
        raise UntoldError from error


@cache
def is_vault(path: str) -> bool:
    """Tell whether ansible-vault encrypted a whole file; the values read from such a file do not record this."""
    try:
        with open(path, "rb") as stream:
            return stream.read(14) == b"$ANSIBLE_VAULT"
    except OSError:
        return False


def with_tags_of(value: Any, new: Any) -> Any:
    """Return `new` with Ansible's tags on `value`, which record its file and line, and whether it was encrypted."""
    try:
        return import_module(HELPER).AnsibleTagHelper.tag_copy(value, new)
    except Exception:
        return new


def inventory_of(hostvars: Any, loader: Any) -> Any:
    """Return Ansible's InventoryManager; `hostvars` and `loader` are Ansible's HostVars and DataLoader.

    A version of Ansible whose HostVars has another form reads the sources of the command line once more.
    """
    try:
        return hostvars._inventory
    except Exception:
        return InventoryManager(loader=loader, sources=[*(context.CLIARGS.get("inventory") or ())])


def file_variables(inventory: Any, group: Any, loader: Any) -> Mapping[str, Any]:
    """Return {name: value} of the variables that the files of a group set; `loader` is Ansible's DataLoader.

    A version of Ansible with other functions reads the folder group_vars beside the hosts of the group.
    """
    try:
        read = import_module("ansible.vars.plugins").get_vars_from_inventory_sources
        found: dict[str, Any] = read(loader, inventory._sources, [group], "task")
    except (ImportError, AttributeError, TypeError):  # the function is elsewhere, or has other parameters
        found = {}
        for folder in {str(host.vars.get("inventory_dir") or "") for host in group.get_hosts()} - {""}:
            for file in loader.find_vars_files(str(Path(folder, "group_vars")), group.name):
                found |= loader.load_from_file(file, cache="all", unsafe=True, trusted_as_template=True) or {}
    return found


def by_precedence(groups: Iterable[Any]) -> list[Any]:
    """Return groups of the inventory, lowest precedence first: variables of a later group override earlier ones.

    It is the order of Ansible's manual: by depth, then by ansible_group_priority, then by name.
    """
    return sorted(groups, key=lambda group: (group.depth, group.priority, group.name))
