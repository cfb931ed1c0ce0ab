"""Format the figures of make bench-jobs: medians with their spread, ratios in turns, goals, tables. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """What a figure is held to: at least, or at most."""

    what: str
    bound: float
    found: Sequence[float]
    most: bool = False

    @property
    def met(self) -> bool:
        """Whether the median is within the bound."""
        median = statistics.median(self.found)
        return median <= self.bound if self.most else median >= self.bound

    @property
    def text(self) -> str:
        """The bound, as a page has it."""
        return f"{'≤' if self.most else '≥'} {self.bound:g}"


def ratios(ours: Sequence[float], others: Sequence[float]) -> list[float]:
    """What each round's two figures are to each other."""
    return [one / two for one, two in zip(ours, others, strict=True)]


def spread(values: Sequence[float], show: Callable[[float], str] = "{:.2f}".format) -> str:
    """The median, and the lowest to the highest where there are several."""
    median = show(statistics.median(values))
    return median if len(values) == 1 else f"{median} ({show(min(values))} to {show(max(values))})"


def thousands(value: float) -> str:
    """A rate in thousands."""
    return f"{value / 1000:,.1f}"


def tenths(value: float) -> str:
    """A number with one decimal."""
    return f"{value:,.1f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def goals_table(goals: Sequence[Goal]) -> str:
    """What the figures are held to; one that is not met is bold."""
    rows = []
    for goal in goals:
        row = [goal.what, goal.text, spread(goal.found)]
        rows.append(row if goal.met else [f"**{cell}**" for cell in row])
    return table(["Goal", "Bound", "Measured: median (lowest to highest)"], rows)


@dataclass(frozen=True)
class Part:
    """What was measured of one thing: how, what was found, and what it is held to."""

    title: str
    how: str
    found: str
    goals: Sequence[Goal] = ()


def section(parts: Sequence[Part], machine: str) -> str:
    """Return the section of the page: the goals first, then each part."""
    goals = [goal for part in parts for goal in part.goals]
    introduction = (
        "All programs use one broker without TLS on the same machine. They run one after the other; programs that are\n"
        "compared run in turns, once in each round. CPU-seconds are the user and system time of a program and all its\n"
        f"child processes. The table shows a missed goal in bold.\n{machine}"
    )
    texts = [f"## What the jobs cost\n\n{introduction}\n\n{goals_table(goals)}"]
    texts += [f"### {part.title}\n\n{part.how}\n\n{part.found}" for part in parts]
    return "\n\n".join(texts)
