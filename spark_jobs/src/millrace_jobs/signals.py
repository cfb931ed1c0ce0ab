"""A job is asked to stop by SIGTERM or SIGINT."""

import signal
from threading import Event
from types import FrameType

_NUMBERS = (signal.SIGTERM, signal.SIGINT)


def stop_on_signals(stopping: Event) -> None:
    """Let SIGTERM and SIGINT set `stopping`; a second signal, whichever of both, ends the process at once."""

    def ask(number: int, frame: FrameType | None) -> None:
        stopping.set()
        for one in _NUMBERS:
            signal.signal(one, signal.SIG_DFL)

    for one in _NUMBERS:
        signal.signal(one, signal.SIG_DFL if stopping.is_set() else ask)
