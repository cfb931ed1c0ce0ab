"""Makes and removes a lab without hosts while the machine's lock is held, and says what waited for the lock.

Runs in network and mount namespaces of its own, with a podman store and a lock of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from millrace_lab.shared_resources import LOCK, machine_lock

ROOT = Path(__file__).parents[2]
NETWORKS = {"client_network": "198.18.1.0/24", "replication_network": "198.18.2.0/24"}
WAIT_SECONDS = 60


def main() -> None:
    """Print, for both states, what is there while the lock is held and after."""
    if any(
        os.readlink(f"/proc/self/ns/{kind}") == os.readlink(f"/proc/{os.getppid()}/ns/{kind}")
        for kind in ("net", "mnt")
    ):
        sys.exit("locked: call me with unshare --net --mount; here I would take the machine's own routes and disks")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone(folder)
        print(json.dumps({state: seen(folder, state) for state in ("present", "absent")}))


def alone(folder: Path) -> None:
    """Give this mount namespace folders, a podman store and a lock that no other lab knows."""
    for part in ("state", "networks", "store", "run"):
        (folder / part).mkdir()
    (folder / "lock").touch()
    state = Path("/var/lib/millrace-lab")
    state.mkdir(exist_ok=True)
    LOCK.touch()
    for mine, place in ((folder / "state", state), (folder / "lock", LOCK)):
        subprocess.run(["mount", "--bind", str(mine), str(place)], check=True)
    (folder / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/store"\nrunroot = "{folder}/run"\n'
    )
    conf = (ROOT / "lab" / "podman.conf").read_text()
    (folder / "podman.conf").write_text(f'{conf}network_config_dir = "{folder}/networks"\n')
    os.environ["CONTAINERS_STORAGE_CONF"] = str(folder / "storage.conf")


def seen(folder: Path, state: str) -> dict[str, list[int]]:
    """Call the module while the lock is held; return how many routes and networks there are then, and in the end."""
    with machine_lock():
        process = lab_hosts(folder, state)
        deadline = time.monotonic() + WAIT_SECONDS
        while not waits_for_the_lock():
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"lab_hosts {state} did not wait for the lock")
            time.sleep(0.05)
        held = there(folder)
    if process.wait(WAIT_SECONDS):
        sys.exit(f"lab_hosts {state} failed")
    return {"while the lock is held": held, "in the end": there(folder)}


def lab_hosts(folder: Path, state: str) -> subprocess.Popen[bytes]:
    """Call the module."""
    parameters = {
        "state": state,
        "directory": str(folder / "lab"),
        "image": "none",
        "config": str(folder / "podman.conf"),
        **NETWORKS,
    }
    command = [sys.executable, "-m", "ansible", "adhoc", "localhost", "-m", "lab_hosts", "-a", json.dumps(parameters)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)


def waits_for_the_lock() -> bool:
    """Tell whether a process stands in the queue for the lock."""
    inode = f":{LOCK.stat().st_ino} "
    return any("->" in line and inode in line for line in Path("/proc/locks").read_text().splitlines())


def there(folder: Path) -> list[int]:
    """Return how many blackhole routes this network namespace has, and how many networks podman."""
    routes = subprocess.run(["ip", "route", "show", "type", "blackhole"], capture_output=True, text=True, check=True)
    return [len(routes.stdout.splitlines()), len(list((folder / "networks").glob("*.json")))]


main()
