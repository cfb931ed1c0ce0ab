"""Sets an event when SIGTERM or SIGINT asks the process to stop."""

import signal
from threading import Event
from types import FrameType

_NUMBERS = (signal.SIGTERM, signal.SIGINT)


def stop_on_signals(stopping: Event) -> None:
    """Make the first SIGTERM or SIGINT set `stopping`; a second signal ends the process at once.

    If `stopping` is set when this function is called, the next signal ends the process.
    """

    def request_stop(number: int, frame: FrameType | None) -> None:
        stopping.set()
        for signal_number in _NUMBERS:
            signal.signal(signal_number, signal.SIG_DFL)

    for signal_number in _NUMBERS:
        signal.signal(signal_number, signal.SIG_DFL if stopping.is_set() else request_stop)
