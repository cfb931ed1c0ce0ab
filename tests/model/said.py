"""What is said of an inventory of tests/model, and how docs/errors.md shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.inventory_problems import problems_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, line, merged
from model.mistakes.base import VAULT, Mistake, spoil

ROOT = Path(__file__).resolve().parents[2]
NOTHING: Mapping[str, Any] = {"vault": VAULT}


def check(inventory: Path, extra: Mapping[str, Any] = NOTHING) -> tuple[list[Problem], list[str]]:
    """Return the problems of an inventory, and their lines."""
    reader = load(inventory, extra)
    model = reader.read()
    problems = merged(problems_of(reader, model))
    return problems, [line(problem, {**model.groups, **model.all_groups}) for problem in problems]


def told(mistake: Mistake, folder: Path) -> tuple[list[Problem], str]:
    """Make a mistake in a folder; return every problem, and the row of docs/errors.md for the mistake.

    The mistake is the only change of the inventory.
    """
    problems, lines = check(spoil(folder / "inventory", mistake), mistake.extra)
    return problems, shown(mistake, problems, lines, folder)


def shown(mistake: Mistake, problems: Sequence[Problem], lines: Sequence[str], folder: Path) -> str:
    """Return the row of docs/errors.md for a mistake: the only line with its code and place."""
    said = [
        (text, problem.warning) for problem, text in zip(problems, lines, strict=True) if problem.code == mistake.code
    ]
    wanted = [
        (text, warning)
        for text, warning in said
        if re.match(rf"{mistake.code} {re.escape(mistake.where)}( = .*)?: .", text)
    ]
    assert len(wanted) == 1, "\n".join(lines)
    assert mistake.advice in wanted[0][0].rpartition("; ")[2], wanted[0][0]
    return row(*wanted[0], folder)


def row(text: str, warning: bool, folder: Path = ROOT) -> str:
    """Return the row of docs/errors.md for a line, without the folder in which the mistake was made, nor this one."""
    code, _, message = text.partition(" ")
    for place in (folder, ROOT):
        message = message.replace(str(place), "")
    return f"| `{code}`{' *warning*' if warning else ''} | {message.replace('|', chr(92) + '|')} |"
