"""What is wrong with an inventory or a host, in one form for people; no Ansible import."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake: where it is, what is wrong, and how to mend it."""

    where: str
    code: str
    value: Any
    wrong: str
    advice: str

    def __str__(self) -> str:
        """Return `[CODE] where = value: what is wrong; what to do`."""
        value = "" if self.value is None else f" = {self.value}"
        return f"[{self.code}] {self.where}{value}: {self.wrong}; {self.advice}"


def report(problems: Iterable[Problem]) -> str:
    """Return every problem once, by place, under a headline that says that nothing was changed."""
    lines = sorted({str(problem): (problem.where, problem.code) for problem in problems}.items(), key=lambda item: item[1])
    plural = "mistake" if len(lines) == 1 else "mistakes"
    return "\n".join([f"{len(lines)} {plural}; no host was changed:", *(line for line, _ in lines)])
