"""logs.yml collects the journals of all hosts."""

import re
from pathlib import Path

from faults.lab import until

from operations.conftest import Operator


def test_journals_of_all_hosts(operator: Operator, tmp_path: Path) -> None:
    """In order of time, without a secret; a limit and a text choose."""
    file = tmp_path / "logs.txt"
    run = operator.play("logs", "-e", f"file={file}", "-e", "since=-2h")
    assert run.code == 0, run.output[-3000:]
    entries = [line.split() for line in file.read_text().splitlines() if line.startswith("20")]
    assert {entry[1] for entry in entries} == set(operator.inventory.hosts("all"))
    times = [entry[0] for entry in entries]
    assert times == sorted(times)
    assert operator.inventory.lab_directory is not None
    secrets = [secret.read_text().strip() for secret in (operator.inventory.lab_directory / "secrets").iterdir()]
    assert secrets and not [secret for secret in secrets if secret in file.read_text()]
    broker = operator.inventory.hosts("kafka")[0]
    about = f"-e file={file} -e since=-2h -e about=kafka.service --limit {broker}"
    run = operator.play("logs", *about.split())
    assert run.code == 0, run.output[-3000:]
    entries = [line.split() for line in file.read_text().splitlines() if line.startswith("20")]
    assert entries and {entry[1] for entry in entries} == {broker}
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_level_for_some_minutes(operator: Operator) -> None:
    """A timer of the broker's host restores it; `level=declared` does so at once."""
    broker, asked = operator.inventory.hosts("kafka")[1], "-e logger=kafka.request.logger"
    limit, timers = ["--limit", broker], "systemctl list-timers --all --no-legend 'kafka-log-level-*'"
    try:
        run = operator.play("log_level", *f"{asked} -e level=DEBUG -e minutes=90".split(), *limit)
        assert run.code == 0 and "kafka.request.logger: WARN -> DEBUG" in run.output, run.output[-3000:]
        until("requests are logged", lambda: requests(operator, broker), 60)
        (unit,) = re.findall(r"kafka-log-level-\w+\.service", operator.inventory.run(broker, timers))
        operator.inventory.run(broker, f"systemctl start {unit}", seconds=120)  # as the timer does
        run = operator.play("log_level", *f"{asked} -e level=DEBUG -e minutes=90".split(), *limit)
        assert run.code == 0 and "kafka.request.logger: WARN -> DEBUG" in run.output, run.output[-3000:]
    finally:
        ended = operator.play("log_level", *f"{asked} -e level=declared".split(), *limit)
    assert ended.code == 0 and "kafka.request.logger: DEBUG -> WARN" in ended.output, ended.output[-3000:]
    assert operator.inventory.run(broker, timers) == ""


def test_mistakes_are_said_together(operator: Operator) -> None:
    run = operator.play("log_level", "-e", "logger=a/b level=LOUD minutes=soon")
    assert run.code != 0 and run.output.count("fatal: ") == 1
    for words in ("logger = a/b: use letters", "level = LOUD: use one of FATAL", "minutes = soon: use a number"):
        assert words in " ".join(run.output.split())


def requests(operator: Operator, broker: str) -> bool:
    """Tell whether a broker logged a request in the last seconds."""
    said = operator.inventory.run(broker, "journalctl -u kafka --since -10s --output cat")
    return "Completed request" in said
