"""A real PostgreSQL on a socket of its own: the distribution's, as a user without rights, in a temporary folder."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
from millrace_jobs import schema_versions

_START_SECONDS = 300


@dataclass
class Server:
    """A server whose folder holds its data, its log and its socket."""

    folder: Path
    programs: Path
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @property
    def properties(self) -> dict[str, str]:
        """How to reach it."""
        return {"host": str(self.folder), "dbname": "postgres", "user": "test"}

    def make(self) -> None:
        """Make its data; nobody but this machine's users reaches the socket."""
        self._run("initdb", "--pgdata", str(self.folder / "data"), "--username=test", "--auth=trust", "--no-sync")

    def start(self) -> None:
        """Start it, and return once it answers."""
        settings = [f"unix_socket_directories={self.folder}", "listen_addresses=", "fsync=off", "max_connections=20"]
        options = [word for setting in settings for word in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(self.programs / "postgres"), "-D", str(self.folder / "data"), *options],
                stdout=log, stderr=log, user=_user(),
            )  # fmt: skip
        pause, deadline = Event(), time.monotonic() + _START_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                psycopg.connect(**self.properties).close()
                return
            except psycopg.OperationalError:
                pause.wait(0.05)
        raise AssertionError(f"PostgreSQL does not answer:\n{(self.folder / 'log').read_text()[-3000:]}")

    def stop(self) -> None:
        """End it at once, as a host does that is reset: connections are cut, nothing is finished."""
        assert self.process is not None
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(60)

    def database(self, migrated: str | None = None) -> dict[str, str]:
        """Make a database, with a read model's schema where one is named; return how to reach it."""
        name = f"d{uuid.uuid4().hex[:8]}"
        with psycopg.connect(autocommit=True, **self.properties) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        made = {**self.properties, "dbname": name}
        if migrated:
            with psycopg.connect(autocommit=True, **made) as connection:
                schema_versions.migrate(connection, migrated)
        return made

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run([str(self.programs / program), *arguments], capture_output=True, text=True, user=_user())
        assert done.returncode == 0, done.stderr


def rows(database: dict[str, str], query: str) -> list[tuple[Any, ...]]:
    """What a query finds."""
    with psycopg.connect(**database) as connection:
        return connection.execute(query.encode()).fetchall()


@contextmanager
def running_server() -> Iterator[Server]:
    """A server that is gone afterwards."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    assert found, "no PostgreSQL on this machine: make setup installs what lab/packages.txt names"
    folder = Path(tempfile.mkdtemp(prefix="millrace-postgres-"))
    try:
        if _user() is not None:
            shutil.chown(folder, _user())
        server = Server(folder, found[-1])
        server.make()
        server.start()
        yield server
        server.stop()
    finally:
        if server.process is not None and server.process.poll() is None:
            server.process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> str | None:
    """PostgreSQL refuses to run as root; the package made this user."""
    return pwd.getpwnam("postgres").pw_name if os.getuid() == 0 else None
