"""Prints what a task waits for while it waits.

A module cannot print: Ansible reads its result when it has ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

EVERY = 10.0
"""Seconds between two words."""

Say = Callable[[str], object]


def say(task: Any, variables: Mapping[str, Any] | None) -> Say:
    """Return a function that prints text for a task on a host."""
    host = (variables or {}).get("inventory_hostname", "")
    return lambda words: Display().display(f"{host}: {task.name}: {words}")


def in_parts(ask: Callable[[Mapping[str, Any]], dict[str, Any]], tell: Say) -> dict[str, Any]:
    """Call a waiting module again and again until its wait is over; return its last result.

    The result has `changed` set if any part changed something. `ask` calls the module with further options; what it
    returns as `waiting` is printed (module_utils/waits.py).
    """
    begun, changed = time.monotonic(), False
    result = ask({"pause": int(EVERY)})
    while going := result.get("waiting"):
        most = f" of {going['timeout']}" if going["timeout"] else ""  # 0: nobody knows how long it takes
        tell(f"{time.monotonic() - begun:.0f}{most} s: {'; '.join(going['what'])}")
        changed |= bool(result.get("changed"))
        result = ask({"pause": int(EVERY), "waited": going["waited"]})
    return result | {"changed": True} if changed else result


@contextmanager
def said(what: str, tell: Say) -> Iterator[None]:
    """Print what is waited for while a module runs that does not report it."""
    ended, begun = threading.Event(), time.monotonic()

    def tick() -> None:
        while not ended.wait(EVERY):
            tell(f"{time.monotonic() - begun:.0f} s: {what}")

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def module_in_parts(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run the module of a RunsHere in parts: the `run` of an action whose module returns `waiting`.

    As an async job of Ansible it runs once for the whole wait, since no process would call it for the next part.
    """
    result: dict[str, Any] = ActionBase.run(self, tmp, task_vars)
    if self._task.async_val:
        job: dict[str, Any] = self.module(self._task.args, task_vars or {})
        return result | job

    def ask(more: Mapping[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self.module({**self._task.args, **more}, task_vars or {})
        return answer

    return result | in_parts(ask, say(self._task, task_vars))


def module_planned(self: Any, task_vars: dict[str, Any] | None) -> dict[str, Any]:
    """Run the module of a RunsHere in parts, and print its plan first."""
    variables, printed = task_vars or {}, dict[str, Any]()

    def module(more: Mapping[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self.module({**self._task.args, **more}, variables)
        if "waited" not in more and "plan" in answer:  # it is written down, and nothing moves before the next call
            Display().display("\n".join(answer["plan"]))
            printed["plan"] = answer["plan"]
        return answer

    answer = in_parts(module, say(self._task, task_vars))
    for note in answer.get("notes", []):
        Display().warning(note)
    return {**answer, **printed}


def module_said(waited_for: Callable[[Mapping[str, Any]], str]) -> Callable[..., dict[str, Any]]:
    """Return the `run` of an action whose module does not report its wait; `waited_for` names it from the options."""

    def run(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = ActionBase.run(self, tmp, task_vars)
        with said(waited_for(self._task.args), say(self._task, task_vars)):
            answer: dict[str, Any] = self._execute_module(task_vars=task_vars)
        return result | answer

    return run
