"""Directories, files, marked blocks and links of a host, by the primitives of AnsibleModule; no Ansible import."""

from __future__ import annotations

import base64
import grp
import os
import pwd
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.mounts import mount_table, mounts
from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import Directory, StateError, held, read, umask

# In a file that is to be shown, any hint of a secret is enough: in what it shall be, and in what was there.
HINT = re.compile(r"password\"?\s*[=:]|secret", re.IGNORECASE)


def block(text: str, marker: str, content: str) -> str:
    """Return `text` with the part between the two marker lines replaced by `content` (appended where there is none).

    Raises StateError where one of the two is missing, or is there twice: nobody can tell which lines are whose.
    """
    begin, end = f"# BEGIN {marker}", f"# END {marker}"
    part = f"{begin}\n{content.rstrip()}\n{end}\n"
    counts = [len(re.findall(rf"^{re.escape(line)}$", text, re.MULTILINE)) for line in (begin, end)]
    found = re.search(rf"^{re.escape(begin)}\n.*?^{re.escape(end)}(\n|\Z)", text, re.MULTILINE | re.DOTALL)
    if counts == [0, 0]:
        return (text if not text or text.endswith("\n") else text + "\n") + part
    if counts != [1, 1] or not found:
        raise StateError(
            f"'{begin}' stands there {counts[0]} times, '{end}' {counts[1]} times, and each belongs there once, in this"
            " order: lines of others could be lost; put the two around our lines, or remove our lines with both"
        )
    return text[: found.start()] + part + text[found.end() :]


@contextmanager
def named(path: str) -> Iterator[None]:
    """Say of which path an error is."""
    try:
        yield
    except OSError as error:
        raise StateError(f"{path}: {error.strerror or error}") from error


class Files:
    """What one call changes in the file system. `act` notes a change, and is false where it must not be made."""

    def __init__(self, module: Any, act: Callable[[str, str, str, str], bool]) -> None:
        """`module` is the AnsibleModule: its check mode, atomic_move and set_fs_attributes_if_different are used."""
        self.module = module
        self.act = act

    def directory(self, wanted: Mapping[str, Any]) -> None:
        """Make a directory and its missing parents; set owner and mode of itself alone."""
        path = wanted["path"]
        if wanted.get("mount"):
            found = mounts([path])[path]
            if "error" in found or not found["mounted"]:
                wrong = found.get("error", "no file system is mounted there")
                self.module.warn(f"{path}: {wrong}; left as it is")
                return
        with named(path):
            with held(path) as there:
                if there:
                    self.attributes(f"{there.name}/.", wanted)
                    return
            if self.act(f"directory {path}", path, "absent\n", "directory\n"):
                with held(path, make=True) as there:
                    if not there:
                        raise StateError(f"{path}: somebody removed it while it was made; look at who did")
                    self.attributes(f"{there.name}/.", wanted, quiet=True)

    def ids(self, wanted: Mapping[str, Any]) -> tuple[int, int] | None:
        """Return user and group as numbers; None in check mode for those that a real run would make."""
        try:
            return pwd.getpwnam(wanted["owner"]).pw_uid, grp.getgrnam(wanted["group"]).gr_gid
        except KeyError:
            if self.module.check_mode:
                return None
            raise StateError(f"{wanted['path']}: owner {wanted['owner']}:{wanted['group']} does not exist") from None

    def attributes(self, name: str, wanted: Mapping[str, Any], quiet: bool = False) -> None:
        """Set owner, group, mode and SELinux context where they differ; `quiet` when the change is already noted.

        `name` leads to it; `wanted["path"]` is what people call it, and what decides the context.
        """
        path, ids = wanted["path"], self.ids(wanted)
        owner, group = map(str, ids) if ids else (None, None)
        arguments = {
            "path": name,
            "owner": owner,
            "group": group,
            "mode": wanted["mode"],
            "secontext": self.module.selinux_default_context(path),
            "attributes": None,
        }
        diff: dict[str, dict[str, Any]] = {"before": {}, "after": {}}
        changed = self.module.set_fs_attributes_if_different(arguments, False, diff, expand=False)
        if not ids:
            diff["after"] |= {"owner": wanted["owner"], "group": wanted["group"]}
        if (changed or not ids) and not quiet:
            before, after = (
                "".join(f"{key}: {value}\n" for key, value in sorted(diff[side].items()))
                for side in ("before", "after")
            )
            self.act(f"attributes {path}", path, before, after)

    def drifted(self, name: str, wanted: Mapping[str, Any]) -> bool:
        """Tell whether a file has another owner or mode."""
        status = os.lstat(name)
        return (status.st_uid, status.st_gid) != self.ids(wanted) or stat.S_IMODE(status.st_mode) != int(
            wanted["mode"], 8
        )

    def file(self, wanted: Mapping[str, Any]) -> None:
        """Write a file whose text differs, by way of a new file with the right owner (never a half-written one)."""
        path = wanted["path"]
        with named(path), held(os.path.dirname(path)) as folder:
            if wanted["state"] == "absent":
                if (
                    folder
                    and os.path.lexists(folder.entry(path))
                    and self.act(f"remove {path}", path, "present\n", "absent\n")
                ):
                    os.unlink(folder.entry(path))
                return
            secret = wanted.get("secret_base64")
            if not secret and wanted["content"] is None:
                raise StateError(f"{path}: has neither content nor secret_base64; an empty file has content ''")
            content = base64.b64decode(secret).decode("utf-8", "surrogateescape") if secret else wanted["content"]
            before = read(folder.entry(path), path) if folder else None
            if folder and before == content and (folder.alone or not self.drifted(folder.entry(path), wanted)):
                self.attributes(folder.entry(path), wanted)
                return
            hidden = wanted["secret"] or secret or HINT.search(f"{before or ''}\n{content}")
            old, new = ("(secret)\n", "(secret, changed)\n") if hidden else (before or "", content)
            if self.act(f"file {path}", path, "" if before is None else old, new):
                self.replace(folder, path, content, wanted)

    def replace(self, folder: Directory | None, path: str, content: str, wanted: Mapping[str, Any] | None) -> None:
        """Put a new file in the place of an old one; without `wanted` it has the attributes of the old one.

        Where others than root own the directory, it is made elsewhere: what has a name there can be led elsewhere.
        """
        if not folder:
            raise StateError(f"{path}: there is no directory {os.path.dirname(path)}")
        place = folder.name if folder.alone else self.module.tmpdir
        handle, new = tempfile.mkstemp(dir=place, prefix=f".{os.path.basename(path)}-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(handle)
            if wanted:
                self.attributes(new, {**wanted, "path": path}, quiet=True)
                self.validate(new, wanted)
            # One that is mounted, as /etc/hosts in a container, can only be written over.
            mounted = path in mount_table()
            with umask(0o077 if wanted else 0o022):
                self.move(new, folder.entry(path), path, unsafe_writes=mounted, keep_dest_attrs=wanted is None)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(new)
        if wanted:
            self.attributes(folder.entry(path), wanted, quiet=True)

    def move(self, new: str, name: str, path: str, **how: bool) -> None:
        """Put a file in its place by atomic_move, whose errors are plain exceptions around those of the system."""
        try:
            self.module.atomic_move(new, name, **how)
        except OSError:
            raise
        except Exception as error:
            raise StateError(f"{path}: {error.__cause__ or error}") from error

    def validate(self, new: str, wanted: Mapping[str, Any]) -> None:
        """Have a command judge a new file before it is put in its place; what it says of a secret is not shown."""
        command = wanted.get("validate")
        if not command:
            return
        if "%s" not in command:
            raise StateError(f"{wanted['path']}: validate = {command}: without %s it does not see the new file")
        code, out, error = self.module.run_command(command.replace("%s", new))
        if code:
            said = "" if wanted["secret"] or wanted.get("secret_base64") else (error or out).strip()
            raise StateError(": ".join(filter(None, (wanted["path"], f"refused by {command.split()[0]}", said))))

    def block(self, path: str, marker: str, content: str) -> None:
        """Keep a marked part of a file."""
        with named(path), held(os.path.dirname(path)) as folder:
            before = read(folder.entry(path), path) if folder else None
            try:
                after = block(before or "", marker, content)
            except StateError as error:
                raise StateError(f"{path}: {error}") from None
            if before != after and self.act(f"block {path}", path, before or "", after):
                self.replace(folder, path, after, None)

    def link(self, path: str, target: str) -> None:
        """Keep a symbolic link; it is flipped in one step, by way of one that an interrupted run may have left."""
        with named(path), held(os.path.dirname(path)) as folder:
            name = folder.entry(path) if folder else ""
            before = os.readlink(name) if os.path.islink(name) else None
            if before is None and os.path.lexists(name):
                raise StateError(f"{path}: is there and is no link; move it away")
            if before != target and self.act(f"link {path}", path, f"{before or 'absent'}\n", f"{target}\n"):
                if not folder:
                    raise StateError(f"{path}: there is no directory {os.path.dirname(path)}")
                if os.path.islink(f"{name}.new"):
                    os.unlink(f"{name}.new")
                elif os.path.lexists(f"{name}.new"):
                    raise StateError(f"{path}.new: is there and is no link; move it away")
                os.symlink(target, f"{name}.new")
                os.rename(f"{name}.new", name)
