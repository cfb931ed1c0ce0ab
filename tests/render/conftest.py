"""Renders each inventory once, and only those that the collected tests use; two runs at a time."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from derive import derive

from render.site import ROOT, Rendered, render

INVENTORIES = ("lab", "dc1", "dc2")
FURTHER = ("lab_monitoring", "lab_orders", "lab_spark_cluster")
WITH_METRICS = ("dc1",)
"""Whose hosts are all in the group metrics, too."""
LAYOUTS = (
    "lab_stretch2",
    "lab_stretch2_5",
    "lab_stretch3",
    "lab_mirrored/west",
    "lab_mirrored/east",
    "lab_aggregated/north",
    "lab_aggregated/south",
    "lab_aggregated/sum",
    "stretch2",
    "stretch3",
    "lab_one_network",
)
AGGREGATED = tuple(name for name in LAYOUTS if name.startswith("lab_aggregated/"))
CAMPAIGN = frozenset(
    (
        "dc2",
        "lab_mirrored/east",
        *AGGREGATED,
        "stretch2",
        "stretch3",
        "lab_stretch2_5",
        "lab_stretch3",
        *FURTHER,
        "limited_stretch2",
    )
)
"""Renderings that resemble others: their tests run in the campaign (tests/model checks these inventories always)."""
Hosts = dict[str, Rendered]
# What differs from the lab in the copy `varied`: on brokers, one ZooKeeper server, the producer. The third broker has
# nothing that it could not be told while it runs.
MORE = {"firewall_extra_sources": {"client": ["198.19.0.0/16"], "admin": ["198.18.1.1", "198.18.2.1"]}}
JDK = {"java_executable": "/opt/jdk-21/bin/java"}
VARIED: dict[str, dict[str, Any]] = {
    "dc1-kafka1": {"kafka_config_overrides": {"offsets.topic.num.partitions": 12}, **JDK, **MORE},
    "dc1-kafka2": {
        "kafka_config_overrides": {
            "auto.create.topics.enable": None,
            "zookeeper.session.timeout.ms": None,
            "min.insync.replicas": 1,
            "log.cleanup.policy": ["compact", "delete"],
            "delete.topic.enable": True,
        },
        "kafka_heap": "1g",
        "kafka_class_path": ["/opt/plugins/quota-1.2.jar", "/opt/more/*"],
        "kafka_java_options": ["-Da=b", r"-Dc=%d$e\s"],
        "kafka_limit_nofile": 5000,
        "kafka_gc_options": ["-XX:+UseZGC"],
        "kafka_gc_log_dir": "/data/gc",
        "kafka_log_levels": {
            "root": "WARN",
            "kafka.request.logger": "DEBUG",
            "state.change.logger": None,
            "a.b": False,
        },
        "kafka_stop_timeout": 900,
        "site_firewall_rules": [{"port": 9092, "from": ["198.18.1.31", "198.18.1.32"], "only": True}],
        "kafka_unit_overrides": {
            "Unit": {"After": ["a.mount", "b.mount"]},
            "Service": {"CPUQuota": "400%", "ReadWritePaths": None},
        },
        "kafka_class_data_archive": True,
        "kafka_fencing": True,
        "kafka_client_properties": {"request.timeout.ms": 5000},
        "kafka_listeners": [
            {
                "name": "CLIENT",
                "address": "{{ client_address }}",
                "port": 9092,
                "protocol": "SASL_SSL",
                "advertised_address": "192.0.2.7",
                "advertised_port": 19092,
                "sasl_mechanisms": ["SCRAM-SHA-256", "OAUTHBEARER"],
            },
            {
                "name": "REPLICATION",
                "address": "{{ replication_address }}",
                "port": 9093,
                "protocol": "SSL",
                "keystore": "/own.pem",
                "truststore": "/own-ca.pem",
            },
        ],
    },
    "dc1-kafka3": {
        "kafka_config_overrides": {"num.io.threads": 16, "log.retention.hours": 24, "background.threads": 12},
        "kafka_dynamic_config_overrides": {"background.threads": 11},
    },
    "dc1-zk1": {
        "zookeeper_config": {"tickTime": 3000, "autopurge.purgeInterval": None},
        "zookeeper_heap": "3g",
        "zookeeper_class_path": ["/opt/plugins/*"],
        "zookeeper_java_options": ["-Da=%b"],
        "zookeeper_gc_options": ["-XX:+UseParallelGC"],
        "zookeeper_gc_log_dir": "/data/gc",
        "zookeeper_log_levels": {"root": "WARN", "org.apache.zookeeper.server.command": None, "a.b": "DEBUG"},
        "zookeeper_stop_timeout": 90,
        **JDK,
        "zookeeper_unit_overrides": {"Service": {"Nice": -5}},
        **MORE,
    },
    "dc1-spark1": {
        "spark_job_class_data_archive": True,
        **JDK,
        "spark_job_stop_timeout": 600,
        "spark_job_unit_overrides": {"Service": {"IOAccounting": True}},
        "spark_job_jobs": [
            {
                "name": "lines-a",
                "job": "publish_lines",
                "config": {"checkpoint": "/c/a", "kafka": {"ssl.key.password": "pw"}},
                "unit_overrides": {"Service": {"IOAccounting": False, "Nice": 5, "Environment": ["A=1", "B=2"]}},
            },
            {"name": "lines-b", "job": "publish_lines", "state": "stopped", "config": {"checkpoint": "/c/b"}},
        ],
        "base_firewall_rules": [{"port": 9100, "from": ["{{ client_network }}"]}],
        "ansible_port": 2222,
    },
    "dc1-spark2": {"base_firewall_closed": False},
}


def vary(folder: Path) -> Path:
    """Return a copy of the lab in which one broker, one ZooKeeper server and one job differ from the others."""
    derive(ROOT / "inventories" / "lab", folder, {})
    (folder / "host_vars").mkdir()
    for host, values in VARIED.items():
        (folder / "host_vars" / f"{host}.yml").write_text(yaml.safe_dump(values))
    return folder


def renamed(folder: Path) -> Path:
    """Return a copy of the lab in which one broker's certificate for ZooKeeper has another subject."""
    derive(ROOT / "inventories" / "lab", folder, {})
    certificates = [
        {
            "name": "broker",
            "subject": "CN={{ inventory_hostname }},OU=brokers,O=lab",
            "authority": "infra",
            "names": ["{{ client_address }}"],
            "path": "/etc/kafka/tls/keystore.pem",
            "group": "kafka",
        },
        {
            "name": "zookeeper",
            "subject": "CN=other,OU=zkclients,O=lab",
            "authority": "infra",
            "usage": ["client"],
            "path": "/etc/kafka/tls/zookeeper.pem",
            "group": "kafka",
        },
        {"name": "admin", "subject": "CN=admin,OU=admins,O=lab", "authority": "infra", "usage": ["client"]},
    ]
    (folder / "host_vars").mkdir()
    (folder / "host_vars" / "dc1-kafka2.yml").write_text(yaml.safe_dump({"pki_certificates": certificates}))
    return folder


def local(folder: Path) -> Path:
    """Return a copy of lab_stretch2 with the choice that docs/layouts.md names."""
    derive(ROOT / "inventories" / "lab_stretch2", folder, {})
    choice = {"broker_zookeeper_hosts": "{{ groups['zookeeper'] | select('in', groups[datacenter]) | list }}"}
    (folder / "group_vars").mkdir()
    (folder / "group_vars" / "kafka.yml").write_text(yaml.safe_dump(choice))
    return folder


def used(item: pytest.Item) -> list[str]:
    """Return the names that a test may pass to `rendered`: its text parameters and the strings in its source."""
    if not isinstance(item, pytest.Function) or "rendered" not in item.fixturenames:
        return []
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return [*map(str, parameters), *re.findall(r'"([\w/]+)"', inspect.getsource(item.function))]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the marker `campaign` to each test of a rendering in CAMPAIGN, before pytest selects by markers."""
    for item in items:
        if CAMPAIGN.intersection(used(item)):
            item.add_marker("campaign")


def runs(base: Path) -> dict[str, tuple[Path, tuple[str, ...]]]:
    """Return the inventory and the options of each run."""
    lab, stretch2 = (ROOT / "inventories" / name for name in ("lab", "lab_stretch2"))
    return {
        **{name: (ROOT / "inventories" / name, ()) for name in (*INVENTORIES, *LAYOUTS, *FURTHER)},
        "limited": (lab, ("--limit", "dc1-kafka2")),
        "limited_stretch2": (stretch2, ("--limit", "dc2-kafka1")),
        "plaintext": (lab, ("-e", "security_profile=plaintext")),
        "open": (renamed(base / "open-inventory"), ("-e", '{"base_firewall": false}')),
        "local": (local(base / "local-inventory"), ()),
        "varied": (vary(base / "varied-inventory"), ()),
    }


class Renderings:
    """Starts a run when a test asks for it, and meanwhile the next two that collected tests use."""

    first: Mapping[str, str] = {"limited": "lab", "varied": "lab", "limited_stretch2": "lab_stretch2"}
    """Runs that use the certificates and passwords of another run, with which tests compare them."""

    def __init__(self, base: Path, pool: ThreadPoolExecutor, items: Iterable[pytest.Item]) -> None:
        self.base, self.pool, self.runs = base, pool, runs(base)
        self.order = list(dict.fromkeys(name for item in items for name in used(item) if name in self.runs))
        self.started: dict[str, Future[Hosts]] = {}

    def result(self, name: str) -> Hosts:
        """Return what the hosts get in this run."""
        assert name in self.order, f"write {name} as a parameter or as a string of the test that uses it"
        place = self.order.index(name)
        for one in self.order[place : place + 3]:
            self.start(one)
        return self.started[name].result()

    def start(self, name: str) -> None:
        """Start a run after the one whose certificates it uses."""
        if name in self.started:
            return
        if name in self.first:
            self.start(self.first[name])
        (self.base / name).mkdir(parents=True)
        self.started[name] = self.pool.submit(self.run, name)

    def run(self, name: str) -> Hosts:
        """Render in a thread of the pool, which has started the run before it already."""
        if name in self.first:
            self.started[self.first[name]].result()
        inventory, options = self.runs[name]
        return render(inventory, self.base / name, *options, control=self.base / self.first.get(name, name))


@pytest.fixture(scope="session")
def rendered(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Hosts]]:
    """Return what the hosts of an inventory get, by the inventory's name.

    `limited` and `limited_stretch2` are one host, `plaintext` is without TLS, `open` has no firewall and is `renamed`,
    `varied` see `vary`, `local` lets brokers know their own datacenter's servers alone.
    """
    with ThreadPoolExecutor(2) as pool:
        yield Renderings(tmp_path_factory.mktemp("render"), pool, request.session.items).result


@pytest.fixture
def hosts(inventory_name: str, rendered: Callable[[str], Hosts]) -> Hosts:
    """Return the hosts of the inventory that this test is about."""
    return rendered(inventory_name)
