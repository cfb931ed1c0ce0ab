"""A job is asked to stop by SIGTERM or SIGINT."""

import signal
from threading import Event
from types import FrameType


def stop_on_signals(stopping: Event) -> None:
    """Let SIGTERM and SIGINT set `stopping`; a second signal ends the process at once."""

    def ask(number: int, frame: FrameType | None) -> None:
        stopping.set()
        signal.signal(number, signal.SIG_DFL)

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, ask)
