"""Prometheus collects what the exporter reads, and the queries of all alerts find data."""

import re
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from faults.inventory import ROOT, Inventory
from faults.lab import Lab, until
from faults.word_counts import publish
from generate_dashboards import dashboards, queries

from operations.watched import found

ALERTS = ROOT / "roles" / "prometheus" / "files" / "alerts.yml"
SERIES = Path(__file__).with_name("alerts.yml")
GROUP = "words-monitored"
LATE = 150
"""Seconds: a job begins a batch within 10, service-metrics.timer writes each minute, Prometheus asks each 15."""
FIRING = 'ALERTS{alertstate="firing", alertname!~"KafkaLagSeconds|KafkaCanary(Fails|Slow)"}'
"""Other tests leave groups without consumers, which lag, and have killed or restarted brokers some minutes before."""


def rules(inventory: Inventory) -> list[dict[str, Any]]:
    """Return the alerts whose metrics an inventory has: without the group metrics, those of the exporter of lag."""
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    served = {"kafka", *(["canary"] if canary_topic(inventory) else [])}
    served |= {group["name"] for group in groups if inventory.hosts("metrics") and group["name"] != "canary"}
    return [rule for group in groups if group["name"] in served for rule in group["rules"]]


def canary_topic(inventory: Inventory) -> str:
    """Return the topic of the canary; "" without one."""
    (host,) = inventory.hosts("monitoring")
    return str(inventory.variables[host].get("lag_exporter_canary_topic", ""))


def metrics_of(query: str) -> set[str]:
    """Return the names of the metrics in a query."""
    names = r"\b(?:(?:kafka|lag|node|fsynctime|outstanding|millrace)_\w+|up)\b"
    return set(re.findall(names, re.sub(r"\{.*?\}|\bby \(.*?\)", "", query)))


def test_alerts_fire_when_they_should(inventory: Inventory) -> None:
    """With series of alerts.yml beside this file; promtool is a part of the package."""
    (host,) = inventory.hosts("monitoring")
    folder = inventory.run(host, "mktemp --directory").strip()
    for name, text in (("alerts.yml", ALERTS.read_text()), ("test.yml", SERIES.read_text())):
        inventory.run(host, f"cat >{folder}/{name}", stdin=text)
    said = inventory.run(host, f"cd {folder} && promtool test rules test.yml; code=$?; rm -r {folder}; exit $code")
    assert "SUCCESS" in said


@pytest.fixture(scope="module")
def group(inventory: Inventory) -> Iterator[None]:
    """A consumer group that has read nothing: some metrics are those of groups."""
    own = {**inventory.kafka_properties, "group.id": GROUP, "enable.auto.commit": False}
    with closing(Consumer(own)) as reader:
        reader.commit(offsets=[TopicPartition("streams-plaintext-input", 0, 0)], asynchronous=False)
    yield
    admin = AdminClient({**inventory.admin_properties})
    admin.delete_consumer_groups([GROUP])[GROUP].result(30)


@pytest.fixture(scope="module")
def batch(inventory: Inventory) -> None:
    """Lines for the jobs: some metrics are those of a batch, and earlier tests may have restarted the jobs."""
    if inventory.hosts("spark"):
        publish(Lab(inventory), f"monitored{time.time_ns()}", 0)


@pytest.mark.usefixtures("group", "batch")
def test_each_alert_asks_for_something_that_is_there(inventory: Inventory) -> None:
    """And links to a page; nothing fires on a healthy site."""
    until("a scrape", lambda: found(inventory, "lag_exporter_up == 1"), 120, 2)
    for rule in rules(inventory):
        for metric in metrics_of(rule["expr"]):
            until(f"{metric} of {rule['alert']}", partial(found, inventory, metric), LATE, 2)
        assert (ROOT / Path(rule["annotations"]["runbook_url"])).is_file()
    assert found(inventory, FIRING) == []


@pytest.mark.usefixtures("group", "batch")
@pytest.mark.parametrize("dashboard", dashboards(), ids=lambda dashboard: str(dashboard["uid"]))
def test_every_panel_finds_data(dashboard: dict[str, Any], inventory: Inventory) -> None:
    """With the variables that a reader of Grafana chooses from."""
    if not inventory.hosts("metrics"):
        pytest.skip("no host of this inventory serves metrics")
    if dashboard["uid"] == "millrace-canary" and not canary_topic(inventory):
        pytest.skip("this inventory has no canary")
    by = dashboard.get("by")
    if by:
        values = f"count by ({by['label']}) ({by['metric']})"
        until(
            f"values of ${by['name']}",
            lambda: any(by["label"] in one["metric"] for one in found(inventory, values)),
            LATE,
            2,
        )
    for panel in dashboard["panels"]:
        for one in queries(panel):
            query = one["query"].replace("$__rate_interval", "5m")
            query = query.replace(f"${by['name']}", ".+") if by else query
            assert "$" not in query, f"{panel['title']}: {query}"
            for metric in metrics_of(query):  # `or vector(0)` hides a name that does not exist
                until(f"{metric} of {panel['title']!r}", partial(found, inventory, metric), LATE, 2)
            until(f"data of the panel {panel['title']!r} ({query})", partial(found, inventory, query), LATE, 2)


def test_the_canary(inventory: Inventory) -> None:
    """Each record to each leader of a partition is acknowledged and read; no group is seen."""
    if not (topic := canary_topic(inventory)):
        pytest.skip("this inventory has no canary")

    def grows(metric: str) -> dict[str, int]:
        """Return by how much a counter of each broker grew in 30 seconds, without zeros."""
        grown = found(inventory, f"sum by (broker) ({metric} - {metric} offset 30s) > 0")
        return {one["metric"]["broker"]: int(one["value"][1]) for one in grown}

    def all_read() -> bool:
        """Tell whether no record is missing; one that is on its way at the time of a scrape is."""
        leaders = {one["value"][1] for one in found(inventory, f'kafka_topic_partition_leader{{topic="{topic}"}}')}
        sent, good, bad = (grows(f"kafka_canary_{kind}_total") for kind in ("sent", "acknowledged", "failed"))
        steps = [grows(f'kafka_canary_seconds_bucket{{step="{step}", le="10.0"}}') for step in ("acknowledged", "read")]
        return set(sent) == leaders and [good, *steps] == [sent] * 3 and not bad

    until("each record is acknowledged and read", all_read, 180, 2)
    assert found(inventory, f'kafka_consumergroup_current_offset{{topic="{topic}"}}') == []


def test_every_exporter_answers(inventory: Inventory) -> None:
    """Each host of the group metrics serves its exporters, with its labels."""
    if not (serving := set(inventory.hosts("metrics"))):
        pytest.skip("no host of this inventory serves metrics")
    expected = {("node", host) for host in serving} | {
        (group, host) for group in ("kafka", "zookeeper") for host in serving & {*inventory.hosts(group)}
    }

    def answering() -> bool:
        targets = found(inventory, 'up{job=~"node|kafka|zookeeper"} == 1')
        return {(one["metric"]["job"], one["metric"]["instance"]) for one in targets} == expected

    until("a scrape of each exporter", answering, 120, 2)
    for one in found(inventory, 'up{job="kafka"}'):
        assert {"datacenter", "rack"} <= set(one["metric"])


def test_exporters_listen_on_loopback(inventory: Inventory) -> None:
    """They have no TLS and no login; the proxy listens on the client address."""
    if not (serving := inventory.hosts("metrics")):
        pytest.skip("no host of this inventory serves metrics")
    for host in serving:
        listening = inventory.run(host, "ss --listening --tcp --numeric --no-header | awk '{print $4}'").split()
        exporters = {"9100", *(["7071"] if host in inventory.hosts("kafka") else [])}
        exporters |= {"7000"} if host in inventory.hosts("zookeeper") else set()
        there = {
            one.removeprefix("[::ffff:").replace("]", "")
            for one in listening
            if one.rpartition(":")[2] in {"9100", "7071", "7000", "9990"}
        }
        expected = {f"127.0.0.1:{port}" for port in exporters} | {f"{inventory.client_address(host)}:9990"}
        assert there == expected, host


def test_racks_of_leaders(inventory: Inventory) -> None:
    """As the inventory declares them."""
    of_brokers = found(inventory, "kafka_broker_leader_partitions")
    assert {one["metric"]["rack"] for one in of_brokers} == {"dc1-a", "dc1-b", "dc1-c"}


def test_nobody_else_reaches_the_pages(inventory: Inventory) -> None:
    """They have no login."""
    (host,) = inventory.hosts("monitoring")
    listening = inventory.run(host, "ss --listening --tcp --numeric --no-header | awk '{print $4}'").split()
    ports = {"9090", "9093", "9094", "9308"}
    assert {one for one in listening if one.rpartition(":")[2] in ports} == {
        f"127.0.0.1:{port}" for port in ports - {"9094"}
    }
