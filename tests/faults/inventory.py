"""One inventory as the tests see it: hosts by group, their literal variables, how to reach them."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Inventory:
    """Groups with the hosts of their children, and each host's variables as written: templates in them are not resolved."""

    directory: Path
    groups: Mapping[str, Sequence[str]]
    variables: Mapping[str, Mapping[str, Any]]
    lab_directory: Path | None
    """Keys and client files of the containers; None where the inventory is no lab."""
    _sockets: tempfile.TemporaryDirectory[str] = field(default_factory=lambda: tempfile.TemporaryDirectory(prefix="ssh-"))

    def hosts(self, group: str) -> Sequence[str]:
        """Return the hosts of a group; none where there is no such group."""
        return self.groups.get(group, ())

    def client_address(self, host: str) -> str:
        """Return the host's address on the client network."""
        return str(self.variables[host]["client_address"])

    def replication_address(self, host: str) -> str:
        """Return the host's address on the replication network."""
        return str(self.variables[host]["replication_address"])

    def broker_id(self, host: str) -> int:
        """Return the broker id of a host of the group kafka."""
        return int(self.variables[host]["kafka_broker_id"])

    def broker(self, number: int) -> str:
        """Return the host of a broker id."""
        return next(host for host in self.hosts("kafka") if self.broker_id(host) == number)

    def port(self, listener: str) -> int:
        """Return the port of a Kafka listener."""
        listeners = self.variables[self.hosts("kafka")[0]]["kafka_listeners"]
        return next(int(entry["port"]) for entry in listeners if entry["name"] == listener)

    @property
    def bootstrap(self) -> str:
        """The brokers of the listener CLIENT: host:port,host:port."""
        return ",".join(f"{self.client_address(host)}:{self.port('CLIENT')}" for host in self.hosts("kafka"))

    @property
    def kafka_properties(self) -> dict[str, str]:
        """What a client needs to connect: a lab's own client file, else bootstrap.servers alone."""
        if self.lab_directory is None:
            return {"bootstrap.servers": self.bootstrap}
        lines = (self.lab_directory / "kcat.conf").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def container(self, host: str) -> str:
        """Return the name of a host's podman container."""
        if self.lab_directory is None:
            raise ValueError(f"{self.directory} is no lab: its hosts are no containers")
        return f"{self.lab_directory.name}-{host}"

    def run(self, host: str, command: str, *, stdin: str = "", check: bool = True, seconds: float = 60) -> str:
        """Run a shell command on a host over SSH (one connection a host); return what it printed.

        Raises AssertionError with both outputs when it fails and `check` is set.
        """
        done = subprocess.run([*self._ssh(), host, command], input=stdin, capture_output=True, text=True, timeout=seconds)
        if check and done.returncode:
            raise AssertionError(f"{host}: {command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def command(self, host: str, command: str) -> list[str]:
        """Return what runs a shell command on a host over SSH."""
        return [*self._ssh(), host, command]

    def disconnect(self) -> None:
        """End the shared SSH connections, as before a restart of the hosts; the next command opens new ones."""
        for socket in Path(self._sockets.name).iterdir():
            subprocess.run([*self._ssh(), "-O", "exit", socket.name], capture_output=True)

    def close(self) -> None:
        """End the shared SSH connections for good."""
        self.disconnect()
        self._sockets.cleanup()

    def _ssh(self) -> list[str]:
        config = ["-F", str(self.lab_directory / "ssh_config")] if self.lab_directory else []
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": "10",
            "ControlMaster": "auto",
            "ControlPath": f"{self._sockets.name}/%n",
            "ControlPersist": "300",
            "LogLevel": "ERROR",
            "ServerAliveInterval": "5",
        }
        return ["ssh", *config, *(f"-o{name}={value}" for name, value in options.items())]


def load(directory: Path) -> Inventory:
    """Read an inventory directory with ansible-inventory."""
    command = [sys.executable, "-m", "ansible", "inventory", "-i", str(directory), "--list"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise ValueError(f"{directory}: {done.stderr.strip()}")
    data = json.loads(done.stdout)
    variables = data.pop("_meta")["hostvars"]

    def members(group: str) -> list[str]:
        entry = data.get(group, {})
        return list(dict.fromkeys([*entry.get("hosts", ()), *(host for child in entry.get("children", ()) for host in members(child))]))

    groups = {group: members(group) for group in ("all", *data)}
    labs = {str(values["lab_directory"]) for values in variables.values() if "lab_directory" in values}
    lab = ROOT / ".lab" / labs.pop().rpartition("/.lab/")[2] if labs else None
    return Inventory(directory, groups, variables, lab)
