"""Checks inventory files: unread files, several inventories in one folder, a missing plugin line."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import KINDS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.identity import meant
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

FOLDERS = ("group_vars", "host_vars")
SUFFIXES = ("", ".yml", ".yaml", ".json")  # that Ansible reads
PLUGIN = re.compile(r"^plugin:\s*['\"]?millrace\.kafka\.site\b", re.MULTILINE)
SET_BY_PLUGIN = f"function_{KINDS[0]}"
"""A variable that only the inventory plugin sets, on every host."""


@dataclass(frozen=True)
class UnreadFile:
    """A file of variables that Ansible does not read: the problem to report, and the variables in the file."""

    problem: Problem
    names: frozenset[str]
    """The variables in the file; `vault` if the file is encrypted."""


FILE_UNREAD = ProblemKind(
    "FILE_UNREAD",
    "no {owner} has this name, so Ansible does not read it",
    "rename it to a {owner} of the inventory, or remove it",
)
FILE_UNREAD_NEAR = FILE_UNREAD.variant(advice="did you mean {near}?")
FILE_UNREAD_SUFFIX = FILE_UNREAD.variant(
    message="Ansible does not read files with the suffix {suffix}", advice="rename it to {name}.yml, or remove it"
)


def unread_files(raw: Mapping[str, Mapping[str, Any]], groups: Collection[str]) -> Iterator[UnreadFile]:
    """Yield the files of variables that Ansible does not read, each with the problem to report.

    Also yield files of the same group or host that set the same variable. `raw` is {host: its variables before
    templating}, `groups` are the names of all groups.
    """
    for folder in sorted({str(values["inventory_dir"]) for values in raw.values() if values.get("inventory_dir")}):
        for kind, known, owner in (("group_vars", groups, "group"), ("host_vars", [*raw, "localhost"], "host")):
            for path in sorted(Path(folder, kind).glob("[!.]*")):
                yield from _without_owner(path, known, owner)
            yield from _hidden_files(Path(folder, kind))
        yield from _misplaced(Path(folder))
        yield from _rivals(Path(folder))


def _without_owner(path: Path, known: Collection[str], owner: str) -> Iterator[UnreadFile]:
    """Yield an UnreadFile if no group or host has the name of `path`, or if Ansible does not read its suffix.

    `path` is a file or folder of variables. `known` are the names of all groups or hosts, `owner` is "group" or "host".
    """
    name = path.name if path.is_dir() else path.stem
    place = f"{path.parent.name}/{path.name}"
    has_other_suffix = path.is_file() and path.suffix not in SUFFIXES
    if has_other_suffix and name in known:
        yield _unread(path, FILE_UNREAD_SUFFIX.problem((), place, suffix=path.suffix, name=name))
    if name in known or path.name in known or has_other_suffix:
        return
    near = nearest(name, set(known) - {"ungrouped"}) or (owner == "group" and meant(name))
    if near:
        yield _unread(path, FILE_UNREAD_NEAR.problem((), place, owner=owner, near=near))
    else:
        yield _unread(path, FILE_UNREAD.problem((), place, warning=True, owner=owner))


def _owner(path: Path) -> str:
    """Return the name of the group or host that a file or folder of variables belongs to."""
    return path.stem if path.is_file() and path.suffix in SUFFIXES else path.name


def _read_by_ansible(kind: Path) -> dict[str, Path]:
    """Return {group or host: the file or folder of its variables that Ansible reads}.

    `kind` is the folder group_vars or host_vars. Of several files with the same name, Ansible reads the first: see
    ansible.parsing.dataloader.DataLoader.find_vars_files. Names without a suffix come first.
    """
    paths = [path for path in kind.glob("[!.]*") if path.is_dir() or path.suffix in SUFFIXES]
    ordered = sorted(paths, key=lambda path: SUFFIXES.index(path.suffix) if path.is_file() else 0)
    return {_owner(path): path for path in reversed(ordered)}


FILE_UNREAD_FOLDER = FILE_UNREAD.variant(
    message="Ansible reads the folder {other}/ instead of this file", advice="move it into the folder"
)
FILE_UNREAD_OTHER = FILE_UNREAD.variant(
    message="Ansible reads {other} instead of this file", advice="move its variables to {other}"
)


def _hidden_files(kind: Path) -> Iterator[UnreadFile]:
    """Yield each file in the folder `kind` that Ansible ignores, because it reads another file of the same name."""
    read = _read_by_ansible(kind)
    for path in sorted(kind.glob("[!.]*")):
        first = read.get(_owner(path), path)
        if first != path and path.is_file() and path.suffix in SUFFIXES:
            problem_kind = FILE_UNREAD_FOLDER if first.is_dir() else FILE_UNREAD_OTHER
            other = f"{kind.name}/{first.name}"
            yield _unread(path, problem_kind.problem((), f"{kind.name}/{path.name}", other=other))


FILE_RIVALS = ProblemKind(
    "FILE_RIVALS",
    "{other} sets this variable too: one of the two files silently overrides the other",
    "set the variable in one of the two",
)
FILE_RIVALS_HOSTS = FILE_RIVALS.variant(
    message="{other} names the plugin too: Ansible reads both, and mixes their hosts",
    advice="remove one of the two from the folder",
)


def _rivals(folder: Path) -> Iterator[UnreadFile]:
    """Yield a second file that declares hosts, and each variable that two files of one group or host set."""
    sites = [file.name for file in sorted(folder.glob("*.y*ml")) if PLUGIN.search(file.read_text(errors="replace"))]
    if len(sites) > 1:
        yield UnreadFile(FILE_RIVALS_HOSTS.problem((), sites[-1], other=sites[0]), frozenset())
    for kind in FOLDERS:
        paths_of: dict[tuple[str, str], list[str]] = {}
        for owner, path in sorted(_read_by_ansible(Path(folder, kind)).items()):
            files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
            for file in (file for file in files if file.suffix in SUFFIXES):
                if not file.read_bytes().startswith(b"$ANSIBLE_VAULT"):
                    for name in dict.fromkeys(_names(file)):
                        paths_of.setdefault((owner, name), []).append(str(file.relative_to(folder)))
        for (_, name), paths in paths_of.items():
            # In one folder the last file by name wins, which a site may intend; in two places it does not.
            is_ordered = len({str(Path(path).parent) for path in paths}) == 1 and "/" in paths[0].partition("/")[2]
            if len(paths) > 1 and not is_ordered:
                yield UnreadFile(FILE_RIVALS.problem((), f"{paths[-1]}/{name}", other=paths[0]), frozenset())


FILE_UNREAD_DIRECTORY = FILE_UNREAD.variant(message="Ansible does not read this folder", advice="did you mean {near}?")
FILE_UNREAD_BESIDE = FILE_UNREAD.variant(
    message="Ansible does not read variables beside hosts.yml", advice="move it to group_vars/all/{name}"
)


def _misplaced(folder: Path) -> Iterator[UnreadFile]:
    """Yield folders whose name is almost group_vars or host_vars, and encrypted files next to these folders.

    `folder` is the folder of the inventory.
    """
    for path in sorted(folder.glob("[!.]*")):
        near = nearest(re.sub(r"[^a-z]", "_", path.name.lower()), set(FOLDERS)) if path.is_dir() else ""
        if near and path.name not in FOLDERS:
            yield _unread(path, FILE_UNREAD_DIRECTORY.problem((), path.name, near=near))
        if path.is_file() and path.read_bytes()[:14] == b"$ANSIBLE_VAULT":
            yield _unread(path, FILE_UNREAD_BESIDE.problem((), path.name, name=path.name))


def _unread(path: Path, problem: Problem) -> UnreadFile:
    return UnreadFile(problem, frozenset(_names(path)))


def _names(path: Path) -> Iterator[str]:
    """Yield the names of the variables that a file, or all files of a folder, set; `vault` for an encrypted file."""
    for file in [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file()):
        text = file.read_text(encoding="utf-8", errors="replace")
        yield from ["vault"] if text.startswith("$ANSIBLE_VAULT") else re.findall(r"^([A-Za-z_]\w*)\s*:", text, re.M)


INVENTORY_FAMILY = ProblemKind(
    "INVENTORY_FAMILY",
    "{number} inventories ({names}): their hosts would become one cluster",
    "pass one of them, for example -i {first}",
)


def several_inventories(raw: Mapping[str, Mapping[str, Any]], hosts: Collection[str]) -> Problem | None:
    """Return a problem if `hosts` come from several inventories, because -i named a folder above them; else None.

    `raw` is {host: its variables before templating}.
    """
    sites = sorted({str(raw[host].get("inventory_dir") or "") for host in hosts})
    sites = [folder for folder in sites if len(sites) > 1 and _is_site(Path(folder))]
    if len(sites) < 2:
        return None
    above = os.path.commonpath(sites)
    names = [os.path.relpath(folder, above) for folder in sites]
    return INVENTORY_FAMILY.problem((), "", above, number=len(sites), names=names, first=sites[0])


def _is_site(folder: Path) -> bool:
    """Tell whether a folder is an inventory: it has a hosts.yml, or a file that names the inventory plugin."""
    files = [*folder.glob("*.yml"), *folder.glob("*.yaml")]
    return any(file.stem == "hosts" or PLUGIN.search(file.read_text(errors="replace")) for file in files)


WIRING_MISSING = ProblemKind(
    "WIRING_MISSING",
    "no file of the inventory names the plugin that derives role inputs from it",
    "add the line `plugin: millrace.kafka.site` at the top of hosts.yml (inventories/README.md)",
)


def missing_plugin(raw: Mapping[str, Mapping[str, Any]], hosts: Collection[str]) -> Problem | None:
    """Return a problem if a host was not read with the inventory plugin millrace.kafka.site; else None.

    `raw` is {host: its variables before templating}, `hosts` are the hosts to check.
    """
    without = tuple(host for host in hosts if SET_BY_PLUGIN not in raw[host])
    return WIRING_MISSING.problem(without, "") if without else None
