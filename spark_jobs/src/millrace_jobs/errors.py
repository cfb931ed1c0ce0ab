"""Failures that a person can act on: one line each, no traceback."""


class JobError(Exception):
    """The job cannot start or go on; the message says why and what to do."""


class Away(JobError):
    """Brokers gave no answer for too long for a query; it may begin again, and goes on where it was."""


class Stopped(JobError):
    """A stop was asked for while the job waited for somebody; what it waited with is done after the start."""


class ConfigError(Exception):
    """The configuration is refused; `problems` holds one line for each thing to change."""

    def __init__(self, problems: list[str]) -> None:
        """Keep every problem, so that one run shows them all."""
        super().__init__("\n".join(problems))
        self.problems = problems
