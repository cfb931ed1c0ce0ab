"""Failures that a person can act on: one line each, without a traceback."""


class JobError(Exception):
    """The job cannot start or continue; the message contains the reason and what to do."""


class BrokersUnavailable(JobError):
    """Brokers did not answer for too long; the query can be started again and continues where it was."""


class Stopped(JobError):
    """A stop was requested while the start waited; the rest of the start is skipped."""


class ConfigError(Exception):
    """The configuration is refused; `problems` has one line for each thing to change."""

    def __init__(self, problems: list[str]) -> None:
        """Keep every problem, so that one run shows them all."""
        super().__init__("\n".join(problems))
        self.problems = problems
