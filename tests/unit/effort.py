"""What a piece of work costs, to be compared with another piece in the same run.

Seconds differ between machines, and while others compute.
"""

import time
from collections.abc import Callable


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of this process that the work takes, the least of three times."""

    def once() -> float:
        begin = time.process_time()
        work()
        return time.process_time() - begin

    return min(once() for _ in range(3))
