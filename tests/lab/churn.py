"""Makes and removes two labs without hosts at once, again and again; counts how often the blackhole route was missing.

Runs in network and mount namespaces of its own, with a podman store of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROUNDS = 4


def main() -> None:
    """Print the counts."""
    if any(
        os.readlink(f"/proc/self/ns/{kind}") == os.readlink(f"/proc/{os.getppid()}/ns/{kind}")
        for kind in ("net", "mnt")
    ):
        sys.exit("churn: call me with unshare --net --mount; here I would take the machine's own routes and disks")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("state", "networks", "store", "run"):
            (folder / part).mkdir()
        state = Path("/var/lib/millrace-lab")
        state.mkdir(exist_ok=True)
        subprocess.run(["mount", "--bind", str(folder / "state"), str(state)], check=True)
        (folder / "storage.conf").write_text(
            f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/store"\nrunroot = "{folder}/run"\n'
        )
        conf = (ROOT / "lab" / "containers.conf").read_text()
        (folder / "containers.conf").write_text(f'{conf}network_config_dir = "{folder}/networks"\n')
        os.environ["CONTAINERS_STORAGE_CONF"] = str(folder / "storage.conf")
        with ThreadPoolExecutor(2) as pool:
            missing = sum(pool.map(lambda number: churn(folder, number), (1, 3)))
        print(json.dumps({"rounds": 2 * ROUNDS, "routes missing": missing, "routes left": int(bool(route()))}))


def churn(folder: Path, number: int) -> int:
    """Make and remove one lab; return how often its route was missing while it was there."""
    missing = 0
    for _ in range(ROUNDS):
        lab_hosts(folder, number, "present")
        missing += not route()
        lab_hosts(folder, number, "absent")
    return missing


def lab_hosts(folder: Path, number: int, state: str) -> None:
    """Call the module."""
    parameters = {
        "state": state,
        "directory": str(folder / f"lab{number}"),
        "image": "none",
        "client_network": f"198.18.{number}.0/24",
        "replication_network": f"198.18.{number + 1}.0/24",
        "config": str(folder / "containers.conf"),
    }
    command = [sys.executable, "-m", "ansible", "adhoc", "localhost", "-m", "lab_hosts", "-a", json.dumps(parameters)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def route() -> str:
    """Return the blackhole route of this network namespace."""
    return subprocess.run(
        ["ip", "route", "show", "type", "blackhole"], capture_output=True, text=True, check=True
    ).stdout


main()
