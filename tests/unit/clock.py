"""A clock that goes only where somebody rests."""


class Clock:
    """Seconds that go by where somebody rests, or is asked for long."""

    def __init__(self) -> None:
        """Some time after the machine has started."""
        self.at = 1000.0

    def now(self) -> float:
        """Return the time."""
        return self.at

    def rest(self, seconds: float) -> None:
        """Let time go by."""
        self.at += seconds
