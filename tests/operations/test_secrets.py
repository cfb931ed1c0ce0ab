"""No password, passphrase or key is seen where it does not belong: output, journals, command lines, left-over files."""

import base64
import json
import os
import re
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import pytest
from faults.inventory import ROOT, Inventory

from operations.conftest import Operator

JOB, NODE_FILE = "publish_lines", "/etc/spark-job/publish_lines.json"
# Where a secret must not be on a host: folder, files, and a file of that kind to plant; /etc/kafka/tls and its like
# hold keys by right.
FOLDERS = {
    "logs": ("/var/log", "**/*.log*", "planted/planted.log"),
    "/tmp": ("/tmp", "**/*", "planted/planted"),
    "/var/tmp": ("/var/tmp", "**/*", "planted/planted"),
    "/root": ("/root", "**/*", "planted/planted"),
    "units": ("/etc/systemd/system", "*.service", "planted.service"),
    "configuration of Kafka": ("/etc/kafka", "*.properties", "planted.properties"),
    "configuration of ZooKeeper": ("/etc/zookeeper", "*.*", "planted.cfg"),
}
LOGS = ROOT / ".build" / "logs"
DRIFT = "/etc/sysctl.d/60-millrace.conf"
# What a check run on the converged site compares as different: the drift, and all that the password of the job is in.
DIFFERS = (DRIFT, "users and ACLs", NODE_FILE, NODE_FILE.replace(".json", ".env"), f"spark-job@{JOB}.service")
# Run on a host: plant a marker in every place, or read them all; only a file that is gone meanwhile is passed over.
PLACES = """
import base64, json, pathlib, subprocess, sys
word, marker, folders = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
places = {name: [pathlib.Path(folder), *more] for name, (folder, *more) in folders.items()}
here = {name: place for name, place in places.items() if place[0].is_dir()}
if word == "plant":
    subprocess.run(["logger", "-t", "planted", marker], check=True)
for folder, _, file in here.values():
    if word == "plant":
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(marker)
    elif word == "remove":
        (folder / file).unlink()
        if (folder / file).parent != folder:
            (folder / file).parent.rmdir()
if word == "read":
    journal = ["journalctl", "--no-pager", "--all", "-o", "export"]
    found = {"journal": subprocess.run(journal, capture_output=True, check=True).stdout}
    for name, (folder, pattern, _) in here.items():
        found[name] = b""
        for path in folder.glob(pattern):
            if path.is_file() and not path.is_symlink() and ".ssh" not in path.parts:
                try:
                    found[name] += path.read_bytes()
                except FileNotFoundError:
                    continue
    print(json.dumps({name: base64.b64encode(text).decode() for name, text in found.items()}))
"""


class CommandLines(threading.Thread):
    """Reads the command lines of all processes of this machine, those in the containers included.

    A process is read in the first three scans that find it, for it may call exec after the first one, and once a
    second after that.
    """

    def __init__(self) -> None:
        """Nothing is read yet."""
        super().__init__(daemon=True)
        self.seen, self._stop_now = set[bytes](), threading.Event()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._stop_now.set()
        self.join()

    def run(self) -> None:
        """Scan /proc every 50 ms."""
        scans = dict[str, int]()
        while not self._stop_now.wait(0.05):
            scans = {process: scans.get(process, 0) + 1 for process in filter(str.isdecimal, os.listdir("/proc"))}
            for process in (process for process, number in scans.items() if number <= 3 or number % 20 == 0):
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
        f"{name} in {place}"
        for name, secret in secrets.items()
        for place, text in places.items()
        if any(form in text for form in forms(secret))
    )


def on_all(inventory: Inventory, word: str, marker: str) -> dict[str, dict[str, bytes]]:
    """Have PLACES run on every host; return what was read there, by host and place."""

    def run(host: str) -> dict[str, bytes]:
        said = inventory.run(host, f"python3 - {word} {marker} '{json.dumps(FOLDERS)}'", stdin=PLACES)
        return {name: base64.b64decode(text) for name, text in json.loads(said or "{}").items()}

    with ThreadPoolExecutor(len(inventory.hosts("all"))) as pool:
        return dict(zip(inventory.hosts("all"), pool.map(run, inventory.hosts("all")), strict=True))


@contextmanager
def shown(inventory: Inventory, marker: str) -> Iterator[list[bytes]]:
    """Have a process on every host with a marker in its command line, which ssh itself does not have in its own."""
    with ExitStack() as stack:
        for host in inventory.hosts("all"):
            command = inventory.command(host, f'of={host}; sh -c "read line" {marker}-"$of"')
            waiting = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL))
            stack.callback(waiting.communicate, b"\n")
        yield [f"{marker}-{host}".encode() for host in inventory.hosts("all")]


@pytest.fixture
def marker(inventory: Inventory) -> Iterator[str]:
    """A word that stands in every place that is looked into, for as long as the test takes."""
    word = f"planted-{uuid.uuid4().hex}"
    on_all(inventory, "plant", word)
    yield word
    on_all(inventory, "remove", word)


@pytest.fixture
def settings(operator: Operator, inventory: Inventory, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A new password for the user of a job, and a file that sets it; afterwards cluster and job have the old one."""
    assert inventory.lab_directory
    known, canary = passwords(inventory.lab_directory), f"canary-{uuid.uuid4().hex}"
    vault = {"pki_passphrase": known.pop("pki_passphrase"), "passwords": {**known, JOB: canary}}
    file = tmp_path / "vault.json"
    file.touch(0o600)
    file.write_text(json.dumps({"vault": vault}))
    yield canary, file
    for restored in (operator.play("layers/resources"), operator.play("spark", "--limit", "spark_producer")):
        assert restored.code == 0, restored.output[-3000:]


def test_a_secret_that_leaks_is_found() -> None:
    """The search itself: plain, and inside of Base64 at any place."""
    secret = "canary-0123456789abcdef"
    for before in (b"", b"a", b"ab", b"abc"):
        assert leaks({"s": secret}, {"p": base64.b64encode(before + secret.encode() + b"more")}) == ["s in p"]
    assert leaks({"s": secret}, {"p": f"password={secret};".encode(), "q": b"nothing"}) == ["s in p"]


def test_no_secret_is_seen(
    operator: Operator, inventory: Inventory, settings: tuple[str, Path], marker: str, note: Callable[[str], None]
) -> None:
    """A place that could not be read, or in which the marker is missing, shows nothing, and fails."""
    canary, file = settings
    assert inventory.lab_directory
    secrets = {**passwords(inventory.lab_directory), **keys(inventory.lab_directory), "canary": canary}
    broker, node = inventory.hosts("kafka")[0], inventory.hosts("spark_producer")[0]
    drift = f"echo '# {marker}' >> {DRIFT}"
    with CommandLines() as lines, shown(inventory, marker) as commands:
        inventory.run(broker, drift)
        done = operator.play("site", "-vvv", "--diff", "-e", f"@{file}")
        inventory.run(broker, drift)
        try:
            checked = operator.play("site", "-vvv", "--check", "--diff")  # with the old password
        finally:
            inventory.run(broker, f"sed -i '/{marker}/d' {DRIFT}")
    assert done.code == 0 and checked.code == 0, done.output + checked.output
    assert {host for host, number in checked.recap("changed").items() if number} == {broker, node}
    assert sorted(re.findall(r"^\+\+\+ after: (.*)$", checked.output, re.MULTILINE)) == sorted(DIFFERS)

    assert canary in inventory.run(node, f"cat {NODE_FILE}"), "the canary was not used"
    assert "(secret, changed)" in done.output
    assert f"user {JOB}" in done.output and "another password" in done.output

    places = {
        "output": done.output.encode(),
        "output of --check": checked.output.encode(),
        "command lines": b"\n".join(lines.seen),
    }
    places |= {
        f"{what} of {host}": text
        for host, found in on_all(inventory, "read", marker).items()
        for what, text in found.items()
    }
    groups = {
        "all": 6,
        "kafka": 1,
        "zookeeper": 1,
    }  # the journal, FOLDERS that every host has, and those of brokers and servers
    assert len(places) == 3 + sum(number * len(inventory.hosts(group)) for group, number in groups.items())
    assert [place for place, text in places.items() if marker.encode() not in text] == []
    places |= {log.name: log.read_bytes() for log in LOGS.glob("*.log")}
    assert [command for command in commands if command not in places["command lines"]] == []
    # The password of a PKCS #12 store stands where the broker reads it, and nowhere else.
    belongs = (
        [f"store in configuration of Kafka of {host}" for host in inventory.hosts("kafka")]
        if "store" in secrets
        else []
    )
    assert leaks(secrets, places) == sorted(belongs)
    note(f"{len(secrets)} secrets looked for in {len(places)} places, {len(lines.seen)} command lines")
