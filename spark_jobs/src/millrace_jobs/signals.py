"""Sets an event when SIGTERM or SIGINT asks a job to stop."""

import signal
from threading import Event
from types import FrameType

_NUMBERS = (signal.SIGTERM, signal.SIGINT)


def stop_on_signals(stopping: Event) -> None:
    """Make SIGTERM and SIGINT set `stopping`; a second signal of either kind ends the process at once."""

    def request_stop(number: int, frame: FrameType | None) -> None:
        stopping.set()
        for signal_number in _NUMBERS:
            signal.signal(signal_number, signal.SIG_DFL)

    for signal_number in _NUMBERS:
        signal.signal(signal_number, signal.SIG_DFL if stopping.is_set() else request_stop)
