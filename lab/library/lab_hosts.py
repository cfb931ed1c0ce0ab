#!/usr/bin/python
"""One podman container per inventory host: systemd, two networks with fixed addresses, one file system per data disk."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
import resource
import shutil
import socket
import subprocess
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: lab_hosts
short_description: Make or remove the containers of one lab
description:
  - Everything made carries the labels millrace.lab (the lab's name) and millrace.id (one random id per lab directory).
  - A lab of the same name, or on the same addresses, that another checkout left behind is replaced.
  - Runs on the control node as root. The first act is a blackhole route over the lab's address range, so that
    nothing meant for a lab can leave the machine while a network is missing.
options:
  state: {type: str, choices: [present, absent], default: present}
  directory:
    {type: path, required: true, description: "Keys, known_hosts, ssh_config of this lab; its last part is the name."}
  image: {type: str, description: Name of the lab image (lab/image/build.sh prints it).}
  client_network: {type: str, description: Subnet of the client addresses.}
  replication_network: {type: str, description: Subnet of the replication addresses.}
  hosts:
    description: The containers.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true}
      client_address: {type: str, required: true}
      replication_address: {type: str, default: "", description: Empty for a host on the client network alone.}
      disks: {type: list, elements: str, default: [], description: Mount points that get a file system of their own.}
  disk_size: {type: str, default: 600M, description: Size of each file system (a sparse loop image).}
  range: {type: str, default: 198.18.0.0/15, description: Addresses that must never leave the machine.}
  config: {type: path, required: true, description: The containers.conf for podman.}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Make the hosts
  lab_hosts:
    directory: .lab/lab
    image: localhost/millrace-lab:0123
    client_network: 198.18.1.0/24
    replication_network: 198.18.2.0/24
    hosts:
      - {name: dc1-kafka1, client_address: 198.18.1.21, replication_address: 198.18.2.21, disks: [/data/kafka1]}
    config: lab/containers.conf
"""

RETURN = """
actions: {description: What was done, type: list, elements: str, returned: always}
"""

DISKS = Path("/var/lib/millrace-lab")


class LabError(Exception):
    """A step that failed; the text names the command and what it said."""


# SYS_ADMIN: without it systemd skips ProtectSystem and its kin in silence, and the hardening is tested by nobody.
# NET_ADMIN: the firewall of its own network namespace. SYS_PTRACE: root enters the namespace of a service, as on a machine.
CAPABILITIES = "SYS_ADMIN,NET_ADMIN,SYS_PTRACE"


@dataclass(frozen=True)
class Host:
    """One container: two addresses and the mount points that are file systems of their own."""

    name: str
    client_address: str
    replication_address: str
    disks: tuple[str, ...]


def hardware_address(address: str) -> str:
    """Return the MAC address of an interface: locally administered, made from its IP address, so unique on the machine."""
    return ":".join(f"{byte:02x}" for byte in (0x02, 0x00, *ipaddress.IPv4Address(address).packed))


class Lab:
    """The containers, networks, disks and keys of one lab directory."""

    def __init__(self, parameters: dict[str, Any], check_mode: bool) -> None:
        """Read the module's parameters; touch nothing."""
        self.directory = Path(parameters["directory"]).resolve()
        self.name = self.directory.name
        self.image = parameters["image"]
        self.networks = {"client": parameters["client_network"], "replication": parameters["replication_network"]}
        self.hosts = [Host(h["name"], h["client_address"], h["replication_address"], tuple(h["disks"])) for h in parameters["hosts"]]
        self.disk_size = parameters["disk_size"]
        self.range = parameters["range"]
        self.check_mode = check_mode
        self.environment = {**os.environ, "CONTAINERS_CONF": parameters["config"]}
        self.actions: list[str] = []

    def run(self, *argv: str, check: bool = True) -> str:
        """Run a command; stop at the first that fails (a lab half made must not send traffic)."""
        done = subprocess.run(argv, capture_output=True, text=True, env=self.environment)
        if check and done.returncode:
            raise LabError(f"{' '.join(argv)}: {done.stderr.strip() or done.stdout.strip() or done.returncode}")
        return done.stdout

    def act(self, what: str) -> bool:
        """Note a change; false in check mode, when it must not be made."""
        self.actions.append(what)
        return not self.check_mode

    def identity(self, make: bool) -> str:
        """Return the random id of this lab directory, '' where there is none yet."""
        file = self.directory / "id"
        if not file.exists():
            if not make:
                return ""
            self.directory.mkdir(parents=True, exist_ok=True)
            file.write_text(uuid.uuid4().hex[:12] + "\n")
        return file.read_text().strip()

    # -- what is there ------------------------------------------------------------------------------------------------
    def containers(self) -> list[dict[str, Any]]:
        """List every lab container of the machine, of any checkout."""
        found: list[dict[str, Any]] = json.loads(self.run("podman", "ps", "-a", "--filter", "label=millrace.id", "--format", "json"))
        return found

    def bridges(self) -> list[dict[str, Any]]:
        """List every lab network of the machine, of any checkout."""
        names = self.run("podman", "network", "ls", "--filter", "label=millrace.id", "--format", "{{.Name}}").split()
        found: list[dict[str, Any]] = json.loads(self.run("podman", "network", "inspect", *names)) if names else []
        return found

    # -- remove ---------------------------------------------------------------------------------------------------------
    def remove(self, lab_id: str) -> None:
        """Remove the containers, networks and disks that carry this id, and nothing else."""
        names = [c["Names"][0] for c in self.containers() if c["Labels"]["millrace.id"] == lab_id]
        if names and self.act(f"remove {len(names)} containers"):
            self.run("podman", "rm", "-f", "-t", "0", *names)
        for bridge in self.bridges():
            if bridge["labels"]["millrace.id"] == lab_id and self.act(f"remove network {bridge['name']}"):
                self.run("podman", "network", "rm", bridge["name"])
        root = DISKS / lab_id
        if root.exists() and self.act("remove the disks"):
            for line in Path("/proc/mounts").read_text().splitlines():
                if line.split()[1].startswith(f"{root}/"):
                    self.run("umount", line.split()[1])
            shutil.rmtree(root)
            if not any(DISKS.iterdir()):
                DISKS.rmdir()

    def absent(self) -> None:
        """Remove this lab, its keys, and the blackhole route with the last lab."""
        lab_id = self.identity(make=False)
        if lab_id:
            self.remove(lab_id)
        if self.directory.exists() and self.act(f"remove {self.directory}"):
            shutil.rmtree(self.directory)
        route = self.run("ip", "route", "show", "type", "blackhole", self.range).strip()
        if route and not self.containers() and not self.bridges() and self.act("remove the blackhole route"):
            self.run("ip", "route", "del", "blackhole", self.range)

    # -- make -----------------------------------------------------------------------------------------------------------
    def present(self) -> None:
        """Make what is missing; replace a lab that another checkout left in the way."""
        if not self.run("ip", "route", "show", "type", "blackhole", self.range).strip() and self.act("blackhole route"):
            self.run("ip", "route", "replace", "blackhole", self.range)
        self.check_addresses()
        self.clear_the_way()
        if self.check_mode:
            there = {c["Labels"].get("millrace.host") for c in self.containers() if c["Labels"]["millrace.id"] == self.identity(make=False)}
            self.actions += [f"make host {host.name}" for host in self.hosts if host.name not in there]
            return
        self.raise_inotify_limit()
        self.make_keys()
        self.make_networks()
        self.make_hosts()
        self.wait_for_ssh()

    def check_addresses(self) -> None:
        """Refuse addresses outside the range that the blackhole route covers, or outside their network."""
        for kind, subnet in self.networks.items():
            network = ipaddress.ip_network(subnet)
            if not network.subnet_of(ipaddress.ip_network(self.range)):
                raise LabError(f"{kind}_network = {subnet}: outside {self.range}; labs stay inside that range")
            for host in self.hosts:
                address = host.client_address if kind == "client" else host.replication_address
                if address and ipaddress.ip_address(address) not in network:
                    raise LabError(f"{host.name}: {kind}_address = {address}: outside {kind}_network {subnet}")

    def clear_the_way(self) -> None:
        """Remove labs of other checkouts with this name or these addresses, and this lab if its declaration changed."""
        own = self.identity(make=not self.check_mode)
        wanted = [ipaddress.ip_network(n) for n in self.networks.values()]
        stale: set[str] = set()
        for bridge in self.bridges():
            labels, subnet = bridge["labels"], ipaddress.ip_network(bridge["subnets"][0]["subnet"])
            clash = any(subnet.overlaps(network) for network in wanted)
            if labels["millrace.id"] == own:
                continue
            if clash and (Path(labels["millrace.directory"]) / "id").exists() and Path(labels["millrace.directory"]).parent == self.directory.parent:
                raise LabError(
                    f"lab {labels['millrace.lab']} of this checkout holds {subnet}: give one of the two inventories other networks, "
                    f"or run: make lab-down i={labels['millrace.lab']}"
                )
            if clash or labels["millrace.lab"] == self.name:
                stale.add(labels["millrace.id"])
        specs = {host.name: self.spec(host) for host in self.hosts}
        for container in self.containers():
            labels = container["Labels"]
            if labels["millrace.id"] == own:
                if specs.get(labels["millrace.host"], labels["millrace.spec"]) != labels["millrace.spec"]:
                    stale.add(own)
            elif labels["millrace.lab"] == self.name:
                stale.add(labels["millrace.id"])
        for lab_id in stale:
            self.remove(lab_id)

    def spec(self, host: Host) -> str:
        """Digest of everything a container is made from."""
        parts = [asdict(host), self.interfaces(host), self.image, CAPABILITIES, self.disk_size, self.networks]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def raise_inotify_limit(self) -> None:
        """Each systemd host takes five inotify instances; the kernel's default of 128 ends at 25 hosts."""
        limit = Path("/proc/sys/fs/inotify/max_user_instances")
        if int(limit.read_text()) < 1024 and self.act("fs.inotify.max_user_instances = 1024"):
            limit.write_text("1024")

    def make_keys(self) -> None:
        """Make the client's and each host's key, and with them known_hosts: no trust on first use."""
        keys = self.directory / "keys"
        keys.mkdir(parents=True, exist_ok=True)
        keys.chmod(0o700)
        lines = []
        for file, comment in [(keys / "id_ed25519", f"lab {self.name}")] + [(keys / h.name / "ssh_host_ed25519_key", h.name) for h in self.hosts]:
            if not file.exists():
                file.parent.mkdir(exist_ok=True)
                self.act(f"key {comment}")
                self.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(file))
        for host in self.hosts:
            public = (keys / host.name / "ssh_host_ed25519_key.pub").read_text().split()
            names = ",".join(filter(None, (host.name, host.client_address, host.replication_address)))
            lines.append(f"{names} {public[0]} {public[1]}\n")
        self.write(self.directory / "known_hosts", "".join(lines))
        self.write(
            self.directory / "ssh_config",
            "".join(f"Host {h.name}\n  HostName {h.client_address}\n" for h in self.hosts)
            + f"Host *\n  User root\n  IdentityFile {keys}/id_ed25519\n  IdentitiesOnly yes\n  UserKnownHostsFile {self.directory}/known_hosts\n"
            "  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n",
        )

    def write(self, path: Path, text: str) -> None:
        """Write a file whose text changed."""
        if not path.exists() or path.read_text() != text:
            self.act(f"write {path.name}")
            path.write_text(text)

    def labels(self) -> list[str]:
        """Return the labels that destroy goes by."""
        return [
            "--label",
            f"millrace.lab={self.name}",
            "--label",
            f"millrace.id={self.identity(make=True)}",
            "--label",
            f"millrace.directory={self.directory}",
        ]

    def make_networks(self) -> None:
        """Two internal bridges: no default route inside, so a host reaches its lab and nothing else."""
        there = {bridge["name"] for bridge in self.bridges()}
        for kind, subnet in self.networks.items():
            if f"{self.name}-{kind}" not in there and self.act(f"network {kind} {subnet}"):
                self.run("podman", "network", "create", "--internal", "--subnet", subnet, *self.labels(), f"{self.name}-{kind}")

    def make_hosts(self) -> None:
        """Start every container that is not running."""
        own = self.identity(make=True)
        state = {c["Labels"]["millrace.host"]: c["State"] for c in self.containers() if c["Labels"]["millrace.id"] == own}

        def make(host: Host) -> None:
            volumes = self.make_disks(host)
            if host.name not in state:
                self.act(f"host {host.name}")
                self.run(*self.podman_run(host), *volumes, self.image, "/sbin/init")
            elif state[host.name] != "running":
                self.act(f"start {host.name}")
                self.run("podman", "start", f"{self.name}-{host.name}")

        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(make, self.hosts))

    def podman_run(self, host: Host) -> list[str]:
        """Return the command that makes one container, up to its volumes for disks."""
        files = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 100000)
        keys = self.directory / "keys"
        return [
            *("podman", "run", "-d", "--name", f"{self.name}-{host.name}", "--hostname", host.name, *self.labels()),
            *("--label", f"millrace.host={host.name}", "--label", f"millrace.spec={self.spec(host)}"),
            *("--systemd=always", "--cap-add", CAPABILITIES),
            *("--ulimit", f"nofile={files}:{files}", "--ulimit", "nproc=30000:30000"),
            *("--pids-limit", "8192", "--no-hosts"),
            *self.interfaces(host),
            *("-v", f"{keys}/{host.name}:/etc/ssh/lab:ro", "-v", f"{keys}/id_ed25519.pub:/root/.ssh/authorized_keys:ro"),
        ]

    def interfaces(self, host: Host) -> list[str]:
        """Return the networks of a host: addresses, names, and hardware addresses that outlive a power-off, as a machine's do."""
        wanted = {"client": host.client_address, "replication": host.replication_address}
        options = [f"{self.name}-{kind}:ip={ip},mac={hardware_address(ip)},interface_name={kind}" for kind, ip in wanted.items() if ip]
        return [word for option in options for word in ("--network", option)]

    def make_disks(self, host: Host) -> list[str]:
        """Make and mount one sparse XFS image per disk; return the volumes for podman."""
        volumes = []
        for number, path in enumerate(host.disks, 1):
            mount = DISKS / self.identity(make=True) / host.name / str(number)
            image = mount.with_suffix(".img")
            if not image.exists():
                mount.mkdir(parents=True, exist_ok=True)
                self.act(f"disk {host.name}:{path}")
                self.run("truncate", "-s", self.disk_size, f"{image}.new")
                self.run("mkfs.xfs", "-q", f"{image}.new")
                os.rename(f"{image}.new", image)
            if not os.path.ismount(mount):
                self.run("mount", "-o", "loop,noatime", str(image), str(mount))
            volumes += ["-v", f"{mount}:{path}"]
        return volumes

    def wait_for_ssh(self) -> None:
        """Wait until every host greets on port 22, 60 s at most."""
        deadline = time.monotonic() + 60
        for host in self.hosts:
            while not self.greets(host.client_address):
                if time.monotonic() > deadline:
                    raise LabError(f"{host.name} ({host.client_address}): no SSH greeting in 60 s; look with: podman logs {self.name}-{host.name}")

    @staticmethod
    def greets(address: str) -> bool:
        """Ask once; a refused connection costs a tenth of a second."""
        try:
            with socket.create_connection((address, 22), timeout=2) as connection:
                connection.settimeout(2)
                return connection.recv(4) == b"SSH-"
        except OSError:
            subprocess.run(["sleep", "0.1"])
            return False


def main() -> None:
    """Run as an Ansible module."""
    host = {
        "name": {"type": "str", "required": True},
        "client_address": {"type": "str", "required": True},
        "replication_address": {"type": "str", "default": ""},
        "disks": {"type": "list", "elements": "str", "default": []},
    }
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "directory": {"type": "path", "required": True},
            "image": {"type": "str"},
            "client_network": {"type": "str"},
            "replication_network": {"type": "str"},
            "hosts": {"type": "list", "elements": "dict", "options": host, "default": []},
            "disk_size": {"type": "str", "default": "600M"},
            "range": {"type": "str", "default": "198.18.0.0/15"},
            "config": {"type": "path", "required": True},
        },
        required_if=[("state", "present", ("image", "client_network", "replication_network"))],
        supports_check_mode=True,
    )
    lab = Lab(module.params, module.check_mode)
    try:
        lab.present() if module.params["state"] == "present" else lab.absent()
    except LabError as error:
        module.fail_json(msg=f"lab {lab.name}: {error}", actions=lab.actions)
    module.exit_json(changed=bool(lab.actions), actions=lab.actions)


if __name__ == "__main__":
    main()
