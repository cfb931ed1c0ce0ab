"""What one version of a product takes otherwise than another, by the definitions of the two; no Ansible import.

plugins/definitions/generated/older-<product>.json holds what versions before ours know otherwise
(packaging/older_definitions.py). Of a version that is in no file nothing is said: no near one stands for it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from ansible_collections.millrace.kafka.plugins.plugin_utils import definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import plain
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import Spec, span, text_of

Kind = Literal["removed", "renamed", "new", "default", "taken"]
Sections = Mapping[str, Mapping[str, Spec]]
TAKEN = ("type", "min", "max", "also", "choices", "ignorecase", "versions", "nonempty", "jvm")
"""What of a spec says which values are taken; the definitions of older versions hold these and the default alone."""
ALIKE = 0.8  # of two names, one of which is gone and the other new, where one was probably made of the other


@dataclass(frozen=True)
class Change:
    """One property that is otherwise: `before` and `after` are defaults, what is taken, or the two names."""

    section: str
    name: str
    kind: Kind
    before: str = ""
    after: str = ""


def sections_of(product: str, version: str) -> Sections | None:
    """Return the definitions of just this version by section, None where there are none."""
    return _sections(definitions.FOLDER, product, version)


@cache
def _sections(folder: Path, product: str, version: str) -> Sections | None:
    own, file = folder / f"{product}-{version}.json", folder / f"older-{product}.json"
    if own.is_file():
        return definitions.read(own).sections
    found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"older": {}}
    base = folder / f"{product}-{found.get('version')}.json"
    if version not in found["older"] or not base.is_file():
        return None
    otherwise = found["older"][version]
    sections = {}
    for section, specs in definitions.read(base).sections.items():
        merged = {**specs, **otherwise.get(section, {})}
        sections[section] = {name: spec for name, spec in merged.items() if spec is not None}
    return sections


def known_versions(product: str) -> list[str]:
    """Return the versions that there are definitions of, the last first."""
    file = definitions.FOLDER / f"older-{product}.json"
    older = json.loads(file.read_text(encoding="utf-8"))["older"] if file.is_file() else {}
    own = [path.stem.rpartition("-")[2] for path in definitions.FOLDER.glob(f"{product}-*.json")]
    return sorted({*own, *older}, key=definitions.rank, reverse=True)


def changes(before: Sections, after: Sections, sections: Iterable[str] = ()) -> list[Change]:
    """Return all that is otherwise, by section and name; `sections` are those of `after` where none are named.

    A name that is gone and one that is new are one that was renamed, where both take the same and are much alike.
    """
    found = []
    for section in sections or after:
        then, now = before.get(section, {}), after.get(section, {})
        pairs = renamed({name: then[name] for name in then if name not in now},
                        {name: now[name] for name in now if name not in then})  # fmt: skip
        for name in sorted({*then, *now} - {*pairs.values()}):
            if name in pairs:
                found.append(Change(section, name, "renamed", name, pairs[name]))
            elif name not in now:
                found.append(Change(section, name, "removed", default(then[name])))
            elif name not in then:
                found.append(Change(section, name, "new", "", default(now[name])))
            else:
                found += _between(section, name, then[name], now[name])
    return found


def _between(section: str, name: str, then: Spec, now: Spec) -> list[Change]:
    found = []
    if then.get("default") != now.get("default"):
        found.append(Change(section, name, "default", default(then), default(now)))
    if any(then.get(key) != now.get(key) for key in TAKEN):
        found.append(Change(section, name, "taken", taken(then, now), taken(now, then)))
    return found


def renamed(gone: Mapping[str, Spec], came: Mapping[str, Spec]) -> dict[str, str]:
    """Return by the name that is gone the one that came, each once."""
    found: dict[str, str] = {}
    for name, spec in sorted(gone.items()):
        same = [other for other, now in came.items() if _same(spec, now) and other not in found.values()]
        near = difflib.get_close_matches(plain(name), [plain(other) for other in same], n=1, cutoff=ALIKE)
        if near:
            found[name] = next(other for other in same if plain(other) == near[0])
    return found


def _same(then: Spec, now: Spec) -> bool:
    return all(then.get(key) == now.get(key) for key in ("default", *TAKEN))


def default(spec: Spec) -> str:
    """Return the default for people, '' where there is none."""
    return text_of(spec["default"]) if spec.get("default") is not None else ""


def taken(spec: Spec, other: Spec) -> str:
    """Return for people which values are taken: of choices those that the other version does not take."""
    words = [f"{spec['type']}{span(spec)}"]
    for key in ("choices", "versions"):
        theirs = other.get(key, ())
        more = [str(one) for one in spec.get(key, ()) if one not in theirs and "-IV" not in str(one)]
        words += [f"{'also ' if theirs else 'one of '}{', '.join(more)}"] if more else []
    for key, word in (("ignorecase", "in any case"), ("nonempty", "not empty"), ("jvm", "of the JVM")):
        words += [word] if spec.get(key) and not other.get(key) else []
    return ", ".join(words)
