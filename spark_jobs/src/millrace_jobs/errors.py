"""Errors that an operator can act on. The command prints each as one line, without a traceback."""


class JobError(Exception):
    """The job cannot start or continue; the message contains the reason and what to do."""


class BrokersUnavailable(JobError):
    """A query ended because brokers did not answer; if it is started again, it continues from its checkpoint."""


class Stopped(JobError):
    """The job was asked to stop while it waited, at its start or in a batch; it skips the steps after the wait."""


class ConfigError(Exception):
    """The configuration is invalid; `problems` has a line for each thing to change."""

    def __init__(self, problems: list[str]) -> None:
        """Store all problems: the message of the error has one line for each."""
        super().__init__("\n".join(problems))
        self.problems = problems
