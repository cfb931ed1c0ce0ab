"""Filters for the options of the module host_state."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.plugin_utils.archives import ArchiveError, expected
from ansible_collections.millrace.kafka.plugins.plugin_utils.program import program
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import has_secret
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import role_input


def archive_digest(checksum: str) -> str:
    """Return the SHA-512 (hexadecimal) that a checksum variable refers to; it may name a .sha512 file."""
    try:
        return expected(checksum)
    except ArchiveError as error:
        raise AnsibleFilterError(str(error)) from error


def address_book(names: Sequence[str], client: Sequence[str], replication: Sequence[str]) -> list[dict[str, Any]]:
    """Return `{address, names}` for every address of every host; '' is a host without an address in a network."""
    book = []
    for name, first, second in zip(names, client, replication, strict=True):
        if first:
            book.append({"address": first, "names": [name, f"{name}.client"]})
        if second:
            book.append({"address": second, "names": [f"{name}.replication"]})
    return book


def service_directory(path: str, user: str, mount: bool = False) -> dict[str, Any]:
    """Return the directory of a service for host_state; `mount`: a disk has to be mounted there."""
    directory = {"path": path, "owner": user, "group": user, "mode": "0750"}
    return {**directory, "mount": True} if mount else directory


def mount_unit(path: str) -> str:
    """Return the name of systemd's unit of a mount point, as `systemd-escape --path --suffix=mount` does."""
    words = "/".join(word for word in path.split("/") if word)
    escaped = re.sub(
        r"[^/A-Za-z0-9:_.]|^\.", lambda match: "".join(f"\\x{byte:02x}" for byte in match[0].encode()), words
    )
    return f"{escaped.replace('/', '-') or '-'}.mount"


def above_disks(paths: Sequence[str]) -> list[str]:
    """Return the directories that have to be writable for a sandboxed unit to write to disks mounted on `paths`.

    These are the parents of the mount points: systemd opens each directory that it makes writable, and a failed disk
    would prevent the unit from starting. A mount point directly below / is returned itself, since / must not be
    writable.
    """
    parents = [os.path.dirname(os.path.normpath(path)) for path in paths]
    return list(dict.fromkeys(path if parent == "/" else parent for path, parent in zip(paths, parents, strict=True)))


def host_file(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file for host_state.

    The content of `source`, a path of the control node, is secret; in check mode the file may not exist yet. The key
    `function` is dropped, since host_state does not know it.
    """
    file = {key: value for key, value in file.items() if key != "function"}
    if "source" not in file:
        return file
    try:
        content = Path(file["source"]).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        content = b"(made by a real run)\n"
    rest = {key: value for key, value in file.items() if key != "source"}
    return {**rest, "secret": True, "secret_base64": base64.b64encode(content).decode()}


def service_units(
    names: Sequence[str],
    state: str = "started",
    restart: str | None = None,
    watch: int = 0,
    restart_hosts: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Return units with the same options for host_state."""
    more = {"restart": restart, "restart_hosts": list(restart_hosts or ())} if restart else {}
    return [{"name": name, "state": state, "watch": watch, **more} for name in names]


def guarded(file: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file with these settings for host_state.

    A file with a password is a secret: it is not shown in diffs, and not logged in the host's journal.
    """
    if not has_secret(settings):
        return dict(file)
    rest = {key: value for key, value in file.items() if key != "content"}
    return {**rest, "secret": True, "secret_base64": base64.b64encode(file["content"].encode()).decode()}


def host_program(module: str) -> str:
    """Return a program that the host runs by itself, in base64: a zip file that calls `main` of a shipped module."""
    try:
        return base64.b64encode(program(module)).decode()
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


def drop_in(sections: Mapping[str, Mapping[str, Any]], role: str, variable: str) -> str:
    """Return the text of a drop-in of a unit; a list repeats the key, None resets it."""
    lines = [f"# Written by the role {role}: {variable}."]
    for section, settings in sections.items():
        lines += ["", f"[{section}]"]
        for key, values in settings.items():
            lines += [f"{key}={_text(value)}" for value in (values if isinstance(values, (list, tuple)) else [values])]
    return "\n".join(lines) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


class FilterModule:
    """The filters under their names."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {
            "archive_digest": archive_digest,
            "above_disks": above_disks,
            "address_book": address_book,
            "drop_in": drop_in,
            "service_directory": service_directory,
            "service_units": service_units,
            "host_file": host_file,
            "host_program": host_program,
            "guarded": guarded,
            "mount_unit": mount_unit,
            "role_input": role_input,
        }
