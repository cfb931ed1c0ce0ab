"""support.yml collects what helps to find the cause of a failure, without a secret."""

import base64
import json
import re
import tarfile
import uuid
from pathlib import Path

from faults.inventory import Inventory

from operations.conftest import Operator
from operations.test_secrets import keys, leaks, passwords

UNIT = "millrace-planted"
OF_HOSTS = ("journal.txt", "system/versions.txt", "system/units.txt", "system/disks.txt", "system/listening.txt")
OF_GROUPS = {
    "kafka": ("etc/kafka/server.properties", "etc/systemd/system/kafka.service", "etc/nftables.d/millrace.nft"),
    "zookeeper": ("etc/zookeeper/zoo.cfg", "etc/systemd/system/zookeeper.service", "etc/nftables.d/millrace.nft"),
    "spark": ("etc/systemd/system/spark-job@.service",),
}


def texts_of(archive: Path) -> dict[str, bytes]:
    """Return the content of each file in the archive, by its path below the folder of the bundle."""
    with tarfile.open(archive) as found:
        members = {one.name.removeprefix("support/"): found.extractfile(one) for one in found.getmembers()}
        return {name: stream.read() for name, stream in members.items() if stream}


def vault_with(inventory: Inventory, canary: str, file: Path) -> Path:
    """Write variables that add a secret to the vault of the lab, which no host has in its files."""
    assert inventory.lab_directory
    known = passwords(inventory.lab_directory)
    vault = {"pki_passphrase": known.pop("pki_passphrase"), "passwords": {**known, "canary": canary}}
    file.touch(0o600)
    file.write_text(json.dumps({"vault": vault}))
    return file


def test_a_bundle_of_all_hosts(operator: Operator, tmp_path: Path) -> None:
    """The files of each host, the cluster, the page; a secret that a host logged in Base64 is found and named."""
    inventory, archive = operator.inventory, tmp_path / "support.tar.gz"
    assert inventory.lab_directory is not None
    canary, broker = f"canary-{uuid.uuid4().hex}", inventory.hosts("kafka")[0]
    encoded = base64.b64encode(f"a:{canary}".encode()).decode()
    inventory.run(
        broker, f"systemd-run --quiet --wait --unit={UNIT} --description=planted echo planted {encoded} {canary}"
    )
    settings = vault_with(inventory, canary, tmp_path / "vault.json")
    run = operator.play("support", "-vvv", "-e", f"@{settings}", "-e", f"file={archive}", "-e", "since=-2h")
    assert run.code == 0, run.output[-3000:]
    assert archive.stat().st_mode & 0o777 == 0o600
    assert sum(run.recap("changed").values()) == 0

    found = texts_of(archive)
    for host in inventory.hosts("all"):
        assert [name for name in OF_HOSTS if not found[f"hosts/{host}/{name}"].strip()] == []
    for group, names in OF_GROUPS.items():
        for host in inventory.hosts(group):
            assert [name for name in names if f"hosts/{host}/files/{name}" not in found] == []
    properties = found[f"hosts/{broker}/files/etc/kafka/server.properties"].decode()
    assert "\nbroker.id=" in f"\n{properties}"
    assert b"ActiveState=active" in found[f"hosts/{broker}/system/units.txt"]
    assert [name for name in found if "/tls/" in name or name.endswith((".pem", ".env"))] == []
    cluster = json.loads(found["cluster/cluster.json"])
    assert len(cluster["brokers"]) == len(inventory.hosts("kafka"))
    assert all(partition["isr"] for topic in cluster["topics"] for partition in topic["partitions"])
    assert isinstance(json.loads(found["cluster/groups.json"])["groups"], list)
    assert set(json.loads(found["check/page.json"])["zookeeper"]) == set(inventory.hosts("zookeeper"))

    manifest = found["MANIFEST"].decode()
    assert f"hosts/{broker}/journal.txt  vault[passwords][canary]: 2 times" in manifest
    assert re.search(rf"^{broker}  /etc/kafka/tls/\S+: a key, a certificate or a keystore$", manifest, re.MULTILINE)
    assert b"planted (removed) (removed)" in found[f"hosts/{broker}/journal.txt"]
    secrets = {**passwords(inventory.lab_directory), **keys(inventory.lab_directory), "canary": canary}
    assert leaks(secrets, found) == []
    assert leaks(secrets, {"output": run.output.encode()}) == []


def test_some_hosts_in_check_mode(operator: Operator, tmp_path: Path) -> None:
    """A limit chooses, and a check run writes the archive too; what only a broker tells is named as missing."""
    archive, server = tmp_path / "support.tar.gz", operator.inventory.hosts("zookeeper")[0]
    run = operator.play("support", "--check", "--limit", server, "-e", f"file={archive}")
    assert run.code == 0, run.output[-3000:]
    found = texts_of(archive)
    assert {name.split("/")[1] for name in found if name.startswith("hosts/")} == {server}
    assert "site  cluster.json: " in found["MANIFEST"].decode()
