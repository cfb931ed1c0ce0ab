"""Work that goes on in a thread of its own while a block runs."""

from threading import Event, Thread
from types import TracebackType
from typing import Self


class Background:
    """Runs `work` from the beginning of a block until the end of it sets `stopping`, and raises what went wrong in it.

    An error of the block itself is raised instead of that.
    """

    def __init__(self, name: str) -> None:
        """Prepare the thread; nothing runs before the block begins."""
        self.stopping = Event()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._guarded, name=name, daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the work and wait until it has ended."""
        self.stopping.set()
        self.join()
        if error is None and self._error is not None:
            raise self._error

    def work(self) -> None:
        """Do what the thread is for, until `stopping` is set."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what the thread uses; it ends with this."""

    def longest(self) -> float:
        """Return the seconds that the work may take to end."""
        return 60

    def join(self) -> None:
        """Wait until the work has ended. Raises TimeoutError if it takes longer than `longest`."""
        self._thread.join(self.longest())
        if self._thread.is_alive():
            raise TimeoutError(f"{self._thread.name} has not ended")

    def _guarded(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self._error = error
        finally:
            self.close()
