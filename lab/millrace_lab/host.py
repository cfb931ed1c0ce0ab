"""One container of a lab: what it is, and what it is given."""

from __future__ import annotations

import ipaddress
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

# SYS_ADMIN: without it systemd skips ProtectSystem and its kin in silence, and the hardening is tested by nobody.
# NET_ADMIN: the firewall of its own network namespace. SYS_PTRACE: root enters the namespace of a service, as on a
# machine.
CAPABILITIES = "SYS_ADMIN,NET_ADMIN,SYS_PTRACE"
# The profile that podman gives containers where the kernel has AppArmor forbids mounts, which sandboxed units begin
# with.
APPARMOR = Path("/sys/module/apparmor/parameters/enabled")


@dataclass(frozen=True)
class Host:
    """One container: two addresses, the mount points that are file systems of their own, and one that hosts share."""

    name: str
    client_address: str
    replication_address: str
    disks: tuple[str, ...]
    shared: str = ""


def hardware_address(address: str) -> str:
    """Return the MAC address of an interface: locally administered, of its IP address, so unique on the machine."""
    return ":".join(f"{byte:02x}" for byte in (0x02, 0x00, *ipaddress.IPv4Address(address).packed))


def security() -> list[str]:
    """Return what lets sandboxed units work where the kernel has AppArmor."""
    enabled = APPARMOR.exists() and APPARMOR.read_text().strip() == "Y"
    return ["--security-opt", "apparmor=unconfined"] if enabled else []


def greets(address: str) -> bool:
    """Ask once; a refused connection costs a tenth of a second."""
    try:
        with socket.create_connection((address, 22), timeout=2) as connection:
            connection.settimeout(2)
            return connection.recv(4) == b"SSH-"
    except OSError:
        subprocess.run(["sleep", "0.1"])
        return False
