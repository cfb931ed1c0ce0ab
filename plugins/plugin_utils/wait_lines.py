"""Prints what a task waits for, while the task waits.

A module cannot print: Ansible reads its result only when the module has ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

INTERVAL = 10.0
"""Seconds between two lines."""

Printer = Callable[[str], object]


def printer(task: Any, variables: Mapping[str, Any] | None) -> Printer:
    """Return a function that prints a text behind the names of the host and the task.

    `task` is Ansible's task, `variables` is {name: value} of the host.
    """
    host = (variables or {}).get("inventory_hostname", "")
    return lambda words: Display().display(f"{host}: {task.name}: {words}")


def wait_in_parts(ask: Callable[[Mapping[str, Any]], dict[str, Any]], print_line: Printer) -> dict[str, Any]:
    """Call a module again and again until its result no longer has the key `waiting`; return the last result.

    A module cannot print, so each call waits at most INTERVAL seconds, and then `print_line` prints what the module
    still waits for. `ask` calls the module with additional options, {name: value}. `changed` of the returned result is
    true if any call changed something.
    """
    started, changed = time.monotonic(), False
    result = ask({"pause": int(INTERVAL)})
    while waiting := result.get("waiting"):
        limit = f" of {waiting['timeout']}" if waiting["timeout"] else ""  # 0: no limit
        print_line(f"{time.monotonic() - started:.0f}{limit} s: {'; '.join(waiting['what'])}")
        changed |= bool(result.get("changed"))
        result = ask({"pause": int(INTERVAL), "waited": waiting["waited"]})
    return result | {"changed": True} if changed else result


@contextmanager
def reported_wait(what: str, print_line: Printer) -> Iterator[None]:
    """Context manager: print `what` and the elapsed seconds every INTERVAL seconds until the block ends.

    Action plugins use it for modules that do not report what they wait for. `print_line` prints one text.
    """
    ended, started = threading.Event(), time.monotonic()

    def tick() -> None:
        while not ended.wait(INTERVAL):
            print_line(f"{time.monotonic() - started:.0f} s: {what}")

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class InParts(ActionBase):  # type: ignore[misc]
    """Base class of the action plugin of a module that waits; takes the module's options, and returns its result."""

    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call the module until its result has no key `waiting`; print what it waits for, and return the last result.

        As an async job of Ansible the module is called once and waits for the whole time, since no process remains that
        could call it again.
        """
        result: dict[str, Any] = super().run(tmp, task_vars)
        if self._task.async_val:
            job: dict[str, Any] = self._execute_module(
                task_vars=task_vars, wrap_async=not self._connection.has_native_async
            )
            return result | job
        return result | wait_in_parts(partial(self.ask, task_vars), printer(self._task, task_vars))

    def ask(self, task_vars: dict[str, Any] | None, more: Mapping[str, Any]) -> dict[str, Any]:
        """Call the module with `more` options, {name: value}, and return its result."""
        answer: dict[str, Any] = self._execute_module(module_args={**self._task.args, **more}, task_vars=task_vars)
        return answer


class WithPlan(InParts):
    """Base class of the action plugin of a module that moves replicas: prints the module's plan before the first move.

    An async job could not print the plan, so these modules reject async.
    """

    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call the module until its result has no key `waiting`, and return the last result with the printed plan.

        Prints the `plan` that the first call returns and what the module waits for, and shows the `notes` of the last
        result as warnings.
        """
        self.printed: dict[str, Any] = {}
        result: dict[str, Any] = super().run(tmp, task_vars)
        for note in result.get("notes", []):
            Display().warning(note)
        return {**result, **self.printed}

    def ask(self, task_vars: dict[str, Any] | None, more: Mapping[str, Any]) -> dict[str, Any]:
        """Call the module with `more` options, and return its result; print the plan that the first call returns."""
        answer = super().ask(task_vars, more)
        if "waited" not in more and "plan" in answer:  # the plan is recorded; the first move begins at the next call
            Display().display("\n".join(answer["plan"]))
            self.printed["plan"] = answer["plan"]
        return answer


class Reporting(ActionBase):  # type: ignore[misc]
    """Base class of the action plugin of a module that does not report what it waits for."""

    def waited_for(self, arguments: Mapping[str, Any]) -> str:
        """Return what the module waits for; `arguments` are its options."""
        raise NotImplementedError

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module, print every INTERVAL seconds what it waits for, and return its result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        with reported_wait(self.waited_for(self._task.args), printer(self._task, task_vars)):
            answer: dict[str, Any] = self._execute_module(task_vars=task_vars)
        return result | answer
