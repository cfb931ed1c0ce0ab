"""Whether a unit's sandbox is there: asked of the running process, for systemd leaves out in silence what it may not set up."""

import uuid

from testinfra.host import Host

UNWRITABLE = ("/etc", "/usr", "/opt", "/root", "/home")


def assert_hardened(host: Host, unit: str) -> None:
    """Root itself, inside the namespace of the running process, cannot write outside the service's folders nor see what others have in /tmp."""
    pid = host.check_output(f"systemctl show -p MainPID --value {unit}")
    inside, name = f"nsenter --mount --target {pid}", f"written-by-test-{uuid.uuid4().hex[:8]}"
    writable = host.check_output(f"systemctl show -p ReadWritePaths --value {unit}").split()
    assert writable
    try:
        host.check_output(f"touch /tmp/{name}")
        for folder in UNWRITABLE:
            refused = host.run(f"{inside} touch {folder}/{name}")
            assert refused.rc != 0 and ("Read-only file system" in refused.stderr or "Permission denied" in refused.stderr), f"{unit}: {folder}"
        for folder in writable:
            host.check_output(f"{inside} touch {folder}/{name}")
        assert host.run(f"{inside} test -e /tmp/{name}").rc == 1, f"{unit} sees the /tmp of the host"
        assert host.run(f"{inside} find /root /home -mindepth 1").stdout == "", f"{unit} sees homes"
    finally:
        host.run("rm -f " + " ".join(f"{folder}/{name}" for folder in ("/tmp", *UNWRITABLE, *writable)))
    status = dict(line.split(":\t", 1) for line in host.check_output(f"cat /proc/{pid}/status").splitlines() if ":\t" in line)
    found = {key: status[key].strip() for key in ("NoNewPrivs", "Seccomp", "CapEff", "CapBnd", "CapAmb", "Umask")}
    none = "0" * 16
    assert found == {"NoNewPrivs": "1", "Seccomp": "2", "CapEff": none, "CapBnd": none, "CapAmb": none, "Umask": "0027"}
    assert status["Uid"].split()[1] != "0"
