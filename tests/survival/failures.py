"""Ways in which servers and networks fail, made from outside of the hosts. Each returns what mends it."""

import os
import subprocess
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from faults.inventory import ROOT, Inventory

from .stretched import Stretched

Mend = Callable[[], None]

ENVIRONMENT = {**os.environ, "CONTAINERS_CONF": str(ROOT / "lab" / "podman.conf")}
# Besides the hosts' own firewall: what either of the two drops is gone.
_TABLE = "table inet survival"


def killed(cluster: Stretched, lost: Collection[str]) -> Mend:
    """Kill the servers with signal 9, all at once; they stay down."""
    cluster.take_away(lost)
    return partial(cluster.start, lost)


def cut_off(cluster: Stretched, lost: Collection[str], *, hear: bool = False, speak: bool = False) -> Mend:
    """Cut hosts off from all others and from this machine, on both networks.

    In one direction alone where they still `hear`, or still `speak`.
    """
    inventory = cluster.inventory
    others = sorted(
        address for host in inventory.hosts("all") if host not in lost for address in addresses(inventory, host)
    )
    others += sorted({f"{address.rpartition('.')[0]}.1" for address in others})
    them = f"{{ {', '.join(others)} }}"
    deaf, mute = _chain("input", f"ip saddr {them}"), _chain("output", f"ip daddr {them}")
    return _drop(inventory, lost, deaf * (not hear) + mute * (not speak))


def network_gone(cluster: Stretched, network: str) -> Mend:
    """Drop everything on one network, client or replication, in every host."""
    chains = _chain("input", f'iifname "{network}"') + _chain("output", f'oifname "{network}"')
    return _drop(cluster.inventory, cluster.inventory.hosts("all"), chains)


def addresses(inventory: Inventory, host: str) -> tuple[str, str]:
    """Return the addresses of a host on both networks."""
    return inventory.client_address(host), inventory.replication_address(host)


def _chain(hook: str, match: str) -> str:
    return f"chain {hook} {{ type filter hook {hook} priority -300; {match} drop; }}\n"


def _drop(inventory: Inventory, hosts: Collection[str], chains: str) -> Mend:
    _nft(inventory, hosts, f"{_TABLE} {{\n{chains}}}\n")
    return partial(_nft, inventory, hosts, f"delete {_TABLE}")


def _nft(inventory: Inventory, hosts: Collection[str], commands: str) -> None:
    """Run nftables commands in hosts, without their network."""

    def one(host: str) -> None:
        command = ["podman", "exec", "-i", inventory.container(host), "nft", "-f", "-"]
        done = subprocess.run(command, input=commands, capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
        assert done.returncode == 0, f"{host}: {commands}: {done.stderr}"

    with ThreadPoolExecutor(len(hosts)) as pool:
        list(pool.map(one, hosts))
