"""Changed settings that brokers take while they run: on every disk and in force at once, and nobody is restarted."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType
from faults.inventory import Inventory
from faults.lab import Lab, until

from operations.conftest import Operator, Run

NAMES = ("log.retention.ms", "num.io.threads")


def changed(inventory: Inventory, threads: int, **more: Any) -> tuple[str, str]:
    """Return the options of a run that says the settings; more than 16 threads are reached in steps, from Kafka's 8."""
    has = inventory.variables[inventory.hosts("kafka")[0]]["kafka_config"]
    said = {**has, "log.retention.ms": 172800000, "num.io.threads": threads, **more}
    return "-e", json.dumps({"kafka_config": said})


RECORDS = "cat /var/lib/millrace/live-kafka.service.json 2>/dev/null || true"


def in_force(lab: Lab) -> list[tuple[str | None, ...]]:
    """Return what each broker says of the settings, and how many threads of its JVM handle requests or connections.

    The kernel keeps 15 characters of a thread's name: those of both kinds begin alike.
    """
    found = []
    for host in lab.inventory.hosts("kafka"):
        one = ConfigResource(ResourceType.BROKER, str(lab.inventory.broker_id(host)))
        entries = lab.admin.describe_configs([one])[one].result(10)
        count = "grep -lx data-plane-kafk /proc/$(systemctl show -p MainPID --value kafka)/task/*/comm | wc -l"
        found.append((*(entries[name].value for name in NAMES), lab.inventory.run(host, count).strip()))
    return found


def on_disk(inventory: Inventory) -> list[str]:
    """Return the lines of each broker's file that say the settings."""
    command = f"grep -E '^({'|'.join(NAMES)})=' /etc/kafka/server.properties | sort || true"
    return [inventory.run(host, command) for host in inventory.hosts("kafka")]


def more_threads(state: list[tuple[str | None, ...]]) -> list[tuple[str | None, ...]]:
    """Return what is in force after the change, of what was before it."""
    return [("172800000", "12", str(int(str(threads)) + 4)) for *_, threads in state]


@pytest.fixture
def lab(operator: Operator) -> Iterator[Lab]:
    """The lab's brokers, which run afterwards with what the inventory says, also where the test failed."""
    found = Lab(operator.inventory)
    yield found
    if any(on_disk(operator.inventory)):
        assert operator.play("kafka", "--tags", "config").code == 0


def play(operator: Operator, *options: str) -> Run:
    """Run what changes brokers' files, and tells them."""
    return operator.play("kafka", "--tags", "config", "--diff", *options)


def test_brokers_are_told_and_not_restarted(operator: Operator, lab: Lab) -> None:
    """There, once more, and back: then nothing of it is left that would go before a file."""
    inventory, processes, before = operator.inventory, operator.processes(), in_force(lab)
    said = changed(inventory, 12)
    number = len(inventory.hosts("kafka"))
    done = play(operator, *said)
    assert done.code == 0, done.output[-3000:]
    assert "+  num.io.threads: 12" in lines(done), done.output[-3000:]
    assert operator.processes() == processes
    assert on_disk(inventory) == ["log.retention.ms=172800000\nnum.io.threads=12\n"] * number
    until("all have the threads", lambda: in_force(lab) == more_threads(before), 60)
    again = play(operator, *said)
    assert (again.code, set(again.recap("changed").values())) == (0, {0}), again.output[-3000:]
    back = play(operator)
    assert back.code == 0, back.output[-3000:]
    assert on_disk(inventory) == [""] * number
    until("all are as they were", lambda: in_force(lab) == before, 60)
    assert {inventory.run(host, RECORDS) for host in inventory.hosts("kafka")} == {""}
    assert operator.processes() == processes


@pytest.mark.campaign
def test_what_an_interrupted_run_has_not_told_is_found(operator: Operator, lab: Lab) -> None:
    """It wrote the files, and the cluster was none that may be told: the page says so, and the next run tells it."""
    inventory, processes, before = operator.inventory, operator.processes(), in_force(lab)
    said = changed(inventory, 12)
    another = 22 * "A"
    cut = play(operator, *said, "-e", f"kafka_cluster_id={another}")
    assert cut.code != 0 and f"kafka_cluster_id is {another}" in words(cut), cut.output[-3000:]
    assert in_force(lab) == before and any(on_disk(inventory))
    page = operator.play("check")
    assert page.code != 0
    for host in inventory.hosts("kafka"):
        assert f"kafka.service on {host} does not use all settings in its files" in words(page)
    predicted = play(operator, *said, "--check")
    told = play(operator, *said)
    assert (predicted.code, told.code) == (0, 0), told.output[-3000:]
    assert lines(predicted) == lines(told) and "+  num.io.threads: 12" in lines(told)
    until("all have the threads", lambda: in_force(lab) == more_threads(before), 60)
    assert operator.play("check").code == 0
    assert operator.processes() == processes


@pytest.mark.campaign
def test_a_restart_takes_the_rest_along_and_leaves_nothing_before_its_file(operator: Operator, lab: Lab) -> None:
    """A change of both kinds after one of this kind: each broker is restarted once, and has no setting of its own."""
    inventory, before = operator.inventory, operator.processes()
    assert play(operator, *changed(inventory, 40)).code == 0
    assert operator.processes() == before and {state[1] for state in in_force(lab)} == {"40"}
    said = changed(inventory, 9, **{"num.partitions": 2})
    try:
        done = play(operator, *said)
        assert done.code == 0, done.output[-3000:]
        anew = {host for host, processes in operator.processes().items() if processes != before[host]}
        assert anew == set(inventory.hosts("kafka"))
        assert {inventory.run(host, RECORDS) for host in inventory.hosts("kafka")} == {""}
        anew_too = Lab(inventory)  # connections to the processes of before hang for a while
        sources = {
            entry.source
            for host in inventory.hosts("kafka")
            for one in [ConfigResource(ResourceType.BROKER, str(inventory.broker_id(host)))]
            for name, entry in anew_too.admin.describe_configs([one])[one].result(30).items()
            if name in NAMES
        }
        assert sources == {4}, "a value that was set while they ran goes before the file"
        assert {state[:2] for state in in_force(anew_too)} == {("172800000", "9")}
        assert set(play(operator, *said).recap("changed").values()) == {0}
    finally:
        assert operator.play("kafka").code == 0


def words(run: Run) -> str:
    """Return what a run says, wherever its lines end."""
    return " ".join(run.output.split())


def lines(run: Run) -> list[str]:
    """Return the lines of diffs."""
    return [line for line in run.output.splitlines() if line.startswith(("+ ", "- "))]
