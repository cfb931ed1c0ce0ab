"""Compares properties with the settings that the parts of MirrorMaker's workers have logged that they use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FLOW_OF_PART = ("source.cluster.alias", "target.cluster.alias")
Settings = Sequence[Mapping[str, Any]]
"""Parts of workers with their `kind`, `client` and `values`, as the module mirror_maker_worker returns them."""


@dataclass(frozen=True)
class Wanted:
    """A property, and the parts of workers that use it: classes of settings, and a pattern of their client.id."""

    key: str
    name: str
    value: str
    kinds: str
    client: str = ""
    flow: str = ""
    """The flow, such as west->east, that alone uses the property."""

    def values(self, settings: Settings) -> set[str]:
        """Return the values of this name in the parts that could use the property; its own flow's if they are known."""
        parts = [part for part in self.parts(settings) if self.name in part["values"]]
        own = [part for part in parts if self.flow and flow_of(part) == self.flow]
        others = [part for part in parts if not self.flow or not flow_of(part)]
        return {part["values"][self.name] for part in own or others}

    def parts(self, settings: Settings) -> list[Mapping[str, Any]]:
        """Return the parts that could use the property."""
        return [
            part for part in settings
            if re.fullmatch(self.kinds, part["kind"]) and re.search(self.client, part["client"])
        ]  # fmt: skip


def flow_of(part: Mapping[str, Any]) -> str:
    """Return the flow of a part of a worker, such as west->east; '' if it is not known."""
    source, target = (part["values"].get(name) for name in FLOW_OF_PART)
    return f"{source}->{target}" if source and target else ""


def wrong(wanted: Iterable[Wanted], settings: Settings, several: bool = False) -> list[str]:
    """Return an error text for each property of which the parts use only other values.

    With `several` flows, parts whose flow is not known may be another's, and do not count.
    """
    known = [part for part in settings if flow_of(part)] if several else settings
    found = ((one, one.values(known if one.flow else settings)) for one in wanted)
    return [
        f"{one.key} = {one.value} has no effect: {', '.join(sorted(used))} is used"
        for one, used in found
        if used and not any(same(one.value, value) for value in used)
    ]


def same(declared: str, logged: str) -> bool:
    """Tell whether a value in a properties file and a logged value are equal; hidden values are."""
    if logged == "[hidden]":
        return True
    if logged.startswith("[") and logged.endswith("]"):
        return [item.strip() for item in logged[1:-1].split(",")] == [item.strip() for item in declared.split(",")]
    return declared == logged.removeprefix("class ") or (declared == "" and logged == "null")
