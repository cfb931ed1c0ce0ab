"""Creates and changes directories, files, marked blocks and links of a host, with the functions of AnsibleModule."""

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

# A file is not shown in the diff if its old or new text has a hint of a secret.
HINT = re.compile(r"password\"?\s*[=:]|secret", re.IGNORECASE)


def block(text: str, marker: str, content: str) -> str:
    """Return `text` with the lines between `# BEGIN marker` and `# END marker` replaced by `content`.

    If `text` has neither of these two lines, they and `content` are added at its end. Raises StateError if `text` has
    only one of the two lines, or has one of them twice.
    """
    begin, end = f"# BEGIN {marker}", f"# END {marker}"
    part = f"{begin}\n{content.rstrip()}\n{end}\n"
    counts = [len(re.findall(rf"^{re.escape(line)}$", text, re.MULTILINE)) for line in (begin, end)]
    found = re.search(rf"^{re.escape(begin)}\n.*?^{re.escape(end)}(\n|\Z)", text, re.MULTILINE | re.DOTALL)
    if counts == [0, 0]:
        return (text if not text or text.endswith("\n") else text + "\n") + part
    if counts != [1, 1] or not found:
        raise StateError(
            f"'{begin}' occurs {counts[0]} times, '{end}' {counts[1]} times, but each has to occur once, in this"
            " order: other lines could be lost; put the two around this part, or remove the part with both"
        )
    return text[: found.start()] + part + text[found.end() :]


@contextmanager
def named(path: str) -> Iterator[None]:
    """Context manager: turn OSError into StateError, whose text begins with the path."""
    try:
        yield
    except OSError as error:
        raise StateError(f"{path}: {error.strerror or error}") from error


class Files:
    """Makes the changes in the file system for one call of a module."""

    def __init__(self, module: Any, act: Callable[[str, str, str, str], bool]) -> None:
        """Store the two helpers: AnsibleModule (check mode, writing of files) and the function `act`.

        `act(change, path, before, after)` records a change for the result; it returns False if the change must not be
        made (check mode).
        """
        self.module = module
        self.act = act

    def directory(self, wanted: Mapping[str, Any]) -> None:
        """Create a directory and its missing parents; set the owner and mode of the directory itself only.

        If `wanted` requires a mount point and no file system is mounted there, warn and change nothing.
        """
        path = wanted["path"]
        if wanted.get("mount"):
            mount = mounts([path])[path]
            if "error" in mount or not mount["mounted"]:
                why = mount.get("error", "no file system is mounted there")
                self.module.warn(f"{path}: {why}; the directory is not changed")
                return
        with named(path):
            with held(path) as there:
                if there:
                    self.attributes(f"{there.name}/.", wanted)
                    return
            if self.act(f"directory {path}", path, "absent\n", "directory\n"):
                with held(path, make=True) as there:
                    if not there:
                        raise StateError(f"{path}: was removed while it was created; find out by which process")
                    self.attributes(f"{there.name}/.", wanted, quiet=True)

    def ids(self, wanted: Mapping[str, Any]) -> tuple[int, int] | None:
        """Return (user id, group id) of the owner and group in `wanted`.

        If the owner or the group does not exist, return None in check mode, because a real run would have created it
        before. Otherwise raise StateError.
        """
        try:
            return pwd.getpwnam(wanted["owner"]).pw_uid, grp.getgrnam(wanted["group"]).gr_gid
        except KeyError:
            if self.module.check_mode:
                return None
            owner = f"{wanted['owner']}:{wanted['group']}"
            raise StateError(f"{wanted['path']}: owner {owner} does not exist; create it first") from None

    def attributes(self, name: str, wanted: Mapping[str, Any], quiet: bool = False) -> None:
        """Set owner, group, mode and SELinux context of a file if they differ from `wanted`.

        `name` is the path to open. `wanted["path"]` is the real path, for messages and for the SELinux context. With
        `quiet`, the result of the module does not list the change, because it belongs to another change that is listed.
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
        """Tell whether the owner, group or mode of a file differs from `wanted`; `name` is the path to open."""
        status = os.lstat(name)
        return (status.st_uid, status.st_gid) != self.ids(wanted) or stat.S_IMODE(status.st_mode) != int(
            wanted["mode"], 8
        )

    def file(self, wanted: Mapping[str, Any]) -> None:
        """Write the file in `wanted` if its text differs, or remove it if `wanted["state"]` is absent.

        The text is written into a new file with the right owner; the new file then replaces the old file atomically.
        Raises StateError if the file cannot be written or removed.
        """
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
                raise StateError(f"{path}: has neither content nor secret_base64; set content '' for an empty file")
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
        """Replace the file `path` in the open directory `folder` by a new file with the text `content`.

        Without `wanted`, the new file gets the attributes of the old file. If another user than root may write to the
        directory, the new file is prepared elsewhere, because that user could replace the new file by a link. Raises
        StateError if `folder` is None.
        """
        if not folder:
            raise StateError(f"{path}: there is no directory {os.path.dirname(path)}; create it first")
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
            # A mounted file, as /etc/hosts in a container, can only be overwritten.
            mounted = path in mount_table()
            with umask(0o077 if wanted else 0o022):
                self.move(new, folder.entry(path), path, unsafe_writes=mounted, keep_dest_attrs=wanted is None)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(new)
        if wanted:
            self.attributes(folder.entry(path), wanted, quiet=True)

    def move(self, new: str, name: str, path: str, **how: bool) -> None:
        """Rename the file `new` to `name` with AnsibleModule.atomic_move; `path` is the path for messages.

        `how` are further arguments of atomic_move. Raises OSError if the rename fails in the file system, and
        StateError if atomic_move reports any other error.
        """
        try:
            self.module.atomic_move(new, name, **how)
        except OSError:
            raise
        except Exception as error:
            raise StateError(f"{path}: {error.__cause__ or error}") from error

    def validate(self, new: str, wanted: Mapping[str, Any]) -> None:
        """Run the command `wanted["validate"]` (%s: the path) on the new file.

        Raises StateError if the command fails; its output is left out if the file is secret.
        """
        command = wanted.get("validate")
        if not command:
            return
        if "%s" not in command:
            raise StateError(f"{wanted['path']}: validate = {command}: has no %s for the new file; add it")
        code, out, error = self.module.run_command(command.replace("%s", new))
        if code:
            text = "" if wanted["secret"] or wanted.get("secret_base64") else (error or out).strip()
            raise StateError(": ".join(filter(None, (wanted["path"], f"rejected by {command.split()[0]}", text))))

    def block(self, path: str, marker: str, content: str) -> None:
        """Write `content` between the marker lines of the file `path` if the text there differs.

        Raises StateError if the file cannot be read or written, or if the marker lines are incomplete.
        """
        with named(path), held(os.path.dirname(path)) as folder:
            before = read(folder.entry(path), path) if folder else None
            try:
                after = block(before or "", marker, content)
            except StateError as error:
                raise StateError(f"{path}: {error}") from None
            if before != after and self.act(f"block {path}", path, before or "", after):
                self.replace(folder, path, after, None)

    def link(self, path: str, target: str) -> None:
        """Create or replace the symbolic link `path` so that it points to `target`; the replacement is atomic.

        A temporary link left by an interrupted run is removed. Raises StateError if the directory of `path` does not
        exist, or if a file or directory is at `path` or at the path of the temporary link.
        """
        with named(path), held(os.path.dirname(path)) as folder:
            name = folder.entry(path) if folder else ""
            before = os.readlink(name) if os.path.islink(name) else None
            if before is None and os.path.lexists(name):
                raise StateError(f"{path}: exists and is not a link; move it away")
            if before != target and self.act(f"link {path}", path, f"{before or 'absent'}\n", f"{target}\n"):
                if not folder:
                    raise StateError(f"{path}: there is no directory {os.path.dirname(path)}; create it first")
                if os.path.islink(f"{name}.new"):
                    os.unlink(f"{name}.new")
                elif os.path.lexists(f"{name}.new"):
                    raise StateError(f"{path}.new: exists and is not a link; move it away")
                os.symlink(target, f"{name}.new")
                os.rename(f"{name}.new", name)
