"""Converge nft tables, users, directories, files, links, kernel settings and units of a host; no Ansible import."""

from __future__ import annotations

import base64
import grp
import os
import pwd
import re
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

ROOT = {"owner": "root", "group": "root"}
# Prints the table that rules (on the standard input) make, in a network namespace that ends with the command: the kernel's own words for them.
MADE_APART = ("unshare", "--net", "sh", "-c", 'nft -f - && nft list table inet "$0"')


class StateError(Exception):
    """A state that cannot be reached; the text says what and why."""


def block(text: str, marker: str, content: str) -> str:
    """Return `text` with the part between the two marker lines replaced by `content` (appended where there is none)."""
    begin, end = f"# BEGIN {marker}", f"# END {marker}"
    part = f"{begin}\n{content.rstrip()}\n{end}\n"
    found = re.search(rf"^{re.escape(begin)}\n.*?^{re.escape(end)}\n?", text, re.MULTILINE | re.DOTALL)
    if found:
        return text[: found.start()] + part + text[found.end() :]
    return (text if not text or text.endswith("\n") else text + "\n") + part


class Host:
    """What one call changes on the host it runs on.

    `changes` holds one line per change, `diffs` Ansible's before/after pairs, `units` the state of each unit.
    """

    def __init__(self, check_mode: bool) -> None:
        """In check mode everything is compared and nothing is written."""
        self.check_mode = check_mode
        self.changes: list[str] = []
        self.diffs: list[dict[str, str]] = []
        self.units: dict[str, dict[str, bool]] = {}

    def converge(self, wanted: Mapping[str, Any]) -> None:
        """Bring the host to `wanted` (the options of the module host_state). Raises StateError or OSError."""
        for table in wanted["nftables"]:
            self.table(table)
        units = [unit for unit in wanted["units"] if unit["state"] != "absent"]
        if len(units) < len(wanted["units"]):
            self.all_units([unit for unit in wanted["units"] if unit["state"] == "absent"])
        for user in wanted["users"]:
            self.user(user["name"], user["home"])
        for directory in wanted["directories"]:
            self.directory(directory)
        for file in wanted["files"]:
            self.file(file)
        for part in wanted["blocks"]:
            self.block(part["path"], part["marker"], part["content"])
        for link in wanted["links"]:
            self.link(link["path"], link["target"])
        for key, value in wanted["sysctl"].items():
            self.sysctl(key, str(value))
        if units:
            self.all_units(units)

    def act(self, change: str, where: str, before: str, after: str) -> bool:
        """Note a change; false in check mode, when it must not be made."""
        self.changes.append(change)
        self.diffs.append({"before_header": where, "after_header": where, "before": before, "after": after})
        return not self.check_mode

    def run(self, *argv: str, stdin: str = "") -> str:
        """Run a command to its end; StateError with its own words when it fails."""
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True)
        if done.returncode:
            raise StateError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def table(self, wanted: Mapping[str, Any]) -> None:
        """Keep a table of nft and its file. Rules that nft refuses change nothing."""
        name, path, folder = wanted["table"], wanted["path"], os.path.dirname(wanted["path"])
        present, there, before = wanted["state"] == "present", os.path.exists(path), self.listing(name)
        after = self.run(*MADE_APART, name, stdin=wanted["content"]) if present else ""
        if present:
            self.directory({**ROOT, "path": folder, "mode": "0755"})
        self.file({**ROOT, "path": path, "content": wanted["content"], "mode": "0644", "secret": False, "state": wanted["state"]})
        if before != after and self.act(f"{'load' if present else 'remove'} table {name}", f"table inet {name}", before, after):
            self.run("nft", *(("-f", path) if present else ("delete", "table", "inet", name)))
        if there and not os.path.exists(path) and not os.listdir(folder):
            os.rmdir(folder)

    @staticmethod
    def listing(table: str) -> str:
        """Return a table as nft lists it, '' where there is none, or no nft."""
        try:
            return subprocess.run(["nft", "list", "table", "inet", table], capture_output=True, text=True).stdout
        except FileNotFoundError:
            return ""

    def user(self, name: str, home: str) -> None:
        """Make a system user without a login; one that exists is left as it is."""
        try:
            pwd.getpwnam(name)
        except KeyError:
            if self.act(f"user {name}", f"user {name}", "absent\n", "present\n"):
                nologin = "/usr/sbin/nologin" if os.path.exists("/usr/sbin/nologin") else "/sbin/nologin"
                self.run("useradd", "--system", "--user-group", "--no-create-home", "--home-dir", home, "--shell", nologin, name)

    def directory(self, wanted: Mapping[str, Any]) -> None:
        """Make a directory and its missing parents; set owner and mode of itself alone."""
        path = wanted["path"]
        if not os.path.isdir(path):
            if os.path.lexists(path):
                raise StateError(f"{path}: is there and is no directory; move it away")
            if not self.act(f"directory {path}", path, "absent\n", "directory\n"):
                return
            os.makedirs(path)
            self.attributes(path, wanted, quiet=True)
        else:
            self.attributes(path, wanted)

    def attributes(self, path: str, wanted: Mapping[str, Any], quiet: bool = False) -> None:
        """Set owner, group and mode where they differ; `quiet` when the change is already noted."""
        now = os.stat(path)
        try:
            uid, gid = pwd.getpwnam(wanted["owner"]).pw_uid, grp.getgrnam(wanted["group"]).gr_gid
        except KeyError:
            if not self.check_mode:
                raise StateError(f"{path}: owner {wanted['owner']}:{wanted['group']} does not exist") from None
            uid, gid = -1, -1
        mode = int(wanted["mode"], 8)
        found = (now.st_uid, now.st_gid, stat.S_IMODE(now.st_mode))
        if found == (uid, gid, mode):
            return
        if quiet or self.act(
            f"attributes {path}", path, f"{found[0]}:{found[1]} {found[2]:04o}\n", f"{wanted['owner']}:{wanted['group']} {mode:04o}\n"
        ):
            os.chown(path, uid, gid)
            os.chmod(path, mode)

    @staticmethod
    def read(path: str) -> str | None:
        """Return a file's text, byte for byte, None where there is none."""
        try:
            with open(path, encoding="utf-8", errors="surrogateescape", newline="") as stream:
                return stream.read()
        except FileNotFoundError:
            return None

    def file(self, wanted: Mapping[str, Any]) -> None:
        """Write a file whose text differs, by way of a new file with the right owner (never a half-written one)."""
        path, before = wanted["path"], self.read(wanted["path"])
        if wanted["state"] == "absent":
            if before is not None and self.act(f"remove {path}", path, "present\n", "absent\n"):
                os.unlink(path)
            return
        secret = wanted.get("secret_base64")
        content = base64.b64decode(secret).decode("utf-8", "surrogateescape") if secret else wanted["content"] or ""
        if before == content:
            self.attributes(path, wanted)
            return
        hidden = wanted["secret"] or secret
        old, new = ("(secret)\n", "(secret, changed)\n") if hidden else (before or "", content)
        if self.act(f"file {path}", path, "" if before is None else old, new):
            self.replace(path, content, wanted)

    def replace(self, path: str, content: str, attributes: Mapping[str, Any] | None) -> None:
        """Put a new file in the place of an old one."""
        handle, new = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".new-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
                stream.write(content)
            if attributes:
                self.attributes(new, attributes, quiet=True)
            elif os.path.exists(path):
                now = os.stat(path)
                os.chown(new, now.st_uid, now.st_gid)
                os.chmod(new, stat.S_IMODE(now.st_mode))
            else:
                os.chmod(new, 0o644)
            os.rename(new, path)
        except BaseException:
            os.unlink(new)
            raise

    def block(self, path: str, marker: str, content: str) -> None:
        """Keep a marked part of a file."""
        before = self.read(path)
        after = block(before or "", marker, content)
        if before != after and self.act(f"block {path}", path, before or "", after):
            self.replace(path, after, None)

    def link(self, path: str, target: str) -> None:
        """Keep a symbolic link; it is flipped in one step."""
        before = os.readlink(path) if os.path.islink(path) else None
        if before is None and os.path.lexists(path):
            raise StateError(f"{path}: is there and is no link; move it away")
        if before != target and self.act(f"link {path}", path, f"{before or 'absent'}\n", f"{target}\n"):
            os.symlink(target, f"{path}.new")
            os.rename(f"{path}.new", path)

    def sysctl(self, key: str, value: str) -> None:
        """Set a kernel setting that differs now."""
        path = "/proc/sys/" + key.replace(".", "/")
        found = self.read(path)
        if found is None:
            raise StateError(f"sysctl {key}: this kernel does not know it; take it out of base_sysctl")
        if found.split() != value.split() and self.act(f"sysctl {key}", f"sysctl {key}", found, f"{value}\n"):
            with open(path, "w", encoding="ascii") as stream:
                stream.write(value)

    def all_units(self, wanted: Sequence[Mapping[str, Any]]) -> None:
        """Enable, start, stop or restart units, and say which one is owed a restart."""
        found = self.show([unit["name"] for unit in wanted])
        if any(facts["NeedDaemonReload"] == "yes" for facts in found.values()) and not self.check_mode:
            self.run("systemctl", "daemon-reload")
            found = self.show([unit["name"] for unit in wanted])
        for unit in wanted:
            self.unit(unit, found[unit["name"]])

    def show(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return systemd's view of the units, one dict of properties each."""
        text = self.run("systemctl", "show", "-p", "ActiveState,SubState,MainPID,UnitFileState,NeedDaemonReload", *names)
        parts = [dict(line.split("=", 1) for line in part.splitlines()) for part in text.strip().split("\n\n")]
        return dict(zip(names, parts, strict=True))

    def unit(self, wanted: Mapping[str, Any], found: Mapping[str, str]) -> None:
        """Converge one unit."""
        name, running = wanted["name"], found["ActiveState"] == "active"
        enabled = found["UnitFileState"] == "enabled"
        wants = wanted["enabled"] and wanted["state"] != "absent"
        if wants != enabled:
            verb = "enable" if wants else "disable"
            if self.act(f"{verb} {name}", name, f"{found['UnitFileState'] or 'absent'}\n", f"{verb}d\n"):
                self.run("systemctl", verb, "--quiet", name)
        owed = running and bool(wanted["digest"]) and self.digest_of(found["MainPID"]) != wanted["digest"]
        if wanted["state"] in ("stopped", "absent"):
            if found["ActiveState"] != "inactive" and self.act(f"stop {name}", name, f"{found['ActiveState']}\n", "inactive\n"):
                self.run("systemctl", "stop", name)
            running = owed = False
        elif not running and self.act(f"start {name}", name, f"{found['ActiveState']}\n", "active\n"):
            self.run("systemctl", "reset-failed", name)
            self.run("systemctl", "start", name)
            running = True
        elif owed and wanted["state"] == "converged" and self.act(f"restart {name}", name, "running with an older configuration\n", "restarted\n"):
            self.run("systemctl", "restart", name)
            owed = False
        self.units[name] = {"active": running, "restart_owed": owed}

    def digest_of(self, pid: str) -> str:
        """Return the CONFIG_DIGEST that a running process was started with."""
        try:
            with open(f"/proc/{pid}/environ", "rb") as stream:
                variables = stream.read().split(b"\0")
        except OSError:
            return ""
        return next((v.partition(b"=")[2].decode() for v in variables if v.startswith(b"CONFIG_DIGEST=")), "")
