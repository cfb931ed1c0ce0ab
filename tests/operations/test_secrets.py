"""No password, passphrase or key is seen where it does not belong: in output, journals, command lines, or left-over files."""

import base64
import json
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest
from faults.inventory import ROOT, Inventory

from operations.conftest import Operator

JOB, NODE_FILE = "publish_lines", "/etc/spark-job/publish_lines.json"


class CommandLines(threading.Thread):
    """Looks at the command line of every process of this machine all the time, those in the containers included."""

    def __init__(self) -> None:
        """Nothing is looked at yet."""
        super().__init__(daemon=True)
        self.seen, self.samples, self._stop_now = set[bytes](), 0, threading.Event()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._stop_now.set()
        self.join()

    def run(self) -> None:
        """Read /proc over and over."""
        while not self._stop_now.wait(0.02):
            self.samples += 1
            for process in filter(str.isdecimal, os.listdir("/proc")):
                try:
                    self.seen.add(Path(f"/proc/{process}/cmdline").read_bytes())
                except OSError:
                    continue


def passwords(lab: Path) -> dict[str, str]:
    """Return every random secret of the lab by its name."""
    return {path.name: path.read_text().split()[0] for path in (lab / "secrets").iterdir()}


def keys(lab: Path) -> dict[str, str]:
    """Return a line out of the middle of every private key, by its file."""
    found = {}
    for path in (lab / "pki").rglob("*"):
        if path.is_file() and b"PRIVATE KEY" in path.read_bytes():
            body = path.read_text().partition("PRIVATE KEY-----\n")[2].partition("\n-----END")[0].splitlines()
            found[str(path.relative_to(lab))] = body[len(body) // 2]
    return found


def forms(secret: str) -> list[bytes]:
    """Return a secret as it is, and what Base64 makes of it at each of three places in a text."""
    encoded = [base64.b64encode(b"x" * offset + secret.encode())[4 if offset else 0 : -4] for offset in range(3)]
    return [secret.encode(), *encoded]


def leaks(secrets: dict[str, str], places: dict[str, bytes]) -> list[str]:
    """Return which secret is in which place."""
    return sorted(
        f"{name} in {place}" for name, secret in secrets.items() for place, text in places.items() if any(form in text for form in forms(secret))
    )


@pytest.fixture
def settings(operator: Operator, inventory: Inventory, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A new password for the user of a job, and a file that brings it into the inventory; the old one is back afterwards."""
    assert inventory.lab_directory
    known, canary = passwords(inventory.lab_directory), f"canary-{uuid.uuid4().hex}"
    vault = {"pki_passphrase": known.pop("pki_passphrase"), "passwords": {**known, JOB: canary}}
    file = tmp_path / "vault.json"
    file.touch(0o600)
    file.write_text(json.dumps({"vault": vault}))
    yield canary, file
    assert operator.play("site").code == 0


def test_a_secret_that_leaks_is_found() -> None:
    """The search itself: plain, and inside of Base64 at any place."""
    secret = "canary-0123456789abcdef"
    for before in (b"", b"a", b"ab", b"abc"):
        assert leaks({"s": secret}, {"p": base64.b64encode(before + secret.encode() + b"more")}) == ["s in p"]
    assert leaks({"s": secret}, {"p": f"password={secret};".encode(), "q": b"nothing"}) == ["s in p"]


def test_no_secret_is_seen(operator: Operator, inventory: Inventory, settings: tuple[str, Path], note: Callable[[str], None]) -> None:
    canary, file = settings
    assert inventory.lab_directory
    secrets = {**passwords(inventory.lab_directory), **keys(inventory.lab_directory), "canary": canary}
    with CommandLines() as lines:
        done = operator.play("site", "-vvv", "--diff", "-e", f"@{file}")
        checked = operator.play("site", "-vvv", "--check", "--diff")  # the old password again: a diff of every secret
    assert done.code == 0 and checked.code == 0, done.output + checked.output
    assert lines.samples > 100

    node = inventory.hosts("spark_producer")[0]
    assert canary in inventory.run(node, f"cat {NODE_FILE}"), "the canary was not used"
    assert "(secret, changed)" in done.output and f"user {JOB}: the password differs" in done.output

    places = {"output": done.output.encode(), "output of --check": checked.output.encode(), "command lines": b"\n".join(lines.seen)}
    commands = {
        "journal": "journalctl --no-pager --all -o export",
        "left-overs": "cat /var/log/*/*.log* /var/log/*.log; find /tmp /root /var/tmp -xdev -type f -not -path '*/.ssh/*' -exec cat {} +",
        "broker and server files": "cat /etc/kafka/*.properties /etc/zookeeper/*.* /etc/systemd/system/*.service",
    }
    for host in inventory.hosts("all"):
        for what, command in commands.items():
            places[f"{what} of {host}"] = base64.b64decode(inventory.run(host, f"({command}) 2>/dev/null | base64 -w0"))
    for log in (ROOT / ".build" / "logs").glob("*.log"):
        places[log.name] = log.read_bytes()
    assert leaks(secrets, places) == []
    note(f"{len(secrets)} secrets looked for in {len(places)} places, {len(lines.seen)} command lines of {lines.samples} samples")
