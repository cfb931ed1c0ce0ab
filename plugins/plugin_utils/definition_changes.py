"""Compares the properties of two versions of Kafka or ZooKeeper, by their definitions.

plugins/definitions/generated/older-<product>.json contains how older versions differ (packaging/older_definitions.py).
A version without definitions is unknown: the definitions of a similar version are not used instead.
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
"""Keys of a spec that describe the valid values; definitions of older versions have only these and the default."""
ALIKE = 0.8  # similarity of a removed and a new name above which the property was probably renamed


@dataclass(frozen=True)
class Change:
    """One difference of a property between two versions of a product; `kind` decides what `before` and `after` are.

    - renamed: the old and the new name;
    - taken: descriptions of the values that the property accepts;
    - removed, new, default: the default as text, '' without a default or without the property.
    """

    section: str
    name: str
    kind: Kind
    before: str = ""
    after: str = ""


def sections_of(product: str, version: str) -> Sections | None:
    """Return {section: {property: spec}} of exactly this version; None if there are no definitions of the version.

    `product` is kafka or zookeeper; a section is a kind of properties, such as broker or topic.
    """
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
    """Return the versions of a product (kafka or zookeeper) that have definitions, newest first."""
    file = definitions.FOLDER / f"older-{product}.json"
    older = json.loads(file.read_text(encoding="utf-8"))["older"] if file.is_file() else {}
    own = [path.stem.rpartition("-")[2] for path in definitions.FOLDER.glob(f"{product}-*.json")]
    return sorted({*own, *older}, key=definitions.rank, reverse=True)


def changes(before: Sections, after: Sections, sections: Iterable[str] = ()) -> list[Change]:
    """Return the differences between the properties of two versions, sorted by property name in each section.

    `before` and `after` are {section: {property: spec}} of the two versions. `sections` are the sections to compare, by
    default all sections of `after`. A removed and a new property count as one renamed property if their specs are equal
    and their names similar.
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
    """Return {removed name: new name} of the properties that were probably renamed.

    `gone` and `came` are {name: spec} of the removed and of the new properties. Renamed properties have equal specs and
    similar names; no two removed names get the same new name.
    """
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
    """Return the default value in a spec as text; '' if the spec has no default."""
    return text_of(spec["default"]) if spec.get("default") is not None else ""


def taken(spec: Spec, other: Spec) -> str:
    """Return the values that the `spec` of a property accepts, as text for people.

    `other` is the spec of the property in the version to compare with; choices that `other` also has are left out.
    """
    words = [f"{spec['type']}{span(spec)}"]
    for key in ("choices", "versions"):
        theirs = other.get(key, ())
        more = [str(one) for one in spec.get(key, ()) if one not in theirs and "-IV" not in str(one)]
        words += [f"{'also ' if theirs else 'one of '}{', '.join(more)}"] if more else []
    for key, word in (("ignorecase", "in any case"), ("nonempty", "not empty"), ("jvm", "of the JVM")):
        words += [word] if spec.get(key) and not other.get(key) else []
    return ", ".join(words)
