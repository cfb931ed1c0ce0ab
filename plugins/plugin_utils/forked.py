"""Runs a function in a forked process, which has all modules of this process imported already."""

from __future__ import annotations

import atexit
import contextlib
import os
import resource
import selectors
import signal
import sys
import traceback
from collections.abc import Callable

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
"""Signals for which Ansible's processes have handlers."""


def forked(run: Callable[[], object]) -> tuple[int, str, str]:
    """Call `run` in a forked process, wait for its end, and return (exit status, standard output, standard error).

    `run` cannot change variables of this process. Signals are blocked during the fork: otherwise a signal handler could
    raise inside Ansible's code in the child, or run in the parent before the parent knows the child's process id.
    """
    pipes = [os.pipe(), os.pipe()]
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    child = os.fork()
    if not child:
        _run_as_child(run, [write for _, write in pipes], [read for read, _ in pipes], mask_before)
    status = None
    try:
        for _, write in pipes:
            os.close(write)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask_before)
        output, errors = _read_all([read for read, _ in pipes])
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        signal.pthread_sigmask(
            signal.SIG_SETMASK, mask_before
        )  # if a thread took the signal, its handler has run already
        if status is None:  # for example if the task timed out
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return status, output, errors


def _run_as_child(run: Callable[[], object], outputs: list[int], others: list[int], mask: set[int]) -> None:
    """Call `run` in the forked child and end the child; never returns to the caller, which is the parent's code.

    `outputs` are the pipe ends for standard output and standard error, `others` the ends to close. `mask` is the signal
    mask to restore.
    """
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would contain all secrets of this process
        atexit._clear()
        for number in HANDLED:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for end in others:  # left open here, writes would not fail after the reader is gone
            os.close(end)
        for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (outputs[0], 1), (outputs[1], 2)):
            os.dup2(source, target)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        try:
            run()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _read_all(ends: list[int]) -> list[str]:
    """Return the text from each pipe (file descriptors `ends`); reads until all pipes are closed."""
    contents: dict[int, bytes] = dict.fromkeys(ends, b"")
    with selectors.DefaultSelector() as selector:
        for end in ends:
            selector.register(end, selectors.EVENT_READ)
        try:
            while selector.get_map():
                for key, _ in selector.select():
                    if chunk := os.read(key.fd, 1 << 16):
                        contents[key.fd] += chunk
                    else:
                        selector.unregister(key.fd)
        finally:
            for end in ends:
                os.close(end)
    return [text.decode(errors="replace") for text in contents.values()]
