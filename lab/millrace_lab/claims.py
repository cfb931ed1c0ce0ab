"""Which lab may use which networks: decided under the machine's lock, written down before anything is made."""

from __future__ import annotations

import ipaddress
import json
import os
import shutil
import uuid
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from .records import Claim, LabError, Process, identity, lives
from .shared_resources import RANGE, Machine, Tenant, subnets

# Upper half of the range: no inventory of the project names a network in it.
SPARE = "198.19.0.0/16"
# What stands in a lab's directory; a run of a playbook may have made the later ones before there is a lab, and no id.
OWN = {"id", "id.new", "inventory", "kcat.conf", "keys", "known_hosts", "lab.json", "ssh_config", "texts", "texts.new"}
BEFORE = {"oauth", "pki", "secrets"}
# In a copy of an inventory, which alone is ever removed. Ansible reads no file of an inventory that begins with a dot.
COPY = ".copy-of-a-lab"


def derived(directory: Path) -> Path:
    """Return where the copy of an inventory stands whose own networks are held by another checkout's lab."""
    return directory.parent / "inventories" / directory.name


def claim(machine: Machine, directory: Path, networks: Mapping[str, str]) -> None:
    """Claim exactly these networks for a lab directory; remove orphaned labs on them. Hold machine_lock().

    Raises LabError where a living lab holds one of them, or another process this lab directory, which moreover must not
    have been moved, nor its claim be damaged.
    """
    machine.check_use(directory)
    machine.check_moved(directory)
    before = own(machine, directory)
    in_the_way = conflicts(machine, directory, networks.values())
    if in_the_way:
        raise LabError(refusal(in_the_way[0], directory))
    remove_orphans(machine, directory, networks.values())
    if not machine.check_mode:
        declared = before.declared if before and before.networks == networks else networks
        Claim(
            make_identity(machine, directory), directory, declared, dict(networks), before.holder if before else None
        ).write()


def choose(
    machine: Machine, directory: Path, declared: Mapping[str, str], holder: int | None = None
) -> Mapping[str, str]:
    """Claim the declared networks for a lab directory, or spare ones where another checkout's lab holds them.

    Hold machine_lock(). A lab that has a claim for these declared networks keeps what it had, and so does one that
    stands and has lost its claim. Raises LabError where a lab of the same checkout holds them, or another process than
    `holder` this lab directory, the claim is damaged, or the lab directory was moved.
    """
    machine.check_use(directory, holder) if holder else machine.check_claim(directory)
    machine.check_moved(directory)
    before = own(machine, directory)
    had = (
        before.networks if before and before.declared == declared else None if before else standing(machine, directory)
    )
    networks = {kind: had[kind] for kind in declared} if had and fits(had, declared) else declared
    in_the_way = conflicts(machine, directory, networks.values())
    for tenant in in_the_way:
        if tenant.directory.parent == directory.parent:
            raise LabError(refusal(tenant, directory))
    if in_the_way:
        networks = spare(machine, declared)
    process = Process.of(holder) if holder else before.holder if before and before.held else None
    Claim(make_identity(machine, directory), directory, dict(declared), dict(networks), process).write()
    return networks


def check_networks(networks: Mapping[str, str]) -> None:
    """Refuse networks that no lab can have: unreadable, outside the blackhole route's range, or one inside another."""
    found: dict[str, ipaddress.IPv4Network] = {}
    for kind, text in networks.items():
        try:
            network = ipaddress.IPv4Network(text)
        except ValueError as error:
            raise LabError(f"{kind}_network = {text}: no IPv4 network ({error}); write it as 198.18.1.0/24") from error
        if text != str(network):
            raise LabError(f"{kind}_network = {text}: write it as {network}")
        if not network.subnet_of(ipaddress.IPv4Network(RANGE)):
            raise LabError(f"{kind}_network = {text}: outside {RANGE}; labs stay inside that range")
        for other, held in found.items():
            if network.overlaps(held):
                raise LabError(f"{kind}_network = {text}: overlaps {other}_network = {held}")
        found[kind] = network


def check_own(directory: Path) -> None:
    """Refuse a directory that holds what is no lab's: a lab is removed with all that its directory holds."""
    if not directory.exists() or (directory / "id").exists():
        return
    found = sorted(path.name for path in directory.iterdir()) if directory.is_dir() else [directory.name]
    if foreign := [name for name in found if name not in OWN | BEFORE and not name.endswith(".lock")]:
        raise LabError(
            f"lab_directory = {directory} is no lab's, it holds {foreign[0]}: a lab has a directory of its own, which "
            f"is removed with it; write {{{{ inventory_dir }}}}/../../.lab/<name of the lab>"
        )


def make_identity(machine: Machine, directory: Path) -> str:
    """Return the id of a lab directory; make both where they are missing. Raises LabError where it is no lab's.

    A new one where this is the id of a living lab elsewhere.
    """
    check_own(directory)
    if not identity(directory) or machine.copied(directory):
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / "id.new").open("w") as stream:
            stream.write(uuid.uuid4().hex[:12] + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        (directory / "id.new").rename(directory / "id")
    return identity(directory)


def own(machine: Machine, directory: Path) -> Claim | None:
    """Return the claim of a lab directory that stands."""
    return next((claim for claim in machine.claims() if claim.directory == directory and claim.stands()), None)


def standing(machine: Machine, directory: Path) -> Mapping[str, str]:
    """Return the networks by kind that the lab of a directory has."""
    return {
        bridge["name"].rpartition("-")[2]: str(subnet)
        for bridge in machine.bridges()
        for subnet in subnets(bridge)
        if bridge["labels"].get("millrace.directory") == str(directory)
        and lives(directory, bridge["labels"]["millrace.id"])
    }


def fits(networks: Mapping[str, str], declared: Mapping[str, str]) -> bool:
    """Whether these are networks of the declared kinds and sizes."""
    sizes = ({kind: subnet.partition("/")[2] for kind, subnet in each.items()} for each in (networks, declared))
    return next(sizes) == next(sizes)


def absent(machine: Machine, directory: Path) -> None:
    """Remove a lab, its keys, and its derived inventory unless a process keeps its claim. Hold machine_lock().

    Raises LabError where another process holds it, and where the directory is no lab's.
    """
    machine.check_use(directory)
    check_own(directory)
    if identity(directory) and not machine.copied(directory):
        machine.remove(identity(directory))
    remove_orphans(machine, directory, [])
    held = any(claim.directory == directory and claim.held for claim in machine.claims())
    copy = derived(directory)
    for path in (directory, *([copy] if not held and (copy / COPY).exists() else [])):
        if path.exists() and machine.act(f"remove {path}"):
            shutil.rmtree(path)


def conflicts(machine: Machine, directory: Path, networks: Collection[str]) -> list[Tenant]:
    """List the living labs of other directories on these networks."""
    return [
        tenant
        for tenant in machine.tenants()
        if tenant.living and tenant.directory != directory and tenant.overlaps(networks)
    ]


def remove_orphans(machine: Machine, directory: Path, networks: Collection[str]) -> None:
    """Remove labs without a directory that stand on these networks, or stood in this directory."""
    tenants = [tenant for tenant in machine.tenants() if not tenant.living]
    for lab_id in sorted(
        {tenant.id for tenant in tenants if tenant.overlaps(networks) or tenant.directory == directory}
    ):
        machine.remove(lab_id)


def refusal(tenant: Tenant, directory: Path) -> str:
    """Say who holds a network, and what to do."""
    if not tenant.directory.is_absolute():
        return (
            f"network {tenant.directory} holds {tenant.subnet}, and has no label millrace.directory "
            "that says whose it is: remove it with podman"
        )
    if tenant.directory.parent == directory.parent:
        return (
            f"lab {tenant.directory.name} of this checkout holds {tenant.subnet}: "
            f"give one of the two inventories other networks, or run: make lab-down i={tenant.directory.name}"
        )
    return (
        f"the lab of {tenant.directory} holds {tenant.subnet}. `make lab` would take other networks; "
        f"to use these, remove that lab (make lab-down i={tenant.directory.name}, in its checkout), "
        "or have it replaced (-e lab_replace=true)"
    )


def spare(machine: Machine, declared: Mapping[str, str]) -> dict[str, str]:
    """Return free networks of the declared sizes: held by no lab, and with no route of their own on this machine."""
    routes = json.loads(machine.run("ip", "-j", "route", "show", "root", RANGE) or "[]")
    taken = [tenant.subnet for tenant in machine.tenants()]
    taken += [ipaddress.IPv4Network(route["dst"]) for route in routes if route.get("type") != "blackhole"]
    found = {}
    for kind, subnet in declared.items():
        free = first_free(ipaddress.IPv4Network(subnet).prefixlen, taken)
        taken.append(free)
        found[kind] = str(free)
    return found


def first_free(prefix: int, taken: Iterable[ipaddress.IPv4Network]) -> ipaddress.IPv4Network:
    """Return the first network of this size that overlaps none of those taken."""
    held = list(taken)
    for network in ipaddress.IPv4Network(SPARE).subnets(new_prefix=prefix):
        if not any(network.overlaps(other) for other in held):
            return network
    raise LabError(f"no free network /{prefix} is left in {SPARE}: remove labs (make lab-down, make lab-down-all)")
