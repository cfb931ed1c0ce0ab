"""A timer on the admin host balances brokers under load; a variable of the inventory installs and removes it."""

import base64
import io
import re
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults.inventory import Inventory
from faults.lab import until

from operations.conftest import Operator
from operations.moving import Topic, ids, written

pytestmark = pytest.mark.campaign
PYTHON, FOLDER, UNIT = "/opt/rebalance-timer", "/srv/rebalance-timer", "millrace-rebalance"
FILES = "/usr/local/lib/millrace-rebalance.pyz /etc/millrace-rebalance.json /etc/systemd/system/millrace-rebalance.*"
WORDS = 'on_calendar: "Sun 03:00", rate: 300KB'
LIBRARIES = ("kafka", "kazoo", "confluent_kafka*", "cryptography", "cffi", "_cffi_backend*", "pycparser")


def put(inventory: Inventory, host: str, path: str, data: bytes) -> None:
    """Write a file that its owner alone reads, and its folder."""
    folder = path.rpartition("/")[0]
    text = base64.b64encode(data).decode()
    inventory.run(host, f"mkdir -p {folder} && umask 077 && base64 -d >{path}", stdin=text)


def may_ask(inventory: Inventory, host: str) -> None:
    """Give a host what docs/control_node.md wants of an admin host: its libraries, and the folder of admin_files."""
    version = inventory.run(host, "python3 -c 'import sys; print(*sys.version_info[:2])'").split()
    assert version == [str(one) for one in sys.version_info[:2]], "libraries of this Python are no use on the host"
    inventory.run(host, f"python3 -m venv --without-pip {PYTHON}")
    folder = inventory.run(host, f"{PYTHON}/bin/python -c 'import site; print(site.getsitepackages()[0])'").strip()
    source, packed = Path(sysconfig.get_path("platlib")), io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in LIBRARIES:
            for place in source.glob(name):
                for file in place.rglob("*") if place.is_dir() else [place]:
                    if file.is_file() and file.suffix != ".pyc":
                        archive.write(file, file.relative_to(source))
    put(inventory, host, "/run/libraries.zip", packed.getvalue())
    inventory.run(host, f"python3 -m zipfile -e /run/libraries.zip {folder}; rm /run/libraries.zip")
    for file in Path(inventory.admin_tls["certificate"]).parent.glob("*.pem"):
        put(inventory, host, f"{FOLDER}/{file.name}", file.read_bytes())


class Site:
    """The site with one of its ZooKeeper servers as admin host, which reaches brokers on both networks."""

    def __init__(self, operator: Operator) -> None:
        """Give that host what it needs."""
        self.operator, self.inventory = operator, operator.inventory
        self.host = self.inventory.hosts("zookeeper")[0]
        may_ask(self.inventory, self.host)

    def says(self, name: str, word: str) -> Path:
        """Return the inventory with an admin host, and what it says of the timer."""
        lines = f"    admin:\n      hosts: {{{self.host}: {{}}}}\n"
        more = f", rebalance_timer: {word}" if word else ""
        lines += f"      vars: {{ansible_python_interpreter: {PYTHON}/bin/python{more}}}\n"
        files = (r"\n  vars:\n", f"\n  vars:\n    admin_files: {FOLDER}\n")  # a lab's own may be below /tmp
        return self.operator.changed_inventory(name, files, (r"\n  children:\n", f"\n  children:\n{lines}"))

    def start(self, *options: str) -> int:
        """Start the service as a person does; return the exit status of its program."""
        self.inventory.run(self.host, f"systemctl start {' '.join(options)} {UNIT}", check=False, seconds=600)
        return int(self.inventory.run(self.host, f"systemctl show -P ExecMainStatus {UNIT}"))

    def said(self) -> str:
        """Return what the last run has said to the journal."""
        last = f"_SYSTEMD_INVOCATION_ID=$(systemctl show -P InvocationID {UNIT})"
        return self.inventory.run(self.host, f"journalctl --sync; journalctl -o cat {last}")


@pytest.fixture
def site(operator: Operator) -> Iterator[Site]:
    """The site; afterwards the host is no admin host any more, and has nothing of it."""
    found = Site(operator)
    yield found
    gone = operator.play("site", "--limit", found.host, inventory=found.says("without", ""))
    assert gone.code == 0, gone.output[-3000:]
    back = operator.play("site")
    assert back.code == 0, back.output[-3000:]
    found.inventory.run(found.host, f"rm -rf {PYTHON} {FOLDER}")


def test_it_prints_its_plan_and_runs_it(
    operator: Operator, site: Site, made: Callable[..., Topic], tmp_path: Path
) -> None:
    """Nothing is lost; a plan above the limit is refused; an interrupted run resumes; no other run moves meanwhile."""
    one, two, three = ids(operator)
    before = [[one, two]] * 6
    topic = made(*before)
    plain = site.says("plan", f"{{{WORDS}}}")
    installed = operator.play("site", inventory=plain)
    assert installed.code == 0, installed.output[-5000:]
    units = f"/etc/systemd/system/{UNIT}.timer /etc/systemd/system/{UNIT}.service"
    assert UNIT not in site.inventory.run(site.host, f"systemd-analyze verify {units} 2>&1")
    assert site.inventory.run(site.host, f"systemctl is-active {UNIT}.timer").strip() == "active"
    again = operator.play("site", "--limit", site.host, inventory=plain)
    assert again.code == 0 and set(again.recap("changed").values()) == {0}, again.output[-3000:]

    with written(topic, tmp_path, fill=3000):
        assert site.start() == 0, site.said()
        assert "rebalance=true: " in site.said() and "runs it" in site.said()
        assert [*topic.layout().values()] == before

        little = site.says("little", f"{{{WORDS}, run: true, at_most: 1KB}}")
        assert operator.play("site", "--limit", site.host, inventory=little).code == 0
        assert site.start() == 3 and "TOO MUCH: nothing was moved: " in site.said(), site.said()
        assert [*topic.layout().values()] == before
        page = operator.play("check", inventory=little)
        assert page.code != 0 and f"{UNIT}.service on {site.host} is failed" in page.output, page.output[-3000:]

        enough = site.says("enough", f"{{{WORDS}, run: true, at_most: 20GB}}")
        assert operator.play("site", "--limit", site.host, inventory=enough).code == 0
        site.start("--no-block")
        until("replicas are on the move", topic.on_the_move, 60)
        other = operator.play("reassign", "-e", "drain=3", "-e", "rate=300KB", inventory=enough)
        assert other.code != 0 and re.search(rf"{UNIT}\.service,\s+pid", other.output), other.output[-3000:]
        site.inventory.run(site.host, f"systemctl stop {UNIT}")
        assert "STOPPED: the next run resumes" in site.said()
        assert topic.limits()
        assert site.start() == 0, site.said()
        assert "resumes an interrupted run" in site.said()
        assert {broker for replicas in topic.moved().values() for broker in replicas} == {one, two, three}
        assert topic.limits() == []
        assert site.start() == 0 and "rebalance=true: nothing to move" in site.said(), site.said()

    healthy = operator.play("check", inventory=enough)
    assert healthy.code == 0 and f"{UNIT}.timer" in healthy.output, healthy.output[-3000:]
    gone = operator.play("site", "--limit", site.host, inventory=site.says("gone", ""))
    assert gone.code == 0, gone.output[-3000:]
    assert site.inventory.run(site.host, f"ls {FILES} 2>/dev/null", check=False) == ""
    assert UNIT not in site.inventory.run(site.host, "systemctl list-units --all --plain --no-legend 'millrace-*'")
