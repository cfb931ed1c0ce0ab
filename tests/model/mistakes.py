"""One wrong inventory for each code that preflight can say of an inventory: what was changed, and where it has to be said.

docs/errors.md is made from this table (tests/generate_errors.py).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

INVENTORIES = Path(__file__).resolve().parents[2] / "inventories"
# What a site keeps in a file that ansible-vault encrypts.
VAULT: dict[str, Any] = {
    "pki_passphrase": "Ohg4ieXeipha",
    "passwords": {"lab": "eeNg3ahthi4y", "publish_lines": "ib5Ohquail1e", "count_words": "Wae1aequ6ei0"},
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
    also: frozenset[str] = frozenset()
    """Codes of what follows from the same change."""
    inventory: str = "lab"
    extra: Mapping[str, Any] = field(default_factory=lambda: {"vault": VAULT})
    """Variables from the command line."""


def spoil(folder: Path, mistake: Mistake) -> Path:
    """Return a copy of the mistake's inventory, in a folder that does not exist yet, with the mistake in it."""
    source = INVENTORIES / mistake.inventory
    shutil.copytree(source, folder)
    for file in sorted((folder / "group_vars").glob("*.yml")):
        (folder / "group_vars" / file.stem).mkdir()
        file.rename(folder / "group_vars" / file.stem / "a.yml")
    path = folder / "hosts.yml"
    text = re.sub(r"\{\{ inventory_dir }}(/\.\.)+/\.lab", str(folder.parent / ".lab"), path.read_text(encoding="utf-8"))
    text = re.sub(r"\{\{ inventory_dir }}(/\.\.)+", str(INVENTORIES.parent), text)
    for old, new in mistake.hosts.items():
        assert old in text, f"{mistake.code}: hosts.yml of {mistake.inventory} has no {old!r}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
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
    second = {"name": "REPLICATION", "address": "{{ replication_address }}", "port": 9093, "protocol": "SSL", "principal_mapping_rules": rules}
    return [{**first, **changes}, second]


ZK3 = "        dc1-zk3: {zookeeper_id: 3, client_address: 198.18.1.13, replication_address: 198.18.2.13}\n"
KAFKA3 = "        dc1-kafka3: {kafka_broker_id: 3, client_address: 198.18.1.23, replication_address: 198.18.2.23}\n"
NO_ZK3 = {ZK3: "", "{dc1-zk3: {}, dc1-kafka3: {}}": "{dc1-kafka3: {}}"}
NO_KAFKA3 = {KAFKA3: "", "{dc1-zk3: {}, dc1-kafka3: {}}": "{dc1-zk3: {}}"}
JOB: dict[str, Any] = {
    "name": "count_words",
    "config": {
        "input_topic": "streams-plaintext-input",
        "output_topic": "streams-wordcount-output",
        "kafka": "{{ kafka_client | combine(vault.passwords.count_words | scram_login('count_words')) }}",
        "checkpoint": "/var/lib/spark-job/count_words/checkpoint",
    },
}
BROKERS, SERVERS = "group kafka", "group zookeeper"

MISTAKES: tuple[Mistake, ...] = (
    # Words
    Mistake("VARIABLE_UNKNOWN", f"{BROKERS}/kafka_heep", "did you mean kafka_heap?", variables=kafka(kafka_heep="1g")),
    Mistake(
        "VARIABLE_SUSPECT",
        "dc1-kafka1/replication_adress",
        "did you mean replication_address?",
        variables={"dc1-kafka1": {"replication_adress": "198.18.2.21"}},
        hosts={", replication_address: 198.18.2.21": ""},
        also=frozenset({"ADDRESS_MISSING"}),
    ),
    Mistake(
        "SECRET_DEFAULT",
        f"{BROKERS}/kafka_client_properties[ssl.key.password]",
        "vaulted file",
        variables=kafka(kafka_client_properties={"ssl.key.password": "changeme"}),
        also=frozenset({"SECRET_CLEAR"}),
    ),
    Mistake(
        "SECRET_CLEAR",
        f"{BROKERS}/kafka_client_properties[ssl.key.password]",
        "ansible-vault encrypt_string",
        variables=kafka(kafka_client_properties={"ssl.key.password": "Guoph0Eeshi7"}),
    ),
    Mistake(
        "NOT_COMPUTED",
        f"{BROKERS}/kafka_archive",
        "set what it stands on",
        variables=kafka(kafka_archive="{{ archive_folder }}/kafka.tgz"),
        also=frozenset(),
    ),
    Mistake("INPUT_REFUSED", f"{BROKERS}/kafka_limit_nofile", "roles/kafka/README.md", variables=kafka(kafka_limit_nofile="many")),
    Mistake("INPUT_NOT_A_LIST", f"{BROKERS}/kafka_log_dirs", "roles/kafka/README.md", variables=kafka(kafka_log_dirs="/data/kafka1")),
    # Identity
    Mistake(
        "HOST_WITHOUT_FUNCTION",
        "dc1-kafka4",
        "put it into its function group",
        hosts={"    rack_a:\n": "    kafak:\n      hosts: {dc1-kafka4: {client_address: 198.18.1.24}}\n    rack_a:\n"},
    ),
    Mistake(
        "GROUP_EMPTY",
        "group zookeeper",
        "declare the ensemble's hosts",
        hosts={"    zookeeper:\n": "    zookeepers:\n"},
        also=frozenset({"HOST_WITHOUT_FUNCTION"}),
    ),
    Mistake(
        "COLOCATED",
        "dc1-kafka3",
        "allow_colocated: true",
        hosts={ZK3: "        dc1-kafka3: {zookeeper_id: 3}\n", "{dc1-zk3: {}, dc1-kafka3: {}}": "{dc1-kafka3: {}}"},
        also=frozenset({"KEYSTORE_UNKNOWN", "TRUSTSTORE_UNKNOWN"}),
    ),
    Mistake("KAFKA_ID_MISSING", "dc1-kafka2/kafka_broker_id", "an id of its own", hosts={"kafka_broker_id: 2, ": ""}),
    Mistake("KAFKA_ID_RANGE", "dc1-kafka2/kafka_broker_id", "an id of its own", hosts={"kafka_broker_id: 2": "kafka_broker_id: 1001"}),
    Mistake("KAFKA_ID_DUPLICATE", "dc1-kafka1, dc1-kafka2/kafka_broker_id", "an id of its own", hosts={"kafka_broker_id: 2": "kafka_broker_id: 1"}),
    Mistake("ZOOKEEPER_ID_MISSING", "dc1-zk2/zookeeper_id", "an id of its own", hosts={"zookeeper_id: 2, ": ""}),
    Mistake("ZOOKEEPER_ID_RANGE", "dc1-zk2/zookeeper_id", "an id of its own", hosts={"zookeeper_id: 2": "zookeeper_id: 0"}),
    Mistake("ZOOKEEPER_ID_DUPLICATE", "dc1-zk1, dc1-zk3/zookeeper_id", "an id of its own", hosts={"zookeeper_id: 3": "zookeeper_id: 1"}),
    Mistake("DATACENTER_MISSING", "groups zookeeper and kafka/datacenter", "a group of hosts", hosts={"    datacenter: dc1\n": ""}),
    Mistake(
        "DATACENTER_TYPO", "dc2-spark1/datacenter", "did you mean dc1?", inventory="lab_stretch2", variables={"dc2-spark1": {"datacenter": "dc11"}}
    ),
    Mistake(
        "LAYOUT_DATACENTERS",
        "layout",
        "correct layout or datacenter",
        hosts={"layout: stretch2": "layout: stretch3"},
        inventory="lab_stretch2",
        also=frozenset({"MIN_ISR_STOPS"}),
    ),
    Mistake(
        "DATACENTER_WITHOUT_ZOOKEEPER",
        "dc3-kafka1, dc3-kafka2/datacenter",
        "servers wherever it has brokers",
        inventory="lab_stretch3",
        variables={"dc3-zk1": {"datacenter": "dc2"}},
        also=frozenset({"ZOOKEEPER_DATACENTER_MAJORITY"}),
    ),
    Mistake("RACK_MISSING", "dc1-kafka2/kafka_rack", "rack_* group", hosts={"{dc1-zk2: {}, dc1-kafka2: {}}": "{dc1-zk2: {}}"}),
    Mistake("RACK_SINGLE", f"{BROKERS}/kafka_rack", "failure domains", variables=kafka(kafka_rack="{{ datacenter }}")),
    Mistake("RACK_UNEVEN", "kafka_rack", "same number of brokers", variables={"dc1-kafka3": {"rack": "b"}}),
    Mistake(
        "RACK_TOO_MANY",
        "kafka_rack",
        "let the datacenter be the rack",
        inventory="stretch2",
        variables=kafka(kafka_rack="{{ inventory_hostname }}"),
        also=frozenset({"MIN_ISR_TOO_LOW"}),
    ),
    Mistake(
        "RACK_IN_TWO_DATACENTERS",
        "dc1-kafka1, dc2-kafka1/kafka_rack",
        "begin its name with the datacenter's",
        inventory="lab_stretch2",
        variables={
            "dc1-kafka1": {"kafka_rack": "a"},
            "dc2-kafka1": {"kafka_rack": "a"},
            "dc1-kafka2": {"kafka_rack": "b"},
            "dc2-kafka2": {"kafka_rack": "c"},
        },
        also=frozenset({"RACK_UNEVEN"}),
    ),
    Mistake(
        "RACK_TYPO",
        "dc1-kafka3/rack",
        "did you mean south?",
        variables={
            "dc1-kafka1": {"rack": "north"},
            "dc1-zk1": {"rack": "north"},
            "dc1-kafka2": {"rack": "south"},
            "dc1-zk2": {"rack": "south"},
            "dc1-kafka3": {"rack": "soutth"},
            "dc1-zk3": {"rack": "south"},
        },
    ),
    # Networks
    Mistake("ADDRESS_MISSING", "dc1-kafka2/replication_address", "host's line", hosts={", replication_address: 198.18.2.22": ""}),
    Mistake("ADDRESS_INVALID", "dc1-kafka2/replication_address", "198.51.100.7", hosts={"198.18.2.22": "198.18.2.222.2"}),
    Mistake("ADDRESS_OUTSIDE", "dc1-kafka2/replication_address", "correct the address", hosts={"198.18.2.22": "198.18.3.22"}),
    Mistake("ADDRESS_RESERVED", "dc1-kafka2/replication_address", "address of its own", hosts={"198.18.2.22": "198.18.2.255"}),
    Mistake("ADDRESS_DUPLICATE", "dc1-kafka1, dc1-kafka3", "give each its own", hosts={"198.18.2.23": "198.18.2.21"}),
    Mistake(
        "NETWORK_MISSING", "groups zookeeper and kafka/replication_network", "198.51.100.0/24", hosts={"    replication_network: 198.18.2.0/24\n": ""}
    ),
    Mistake("NETWORK_INVALID", "groups zookeeper and kafka/replication_network", "198.51.100.0/24", hosts={"198.18.2.0/24": "198.18.2.1/24"}),
    Mistake("NETWORK_OVERLAP", "client_network", "a subnet of its own", hosts={"198.18.1.0/24": "198.18.0.0/22"}),
    Mistake(
        "PORT_CLASH",
        BROKERS,
        "another port",
        variables=kafka(kafka_listeners=listeners(port=22)),
        also=frozenset({"BOOTSTRAP_UNKNOWN", "FIREWALL_SSH"}),
    ),
    Mistake("PORT_RANGE", BROKERS, "correct it", variables=kafka(kafka_listeners=listeners(port=90920)), also=frozenset({"BOOTSTRAP_UNKNOWN"})),
    Mistake(
        "LISTENER_DUPLICATE",
        f"{BROKERS}/kafka_listeners",
        "a name of its own",
        variables=kafka(kafka_listeners=[*listeners(), {**listeners()[0], "port": 9094}]),
    ),
    Mistake(
        "LISTENER_ADVERTISED",
        f"{BROKERS}/kafka_listeners[CLIENT]",
        "set advertised_address",
        variables=kafka(kafka_listeners=listeners(address="0.0.0.0")),
        also=frozenset({"BOOTSTRAP_UNKNOWN"}),
    ),
    Mistake(
        "LISTENER_ADDRESS",
        f"{BROKERS}/kafka_listeners[CLIENT]",
        "client_address or replication_address",
        variables=kafka(kafka_listeners=listeners(address="198.18.1.99", advertised_address="{{ client_address }}")),
        also=frozenset({"CERTIFICATE_NAMES"}),
    ),
    Mistake(
        "LISTENER_PLAINTEXT",
        f"{BROKERS}/kafka_listeners[CLIENT]",
        "SSL or SASL_SSL",
        variables=kafka(site_environment="production", kafka_listeners=listeners(protocol="PLAINTEXT")),
    ),
    Mistake(
        "LISTENER_UNKNOWN", f"{BROKERS}/kafka_inter_broker_listener", "name one of them", variables=kafka(kafka_inter_broker_listener="REPLICATE")
    ),
    Mistake(
        "LISTENER_NETWORK",
        f"{BROKERS}/kafka_inter_broker_listener",
        "replication_address",
        variables=kafka(kafka_inter_broker_listener="CLIENT"),
        also=frozenset({"LISTENER_CLIENT_CA", "FIREWALL_PEER"}),
    ),
    # The firewall
    Mistake(
        "FIREWALL_SSH",
        f"{BROKERS}/base_firewall_rules[22]",
        "take the rule out",
        variables=kafka(base_firewall_rules=[{"port": 22, "from": ["198.18.1.0/24"]}]),
    ),
    Mistake(
        "FIREWALL_PORT",
        f"{BROKERS}/base_firewall_rules[90920]",
        "correct it",
        variables=kafka(base_firewall_rules=[{"port": 90920, "from": ["198.18.1.0/24"]}]),
    ),
    Mistake(
        "FIREWALL_SOURCE",
        f"{BROKERS}/base_firewall_rules[9092]",
        "firewall_extra_sources",
        variables=kafka(firewall_extra_sources={"client": ["198.18.7.1/24"]}),
    ),
    Mistake(
        "FIREWALL_PEER",
        "dc1-kafka1/base_firewall_rules[9093]",
        "group_vars/all/firewall.yml",
        variables={"dc1-kafka1": {"base_firewall_rules": [{"port": 9093, "from": ["198.18.2.22", "198.18.1.0/24"]}]}},
    ),
    Mistake(
        "FIREWALL_CLIENTS",
        "groups zookeeper and kafka/firewall_sources",
        "set client_network",
        hosts={"    client_network: 198.18.1.0/24\n": ""},
        also=frozenset({"NETWORK_MISSING", "FIREWALL_PEER"}),
    ),
    # The ensemble
    Mistake(
        "ZOOKEEPER_SINGLE",
        SERVERS,
        "3, 5 or 7 servers",
        hosts={
            **NO_ZK3,
            "        dc1-zk2: {zookeeper_id: 2, client_address: 198.18.1.12, replication_address: 198.18.2.12}\n": "",
            "{dc1-zk2: {}, dc1-kafka2: {}}": "{dc1-kafka2: {}}",
        },
    ),
    Mistake("ZOOKEEPER_EVEN", SERVERS, "3, 5 or 7 servers", hosts=NO_ZK3),
    Mistake(
        "ZOOKEEPER_MANY",
        SERVERS,
        "zookeeper_observers",
        hosts={
            ZK3: ZK3
            + "".join(
                f"        dc1-zk{n}: {{zookeeper_id: {n}, client_address: 198.18.1.{60 + n}, replication_address: 198.18.2.{60 + n}}}\n"
                for n in range(4, 10)
            )
        },
    ),
    Mistake(
        "ZOOKEEPER_GROUPS_MISSING",
        "zookeeper_groups",
        "one group for each datacenter",
        variables=zookeeper(zookeeper_groups={}),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_DATACENTER_MAJORITY",
        SERVERS,
        "no datacenter holds half",
        hosts={
            "        dc3-zk1:": "        dc1-zk2:"
            " {zookeeper_id: 4, client_address: 198.18.55.14, replication_address: 198.18.56.14, datacenter: dc1}\n"
            "        dc1-zk3: {zookeeper_id: 5, client_address: 198.18.55.15, replication_address: 198.18.56.15, datacenter: dc1}\n        dc3-zk1:"
        },
        inventory="lab_stretch3",
    ),
    Mistake("ZOOKEEPER_OBSERVER_UNKNOWN", f"{SERVERS}/zookeeper_observers", "correct the id", variables=zookeeper(zookeeper_observers=[9])),
    Mistake(
        "ZOOKEEPER_WEIGHT_UNKNOWN",
        f"{SERVERS}/zookeeper_weights[9]",
        "correct the id",
        variables=zookeeper(zookeeper_weights={9: 2}),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_WEIGHT_RANGE",
        f"{SERVERS}/zookeeper_weights[1]",
        "correct the weight",
        variables=zookeeper(zookeeper_weights={1: -1}),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_GROUP_UNKNOWN",
        f"{SERVERS}/zookeeper_groups[2]",
        "correct the id",
        variables=zookeeper(zookeeper_groups={1: [1, 2, 3], 2: [4, 5, 9]}),
        inventory="lab_stretch2",
        also=frozenset({"ZOOKEEPER_GROUP_NONE"}),
    ),
    Mistake(
        "ZOOKEEPER_GROUP_OBSERVER",
        f"{SERVERS}/zookeeper_groups[2]",
        "out of the group",
        variables=zookeeper(zookeeper_observers=[6]),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_GROUP_NONE",
        "dc2-zk3/zookeeper_groups",
        "datacenter's group",
        variables=zookeeper(zookeeper_groups={1: [1, 2, 3], 2: [4, 5]}),
        inventory="lab_stretch2",
        also=frozenset({"ZOOKEEPER_GROUP_EVEN", "ZOOKEEPER_GROUP_SIZES"}),
    ),
    Mistake(
        "ZOOKEEPER_GROUP_TWICE",
        "dc1-zk3/zookeeper_groups",
        "leave it in one",
        variables=zookeeper(zookeeper_groups={1: [1, 2, 3], 2: [3, 4, 5]}),
        inventory="lab_stretch2",
        also=frozenset({"ZOOKEEPER_GROUP_NONE", "ZOOKEEPER_GROUP_MIXED"}),
    ),
    Mistake(
        "ZOOKEEPER_GROUP_EVEN",
        f"{SERVERS}/zookeeper_groups[1]",
        "odd number",
        variables=zookeeper(zookeeper_groups={1: [1, 2], 2: [4, 5]}, zookeeper_observers=[3, 6]),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_GROUP_SIZES",
        f"{SERVERS}/zookeeper_groups",
        "the same number",
        variables=zookeeper(zookeeper_groups={1: [1, 2, 3], 2: [4]}, zookeeper_observers=[5, 6]),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_GROUP_MIXED",
        f"{SERVERS}/zookeeper_groups[1]",
        "one group for each datacenter",
        variables=zookeeper(zookeeper_groups={1: [1, 2, 4], 2: [3, 5, 6]}),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_SERVERS_DIFFER", "dc1-zk2/zookeeper_servers", "for the group, not for a host", variables={"dc1-zk2": {"zookeeper_observers": [3]}}
    ),
    Mistake(
        "ZOOKEEPER_SERVER_MISSING",
        "dc1-zk3/zookeeper_servers",
        "add its id",
        variables=zookeeper(zookeeper_servers={1: "198.18.2.11", 2: "198.18.2.12"}),
    ),
    Mistake(
        "ZOOKEEPER_SERVER_UNKNOWN",
        f"{SERVERS}/zookeeper_servers",
        "take it out",
        variables=zookeeper(zookeeper_servers={1: "198.18.2.11", 2: "198.18.2.12", 3: "198.18.2.13", 4: "198.18.2.14"}),
    ),
    Mistake(
        "ZOOKEEPER_SERVER_ADDRESS",
        "dc1-zk3/zookeeper_servers[3]",
        "declared addresses",
        variables=zookeeper(zookeeper_servers={1: "198.18.2.11", 2: "198.18.2.12", 3: "198.18.2.33"}),
    ),
    Mistake(
        "ZOOKEEPER_SESSION_RANGE", f"{SERVERS}/zookeeper_config", "correct one of them", variables=config("minSessionTimeout", 90000, "zookeeper")
    ),
    Mistake(
        "SESSION_TIMEOUT",
        f"{BROKERS}/kafka_config[zookeeper.session.timeout.ms]",
        "in that range",
        variables=config("zookeeper.session.timeout.ms", 60000),
    ),
    # Replication
    Mistake("REPLICATION_TOO_HIGH", f"{BROKERS}/kafka_replication_factor", "use 3 at most", variables=kafka(kafka_replication_factor=4)),
    Mistake(
        "REPLICATION_ONE", f"{BROKERS}/kafka_replication_factor", "use 3", variables=kafka(kafka_replication_factor=1, kafka_min_insync_replicas=1)
    ),
    Mistake("MIN_ISR_TOO_HIGH", f"{BROKERS}/kafka_min_insync_replicas", "use 2", variables=kafka(kafka_min_insync_replicas=4)),
    Mistake("MIN_ISR_EQUAL", f"{BROKERS}/kafka_min_insync_replicas", "use 2", variables=kafka(kafka_min_insync_replicas=3)),
    Mistake("MIN_ISR_ONE", f"{BROKERS}/kafka_min_insync_replicas", "use 2", variables=kafka(kafka_min_insync_replicas=1)),
    Mistake(
        "INTERNAL_TOPICS_DIFFER",
        f"{BROKERS}/kafka_config[offsets.topic.replication.factor]",
        "leave offsets.topic.replication.factor out",
        variables=config("offsets.topic.replication.factor", 2),
    ),
    Mistake(
        "UNCLEAN_ELECTION",
        f"{BROKERS}/kafka_config[unclean.leader.election.enable]",
        "by hand",
        variables=config("unclean.leader.election.enable", True),
    ),
    Mistake(
        "MIN_ISR_TOO_LOW",
        f"{BROKERS}/kafka_min_insync_replicas",
        "use 3 with a replication factor of 4",
        variables=kafka(kafka_min_insync_replicas=2),
        inventory="lab_stretch2",
    ),
    Mistake(
        "MIN_ISR_STOPS",
        f"{BROKERS}/kafka_min_insync_replicas",
        "use 2",
        inventory="lab_stretch3",
        variables=kafka(kafka_replication_factor=4, kafka_min_insync_replicas=3),
    ),
    Mistake(
        "BROKERS_DIFFER", "dc1-kafka2/kafka_zookeeper_chroot", "group_vars/kafka.yml", variables={"dc1-kafka2": {"kafka_zookeeper_chroot": "/kafka2"}}
    ),
    # Properties
    Mistake(
        "KAFKA_PROPERTY_UNKNOWN",
        f"{BROKERS}/kafka_config[min.insync.replica]",
        "did you mean min.insync.replicas?",
        variables=config("min.insync.replica", 2),
    ),
    Mistake(
        "KAFKA_PROPERTY_VALUE", f"{BROKERS}/kafka_config[num.network.threads]", "mend it, or leave it out", variables=config("num.network.threads", 0)
    ),
    Mistake(
        "ZOOKEEPER_PROPERTY_UNKNOWN",
        f"{SERVERS}/zookeeper_config[autopurge.purgeIntervall]",
        "did you mean autopurge.purgeInterval?",
        variables=config("autopurge.purgeIntervall", 24, "zookeeper"),
    ),
    Mistake(
        "ZOOKEEPER_PROPERTY_VALUE",
        f"{SERVERS}/zookeeper_config[syncLimit]",
        "mend it, or leave it out",
        variables=config("syncLimit", "five", "zookeeper"),
    ),
    Mistake(
        "CLIENT_PROPERTY_UNKNOWN",
        f"{BROKERS}/kafka_client_properties[request.timeout]",
        "did you mean request.timeout.ms?",
        variables=kafka(kafka_client_properties={"request.timeout": 5000}),
    ),
    Mistake(
        "CLIENT_PROPERTY_VALUE",
        f"{BROKERS}/kafka_client_properties[request.timeout.ms]",
        "mend it, or leave it out",
        variables=kafka(kafka_client_properties={"request.timeout.ms": "soon"}),
    ),
    Mistake("PROPERTY_TWICE", f"{BROKERS}/kafka_config[log.dirs]", "set kafka_log_dirs", variables=config("log.dirs", "/data")),
    Mistake(
        "PROPERTY_SYNONYM",
        f"{BROKERS}/kafka_config[log.retention.ms]",
        "keep one of them",
        variables=kafka(kafka_config={"log.retention.hours": 24, "log.retention.ms": 3600000}),
    ),
    Mistake(
        "PROPERTY_ORDER",
        f"{BROKERS}/kafka_config[group.min.session.timeout.ms]",
        "correct one",
        variables=config("group.min.session.timeout.ms", 2000000),
    ),
    Mistake(
        "AUTHORIZER_SUPER_USERS",
        f"{BROKERS}/kafka_config[authorizer.class.name]",
        "set super.users",
        variables=kafka(kafka_super_users=[], kafka_config={"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}),
    ),
    Mistake(
        "ZOOKEEPER_MULTIADDRESS",
        f"{SERVERS}/zookeeper_config[multiAddress.enabled]",
        "the role sets the flag",
        variables=config("multiAddress.enabled", True, "zookeeper"),
    ),
    Mistake(
        "ZOOKEEPER_RECONFIG", f"{SERVERS}/zookeeper_config[reconfigEnabled]", "take it out", variables=config("reconfigEnabled", True, "zookeeper")
    ),
    # The machine
    Mistake("LOG_DIRS_EMPTY", f"{BROKERS}/kafka_log_dirs", "at least one", variables=kafka(kafka_log_dirs=[])),
    Mistake("LOG_DIRS_DUPLICATE", f"{BROKERS}/kafka_log_dirs", "once", variables=kafka(kafka_log_dirs=["/data/kafka1", "/data/kafka1"])),
    Mistake("LOG_DIRS_PATH", f"{BROKERS}/kafka_log_dirs", "/data/kafka1", variables=kafka(kafka_log_dirs=["data/kafka1"])),
    Mistake("LOG_DIRS_NESTED", f"{BROKERS}/kafka_log_dirs", "beside each other", variables=kafka(kafka_log_dirs=["/data/kafka", "/data/kafka/2"])),
    Mistake(
        "LOG_DIRS_ZOOKEEPER",
        "dc1-kafka3/kafka_log_dirs",
        "its own file system",
        hosts={
            ZK3: "        dc1-kafka3: {zookeeper_id: 3, allow_colocated: true, kafka_log_dirs: [/data/zookeeper-log]}\n",
            "{dc1-zk3: {}, dc1-kafka3: {}}": "{dc1-kafka3: {}}",
        },
        also=frozenset({"KEYSTORE_UNKNOWN", "TRUSTSTORE_UNKNOWN"}),
    ),
    Mistake(
        "ZOOKEEPER_DIRS_SAME",
        f"{SERVERS}/zookeeper_data_log_dir",
        "a device of its own",
        variables=zookeeper(zookeeper_data_log_dir="/var/lib/zookeeper"),
    ),
    Mistake("HEAP_INVALID", f"{BROKERS}/kafka_heap", "512m or 6g", variables=kafka(kafka_heap="6 gigs")),
    Mistake("HEAP_LARGE", f"{BROKERS}/kafka_heap", "31g at most", variables=kafka(kafka_heap="48g")),
    Mistake("MEMORY_INVALID", f"{BROKERS}/memory", "64g", variables=kafka(memory="lots")),
    Mistake("HEAP_MEMORY", f"{BROKERS}/kafka_heap", "half of it", variables=kafka(memory="4g", kafka_heap="6g")),
    Mistake("HEAP_HALF", f"{BROKERS}/kafka_heap", "half of it", variables=kafka(memory="8g", kafka_heap="6g")),
    Mistake("KAFKA_VERSION", f"{BROKERS}/kafka_version", "3.9.2", variables=kafka(kafka_version="3.9.1", kafka_archive="/srv/kafka_2.13-3.9.1.tgz")),
    Mistake(
        "ZOOKEEPER_VERSION",
        f"{SERVERS}/zookeeper_version",
        "3.8.6",
        variables=zookeeper(zookeeper_version="3.8.4", zookeeper_archive="/srv/apache-zookeeper-3.8.4-bin.tar.gz"),
    ),
    Mistake("VERSION_DIFFERS", f"{BROKERS}/kafka_archive", "correct one of the two", variables=kafka(kafka_archive="/srv/kafka_2.13-3.9.1.tgz")),
    # Clients
    Mistake(
        "ZOOKEEPER_CONNECT_UNKNOWN",
        f"{BROKERS}/kafka_zookeeper_connect",
        "of the group zookeeper",
        variables=kafka(kafka_zookeeper_connect=["198.18.1.11:2281", "198.18.1.12:2281", "198.18.1.13:2281", "198.18.1.14:2281"]),
    ),
    Mistake(
        "ZOOKEEPER_CONNECT_PARTIAL",
        f"{BROKERS}/kafka_zookeeper_connect",
        "every server",
        variables=kafka(kafka_zookeeper_connect=["198.18.1.11:2281"]),
    ),
    Mistake("CHROOT_INVALID", f"{BROKERS}/kafka_zookeeper_chroot", "/kafka", variables=kafka(kafka_zookeeper_chroot="kafka")),
    Mistake(
        "BOOTSTRAP_UNKNOWN",
        "group spark/kafka_client[bootstrap.servers]",
        "a listener",
        variables={"spark": {"kafka_client": {"bootstrap.servers": "198.18.1.21:9093"}}},
        also=frozenset({"FIREWALL_PEER"}),
    ),
    Mistake(
        "ACKS_NOT_ALL",
        "group spark/kafka_client[acks]",
        "use all",
        variables={"spark": {"kafka_client": {"bootstrap.servers": "198.18.1.21:9092", "acks": 1}}},
    ),
    # Jobs
    Mistake("JOB_DUPLICATE", "dc1-spark2/spark_job_jobs", "a name of its own", variables={"spark_consumer": {"spark_job_jobs": [JOB, JOB]}}),
    Mistake(
        "JOB_CHECKPOINT",
        "dc1-spark2/spark_job_jobs[again].config.checkpoint",
        "a checkpoint of its own",
        variables={"spark_consumer": {"spark_job_jobs": [JOB, {**JOB, "name": "again", "job": "count_words"}]}},
    ),
    Mistake(
        "JOB_CONFIG",
        "dc1-spark2/spark_job_jobs[count_words].config",
        "input_topic",
        variables={"spark_consumer": {"spark_job_jobs": [{**JOB, "config": {**JOB["config"], "input_topics": "x"}}]}},
    ),
    Mistake("WHEEL_ABSENT", "group spark/spark_job_wheel", "make archives", variables={"spark": {"spark_job_wheel": "/nowhere/millrace.whl"}}),
    Mistake("WHEEL_UNFIT", "group spark/spark_job_wheel", "build it anew", variables={"spark": {"spark_job_wheel": "{{ inventory_dir }}/hosts.yml"}}),
)

# Twelve mistakes of one inventory, in places that do not touch each other: all are said at once.
TWELVE = Mistake(
    "TWELVE",
    "",
    "",
    hosts={
        "kafka_broker_id: 2": "kafka_broker_id: 1",
        "zookeeper_id: 3": "zookeeper_id: 1",
        "198.18.2.23": "198.18.3.23",
        "replication_address: 198.18.2.12": "replication_address: 198.18.2.11",
        "{dc1-zk2: {}, dc1-kafka2: {}}": "{dc1-zk2: {}}",
    },
    variables={
        "kafka": {
            "kafka_heep": "1g",
            "kafka_min_insync_replicas": 3,
            "kafka_limit_nofile": "many",
            "kafka_inter_broker_listener": "REPLICATE",
            "kafka_config": {"min.insync.replica": 2, "num.network.threads": 0},
        },
        "zookeeper": {"zookeeper_version": "3.8.4", "zookeeper_archive": "/srv/apache-zookeeper-3.8.4-bin.tar.gz"},
    },
)
SAID_OF_TWELVE = (
    "KAFKA_ID_DUPLICATE",
    "ZOOKEEPER_ID_DUPLICATE",
    "ADDRESS_OUTSIDE",
    "ADDRESS_DUPLICATE",
    "RACK_MISSING",
    "VARIABLE_UNKNOWN",
    "MIN_ISR_EQUAL",
    "INPUT_REFUSED",
    "LISTENER_UNKNOWN",
    "KAFKA_PROPERTY_UNKNOWN",
    "KAFKA_PROPERTY_VALUE",
    "ZOOKEEPER_VERSION",
)
