"""Mistakes in an inventory: all are said at once, with place and advice, before any host is contacted."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from render.conftest import INVENTORIES
from render.site import ROOT, make_archives, run_playbooks

Edits = Mapping[str, Mapping[str, str]]
Answer = subprocess.CompletedProcess[str]

BROKER_ID = "every broker needs an id of its own, and keeps it for life"
SERVER_ID = "every ensemble member needs an id of its own"
TABLES = "the roles' README tables list the valid names and types"
JOB_KEYS = (
    "(known: checkpoint, input_directory, input_topic, jars_directory, kafka, output_directory, output_topic, "
    "shuffle_partitions, spark, topic_wait_seconds, trigger_interval)"
)

# What is replaced in which file of the lab's inventory.
DUPLICATE_BROKER_ID = {"hosts.yml": {"kafka_broker_id: 2": "kafka_broker_id: 1"}}
DUPLICATE_SERVER_ID = {"hosts.yml": {"zookeeper_id: 3": "zookeeper_id: 1"}}
EVEN_ENSEMBLE = {
    "hosts.yml": {
        "        dc1-zk3: {zookeeper_id: 3, client_address: 198.18.1.13, replication_address: 198.18.2.13}\n": "",
        "{dc1-zk3: {}, dc1-kafka3: {}}": "{dc1-kafka3: {}}",
    }
}
NO_RACK = {"hosts.yml": {"{dc1-zk2: {}, dc1-kafka2: {}}": "{dc1-zk2: {}}"}}
NO_REPLICATION_ADDRESS = {"hosts.yml": {", replication_address: 198.18.2.22": ""}}
NO_SERVER_ADDRESS = {"hosts.yml": {", replication_address: 198.18.2.12": ""}}
SAME_ADDRESS = {"hosts.yml": {"198.18.2.23": "198.18.2.21"}}
UNKNOWN_JOB_KEY = {"group_vars/spark_consumer.yml": {"input_topic:": "input_topics:"}}
NO_CHECKPOINT = {"group_vars/spark_producer.yml": {"      checkpoint: /var/lib/spark-job/publish_lines/checkpoint\n": ""}}
UNKNOWN_LISTENER_KEY = {"group_vars/kafka.yml": {"port: 9093}": "port: 9093, advertised_adress: 192.0.2.1}"}}
TEXT_FOR_LIST = {"group_vars/kafka.yml": {"[/data/kafka1, /data/kafka2]": "/data/kafka1"}}
NO_JOB_CONFIG = {"group_vars/spark_producer.yml": {"    config:": "    configs:"}}
NO_DATACENTER = {"hosts.yml": {"    datacenter: dc1\n": ""}}
UNKNOWN_LISTENER = {"group_vars/kafka.yml": {"kafka_inter_broker_listener: REPLICATION": "kafka_inter_broker_listener: REPLICATE"}}
WRONG_TYPE = {"group_vars/kafka.yml": {"kafka_limit_nofile: 16384": "kafka_limit_nofile: many"}}

SAID_DUPLICATE_BROKER_ID = [
    f"[KAFKA_ID_DUPLICATE] dc1-kafka1/kafka_broker_id = 1: also declared on dc1-kafka2; {BROKER_ID}",
    f"[KAFKA_ID_DUPLICATE] dc1-kafka2/kafka_broker_id = 1: also declared on dc1-kafka1; {BROKER_ID}",
]
SAID_DUPLICATE_SERVER_ID = [
    f"[ZOOKEEPER_ID_DUPLICATE] dc1-zk1/zookeeper_id = 1: also declared on dc1-zk3; {SERVER_ID}",
    f"[ZOOKEEPER_ID_DUPLICATE] dc1-zk3/zookeeper_id = 1: also declared on dc1-zk1; {SERVER_ID}",
]
SAID_EVEN_ENSEMBLE = ["[ZOOKEEPER_EVEN] group zookeeper = 2 hosts: an even ensemble survives no more failures than one of 1; use 1 or 3 hosts"]
SAID_NO_RACK = [
    "[RACK_MISSING] dc1-kafka2/kafka_rack: the broker has no rack, so replicas cannot be spread and topic creation fails; "
    "put the host into a rack_* group, or set rack"
]
SAID_NO_REPLICATION_ADDRESS = ["[ADDRESS_MISSING] dc1-kafka2/replication_address: no address in the replication network; write it on the host's line"]
SAID_NO_SERVER_ADDRESS = ["[ADDRESS_MISSING] dc1-zk2/replication_address: no address in the replication network; write it on the host's line"]
SAID_SAME_ADDRESS = [
    "[ADDRESS_DUPLICATE] dc1-kafka1/replication_address = 198.18.2.21: also declared as dc1-kafka3/replication_address; give each its own",
    "[ADDRESS_DUPLICATE] dc1-kafka3/replication_address = 198.18.2.21: also declared as dc1-kafka1/replication_address; give each its own",
]
SAID_UNKNOWN_JOB_KEY = [f"[JOB_CONFIG] dc1-spark2/spark_job_jobs[count_words].config: input_topics: is unknown; did you mean input_topic? {JOB_KEYS}"]
SAID_NO_CHECKPOINT = ["[JOB_CONFIG] dc1-spark1/spark_job_jobs[publish_lines].config: checkpoint: is missing; add it"]
SAID_UNKNOWN_LISTENER_KEY = [
    f"[ROLE_INPUT] dc1-kafka{number}: kafka_listeners.advertised_adress. Supported parameters include: "
    f"address, advertised_address, advertised_port, name, port, protocol; {TABLES}"
    for number in (1, 2, 3)
]
SAID_WRONG_TYPE = [
    f"[ROLE_INPUT] dc1-kafka{number}: argument 'kafka_limit_nofile' is of type str and we were unable to convert to int: "
    f"\"'many'\" cannot be converted to an int; {TABLES}"
    for number in (1, 2, 3)
]
SAID_NO_DATACENTER = [
    f"[NOT_COMPUTED] dc1-kafka{number}/kafka_rack: cannot be computed: 'datacenter' is undefined; set what it stands on" for number in (1, 2, 3)
]
SAID_UNKNOWN_LISTENER = [
    f"[LISTENER_UNKNOWN] dc1-kafka{number}/kafka_inter_broker_listener = REPLICATE: kafka_listeners has only CLIENT, REPLICATION; name one of them"
    for number in (1, 2, 3)
]
SAID_TEXT_FOR_LIST = [f"[ROLE_INPUT] dc1-kafka{number}/kafka_log_dirs = /data/kafka1: a text, not a list; {TABLES}" for number in (1, 2, 3)]
SAID_NO_JOB_CONFIG = [
    f"[ROLE_INPUT] dc1-spark1: missing required arguments: config found in spark_job_jobs; {TABLES}",
    f"[ROLE_INPUT] dc1-spark1: spark_job_jobs.configs. Supported parameters include: config, job, name, state; {TABLES}",
]

SIX = (DUPLICATE_BROKER_ID, DUPLICATE_SERVER_ID, NO_RACK, NO_SERVER_ADDRESS, UNKNOWN_JOB_KEY, WRONG_TYPE)
SAID_SIX = [
    *SAID_DUPLICATE_BROKER_ID, *SAID_DUPLICATE_SERVER_ID, *SAID_NO_RACK, *SAID_NO_SERVER_ADDRESS, *SAID_UNKNOWN_JOB_KEY, *SAID_WRONG_TYPE,
]  # fmt: skip

MISTAKES: dict[str, tuple[tuple[Edits, ...], list[str]]] = {
    "duplicate broker id": ((DUPLICATE_BROKER_ID,), SAID_DUPLICATE_BROKER_ID),
    "duplicate ZooKeeper id": ((DUPLICATE_SERVER_ID,), SAID_DUPLICATE_SERVER_ID),
    "even ensemble": ((EVEN_ENSEMBLE,), SAID_EVEN_ENSEMBLE),
    "broker without a rack": ((NO_RACK,), SAID_NO_RACK),
    "broker without a replication address": ((NO_REPLICATION_ADDRESS,), SAID_NO_REPLICATION_ADDRESS),
    "same address twice": ((SAME_ADDRESS,), SAID_SAME_ADDRESS),
    "unknown key of a job": ((UNKNOWN_JOB_KEY,), SAID_UNKNOWN_JOB_KEY),
    "job without a checkpoint": ((NO_CHECKPOINT,), SAID_NO_CHECKPOINT),
    "unknown key of a listener": ((UNKNOWN_LISTENER_KEY,), SAID_UNKNOWN_LISTENER_KEY),
    "wrong type": ((WRONG_TYPE,), SAID_WRONG_TYPE),
    "text for a list, job without a configuration": ((TEXT_FOR_LIST, NO_JOB_CONFIG), SAID_TEXT_FOR_LIST + SAID_NO_JOB_CONFIG),
    "no datacenter, unknown inter-broker listener": ((NO_DATACENTER, UNKNOWN_LISTENER), SAID_NO_DATACENTER + SAID_UNKNOWN_LISTENER),
    "six at once": (SIX, SAID_SIX),
}


def spoil(folder: Path, mistakes: tuple[Edits, ...]) -> Path:
    """Return a copy of the lab's inventory with these replacements, each of which has to hit."""
    shutil.copytree(ROOT / "inventories" / "lab", folder)
    for mistake in mistakes:
        for name, replacements in mistake.items():
            text = (folder / name).read_text()
            for old, new in replacements.items():
                assert old in text, f"{name} of inventories/lab no longer holds {old!r}"
                text = text.replace(old, new)
            (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def preflight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Answer]]:
    """Return what preflight says of a mistake or an inventory, by its name (with ' --check': in check mode); two runs at a time."""
    base, started = tmp_path_factory.mktemp("preflight"), dict[str, Future[Answer]]()
    make_archives(base / "archives")
    inventories = {name: spoil(base / name.replace(" ", "-"), mistakes) for name, (mistakes, _) in MISTAKES.items()}
    runs: dict[str, tuple[Path, tuple[str, ...]]] = {name: (inventory, ()) for name, inventory in inventories.items()}
    runs |= {f"{name} --check": (inventory, ("--check",)) for name, inventory in inventories.items()}
    runs |= {name: (ROOT / "inventories" / name, ()) for name in INVENTORIES}
    settings = json.dumps({"archives": str(base / "archives")})
    with ThreadPoolExecutor(2) as pool:

        def result(name: str) -> Answer:
            if not started:
                for run, (inventory, options) in runs.items():
                    started[run] = pool.submit(run_playbooks, inventory, ["playbooks/preflight.yml"], "-e", settings, *options)
            return started[name].result()

        yield result


@pytest.mark.parametrize("option", ["", " --check"])
@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name: str, option: str, preflight: Callable[[str], Answer]) -> None:
    """Exactly these problems, in the model phase: no host is asked anything."""
    done, expected = preflight(name + option), MISTAKES[name][1]
    message = done.stdout.partition("FAILED! =>")[2]
    said = re.findall(r"^ +(\[[A-Z_]+\] .*)$", message, re.MULTILINE)
    assert sorted(said) == sorted(expected), done.stdout
    assert f"{len(expected)} {'mistake' if len(expected) == 1 else 'mistakes'}; no host was changed:" in message
    assert "TASK [Check the model]" in done.stdout
    assert "TASK [Probe the host]" not in done.stdout
    assert done.returncode == 2


@pytest.mark.parametrize("name", INVENTORIES)
def test_no_mistake(name: str, preflight: Callable[[str], Answer]) -> None:
    """The inventories of the project pass both phases, on hosts that are as declared."""
    done = preflight(name)
    assert done.returncode == 0, done.stdout
    assert "TASK [Probe the host]" in done.stdout
    assert "TASK [Check the hosts]" in done.stdout
