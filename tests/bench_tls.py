"""What TLS, logins and ACLs cost: throughput and CPU of a secure cluster against one in the clear, in turns.

Two clusters like inventories/lab, made for this and removed afterwards; load goes to one of them at a time.
Writes its part of docs/performance.md.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pages
from bench_unchanged import Meter
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from derive import settle
from faults.inventory import ROOT, Inventory, load
from faults.lab import until
from survival.stretched import copy_inventory, prepared_image

PROFILES = {"west": "secure", "east": "plaintext"}
NETWORKS = {"west": ("198.18.61", "198.18.62"), "east": ("198.18.63", "198.18.64")}
"""Of no inventory of the project: a lab that a developer runs of this one is never touched."""
COMPILED: dict[str, list[str]] = {"kafka_java_options": [], "zookeeper_java_options": []}
"""As in production: the optimising compiler, which labs leave out of the JVM to start fast, encrypts at speed."""
WARM_UP, ROUNDS, RECORDS, SIZE, PARTITIONS = 3, 5, 300_000, 1024, 6
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- security: begin, by make bench-tls -->\n", "<!-- security: end -->\n"
TOPIC = "bench"


def play(inventory: Path, playbook: str, *options: str) -> None:
    """Run a playbook to its end; its output only where it fails."""
    done = subprocess.run(
        ["ansible-playbook", "-i", str(inventory), playbook, *options], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{playbook} of {inventory} failed:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")


class Side:
    """One cluster, and what was measured on it: records per second, CPU seconds of all hosts per million records."""

    def __init__(self, name: str, folder: Path, labs: ExitStack) -> None:
        """Make the hosts and the cluster, without jobs; `labs` removes them."""
        self.profile = PROFILES[name]
        copy_inventory(
            ROOT / "inventories" / "lab",
            folder / name,
            f"bench_tls_{name}",
            NETWORKS[name],
            {"security_profile": self.profile, **COMPILED},
        )
        self.directory = settle(folder / name, os.getpid()).inventory
        play(self.directory, "lab/destroy.yml")  # left behind by a run that was killed
        labs.callback(play, self.directory, "lab/destroy.yml")
        play(self.directory, "lab/create.yml", "-e", f"lab_image={prepared_image('kafka', 'zookeeper')}")
        play(self.directory, "playbooks/site.yml", "--limit", "zookeeper:kafka")
        self.inventory: Inventory = load(self.directory)
        self.host = self.inventory.hosts("kafka")[0]
        properties = self.inventory.kafka_properties
        self.admin = AdminClient({**properties, "log_level": 0})
        self.inventory.run(
            self.host,
            "umask 077; cat > /root/bench.properties",
            stdin="".join(f"{k}={v}\n" for k, v in java(properties).items()),
        )
        self.rates: list[float] = []
        self.cpu: list[float] = []

    def measure(self, meter: Meter) -> None:
        """Send once, as fast as it goes, to a topic that is removed afterwards: the disks are small."""
        new = NewTopic(TOPIC, PARTITIONS, 3, config={"min.insync.replicas": "2"})
        self.admin.create_topics([new], operation_timeout=30)[TOPIC].result(40)
        until("leaders", lambda: len(self.admin.list_topics(timeout=5).topics[TOPIC].partitions) == PARTITIONS, 30)
        before, begin = meter.hosts(), time.monotonic()
        command = (
            f"kafka-producer-perf-test.sh --topic {TOPIC} --num-records {RECORDS} --record-size {SIZE} --throughput -1 "
            "--producer.config /root/bench.properties --producer-props acks=all"
        )
        said = self.inventory.run(self.host, command, seconds=300).strip().splitlines()[-1]
        wall = time.monotonic() - begin
        found = re.search(r"([\d.]+) records/sec", said)
        if not found:
            sys.exit(f"{self.profile}: {said}")
        self.rates.append(float(found.group(1)))
        used = meter.hosts()
        self.admin.delete_topics([TOPIC], operation_timeout=30)[TOPIC].result(40)
        until("the topic is gone", lambda: TOPIC not in self.admin.list_topics(timeout=5).topics, 30)
        self.cpu.append((used - before - meter.idle * wall) / RECORDS * 1e6)


def java(properties: dict[str, str]) -> dict[str, str]:
    """Return librdkafka's client properties under the names of a Java client on a broker's host."""
    found: dict[str, str] = {
        name: properties[name]
        for name in ("bootstrap.servers", "security.protocol", "sasl.mechanism")
        if name in properties
    }
    if "sasl.username" in properties:
        login = f'username="{properties["sasl.username"]}" password="{properties["sasl.password"]}"'
        found["sasl.jaas.config"] = f"org.apache.kafka.common.security.scram.ScramLoginModule required {login};"
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/etc/kafka/tls/ca.pem"}
    return found


def section(sides: list[Side]) -> str:
    """Return what the page says: medians of both sides, and the median of what a round's two are to each other."""
    rows = {side.profile: (statistics.median(side.rates), statistics.median(side.cpu)) for side in sides}
    secure, clear = rows["secure"], rows["plaintext"]
    first, other = sorted(sides, key=lambda side: side.profile, reverse=True)
    rates, cpu = (
        [one / two for one, two in zip(*pair, strict=True)]
        for pair in ((first.rates, other.rates), (first.cpu, other.cpu))
    )
    spread = {side.profile: f"{min(side.rates):,.0f} to {max(side.rates):,.0f}" for side in sides}
    return f"""
## What security costs

- Load: `kafka-producer-perf-test.sh` on a broker's host sends {RECORDS:,} records of {SIZE} bytes as fast as it can,
  with acks=all. The topic has {PARTITIONS} partitions, replication factor 3 and min ISR 2.
- Two clusters of three brokers, one secure and one plaintext, are measured in turns: {ROUNDS} rounds, after
  {WARM_UP} rounds of warm-up.
- All hosts and the producer share {os.cpu_count()} cores.
- "Secure" means: SASL_SSL with SCRAM and ACLs for the producer, mutual TLS between brokers and to ZooKeeper.
- "CPU-seconds" are those of all hosts of the measured cluster, minus their idle use.

| | records/s (median) | lowest to highest | CPU-seconds per million records |
| --- | --- | --- | --- |
| plaintext | {clear[0]:,.0f} | {spread["plaintext"]} | {clear[1]:.1f} |
| secure | {secure[0]:,.0f} | {spread["secure"]} | {secure[1]:.1f} |
| ratio secure / plaintext, median | {statistics.median(rates):.2f} | {min(rates):.2f} to {max(rates):.2f} | \
{statistics.median(cpu):.2f} ({min(cpu):.2f} to {max(cpu):.2f}) |

"""


def page(sides: list[Side]) -> str:
    """Return the page with this part anew; raises ValueError where its place is gone."""
    return pages.between(PAGE, PAGE.read_text(encoding="utf-8"), BEGIN, END, section(sides))


def main() -> int:
    """Measure in turns, write the page, remove the hosts."""
    with TemporaryDirectory() as folder, ExitStack() as labs:
        sides = [Side(name, Path(folder), labs) for name in PROFILES]
        meters = [Meter(side.inventory) for side in sides]
        for number in range(WARM_UP + ROUNDS):
            for side, meter in zip(sides, meters, strict=True):
                side.measure(meter)
                print(
                    f"round {number}, {side.profile}: {side.rates[-1]:,.0f} records/s, "
                    f"{side.cpu[-1]:.1f} CPU-s per million",
                    flush=True,
                )
        for side in sides:
            del side.rates[:WARM_UP], side.cpu[:WARM_UP]
        pages.write(PAGE, lambda: page(sides))
        print(section(sides))
    return 0


if __name__ == "__main__":
    sys.exit(main())
