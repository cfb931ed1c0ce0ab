"""What the model check costs: calls of Python, which are the same on a busy machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from unit.effort import calls

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.pki import Pki
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec
from model.mistakes.base import VAULT
from model.said import check

QUICK = {"pki_key": "ec-p256", "pki_authority_key": "ec-p256", "accept_risks": ["AUTHORITY_KEYS"]}


def large(folder: Path, brokers: int) -> Path:
    """Return an inventory of some brokers in four racks and 7 ZooKeeper servers, wired as dc1."""
    folder.mkdir()
    lines = [
        "plugin: millrace.kafka.site",
        "all:",
        "  vars:",
        "    organization: example",
        "    kafka_log_dirs: [/data/kafka1, /data/kafka2, /data/kafka3]",
        "    layout: single",
        "    datacenter: dc1",
        "    client_network: 198.19.0.0/24",
        "    replication_network: 198.19.1.0/24",
    ]
    lines += ["    archives: /srv", "  children:"]
    for group, name, number, count, first in (
        ("zookeeper", "zookeeper_id", "zk", 7, 0),
        ("kafka", "kafka_broker_id", "kafka", brokers, 100),
    ):
        lines += [f"    {group}:", "      hosts:"]
        for n in range(1, count + 1):
            address = f"client_address: 198.19.0.{first + n}, replication_address: 198.19.1.{first + n}"
            lines.append(f"        dc1-{number}{n}: {{{name}: {n}, rack: r{n % 4}, {address}}}")
    (folder / "hosts.yml").write_text("\n".join(lines) + "\n")
    return folder


def certify(inventory: Path, extra: Mapping[str, Any]) -> None:
    """Make the certificates of all hosts, as a first run does."""
    model, spec = load(inventory, extra).read(), argument_spec("pki")
    for host, values in model.hosts.items():
        settings = (
            ArgumentSpecValidator(spec)
            .validate({name: values[name] for name in spec if name in values})
            .validated_parameters
        )
        Pki(host, {name.removeprefix("pki_"): value for name, value in settings.items()}, check_mode=False).converge()


def test_calls_grow_with_the_number_of_brokers(tmp_path: Path) -> None:
    """From 15 to 25 brokers as many are added as from 5 to 15, or a tenth more, certificates included."""

    def checked(brokers: int) -> int:
        extra = {"vault": VAULT, "pki_directory": str(tmp_path / f"pki{brokers}"), **QUICK}
        inventory = large(tmp_path / str(brokers), brokers)
        certify(inventory, extra)
        assert len(list((tmp_path / f"pki{brokers}").rglob("*/dc1-*/*.pem"))) == brokers * 3 + 7 * 2 + 2
        return calls(check, inventory, extra)

    checked(2)  # what is read once for all
    few, some, many = (checked(brokers) for brokers in (5, 15, 25))
    assert many - some < 1.1 * (some - few), (few, some, many)
