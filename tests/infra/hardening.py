"""Whether a unit's sandbox is there: asked of the running process, for systemd is silent of what it may not set up."""

import uuid

from testinfra.host import Host

UNWRITABLE = ("/etc", "/usr", "/opt", "/root", "/home")
# One command for all questions: a connection for each would cost a tenth of a second.
LOOK = """
pid=$(systemctl show -p MainPID --value {unit})
inside="nsenter --mount --target $pid"
writable=$(systemctl show -p ReadWritePaths --value {unit})
touch /tmp/{name}
for folder in {unwritable}; do echo "wrote $folder: $($inside touch $folder/{name} 2>&1)"; done
for folder in $writable; do echo "wrote $folder: $($inside touch $folder/{name} 2>&1)"; done
echo "writable: $writable"
echo "tmp: $($inside ls /tmp/{name} 2>&1)"
echo "homes: $($inside find /root /home -mindepth 1 | tr '\\n' ' ')"
cat /proc/$pid/status
for folder in /tmp {unwritable} $writable; do rm -f $folder/{name}; done
"""


def assert_hardened(host: Host, unit: str, umask: str = "0027") -> None:
    """Root itself, inside the namespace of the running process, is kept in the service's folders.

    It can neither write outside of them nor see what others have in /tmp. `umask` is that of the process.
    """
    name = f"written-by-test-{uuid.uuid4().hex[:8]}"
    lines = host.check_output(LOOK.format(unit=unit, name=name, unwritable=" ".join(UNWRITABLE))).splitlines()
    said = dict(line.split(":", 1) for line in lines)
    for folder in UNWRITABLE:
        answer = said[f"wrote {folder}"]
        assert "Read-only file system" in answer or "Permission denied" in answer, f"{unit}: {folder}: {answer}"
    writable = said["writable"].split()
    assert writable and [said[f"wrote {folder}"] for folder in writable] == [" "] * len(writable), said
    assert "No such file" in said["tmp"], f"{unit} sees the /tmp of the host"
    assert said["homes"].strip() == "", f"{unit} sees homes"
    found = {key: said[key].strip() for key in ("NoNewPrivs", "Seccomp", "CapEff", "CapBnd", "CapAmb", "Umask")}
    none = "0" * 16
    assert found == {"NoNewPrivs": "1", "Seccomp": "2", "CapEff": none, "CapBnd": none, "CapAmb": none, "Umask": umask}
    assert said["Uid"].split()[1] != "0"
