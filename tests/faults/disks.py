"""One data disk of a container, from the machine below it: it gives errors, turns read-only, is exchanged."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .inventory import Inventory

UNIT = "kafka.service"
# Both see the disk in mount namespaces of their own. A container's mounts are private, so that the disk stays in these
# whatever is unmounted, below what /proc/PID/mountinfo shows; on a host systemd shares mounts, and it leaves them too.
UNITS = f"{UNIT} kafka-registration.service"
LOST = "/etc/systemd/system/lost-disk.service"
# umount(8) stumbles over the dead directory.
UNMOUNT = "import ctypes, sys; sys.exit(ctypes.CDLL(None).umount2(sys.argv[1].encode(), int(sys.argv[2])))"
DETACH = "2"
"""MNT_DETACH: it is gone though files are open."""


def machine(*command: str) -> str:
    """Run a command of this machine; return what it printed. AssertionError where it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}{done.stdout}"
    return done.stdout.strip()


class Disk:
    """The file system that is mounted on a directory of a broker's container.

    The lab's own XFS image, or an ext4 one in its place.
    """

    def __init__(self, inventory: Inventory, host: str, path: str) -> None:
        """Look up what is mounted; nothing is changed yet."""
        self.inventory, self.host, self.path = inventory, host, path
        mounts = '{{range .Mounts}}{{if eq .Destination "' + path + '"}}{{.Source}}{{end}}{{end}}'
        self.mount = Path(machine("podman", "inspect", "--format", mounts, inventory.container(host)))
        self.image, self.spare = Path(f"{self.mount}.img"), Path(f"{self.mount}.spare.img")
        self.device, self.failed = os.stat(self.mount).st_dev, False
        self.owner, self.mode = inventory.run(host, f"stat -c '%U:%G %a' {path}").split()

    def gives_errors(self) -> None:
        """Every access to what is mounted (XFS) is an I/O error from now on, for open files too."""
        self.failed = True
        machine("xfs_io", "-x", "-c", "shutdown", str(self.mount))

    def turns_read_only(self) -> None:
        """What is mounted (ext4, errors=remount-ro) does what it does on an error of its disk.

        EROFS for every write, to open files too.
        """
        self.failed = True
        device = Path(machine("findmnt", "-no", "SOURCE", str(self.mount))).name
        Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("an error made on purpose\n")

    def goes_away(self) -> None:
        """Start the broker with nothing mounted there, as after a reboot without the disk.

        The directory below is the broker's own, as where the role once ran before the disk was there.
        """
        self.failed = True
        self.inventory.run(self.host, f"systemctl stop {UNITS}")
        self._unmount_everywhere()
        self.inventory.run(self.host, f"chown {self.owner} {self.path} && systemctl start {UNITS}")

    @contextmanager
    def lost_at_boot(self) -> Iterator[None]:
        """Have each start of the host take the disk away before any service: fstab's line found no disk (`nofail`)."""
        self.failed = True
        unit = f"""[Unit]
DefaultDependencies=no
Before=local-fs.target
[Service]
Type=oneshot
ExecStart=/bin/umount {self.path}
[Install]
WantedBy=local-fs.target
"""
        self.inventory.run(self.host, f"cat >{LOST} && systemctl enable -q {LOST}", stdin=unit)
        try:
            yield
        finally:
            self.inventory.run(self.host, f"systemctl disable -q {LOST}; rm -f {LOST}; systemctl daemon-reload")

    def exchange(self) -> None:
        """Put an empty ext4 disk in place, as an operator does: stop the broker, change the disk, start the broker."""
        self.failed = True
        self._make_spare()
        self._put(self.spare, "ext4", "noatime,errors=remount-ro")

    def mount_new(self) -> None:
        """Mount an empty ext4 disk while the broker goes on with its others: as mkfs made it, root's."""
        self.failed = True
        self._make_spare()
        self._unmount_everywhere(DETACH)
        self._mount(self.spare, "ext4", "noatime,errors=remount-ro")

    def restore(self) -> None:
        """Put the lab's own disk in place, with what it held when it failed."""
        self._put(self.image, "xfs", "noatime")
        self.spare.unlink(missing_ok=True)
        self.failed = False

    def _make_spare(self) -> None:
        machine("truncate", "-s", "600M", str(self.spare))
        machine("mkfs.ext4", "-q", "-F", str(self.spare))

    def _put(self, image: Path, kind: str, options: str) -> None:
        self.inventory.run(self.host, f"systemctl stop {UNITS}")
        self._unmount_everywhere()
        self._mount(image, kind, options)
        self.inventory.run(
            self.host, f"rm -rf {self.path}/lost+found; chown {self.owner} {self.path} && chmod {self.mode} {self.path}"
        )
        self.inventory.run(self.host, f"systemctl start {UNITS}")

    def _mount(self, image: Path, kind: str, options: str) -> None:
        machine("mount", "-t", kind, "-o", f"loop,{options}", str(image), str(self.mount))
        self.device = os.stat(self.mount).st_dev
        node = "/dev/disk-of-the-lab"
        make = f"rm -f {node} && mknod {node} b {os.major(self.device)} {os.minor(self.device)}"
        script = f"{make} && mount -t {kind} -o {options} {node} {self.path} && rm {node}"
        container = machine("podman", "inspect", "--format", "{{.State.Pid}}", self.inventory.container(self.host))
        machine("nsenter", "-t", container, "-m", "sh", "-c", script)

    def _unmount_everywhere(self, flags: str = "0") -> None:
        """Each sandboxed service has a mount namespace of its own.

        While one of them holds the dead file system, mounting gives it again.
        """
        device = f"{os.major(self.device)}:{os.minor(self.device)}"
        namespaces: dict[str, tuple[str, str]] = {}
        for process in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
            try:
                rows = [line.split() for line in (process / "mountinfo").read_text().splitlines()]
                namespace = (process / "ns" / "mnt").readlink().name
            except OSError:  # ended meanwhile, or a thread of the kernel
                continue
            for row in rows:
                if row[2] == device:  # of a namespace the process that is longest there: it stays
                    namespaces.setdefault(namespace, (process.name, row[4]))
        for process_id, path in namespaces.values():
            machine("nsenter", "-t", process_id, "-m", "python3", "-c", UNMOUNT, path, flags)
