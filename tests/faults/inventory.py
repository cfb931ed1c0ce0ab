"""One inventory as the tests see it: hosts by group, their literal variables, how to reach them."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.ensemble import four_letter_word

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Inventory:
    """Groups with the hosts of their children, and each host's variables as written: templates are not resolved."""

    directory: Path
    groups: Mapping[str, Sequence[str]]
    variables: Mapping[str, Mapping[str, Any]]
    lab_directory: Path | None
    """Keys and client files of the containers; None where the inventory is no lab."""
    client_file: Path | None = None
    """Properties (librdkafka) of a user who may everything; a lab has its own, kcat.conf."""
    _sockets: tempfile.TemporaryDirectory[str] = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="ssh-")
    )

    def hosts(self, group: str) -> Sequence[str]:
        """Return the hosts of a group; none where there is no such group."""
        return self.groups.get(group, ())

    def client_address(self, host: str) -> str:
        """Return the host's address on the client network."""
        return str(self.variables[host]["client_address"])

    def replication_address(self, host: str) -> str:
        """Return the host's address on the replication network; with one network its only address."""
        address = str(self.variables[host].get("replication_address", "{{"))
        return self.client_address(host) if "{{" in address else address

    def addresses(self, host: str) -> list[str]:
        """Return the host's addresses, each once."""
        return list(dict.fromkeys((self.client_address(host), self.replication_address(host))))

    def broker_id(self, host: str) -> int:
        """Return the broker id of a host of the group kafka."""
        return int(self.variables[host]["kafka_broker_id"])

    def broker(self, number: int) -> str:
        """Return the host of a broker id."""
        return next(host for host in self.hosts("kafka") if self.broker_id(host) == number)

    def listeners(self, host: str) -> list[dict[str, Any]]:
        """Return the listeners of a broker: those that every site has, and the site's own."""
        said = self.variables[host]
        ports = {f"{{{{ {name} }}}}": said[name] for name in ("client_port", "replication_port")}
        entries = [*said["standard_listeners"], *said["site_listeners"]]
        return [{**entry, "port": ports.get(entry["port"], entry["port"])} for entry in entries]

    def port(self, listener: str) -> int:
        """Return the port of a Kafka listener."""
        listeners = self.listeners(self.hosts("kafka")[0])
        return next(int(entry["port"]) for entry in listeners if entry["name"] == listener)

    @property
    def bootstrap(self) -> str:
        """The brokers of the listener CLIENT: host:port,host:port."""
        return ",".join(f"{self.client_address(host)}:{self.port('CLIENT')}" for host in self.hosts("kafka"))

    @property
    def kafka_properties(self) -> dict[str, str]:
        """What a client needs to connect to the listener CLIENT: the client file, else bootstrap.servers alone."""
        file = self.client_file or (self.lab_directory / "kcat.conf" if self.lab_directory else None)
        lines = file.read_text().splitlines() if file else []
        return {"bootstrap.servers": self.bootstrap} | dict(line.split("=", 1) for line in lines if "=" in line)

    @property
    def admin_properties(self) -> dict[str, str]:
        """What the admin needs to connect to the listener REPLICATION, by a certificate."""
        servers = ",".join(
            f"{self.replication_address(host)}:{self.port('REPLICATION')}" for host in self.hosts("kafka")
        )
        admin = self.admin_tls
        files = {
            "ssl.ca.location": admin["ca"],
            "ssl.certificate.location": admin["certificate"],
            "ssl.key.location": admin["certificate"],
        }
        return {"bootstrap.servers": servers} | ({"security.protocol": "SSL", **files} if self.secure else {})

    @property
    def secure(self) -> bool:
        """Whether everything is encrypted, as it is unless the inventory says plaintext."""
        return self._word("security_profile") != "plaintext"

    @property
    def zookeeper_port(self) -> int:
        """The only port on which ZooKeeper serves clients."""
        return 2281 if self.secure else 2181

    @property
    def pki(self) -> Path:
        """The folder of the control node with the CAs and all certificates."""
        return self.lab_directory / "pki" if self.lab_directory else Path(self._word("pki_directory"))

    def tls(self, host: str, name: str) -> dict[str, str]:
        """Return the files on the control node of one certificate of a host, as the probe takes them.

        certificate (with its key) and ca.
        """
        folder = self.pki / "certificates" / host
        return {"certificate": str(folder / f"{name}.pem"), "ca": str(folder / "ca.pem")}

    @property
    def admin_tls(self) -> dict[str, str]:
        """The certificate of the admin, {} where nothing is encrypted; there is one, with those of the first server."""
        folders = sorted(path.parent.name for path in self.pki.glob("certificates/*/admin.pem"))
        return self.tls(folders[0], "admin") if self.secure and folders else {}

    @property
    def owner_tls(self) -> dict[str, str]:
        """A certificate of the subject that owns the znodes: that of the brokers."""
        return self.tls(self.hosts("kafka")[0], "zookeeper_client")

    def ask_zookeeper(self, host: str, word: str, network: str = "client") -> str:
        """Return a server's answer to a four-letter word; '' when it does not answer."""
        address = self.client_address(host) if network == "client" else self.replication_address(host)
        return four_letter_word(address, self.zookeeper_port, word, self.admin_tls)

    def _word(self, name: str) -> str:
        return str(next((values[name] for values in self.variables.values() if name in values), ""))

    def container(self, host: str) -> str:
        """Return the name of a host's podman container, as lab/create.yml wrote it down."""
        if self.lab_directory is None:
            raise ValueError(f"{self.directory} is no lab: its hosts are no containers")
        return str(json.loads((self.lab_directory / "lab.json").read_text())["containers"][host])

    def run(self, host: str, command: str, *, stdin: str = "", check: bool = True, seconds: float = 60) -> str:
        """Run a shell command on a host over SSH (one connection a host); return what it printed.

        Raises AssertionError with both outputs when it fails and `check` is set.
        """
        done = subprocess.run(
            [*self._ssh(), host, command], input=stdin, capture_output=True, text=True, timeout=seconds
        )
        if check and done.returncode:
            raise AssertionError(f"{host}: {command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def command(self, host: str, command: str) -> list[str]:
        """Return what runs a shell command on a host over SSH."""
        return [*self._ssh(), host, command]

    def disconnect(self, *hosts: str) -> None:
        """End the shared SSH connections, as before a restart of these hosts (all); the next command opens new ones."""
        for socket in Path(self._sockets.name).iterdir():
            if hosts and socket.name not in hosts:
                continue
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


def load(directory: Path, client_file: Path | None = None) -> Inventory:
    """Read an inventory directory with ansible-inventory."""
    command = [sys.executable, "-m", "ansible", "inventory", "-i", str(directory), "--list"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise ValueError(f"{directory}: {done.stderr.strip()}")
    data = json.loads(done.stdout)
    variables = data.pop("_meta")["hostvars"]

    def members(group: str) -> list[str]:
        entry = data.get(group, {})
        return list(
            dict.fromkeys(
                [*entry.get("hosts", ()), *(host for child in entry.get("children", ()) for host in members(child))]
            )
        )

    groups = {group: members(group) for group in ("all", *data)}
    labs = {str(values["lab_directory"]) for values in variables.values() if "lab_directory" in values}
    lab = ROOT / ".lab" / labs.pop().rpartition("/.lab/")[2] if labs else None
    return Inventory(directory, groups, variables, lab, client_file)
