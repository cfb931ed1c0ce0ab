"""What a wrong inventory is, how it is made of a right one, and what several tables share."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from made_archives import made_archives

THERE = [{"name": name, "manage": False} for name in ("streams-plaintext-input", "streams-wordcount-output")]
"""Topics of the lab that its jobs want."""
INVENTORIES = Path(__file__).resolve().parents[3] / "inventories"
# What a site keeps in a file that ansible-vault encrypts.
VAULT: dict[str, Any] = {
    "pki_passphrase": "Ohg4ieXeipha",
    "passwords": {
        "lab": "eeNg3ahthi4y",
        "publish_lines": "ib5Ohquail1e",
        "count_words": "Wae1aequ6ei0",
        "generate_orders": "Quoh4ooShie3",
        "project_orders": "aiW4ahNgie7o",
        "mirror_dc2": "Eiz6ahKoo9ch",
        "mirror_maker": "uch4Thoh7Aiz",
        "monitoring": "Thoo6ahCh8ei",
    },
    "spark_cluster_secret": "ooNgo8shie4Oof1Ahquei3eiShooWuo7",
    "database_passwords": {"orders_owner": "eiPh0ahs8Aes", "project_orders": "Nae5oofuThoo"},
}


@dataclass(frozen=True)
class Mistake:
    """A copy of an inventory with something changed, and the one code that has to be said of it."""

    code: str
    where: str
    advice: str
    """A part of the advice."""
    hosts: Mapping[str, str] = field(default_factory=dict)
    """Texts of hosts.yml and what stands there instead; each has to be there."""
    variables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Variables by the group or host that gets them."""
    files: Mapping[str, str] = field(default_factory=dict)
    """More files of the inventory."""
    also: frozenset[str] = frozenset()
    """Codes of what follows from the same change."""
    inventory: str = "lab"
    extra: Mapping[str, Any] = field(default_factory=lambda: {"vault": VAULT})
    """Variables from the command line."""


LAB = Mistake("", "", "")  # a copy of the lab as it is


def spoil(folder: Path, mistake: Mistake) -> Path:
    """Return a copy of the mistake's inventory, in a folder that does not exist yet, with the mistake in it."""
    source = INVENTORIES / mistake.inventory
    shutil.copytree(source, folder)
    for file in sorted((folder / "group_vars").glob("*.yml")):
        (folder / "group_vars" / file.stem).mkdir()
        file.rename(folder / "group_vars" / file.stem / "a.yml")
    path = folder / "hosts.yml"
    text = re.sub(r"\{\{ inventory_dir }}(/\.\.)+/\.lab", str(folder.parent / ".lab"), path.read_text(encoding="utf-8"))
    text = re.sub(r"\{\{ inventory_dir }}(/\.\.)+/\.build/archives", str(made_archives()), text)
    text = re.sub(r"\{\{ inventory_dir }}(/\.\.)+", str(INVENTORIES.parent), text)
    for old, new in mistake.hosts.items():
        assert old in text, f"{mistake.code}: hosts.yml of {mistake.inventory} has no {old!r}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    for name, text in mistake.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name, values in mistake.variables.items():
        place = folder / ("host_vars" if "-" in name else "group_vars") / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "z.yml").write_text(yaml.safe_dump(dict(values), sort_keys=False), encoding="utf-8")
    return folder


def kafka(**values: Any) -> dict[str, dict[str, Any]]:
    """Return variables of all brokers."""
    return {"kafka": values}


def config(name: str, value: Any, group: str = "kafka") -> dict[str, dict[str, Any]]:
    """Return one property of all brokers, or of all ZooKeeper servers."""
    return {group: {f"{group}_config": {name: value}}}


def zookeeper(**values: Any) -> dict[str, dict[str, Any]]:
    """Return variables of all ZooKeeper servers."""
    return {"zookeeper": values}


def listeners(**changes: Any) -> list[dict[str, Any]]:
    """Return the lab's listeners, with changes to the first."""
    first = {"name": "CLIENT", "address": "{{ client_address }}", "port": 9092, "protocol": "SASL_SSL"}
    rules = ["RULE:^CN=[^,]+,OU=brokers,O=lab$/kafka-broker/", "RULE:^CN=([^,]+),OU=admins,O=lab$/$1/"]
    second = {
        "name": "REPLICATION",
        "address": "{{ replication_address }}",
        "port": 9093,
        "protocol": "SSL",
        "principal_mapping_rules": rules,
    }
    return [{**first, **changes}, second]


def login(user: str, password: str) -> str:
    """Return the client properties of a job with a user's login; `password` is its name in the vault."""
    return f"{{{{ kafka_client | combine(vault.passwords.{password} | millrace.kafka.scram_login('{user}')) }}}}"


ZK3 = "        dc1-zk3: {zookeeper_id: 3, client_address: 198.18.1.13, replication_address: 198.18.2.13}\n"
JOB: dict[str, Any] = {
    "name": "count_words",
    "config": {
        "input_topic": "streams-plaintext-input",
        "output_topic": "streams-wordcount-output",
        "kafka": login("count_words", "count_words"),
        "checkpoint": "/var/lib/spark-job/count_words/checkpoint",
    },
}
ALL, BROKERS, SERVERS = "group all", "group kafka", "group zookeeper"  # who says it
