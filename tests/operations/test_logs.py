"""logs.yml collects the journals of all hosts."""

from pathlib import Path

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
