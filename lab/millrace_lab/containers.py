"""The containers, networks, disks and keys of one lab directory, made and removed."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .claims import absent, check_networks, claim
from .host import CAPABILITIES, Host, greets, hardware_address, security
from .records import STATE, LabError, identity
from .shared_resources import Machine, machine_lock, subnets

GREETING = 120  # seconds


class Lab:
    """The containers, networks, disks and keys of one lab directory."""

    def __init__(self, parameters: dict[str, Any], check_mode: bool) -> None:
        """Read the module's parameters; touch nothing."""
        self.machine = Machine(parameters["config"], check_mode)
        self.run, self.act = self.machine.run, self.machine.act
        self.directory = Path(parameters["directory"]).resolve()
        self.name = self.directory.name
        self.image = parameters["image"]
        subnets = {"client": parameters["client_network"], "replication": parameters["replication_network"]}
        self.networks = {kind: subnet for kind, subnet in subnets.items() if subnet or kind == "client"}
        self.hosts = [
            Host(h["name"], h["client_address"], h["replication_address"], tuple(h["disks"]), h["shared"])
            for h in parameters["hosts"]
        ]
        self.disk_size = parameters["disk_size"]
        self.replace = parameters["replace"]

    @property
    def id(self) -> str:
        """The random id of this lab directory, '' before it is made."""
        return identity(self.directory)

    def podman_name(self, what: str) -> str:
        """Return the name of a container or network: of this checkout alone, by the first digits of the id."""
        return f"{self.name}-{self.id[:6]}-{what}"

    def own_containers(self) -> dict[str, dict[str, Any]]:
        """Return this lab's containers by host."""
        mine = [c for c in self.machine.containers() if c["Labels"]["millrace.id"] == self.id]
        return {
            c["Labels"].get("millrace.host", ""): c
            for c in mine
            if c["Labels"].get("millrace.directory") == str(self.directory)
        }

    def absent(self) -> None:
        """Remove this lab, its keys, its derived inventory, and the blackhole route with the last lab."""
        with machine_lock():
            absent(self.machine, self.directory)
            self.machine.drop_route()

    def present(self) -> None:
        """Make what is missing; replace what a checkout that is gone left in the way."""
        self.check_addresses()
        with machine_lock():
            self.clear_the_way()
            self.machine.route()
            if self.machine.check_mode:
                there = self.own_containers()
                self.machine.actions += [f"make host {host.name}" for host in self.hosts if host.name not in there]
                return
            self.make_networks()
        self.raise_inotify_limit()
        self.make_keys()
        self.make_hosts()
        self.wait_for_ssh()

    def check_addresses(self) -> None:
        """Refuse addresses outside the range that the blackhole route covers, or outside their network."""
        check_networks(self.networks)
        for host in self.hosts if "replication" not in self.networks else ():
            if host.replication_address:
                raise LabError(
                    f"{host.name}: replication_address = {host.replication_address}: the lab has no "
                    "replication_network; set it in hosts.yml, or remove the address"
                )
        for kind, subnet in self.networks.items():
            network = ipaddress.ip_network(subnet)
            for host in self.hosts:
                address = host.client_address if kind == "client" else host.replication_address
                if address and ipaddress.ip_address(address) not in network:
                    raise LabError(f"{host.name}: {kind}_address = {address}: outside {kind}_network {subnet}")

    def clear_the_way(self) -> None:
        """Claim the networks; remove orphaned labs on them, and this lab if its declaration changed."""
        if self.replace:
            there = [tenant for tenant in self.machine.tenants() if tenant.overlaps(self.networks.values())]
            others = {tenant.id for tenant in there if (tenant.id, tenant.directory) != (self.id, self.directory)}
            for held in (held for held in self.machine.claims() if held.id in others and held.held):
                raise LabError(
                    f"the lab of {held.directory} is in use by a process that holds its networks; nothing was replaced"
                )
            for directory in {tenant.directory for tenant in there if tenant.id in others}:
                self.machine.check_claim(directory)
            for lab_id in others:
                self.machine.remove(lab_id)
        claim(self.machine, self.directory, self.networks)
        bridges = {
            b["name"]: [str(subnet) for subnet in subnets(b)]
            for b in self.machine.bridges()
            if b["labels"]["millrace.id"] == self.id
        }
        moved = any(bridges.get(self.podman_name(kind), [subnet]) != [subnet] for kind, subnet in self.networks.items())
        specs = {host.name: self.spec(host) for host in self.hosts}
        made = {host: container["Labels"].get("millrace.spec") for host, container in self.own_containers().items()}
        changed = any(specs.get(host, spec) != spec for host, spec in made.items())
        if moved or changed:
            self.machine.remove(self.id, keep_claim=True)

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
        for file, comment in [(keys / "id_ed25519", f"lab {self.name}")] + [
            (keys / h.name / "ssh_host_ed25519_key", h.name) for h in self.hosts
        ]:
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
            + f"Host *\n  User root\n  IdentityFile {keys}/id_ed25519\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {self.directory}/known_hosts\n"
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
            f"millrace.id={self.id}",
            "--label",
            f"millrace.directory={self.directory}",
        ]

    def make_networks(self) -> None:
        """One internal bridge for each network: no default route inside, so a host reaches its lab and nothing else."""
        there = {bridge["name"] for bridge in self.machine.bridges()}
        for kind, subnet in self.networks.items():
            if self.podman_name(kind) not in there and self.act(f"network {kind} {subnet}"):
                self.run(
                    "podman",
                    "network",
                    "create",
                    "--internal",
                    "--subnet",
                    subnet,
                    *self.labels(),
                    self.podman_name(kind),
                )

    def make_hosts(self) -> None:
        """Start every container that is not running."""
        state = {host: container["State"] for host, container in self.own_containers().items()}

        def make(host: Host) -> None:
            volumes = self.make_disks(host)
            if host.name not in state:
                self.act(f"host {host.name}")
                self.run(*self.podman_run(host), *volumes, self.image, "/sbin/init")
            elif state[host.name] != "running":
                self.act(f"start {host.name}")
                self.run("podman", "start", self.podman_name(host.name))

        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(make, self.hosts))

    def podman_run(self, host: Host) -> list[str]:
        """Return the command that makes one container, up to its volumes for disks.

        Where MILLRACE_LAB_CGROUP names a control group, the container is made below it: tests count CPU seconds there.
        """
        files = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 100000)
        keys = self.directory / "keys"
        return [
            *("podman", "run", "-d", "--name", self.podman_name(host.name), "--hostname", host.name, *self.labels()),
            *("--label", f"millrace.host={host.name}", "--label", f"millrace.spec={self.spec(host)}"),
            *(("--cgroup-parent", group) if (group := os.environ.get("MILLRACE_LAB_CGROUP")) else ()),
            *("--systemd=always", "--cap-add", CAPABILITIES, *security()),
            *("--ulimit", f"nofile={files}:{files}", "--ulimit", "nproc=30000:30000"),
            *("--pids-limit", "8192", "--no-hosts"),
            *self.interfaces(host),
            *(
                "-v",
                f"{keys}/{host.name}:/etc/ssh/lab:ro",
                "-v",
                f"{keys}/id_ed25519.pub:/root/.ssh/authorized_keys:ro",
            ),
        ]

    def interfaces(self, host: Host) -> list[str]:
        """Return the networks of a host: addresses, names, and hardware addresses, which outlive a power-off."""
        wanted = {"client": host.client_address, "replication": host.replication_address}
        options = [
            f"{self.podman_name(kind)}:ip={ip},mac={hardware_address(ip)},interface_name={kind}"
            for kind, ip in wanted.items()
            if ip
        ]
        return [word for option in options for word in ("--network", option)]

    def make_disks(self, host: Host) -> list[str]:
        """Make and mount one sparse XFS image per disk; return podman's volumes, with the one that hosts share."""
        volumes = []
        for number, path in enumerate(host.disks, 1):
            mount = STATE / self.id / host.name / str(number)
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
        if host.shared:
            folder = STATE / self.id / "shared"
            folder.mkdir(parents=True, exist_ok=True)
            volumes += ["-v", f"{folder}:{host.shared}"]
        return volumes

    def wait_for_ssh(self) -> None:
        """Wait until every host greets on port 22; each has its own time, for several labs may boot at once."""
        for host in self.hosts:
            deadline = time.monotonic() + GREETING
            while not greets(host.client_address):
                if time.monotonic() > deadline:
                    look = f"podman logs {self.podman_name(host.name)}"
                    raise LabError(
                        f"{host.name} ({host.client_address}): no SSH greeting in {GREETING} s; look with: {look}"
                    )
