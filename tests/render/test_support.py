"""support.yml on an inventory of the project, on hosts that answer and a network that does not."""

import base64
import json
import subprocess
import tarfile
from pathlib import Path
from urllib.parse import quote

import pytest
from model.mistakes.base import VAULT

from render.site import ROOT, control_node, make_archives, run_playbooks

LAB = ROOT / "inventories" / "lab"
CANARY = "canary/9f3c+52 d7&1e"
KEY = "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n"


def texts_of(archive: Path) -> dict[str, str]:
    """Return the text of each file in the archive, by its path below the folder of the bundle."""
    with tarfile.open(archive) as found:
        members = {one.name.removeprefix("support/"): found.extractfile(one) for one in found.getmembers()}
        return {name: stream.read().decode() for name, stream in members.items() if stream}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Run the playbook once, on hosts of which one does not answer; return the run, and the archive."""
    folder = tmp_path_factory.mktemp("support")
    make_archives(folder / "archives")
    (folder / "pki").mkdir()
    (folder / "pki" / "ca.key").write_text(KEY.format("\n".join(f"{number}Line0fAKey" * 5 for number in range(5))))
    files = folder / "files"
    files.mkdir()
    (files / "server.properties").write_text("broker.id=1\nssl.key.password=of the file\n")
    (files / "job.env").write_text(f"PASSWORD={CANARY}\n")
    middle = "2Line0fAKey" * 5
    nested = base64.b64encode(f"user:{CANARY}".encode()).decode()
    settings = {
        **control_node(LAB, folder),
        "pki_directory": str(folder / "pki"),
        "noted_unreachable": ["dc1-kafka2"],
        "noted_files": str(files),
        "noted_texts": {
            "journal.txt": f"told {CANARY} and again {quote(CANARY, safe='')}, {nested}.\nthe next line\n",
            "system/key.txt": f"a line: {middle}\n",
            "../../outside.txt": "stays below the folder of its host\n",
        },
    }
    settings["vault"] = {**VAULT, "passwords": {**VAULT["passwords"], "canary": CANARY}}
    archive = folder / "support.tar.gz"
    options = ("-e", json.dumps(settings), "-e", f"file={archive}", "-vvv")
    return run_playbooks(LAB, ["playbooks/support.yml"], *options), archive


def test_what_is_written(run: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    """A host that does not answer is named; everything else is there."""
    done, archive = run
    assert done.returncode == 0, done.stdout
    assert archive.stat().st_mode & 0o777 == 0o600
    found = texts_of(archive)
    hosts = {name.split("/")[1] for name in found if name.startswith("hosts/")}
    expected = {"dc1-zk1", "dc1-zk2", "dc1-zk3", "dc1-kafka1", "dc1-kafka3", "dc1-spark1", "dc1-spark2"}
    assert hosts == expected
    manifest = found["MANIFEST"]
    assert "dc1-kafka2  everything: does not answer" in manifest
    assert "dc1-kafka2: does not answer" in done.stdout
    assert "/files/job.env: the file may consist of secrets" in manifest
    assert json.loads(found["check/page.json"])["zookeeper"]["dc1-zk1"] == "leader"
    assert "dc1-kafka2 does not answer" in found["check/page.txt"]
    assert "site  cluster.json: " in manifest  # no network
    assert "hosts/dc1-zk1/outside.txt" in found
    properties = [text for name, text in found.items() if name.endswith("/server.properties")]
    assert properties == ["broker.id=1\nssl.key.password=(removed)\n"] * 7


def test_no_secret_of_the_inventory(run: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    """Neither in the archive nor in the output with -vvv; the manifest names the variable."""
    done, archive = run
    found = texts_of(archive)
    assert found["hosts/dc1-zk1/journal.txt"] == "told (removed) and again (removed), (removed).\nthe next line\n"
    assert found["hosts/dc1-zk1/system/key.txt"] == "(removed)\n"
    assert "hosts/dc1-zk1/journal.txt  vault[passwords][canary]: 3 times" in found["MANIFEST"]
    assert "of the file" not in "".join(found.values()) + done.stdout
    task = done.stdout.partition("TASK [Read the host]")[2]
    assert task and "the next line" not in task
