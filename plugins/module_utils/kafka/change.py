"""Changes, plans and outcomes that all kinds of resources share.

A module reads the cluster, diff(declared, found) returns a Plan of Changes, and carry_out() writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Verb = Literal["create", "update", "delete"]
Outcome = Mapping[str, str]
"""By name of a change that failed, the broker's reason."""


class Failure(Exception):
    """A request to the cluster that failed as a whole; the base of AdminError and ClientError."""

    unsure = False
    """Whether the request may have been carried out, because it got no answer."""


class Unsure(str):
    """The reason why a change failed that may have been written nevertheless, as after a timeout."""


class PartlyWritten(str):
    """The reason why a change failed although the change, or a part of it, was written."""


Look = Callable[[Sequence["Change"], Outcome], Outcome]
"""A function that reads from the cluster whether changes were made whose write got no answer.

Its arguments are these changes, and the reason of each. It returns the reasons of the changes that are missing.
"""

MILLISECONDS = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1000}
BYTES = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
SCALES = {"ms": MILLISECONDS, "bytes": BYTES, "rate": BYTES}


@dataclass(frozen=True)
class Change:
    """One change of one resource. `before` and `after` are lines of its diff, which never contain a secret."""

    kind: str
    """topic, user, ACL or quota"""
    name: str
    verb: Verb
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    work: Any = field(default=None, repr=False, compare=False)
    """Additional data for `apply`; not shown."""

    def __str__(self) -> str:
        """Return the change as one line: `update topic orders: - partitions: 3; + partitions: 6`."""
        lines = [*(f"- {line}" for line in self.before), *(f"+ {line}" for line in self.after)]
        return f"{self.verb} {self.kind} {self.name}" + (f": {'; '.join(lines)}" if lines else "")


@dataclass(frozen=True)
class Plan:
    """The changes that a run would make, and its refusals: reasons why nothing may be written, not even a part."""

    changes: Sequence[Change] = ()
    unchanged: Sequence[str] = ()
    unmanaged: Sequence[str] = ()
    """Names of resources that are on the cluster but not declared."""
    refusals: Sequence[str] = ()

    def summary(self) -> dict[str, list[str]]:
        """Return sorted names of resources by what happens to them.

        The keys are create, update, delete, unchanged, and unmanaged (on the cluster but not declared).
        """
        verbs = {
            verb: sorted(change.name for change in self.changes if change.verb == verb)
            for verb in ("create", "update", "delete")
        }
        return {**verbs, "unchanged": sorted(self.unchanged), "unmanaged": sorted(self.unmanaged)}

    def diff(self, header: str) -> dict[str, str]:
        """Return the diff for Ansible, sorted by kind and name; `header` is its title."""
        sides = {"before": "", "after": ""}
        for change in sorted(self.changes, key=lambda one: (one.kind, one.name)):
            for side, lines in (("before", change.before), ("after", change.after)):
                there = lines or change.verb != {"before": "create", "after": "delete"}[side]
                sides[side] += f"{change.kind} {change.name}\n" * bool(there)
                sides[side] += "".join(f"  {line}\n" for line in lines)
        return {**sides, "before_header": header, "after_header": header}


@dataclass(frozen=True)
class Done:
    """The outcome of writing a plan: the changes that were done, the failed changes, and the changes not tried."""

    done: Sequence[Change] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    """By `KIND NAME` of a change that failed, the reason."""
    untried: Sequence[Change] = ()

    @property
    def unknown(self) -> list[str]:
        """Return `KIND NAME` of each change that failed and may have been written nevertheless."""
        return [name for name, why in self.failed.items() if isinstance(why, Unsure)]

    @property
    def changed(self) -> bool:
        """Tell whether anything was written, or may have been written."""
        return bool(self.done) or any(isinstance(why, Unsure | PartlyWritten) for why in self.failed.values())

    def message(self) -> str:
        """Return one text: the failed changes grouped by reason, then the changes that were done or not tried."""
        reasons: dict[str, list[str]] = {}
        for name, why in self.failed.items():
            reasons.setdefault(why, []).append(name)
        parts = ["failed: " + "; ".join(f"{', '.join(names)}: {why}" for why, names in reasons.items())]
        for what, changes in (("done", self.done), ("not tried", self.untried)):
            parts.append(f"{what}: {', '.join(f'{one.kind} {one.name}' for one in changes) or 'nothing'}")
        return ". ".join(parts)


def carry_out(steps: Sequence[tuple[Sequence[Change], Callable[[Sequence[Change]], Outcome]]], look: Look) -> Done:
    """Write the steps in their order; after a step with a failed change, no further step is started.

    A step is (changes, function that writes these changes and returns {name of a failed change: reason}).
    For changes whose write got no answer, `look` reads from the cluster whether they were made.
    """
    done: list[Change] = []
    for number, (batch, write) in enumerate(steps):
        if not batch:
            continue
        try:
            failed = dict(write(batch))
        except Failure as error:
            failed = dict.fromkeys((one.name for one in batch), (Unsure if error.unsure else str)(error))
        unsure = {name: why for name, why in failed.items() if isinstance(why, Unsure)}
        if unsure:
            failed = {name: why for name, why in failed.items() if name not in unsure}
            failed |= look([change for change in batch if change.name in unsure], unsure)
        done += [change for change in batch if change.name not in failed]
        if failed:
            left = [change for later, _ in steps[number + 1 :] for change in later]
            return Done(done, {f"{c.kind} {c.name}": failed[c.name] for c in batch if c.name in failed}, left)
    return Done(done)


def batches(changes: Sequence[Change], size: int) -> list[Sequence[Change]]:
    """Split the changes, in their order, into lists of at most `size` changes."""
    return [changes[start : start + size] for start in range(0, len(changes), size)]


def in_scope(name: str, scope: Iterable[str]) -> bool:
    """Tell whether a name is in `scope`, a list of full names, and of prefixes each followed by `*`."""
    return any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in scope)


def too_many(kind: str, pruned: Sequence[str], most: int) -> list[str]:
    """Return [] or a list with one refusal: kafka_prune would delete more resources of a kind than its max_deletes.

    `pruned` are the names of these resources, `most` is max_deletes.
    """
    if len(pruned) <= most:
        return []
    names = f"{', '.join(pruned[:5])}{', ...' if len(pruned) > 5 else ''}"
    return [
        f"prune: {len(pruned)} {kind} would be deleted ({names}), but max_deletes is {most}; "
        "declare those that must stay, reduce the scope, or raise kafka_prune.max_deletes"
    ]


def human(key: str, value: str | float | None) -> str:
    """Return a setting as a line with its value in a readable unit, as `retention.ms: 604800000 (7 d)`."""
    units = next((units for end, units in SCALES.items() if key.endswith((f".{end}", f"_{end}"))), {})
    text = f"{value:g}" if isinstance(value, float) and not value.is_integer() else str(value)
    if isinstance(value, float) and value.is_integer():
        text = str(int(value))
    if text.isdigit() and int(text):
        for unit, size in units.items():
            if int(text) % size == 0:
                return f"{key}: {text} ({int(text) // size} {unit})"
        for unit, size in units.items():
            if int(text) >= size:
                return f"{key}: {text} ({int(text) / size:.1f} {unit})"
    if text == "-1" and key in ("retention.ms", "retention.bytes"):
        return f"{key}: -1 (no limit)"
    return f"{key}: {text}"
