"""Brings a host to its declared nft tables, users, directories, files, links, kernel settings and systemd units."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.files import Files
from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import StateError, read, umask
from ansible_collections.millrace.kafka.plugins.module_utils.host.units import Units, digest_in, run

ROOT = {"owner": "root", "group": "root"}
# Prints the table that rules (on standard input) create, as the kernel lists it, in a temporary network namespace.
MADE_APART = ("unshare", "--net", "sh", "-c", 'nft -f - && nft list table inet "$0"')


def with_digest(unit: Mapping[str, Any], files: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the options of a unit with the option `digest` set.

    If `digest` is empty, its value is taken from the line `Environment=` of the unit's own file, if that is in `files`.
    """
    texts = (file["content"] for file in files if file["path"] == f"/etc/systemd/system/{unit['name']}")
    environment = re.findall(r"^Environment=(.*)$", next(texts, None) or "", re.MULTILINE)
    return {**unit, "digest": unit["digest"] or digest_in("\n".join(environment))}


class Host:
    """The changes that one call of the module host_state makes on this host, or would make in check mode.

    `changes` has one line for each change, `diffs` Ansible's before/after pairs, `units` the state of each unit.
    """

    def __init__(self, module: Any) -> None:
        """Store the AnsibleModule; in its check mode everything is compared and nothing is changed."""
        self.check_mode: bool = module.check_mode
        self.changes: list[str] = []
        self.diffs: list[dict[str, str]] = []
        self.files = Files(module, self.act)
        self.services = Units(self.check_mode, self.act)
        self.units = self.services.states

    def converge(self, wanted: Mapping[str, Any]) -> None:
        """Bring the host to the state `wanted`, the options of the module host_state.

        Raises StateError if the declared state cannot be reached, OSError if a system call fails.
        """
        with umask(0o022):  # other users have to enter the directories, whatever the umask of the host
            self.everything(wanted)

    def everything(self, wanted: Mapping[str, Any]) -> None:
        """Bring the host to the state `wanted`: apply each option after the options on which it depends."""
        for table in wanted["nftables"]:
            self.table(table)
        units = [with_digest(unit, wanted["files"]) for unit in wanted["units"] if unit["state"] != "absent"]
        if len(units) < len(wanted["units"]):
            self.services.converge([unit for unit in wanted["units"] if unit["state"] == "absent"])
        for user in wanted["users"]:
            self.user(user["name"], user["home"])
        for directory in wanted["directories"]:
            self.files.directory(directory)
        for file in wanted["files"]:
            self.files.file(file)
        for part in wanted["blocks"]:
            self.files.block(part["path"], part["marker"], part["content"])
        for link in wanted["links"]:
            self.files.link(link["path"], link["target"])
        for key, value in wanted["sysctl"].items():
            self.sysctl(key, str(value))
        if units:
            made = any(change.startswith("directory /etc/systemd/system/") for change in self.changes)
            self.services.converge(units, new_folder=made)

    def act(self, change: str, where: str, before: str, after: str) -> bool:
        """Add a change to the module's result; return whether the caller may make the change (False in check mode).

        `change` is the line that describes the change, `where` the changed object, `before` and `after` its diff.
        """
        self.changes.append(change)
        self.diffs.append({"before_header": where, "after_header": where, "before": before, "after": after})
        return not self.check_mode

    def table(self, wanted: Mapping[str, Any]) -> None:
        """Load or remove the nft table in `wanted` and the file with its rules.

        If nft rejects the rules, StateError is raised before anything is changed.
        """
        name, path, folder = wanted["table"], wanted["path"], os.path.dirname(wanted["path"])
        present, there, before = wanted["state"] == "present", os.path.exists(path), self.listing(name)
        after = run(*MADE_APART, name, stdin=wanted["content"]) if present else ""
        if present:
            self.files.directory({**ROOT, "path": folder, "mode": "0755"})
        self.files.file(
            {
                **ROOT,
                "path": path,
                "content": wanted["content"],
                "mode": "0644",
                "secret": False,
                "state": wanted["state"],
            }
        )
        if before != after and self.act(
            f"{'load' if present else 'remove'} table {name}", f"table inet {name}", before, after
        ):
            run("nft", *(("-f", path) if present else ("delete", "table", "inet", name)))
        if there and not os.path.exists(path) and not os.listdir(folder):
            os.rmdir(folder)

    @staticmethod
    def listing(table: str) -> str:
        """Return the rules of the nft table as nft lists them; '' if the table or the program nft does not exist."""
        try:
            return subprocess.run(["nft", "list", "table", "inet", table], capture_output=True, text=True).stdout
        except FileNotFoundError:
            return ""

    def user(self, name: str, home: str) -> None:
        """Create a system user with its own group and no login; an existing user is not changed."""
        try:
            pwd.getpwnam(name)
        except KeyError:
            if self.act(f"user {name}", f"user {name}", "absent\n", "present\n"):
                nologin = "/usr/sbin/nologin" if os.path.exists("/usr/sbin/nologin") else "/sbin/nologin"
                run(
                    "useradd",
                    "--system",
                    "--user-group",
                    "--no-create-home",
                    "--home-dir",
                    home,
                    "--shell",
                    nologin,
                    name,
                )

    def sysctl(self, key: str, value: str) -> None:
        """Set a kernel setting if its value differs. Raises StateError if the kernel does not have it."""
        path = "/proc/sys/" + key.replace(".", "/")
        current = read(path, path)
        if current is None:
            raise StateError(f"sysctl {key}: this kernel does not have it; remove it from base_sysctl")
        if current.split() != value.split() and self.act(f"sysctl {key}", f"sysctl {key}", current, f"{value}\n"):
            with open(path, "w", encoding="ascii") as stream:
                stream.write(value)
