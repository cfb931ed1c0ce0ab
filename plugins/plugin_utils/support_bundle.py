"""Makes the archive of support.yml: texts of hosts and of the cluster, and a MANIFEST."""

from __future__ import annotations

import io
import json
import os
import tarfile
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.redaction import redacted
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret_search import Search

ROOT = "support"
NOTES = """\
Support bundle of the site {site}, written at {time} UTC.

Begin with check/page.txt, the health page, and with journal.txt and system/units.txt of a host.
{removed} secrets were replaced by (removed) on the hosts. Afterwards the control node searched all texts for
{texts} secrets of the inventory and {keys} private keys, in plain text, Base64 and URL encoding.
{short} secrets are too short to be searched. Names of hosts, users, topics and groups, and addresses, are not removed.
"""
KEPT = {"page": ("page.txt", "page.json"), "cluster": ("cluster.json",), "groups": ("groups.json",)}
SOURCES = {"page": "playbooks/check.yml", "cluster": "module kafka_info", "groups": "module kafka_groups"}
FACTS = {"page": ("page", "json"), "cluster": ("cluster_id", "controller", "brokers", "topics"), "groups": ("groups",)}


@dataclass(frozen=True)
class Member:
    """One file of the archive."""

    name: str
    content: str
    source: str
    notes: tuple[str, ...] = ()


@dataclass
class Bundle:
    """The contents of the archive; secrets of the inventory are removed from each text that is added."""

    site: str
    search: Search
    members: list[Member] = field(default_factory=list)
    left_out: list[tuple[str, str, str]] = field(default_factory=list)
    """(host or '', file or command, reason)."""
    removed: int = 0
    time: float = field(default_factory=time.time)

    def add_host(self, host: str, result: Mapping[str, Any]) -> None:
        """Add the result of the module host_support on a host; a host without an answer is left out."""
        if "support" not in result:
            self._leave_out(host, "everything", _why(result))
            return
        for file in result["support"]["files"]:
            notes = [f"{file['removed']} removed"] if file["removed"] else []
            notes += ["longer than allowed: a part is missing"] if file["cut"] else []
            self.removed += file["removed"]
            self._add(f"hosts/{host}/{_relative(file['name'])}", file["content"], f"{host}: {file['source']}", *notes)
        for one in result["support"]["left_out"]:
            self._leave_out(host, one["source"], one["reason"])

    def add_site(self, kind: str, result: Mapping[str, Any]) -> None:
        """Add a result about the whole site: `kind` is page, cluster or groups."""
        facts = {key: result[key] for key in FACTS[kind] if key in result}
        if not facts:
            self._leave_out("", ", ".join(KEPT[kind]), _why(result))
        elif kind == "page":
            for text, name in zip(facts.values(), KEPT[kind], strict=True):
                clean, number = redacted(str(text))
                self.removed += number
                self._add(f"check/{name}", f"{clean.rstrip()}\n", SOURCES[kind])
        else:
            self._add(f"cluster/{KEPT[kind][0]}", json.dumps(facts, indent=1, sort_keys=True) + "\n", SOURCES[kind])

    def manifest(self) -> str:
        """Return the text of MANIFEST."""
        found = self.search.found
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.time))
        facts = {"texts": len(found.texts), "keys": len(found.keys), "short": found.short}
        lines = [NOTES.format(site=self.site, time=stamp, removed=self.removed, **facts)]
        lines += ["FILES"]
        for one in self.members:
            notes = "".join(f"; {note}" for note in one.notes)
            lines.append(f"{one.name}  {len(one.content.encode())} bytes, {one.source}{notes}")
        lines += ["", "LEFT OUT"]
        lines += [f"{host or 'site'}  {source}: {reason}" for host, source, reason in self.left_out] or ["nothing"]
        lines += ["", "SECRETS OF THE INVENTORY THAT WERE FOUND IN A TEXT AND REMOVED"]
        lines += [f"{name}  {place}: {number} times" for (name, place), number in sorted(self.search.hits.items())] or [
            "none"
        ]
        lines += [f"not searched: {one}" for one in found.unread]
        return "\n".join(lines) + "\n"

    def lines(self, file: str) -> list[str]:
        """Return what to print about the written `file`."""
        size = -(-os.path.getsize(file) // 1024)
        lines = [f"written: {file} ({len(self.members) + 1} files, {size} KiB); MANIFEST in it lists them"]
        lines += [f"{host}: {reason}" for host, source, reason in self.left_out if source == "everything"]
        lines += [f"not in it: {source}: {reason}" for host, source, reason in self.left_out if not host]
        if number := sum(self.search.hits.values()):
            lines.append(f"{number} secrets of the inventory were found in texts of hosts, and removed (MANIFEST)")
        return [*lines, "read it before you send it: names and addresses of the site are in it"]

    def _add(self, name: str, text: str, source: str, *notes: str) -> None:
        self.members.append(Member(name, self.search.clean(name, text), self.search.clean("MANIFEST", source), notes))

    def _leave_out(self, host: str, source: str, reason: str) -> None:
        source, reason = (self.search.clean("MANIFEST", redacted(text)[0]) for text in (source, reason))
        self.left_out.append((host, source, reason))


def write(file: str, bundle: Bundle) -> None:
    """Write the archive with mode 0600; an earlier file is replaced. Raises OSError if that fails."""
    folder = os.path.dirname(os.path.abspath(file))
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".support-")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as stream, tarfile.open(fileobj=stream, mode="w:gz") as archive:
            for name, content in [
                ("MANIFEST", bundle.manifest()),
                *((one.name, one.content) for one in bundle.members),
            ]:
                data = content.encode(errors="replace")
                entry = tarfile.TarInfo(f"{ROOT}/{name}")
                entry.size, entry.mode, entry.mtime = len(data), 0o600, int(bundle.time)
                archive.addfile(entry, io.BytesIO(data))
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise


def _relative(name: str) -> str:
    """Return the path of a host's file below the folder of the host, whatever the host answered."""
    return "/".join(part for part in PurePosixPath(name).parts if part not in ("/", ".."))


def _why(result: Mapping[str, Any]) -> str:
    """Return why a result is missing."""
    if result.get("unreachable"):
        return "does not answer"
    return str(result.get("msg") or "no result").strip().partition("\n")[0]
