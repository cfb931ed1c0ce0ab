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
from ansible_collections.millrace.kafka.plugins.plugin_utils.unit_text import unit_option


def archive_digest(checksum: str) -> str:
    """Return the SHA-512 of an archive as 128 hexadecimal digits.

    `checksum` is sha512:HEX, sha512:FILE or sha512:URL. Raises AnsibleFilterError if it has another form, or if the
    file or URL cannot be read or contains no SHA-512.
    """
    try:
        return expected(checksum)
    except ArchiveError as error:
        raise AnsibleFilterError(str(error)) from error


def address_book(names: Sequence[str], client: Sequence[str], replication: Sequence[str]) -> list[dict[str, Any]]:
    """Return dicts {address, names} of the addresses of all hosts, to write into /etc/hosts.

    `names`, `client` and `replication` have one item for each host: its name, and its address in the client network and
    in the replication network, '' if it has none there. A host with only one address gets no name HOST.replication.
    """
    book = []
    for name, first, second in zip(names, client, replication, strict=True):
        if first:
            book.append({"address": first, "names": [name, f"{name}.client"]})
        if second and second != first:
            book.append({"address": second, "names": [f"{name}.replication"]})
    return book


def service_directory(path: str, user: str, mount: bool = False) -> dict[str, Any]:
    """Return the data directory of a service as an entry of the option `directories` of host_state.

    `user` is the system user of the service. With `mount`, host_state requires that a disk is mounted at the path.
    """
    directory = {"path": path, "owner": user, "group": user, "mode": "0750"}
    return {**directory, "mount": True} if mount else directory


def mount_unit(path: str) -> str:
    """Return the name of systemd's unit for a mount point, as `systemd-escape --path --suffix=mount` prints it."""
    words = "/".join(word for word in path.split("/") if word)
    escaped = re.sub(
        r"[^/A-Za-z0-9:_.]|^\.", lambda match: "".join(f"\\x{byte:02x}" for byte in match[0].encode()), words
    )
    return f"{escaped.replace('/', '-') or '-'}.mount"


def above_disks(paths: Sequence[str]) -> list[str]:
    """Return the directories that a sandboxed systemd unit must be able to write to, to use disks mounted at `paths`.

    These are the parents of the mount points. systemd opens each writable directory at the start of the unit: with the
    mount point of a failed disk in the list, the unit could not start. A mount point directly below / is returned
    itself, since / must not be writable.
    """
    parents = [os.path.dirname(os.path.normpath(path)) for path in paths]
    return list(dict.fromkeys(path if parent == "/" else parent for path, parent in zip(paths, parents, strict=True)))


def host_file(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file that the inventory declares as an entry of the option `files` of host_state.

    If the file has the key `source`, a path on the control node, the entry gets the content of that path as a secret; a
    missing path gives a placeholder, as in check mode. The key `function` is dropped.
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
    """Return an entry of the option `units` of host_state for each unit in `names`, all with the same options.

    `state`, `restart` and `restart_hosts` are options of such an entry; `restart_hosts` is used only with `restart`.
    `watch` is the number of seconds for which a started unit must keep running.
    """
    more = {"restart": restart, "restart_hosts": list(restart_hosts or ())} if restart else {}
    return [{"name": name, "state": state, "watch": watch, **more} for name in names]


def guarded(file: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return `file`, an entry of the option `files` of host_state, as a secret if its settings contain a secret.

    A secret file is not shown in diffs and not logged in the host's journal. `settings` is {name: value} of the file.
    """
    if not has_secret(settings):
        return dict(file)
    rest = {key: value for key, value in file.items() if key != "content"}
    return {**rest, "secret": True, "secret_base64": base64.b64encode(file["content"].encode()).decode()}


def host_program(module: str) -> str:
    """Return, in base64, a zip file that a host's Python can run; it calls main() of a module below module_utils.

    `module` is, for example, kafka.reassign.timer. Raises AnsibleFilterError if the module, or a module that it
    imports, imports Ansible, which the host does not have.
    """
    try:
        return base64.b64encode(program(module)).decode()
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


def drop_in(sections: Mapping[str, Mapping[str, Any]], role: str, variable: str) -> str:
    """Return the text of a drop-in file for a systemd unit; `sections` is {section: {key: value}}.

    A list gives one line `key=` for each item, None gives an empty value, which resets the key. The first line names
    the `role` and `variable` that declare the settings.
    """
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
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
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
            "unit_option": unit_option,
        }
