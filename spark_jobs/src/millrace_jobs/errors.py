"""Errors that an operator can act on: shown as one line each, without a traceback."""


class JobError(Exception):
    """The job cannot start or continue; the message contains the reason and what to do."""


class BrokersUnavailable(JobError):
    """A query ended since brokers did not answer; started again, it continues from its checkpoint."""


class Stopped(JobError):
    """A stop was requested while the job waited, at the start or in a batch; what follows the wait is skipped."""


class ConfigError(Exception):
    """The configuration is refused; `problems` has one line for each thing to change."""

    def __init__(self, problems: list[str]) -> None:
        """Keep all problems, so that one run shows all of them."""
        super().__init__("\n".join(problems))
        self.problems = problems
