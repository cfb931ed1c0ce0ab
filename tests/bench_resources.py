"""What an unchanged run costs on many topics and ACLs: CPU seconds against a play of one ping task on one host.

And against Kafka's own tools, which start a JVM for each question, on a part of the same topics.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench_unchanged import Meter
from faults.inventory import ROOT, Inventory, load

LAYER, PING = "playbooks/layers/resources.yml", "tests/ping.yml"
PREFIX, USER = "bench-resources-", "bench-resources"
BUDGET_RATIO = 5.0
TOOLS = (
    "kafka-topics.sh --bootstrap-server {servers} --command-config {file} --describe --topic {topic}",
    "kafka-acls.sh --bootstrap-server {servers} --command-config {file} --list --topic {topic}",
)
FILE = "/etc/kafka/client.properties"


def declared(number: int) -> dict[str, Any]:
    """Return so many topics of one replica, and an ACL for each; users and quotas are not part of it."""
    names = [f"{PREFIX}{one}" for one in range(number)]
    config = {"min.insync.replicas": 1, "retention.ms": "7d"}
    acls = [{"principal": f"User:{USER}", "operations": ["READ"], "resource": "topic", "name": name} for name in names]
    topics = [{"name": name, "partitions": 1, "replication_factor": 1, "config": config} for name in names]
    return {"kafka_topics": topics, "kafka_users": [], "kafka_acls": acls, "kafka_quotas": []}


def converge(inventory: Inventory, variables: dict[str, Any], file: Path) -> float:
    """Run the layer; return its seconds."""
    file.write_text(json.dumps(variables))
    begin = time.monotonic()
    command = ["ansible-playbook", "-i", str(inventory.directory), LAYER, "-e", f"@{file}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{LAYER} failed:\n{done.stdout[-2000:]}{done.stderr[-500:]}")
    return time.monotonic() - begin


def tools(inventory: Inventory, meter: Meter, names: Sequence[str]) -> float:
    """Return the CPU seconds of Kafka's own tools that describe topics and their ACLs, one after the other."""
    host = inventory.hosts("kafka")[0]
    before, begin = meter.hosts(), time.monotonic()
    servers = f"$(sed -n 's/^bootstrap.servers=//p' {FILE})"
    for name in names:
        for tool in TOOLS:
            inventory.run(host, tool.format(servers=servers, file=FILE, topic=name))
    return meter.hosts() - before - meter.idle * (time.monotonic() - begin)


def main() -> int:
    """Make, measure, take away and print; fail above the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inventory", type=Path, default=ROOT / "inventories" / "lab")
    parser.add_argument("--number", type=int, default=1000, help="topics, and ACLs")
    parser.add_argument("--tools", type=int, default=50, help="topics that Kafka's own tools describe, too")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    inventory = load(arguments.inventory.resolve())
    host, wanted = inventory.hosts("kafka")[0], declared(arguments.number)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "resources.json"
        try:
            made = converge(inventory, wanted, file)
            meter = Meter(inventory)
            rows: dict[str, list[dict[str, float]]] = {PING: [], LAYER: []}
            for _ in range(arguments.runs):
                rows[PING].append(meter.run(inventory, PING, {}, "--limit", host))
                rows[LAYER].append(meter.run(inventory, LAYER, {}, "-e", f"@{file}"))
            jvm = tools(inventory, meter, [topic["name"] for topic in wanted["kafka_topics"][: arguments.tools]])
        finally:
            gone = [{**acl, "state": "absent"} for acl in wanted["kafka_acls"]]
            prune = {"topics": [f"{PREFIX}*"], "max_deletes": arguments.number}
            converge(inventory, {**wanted, "kafka_topics": [], "kafka_acls": gone, "kafka_prune": prune}, file)
    best = {playbook: min(row["control"] + row["hosts"] for row in found) for playbook, found in rows.items()}
    print(f"{arguments.number} topics and as many ACLs, made in {made:.0f} s; load average {os.getloadavg()[0]:.1f}")
    for playbook, seconds in best.items():
        print(f"  {playbook:<32} {seconds:6.2f} CPU-s, wall {min(row['wall'] for row in rows[playbook]):.1f} s")
    ratio = best[LAYER] / best[PING]
    print(f"  ratio {ratio:.2f} (budget {BUDGET_RATIO})")
    print(
        f"  Kafka's own tools, {arguments.tools} of them: {jvm:.1f} CPU-s, {jvm / best[LAYER]:.1f} times those of the "
        f"run on all {arguments.number}"
    )
    return 0 if ratio <= BUDGET_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
