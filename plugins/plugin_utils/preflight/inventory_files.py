"""Where an inventory comes from: files that nobody reads, folders of several sites, files without the wiring."""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

KNOWN = ("group_vars", "host_vars")
SUFFIXES = ("", ".yml", ".yaml", ".json")  # as Ansible reads them
PLUGIN = re.compile(r"^plugin:\s*['\"]?millrace\.kafka\.site\b", re.MULTILINE)
LAID = f"function_{KINDS[0]}"
"""What the inventory plugin alone sets, on every host."""


@dataclass(frozen=True)
class Stray:
    """A file of variables that belongs to no group and no host."""

    problem: Problem
    names: frozenset[str]
    """What it would set; `vault` where it is encrypted."""


def strays(raw: Mapping[str, Mapping[str, Any]], groups: Collection[str]) -> Iterator[Stray]:
    """Yield the files of group_vars and host_vars that nobody reads; `raw` are the variables of all hosts."""
    for folder in sorted({str(values["inventory_dir"]) for values in raw.values() if values.get("inventory_dir")}):
        for kind, known, what in (("group_vars", groups, "group"), ("host_vars", [*raw, "localhost"], "host")):
            for place in sorted(Path(folder, kind).glob("[!.]*")):
                name = place.name if place.is_dir() else place.stem
                if place.is_file() and place.suffix not in SUFFIXES and name in known:
                    wrong = f"Ansible reads no file that ends in {place.suffix}"
                    yield _stray(place, f"{kind}/{place.name}", wrong, f"name it {name}.yml, or remove it")
                if name in known or place.name in known or (place.is_file() and place.suffix not in SUFFIXES):
                    continue
                near = nearest(name, set(known) - {"ungrouped"}) or (what == "group" and meant(name))
                advice = f"did you mean {near}?" if near else f"name it as a {what} of the inventory, or remove it"
                wrong = f"no {what} has this name, so nobody reads it"
                problem = Problem((), f"{kind}/{place.name}", "FILE_UNREAD", None, wrong, advice, warning=not near)
                yield Stray(problem, frozenset(_names(place)))
            yield from _skipped(Path(folder, kind))
        yield from _misplaced(Path(folder))
        yield from _twice(Path(folder))


def _owner(place: Path) -> str:
    """Return the group or host whose variables a file or folder holds."""
    return place.stem if place.is_file() and place.suffix in SUFFIXES else place.name


def _read(kind: Path) -> dict[str, Path]:
    """Return by group or host what Ansible reads of its variables: the first of these names that is there.

    As ansible.parsing.dataloader.DataLoader.find_vars_files: what has no suffix first, a folder or a file.
    """
    places = [place for place in kind.glob("[!.]*") if place.is_dir() or place.suffix in SUFFIXES]
    ordered = sorted(places, key=lambda place: SUFFIXES.index(place.suffix) if place.is_file() else 0)
    return {_owner(place): place for place in reversed(ordered)}


def _skipped(kind: Path) -> Iterator[Stray]:
    """Yield files of variables that are not read, because a folder or another file of that name is."""
    read = _read(kind)
    for place in sorted(kind.glob("[!.]*")):
        first = read.get(_owner(place), place)
        if first != place and place.is_file() and place.suffix in SUFFIXES:
            folder = first.is_dir()
            wrong = (
                f"Ansible reads {'the folder ' if folder else ''}{kind.name}/{first.name}{'/' if folder else ''} alone,"
            )
            wrong += " and nothing of this file"
            advice = "move it into the folder" if folder else f"move what it says to {kind.name}/{first.name}"
            yield _stray(place, f"{kind.name}/{place.name}", wrong, advice)


def _twice(folder: Path) -> Iterator[Stray]:
    """Yield variables that two folders of one group or host say, of which one wins, and a second file of hosts."""
    sites = [file.name for file in sorted(folder.glob("*.y*ml")) if PLUGIN.search(file.read_text(errors="replace"))]
    if len(sites) > 1:
        wrong = f"{sites[0]} names the plugin as well: both are read, and hosts become a mixture of the two"
        problem = Problem((), sites[-1], "FILE_RIVALS", None, wrong, "take one of the two out of the folder")
        yield Stray(problem, frozenset())
    for kind in ("group_vars", "host_vars"):
        told: dict[tuple[str, str], list[str]] = {}
        for owner, place in sorted(_read(Path(folder, kind)).items()):
            files = [place] if place.is_file() else sorted(file for file in place.rglob("*") if file.is_file())
            for file in (file for file in files if file.suffix in SUFFIXES):
                if not file.read_bytes().startswith(b"$ANSIBLE_VAULT"):
                    for name in dict.fromkeys(_names(file)):
                        told.setdefault((owner, name), []).append(str(file.relative_to(folder)))
        for (_, name), paths in told.items():
            # In a folder the last by name goes before, which a site may count on; of two places nobody does.
            ordered = len({str(Path(path).parent) for path in paths}) == 1 and "/" in paths[0].partition("/")[2]
            if len(paths) > 1 and not ordered:
                wrong = f"{paths[0]} says it as well: one of the two replaces the other without a word"
                problem = Problem((), f"{paths[-1]}/{name}", "FILE_RIVALS", None, wrong, "say it in one of the two")
                yield Stray(problem, frozenset())


def _misplaced(folder: Path) -> Iterator[Stray]:
    """Yield what stands beside group_vars and host_vars and was meant to be in them."""
    for place in sorted(folder.glob("[!.]*")):
        near = nearest(re.sub(r"[^a-z]", "_", place.name.lower()), set(KNOWN)) if place.is_dir() else ""
        if near and place.name not in KNOWN:
            yield _stray(place, place.name, "nobody reads this folder", f"did you mean {near}?")
        if place.is_file() and place.read_bytes()[:14] == b"$ANSIBLE_VAULT":
            wrong, advice = "variables beside hosts.yml are read by nobody", f"move it to group_vars/all/{place.name}"
            yield _stray(place, place.name, wrong, advice)


def _stray(place: Path, name: str, wrong: str, advice: str) -> Stray:
    return Stray(Problem((), name, "FILE_UNREAD", None, wrong, advice), frozenset(_names(place)))


def _names(place: Path) -> Iterator[str]:
    for file in [place] if place.is_file() else sorted(file for file in place.rglob("*") if file.is_file()):
        text = file.read_text(encoding="utf-8", errors="replace")
        yield from ["vault"] if text.startswith("$ANSIBLE_VAULT") else re.findall(r"^([A-Za-z_]\w*)\s*:", text, re.M)


def several(raw: Mapping[str, Mapping[str, Any]], hosts: Collection[str]) -> Problem | None:
    """Return what is wrong where the hosts are those of several sites, as of the folder above them."""
    sites = sorted({str(raw[host].get("inventory_dir") or "") for host in hosts})
    sites = [folder for folder in sites if len(sites) > 1 and _is_site(Path(folder))]
    if len(sites) < 2:
        return None
    above = os.path.commonpath(sites)
    names = ", ".join(os.path.relpath(folder, above) for folder in sites)
    wrong = f"{len(sites)} inventories ({names}), and their hosts would become one cluster"
    return Problem((), "", "INVENTORY_FAMILY", above, wrong, f"give one of them, as -i {sites[0]}")


def _is_site(folder: Path) -> bool:
    """Tell whether a folder is an inventory of its own: it has a hosts.yml, or a file that names the plugin."""
    files = [*folder.glob("*.yml"), *folder.glob("*.yaml")]
    return any(file.stem == "hosts" or PLUGIN.search(file.read_text(errors="replace")) for file in files)


def without_wiring(raw: Mapping[str, Mapping[str, Any]], hosts: Collection[str]) -> Problem | None:
    """Return what is wrong where the inventory's plugin was not asked."""
    lacking = tuple(host for host in hosts if LAID not in raw[host])
    if not lacking:
        return None
    wrong = "no file of the inventory names the plugin that makes inputs of roles of its facts"
    advice = "begin hosts.yml with the line plugin: millrace.kafka.site (inventories/README.md)"
    return Problem(lacking, "", "WIRING_MISSING", None, wrong, advice)
