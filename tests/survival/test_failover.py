"""A datacenter is killed, the other one takes over by failover.yml, and failback.yml undoes it: nothing is lost.

Producers with acks=all write all the time, and every acknowledged record is read in the end.
"""

import json
import random
import re
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType
from faults.lab import until, until_none
from faults.ledger import load
from faults.reader import read_all
from faults.writer import Writer
from observations import write

from .failures import Mend, cut_off
from .logs import unlike
from .quorum import modes_of
from .stretched import Stretched, statement

LAYOUT, WITH_WITNESS = "lab_stretch2", "lab_stretch2_5"
OTHER = {"dc1": "dc2", "dc2": "dc1"}
KILLS = ("at once", "ZooKeeper first", "brokers first")
REPORT = re.compile(
    r"ZooKeeper (?:served after (?P<served>[\d.]+) s|was not restarted), min.insync.replicas was lowered after "
    r"(?P<lowered>[\d.]+) s, and a write with acks=all succeeded after (?P<written>[\d.]+) s"
)
MOST = 300
"""Seconds that a producer waits for an acknowledgement."""


def kill(cluster: Stretched, hosts: list[str], order: str) -> None:
    """Kill the servers of these hosts with signal 9, in this order; they stay down.

    The second kind is killed once the survivors have noticed that the first kind is gone.
    """
    zookeeper = [host for host in hosts if host in cluster.inventory.hosts("zookeeper")]
    brokers = [host for host in hosts if host not in zookeeper]
    left = [host for host in cluster.inventory.hosts("zookeeper") if host not in hosts]
    if order == "ZooKeeper first":
        cluster.take_away(zookeeper)
        until("no server serves", lambda: not any(modes_of(cluster.inventory, left)), 60)
        cluster.take_away(brokers)
    elif order == "brokers first":
        gone = {cluster.inventory.broker_id(host) for host in brokers}
        cluster.take_away(brokers)
        until(
            "no killed broker is registered",
            lambda: not gone & {*cluster.lab.admin.list_topics(timeout=20).brokers},
            60,
        )
        cluster.take_away(zookeeper)
    else:
        cluster.take_away(hosts)


def lose(cluster: Stretched, datacenter: str) -> Mend:
    """Kill a datacenter at once, and cut it off; return when the servers of the other one have noticed."""
    hosts = cluster.servers_of(datacenter)
    kill(cluster, hosts, KILLS[0])
    mend = cut_off(cluster, hosts)
    cluster.attempt("playbooks/disaster.yml", "-e", "wait=20")
    return mend


def min_isr(cluster: Stretched, topic: str) -> str:
    """Return min.insync.replicas as it applies to a topic."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    broker = next(iter(cluster.lab.admin.list_topics(timeout=20).brokers))  # the controller may be a killed one
    found = cluster.lab.admin.describe_configs([resource], request_timeout=20, broker=broker)[resource].result(30)
    return str(found["min.insync.replicas"].value)


def test_what_is_refused(stretched: Stretched, topic: str) -> None:
    """While both datacenters serve, no failover begins, and nothing is changed. Statements: unit/test_failover.py."""
    if stretched.name != LAYOUT:
        pytest.skip("one layout is enough")
    stretched.play("playbooks/disaster.yml")  # its first write creates __consumer_offsets, which takes some seconds
    code, text = stretched.attempt("playbooks/failover.yml", *statement("dc2"))
    assert (code != 0, "no disaster" in text, "Nothing was changed" in text) == (True, True, True), text[-2000:]
    code, text = stretched.attempt("playbooks/failover.yml")
    assert (code != 0, "set one of dc1, dc2. fenced" in " ".join(text.split())) == (True, True), text[-2000:]
    code, text = stretched.attempt("playbooks/failback.yml")
    assert code != 0
    assert "no failover of this inventory is recorded" in text


def cycle(stretched: Stretched, topic: str, lost: str, order: str, folder: Path) -> dict[str, float]:
    """Kill a datacenter under load, fail over and back; return how many seconds each part took. Nothing may be lost."""
    survivor, run, took = OTHER[lost], uuid.uuid4().hex[:8], dict[str, float]()
    hosts = stretched.servers_of(lost)
    stretched.play("playbooks/disaster.yml")  # its first write creates __consumer_offsets, which needs all brokers
    before = min_isr(stretched, topic)
    load_of = Writer(
        stretched.inventory.kafka_properties, topic, folder, run=run, rate=50, limit=100_000, delivery_timeout=MOST
    )
    with load_of as writer:
        until("the load is acknowledged", lambda: writer.acked > 50, 60)
        kill(stretched, hosts, order)
        mend = cut_off(stretched, hosts)  # a host that refuses connections is not lost
        killed = time.monotonic()
        # Servers follow a dead leader for up to 10 s, and brokers are registered until their sessions have expired.
        code, text = stretched.attempt("playbooks/disaster.yml", "-e", "wait=20")
        assert (code != 0, "failover possible" in text) == (True, True), text[-2000:]
        begun = time.monotonic()
        code, text = stretched.attempt("playbooks/failover.yml", *statement(survivor))
        assert code == 0, text[-3000:]
        took["failover.yml"] = time.monotonic() - begun
        reported = REPORT.search(" ".join(text.replace('"', " ").split()))
        assert reported, text[-3000:]
        took |= {name: float(seconds) for name, seconds in reported.groupdict().items() if seconds}
        acked = writer.acked
        until("the load is acknowledged again", lambda: writer.acked > acked + 20, 60)
        took["from the loss to writes"] = time.monotonic() - killed
        assert min_isr(stretched, topic) == "2"
        code, text = stretched.attempt("playbooks/site.yml", "--limit", f"{survivor}-kafka1")
        assert (code != 0, "FAILOVER_ACTIVE" in text) == (True, True), text[-2000:]
        code, text = stretched.attempt("playbooks/failback.yml")
        assert (code != 0, "Too few hosts can be reached" in text) == (True, True), text[-2000:]
        mend()
        begun = time.monotonic()
        stretched.play("playbooks/failback.yml")
        took["failback.yml"] = time.monotonic() - begun
        acked = writer.acked
        until("the load is acknowledged after the failback", lambda: writer.acked > acked + 20, 60)
    stretched.whole()
    assert min_isr(stretched, topic) == before
    report = load(folder).compare(read_all(stretched.inventory.kafka_properties, topic))
    assert (report.missing, report.double) == ([], []), str(report)
    assert unlike(stretched, topic) == []
    return took


def test_failover_and_failback(stretched: Stretched, topic: str, chance: random.Random, tmp_path: Path) -> None:
    """One datacenter is lost and returns."""
    if stretched.name != LAYOUT:
        pytest.skip("one layout is enough")
    lost = chance.choice(sorted(OTHER))
    print(json.dumps(cycle(stretched, topic, lost, chance.choice(KILLS), tmp_path)))


FAILOVER_STEPS = (
    "Copy the data",
    "Restart the ZooKeeper servers",
    "Wait until the ensemble",
    "Remove the registrations",
    "Record them on the hosts",
    "Lower min.insync.replicas",
)
FAILBACK_STEPS = (
    "Move the older data",
    "Start the ZooKeeper servers",
    "Remove the fence]",
    "Wait until this server",
    "Start the brokers",
    "Restore min.insync.replicas",
    "Record on the control node that everything is restored",
    "Record on the hosts that the failover has ended",
)
"""Tasks during which a run is killed; each next run continues."""


@pytest.mark.campaign
def test_a_run_that_is_killed_is_continued(stretched: Stretched, topic: str) -> None:
    """Both playbooks are killed in each of their steps, and a last run ends them."""
    if stretched.name != LAYOUT:
        pytest.skip("one layout is enough")
    before, options = min_isr(stretched, topic), statement("dc2")
    mend = lose(stretched, "dc1")
    for step in FAILOVER_STEPS:
        stretched.interrupt("playbooks/failover.yml", step, *options)
    stretched.play("playbooks/failover.yml", *options)
    assert min_isr(stretched, topic) == "2"
    mend()
    for step in FAILBACK_STEPS:
        stretched.interrupt("playbooks/failback.yml", step)
    stretched.play("playbooks/failback.yml")
    stretched.whole()
    assert min_isr(stretched, topic) == before


@pytest.mark.campaign
def test_a_failover_that_only_fenced_is_ended(stretched: Stretched, topic: str) -> None:
    """It is killed after the fence, the lost datacenter returns, and failback.yml lets both connect again.

    A server of the survivor is cut off meanwhile: its fence is removed later, by the same command.
    """
    if stretched.name != LAYOUT:
        pytest.skip("one layout is enough")
    options = statement("dc2")
    mend = lose(stretched, "dc1")
    stretched.interrupt("playbooks/failover.yml", "Copy the data", *options)
    mend()
    stretched.start_zookeeper(stretched.servers_of("dc1"))
    code, text = stretched.attempt("playbooks/failover.yml", *options)
    assert (code != 0, "playbooks/failback.yml ends that" in " ".join(text.split())) == (True, True), text[-2000:]
    mend = cut_off(stretched, ["dc2-zk3"])
    _, text = stretched.attempt("playbooks/failback.yml", "-e", "ansible_ssh_timeout=5")
    assert "Still separated: dc2-zk3." in " ".join(text.split()), text[-3000:]
    mend()
    stretched.play("playbooks/failback.yml")
    stretched.start_brokers(stretched.servers_of("dc1"))
    stretched.whole()


@pytest.mark.campaign
def test_ten_failovers(
    stretched: Stretched, topic: str, tmp_path: Path, note: Callable[[str], None], pytestconfig: pytest.Config
) -> None:
    """Ten failovers and failbacks, victims alternating, killed in all orders."""
    if stretched.name != LAYOUT:
        pytest.skip("one layout is enough")
    found = []
    for number in range(10):
        lost = ("dc1", "dc2")[number % 2]
        took = cycle(stretched, topic, lost, KILLS[number % 3], tmp_path / str(number))
        found.append(took)
        print(number, lost, KILLS[number % 3], json.dumps(took), flush=True)
    folder = pytestconfig.getoption("--survival-record")
    if folder:
        write(folder / "failovers.json", json.dumps({"runs": found}, indent=1) + "\n")
    for name in found[0]:
        values = [took[name] for took in found]
        note(f"{name}: median {median(values):.1f} s, most {max(values):.1f} s, of {len(values)}")


@pytest.mark.campaign
def test_a_server_of_the_survivor_is_lost_too(stretched: Stretched, topic: str) -> None:
    """A failback goes on without it, also after an interruption between its restarts; it joins when it returns."""
    if stretched.name != LAYOUT:
        pytest.skip("one layout is enough")
    before, options = min_isr(stretched, topic), statement("dc2")
    mend = lose(stretched, "dc1")
    stretched.play("playbooks/failover.yml", *options)
    mend()
    mend = cut_off(stretched, ["dc2-zk3"])
    stretched.interrupt("playbooks/failback.yml", "Wait until this server", "-e", "ansible_ssh_timeout=5")
    _, text = stretched.attempt("playbooks/failback.yml")  # its status is not 0, since a host cannot be reached
    if "Left out" not in text:  # the votes of the server that was not restarted yet were not enough for a leader
        assert "first run failover.yml again" in " ".join(text.split()), text[-3000:]
        stretched.play("playbooks/failover.yml", *options)
        _, text = stretched.attempt("playbooks/failback.yml")
    left_out = "Left out: dc2-zk3. Still separated: dc2-zk3."
    assert left_out in " ".join(text.split()), text[-3000:]
    assert min_isr(stretched, topic) == before
    mend()
    code, text = stretched.attempt("playbooks/site.yml", "--limit", "dc2-zk3")
    assert (code != 0, "FAILOVER_ACTIVE" in text) == (True, True), text[-3000:]
    stretched.play("playbooks/failback.yml")
    stretched.whole()
    until_none("all servers serve", stretched.lab.zookeeper_problems, 60)


def processes(stretched: Stretched, datacenters: tuple[str, ...]) -> dict[str, str]:
    """Return {ZooKeeper server: its process, and the digest of its configuration} of some datacenters."""
    hosts = [host for name in datacenters for host in stretched.servers_of(name)]
    servers = [host for host in stretched.inventory.hosts("zookeeper") if host in hosts]
    command = "systemctl show -p MainPID --value zookeeper; sha256sum < /etc/zookeeper/zoo.cfg"
    return stretched.lab.on_all(servers, command)


@pytest.mark.campaign
def test_a_witness_serves_with_the_survivor(stretched: Stretched, topic: str, tmp_path: Path) -> None:
    """Only min.insync.replicas is lowered: no ZooKeeper server that stays is changed or restarted."""
    if stretched.name != WITH_WITNESS:
        pytest.skip("it has no witness")
    code, text = stretched.attempt("playbooks/failover.yml", *statement("dc3"))
    assert (code != 0, "a witness has no brokers" in " ".join(text.split())) == (True, True), text[-2000:]
    before = processes(stretched, ("dc2", "dc3"))
    print(json.dumps(cycle(stretched, topic, "dc1", KILLS[0], tmp_path)))
    assert processes(stretched, ("dc2", "dc3")) == before


@pytest.mark.campaign
def test_a_witness_is_lost_with_a_datacenter(stretched: Stretched, topic: str) -> None:
    """Both have a quorum without the survivor, so there is no failover. With the witness, ZooKeeper serves again.

    Then the witness is left out of the failback, and the survivor is lost before the fence of the witness is removed.
    """
    if stretched.name != WITH_WITNESS:
        pytest.skip("it has no witness")
    before = min_isr(stretched, topic)
    stretched.play("playbooks/disaster.yml")  # its first write creates __consumer_offsets, which needs all brokers
    witness = stretched.servers_of("dc3")
    mend = lose(stretched, "dc2")
    stretched.take_away(witness)
    mend_witness = cut_off(stretched, witness)
    for playbook, options, words in (
        ("disaster.yml", ["-e", "wait=20"], "failover forbidden"),
        ("failover.yml", statement("dc1"), "failover forbidden"),
    ):
        code, text = stretched.attempt(f"playbooks/{playbook}", *options)
        assert (code != 0, words in " ".join(text.split())) == (True, True), text[-2000:]
    assert not stretched.record.exists()
    mend_witness()
    stretched.start_zookeeper(witness)
    stretched.attempt("playbooks/disaster.yml", "-e", "wait=40")  # a new leader counts sessions from its election
    stretched.interrupt("playbooks/failover.yml", "Wait until the ensemble", *statement("dc1"))
    stale = json.loads(stretched.record.read_text())
    stretched.play("playbooks/failover.yml", *statement("dc1"))
    assert min_isr(stretched, topic) == "2"
    assert "min_isr" not in stale  # as on a control node that was interrupted before a second one ended the failover
    stretched.record.write_text(json.dumps(stale))
    mend()
    mend_witness = cut_off(stretched, witness)
    _, text = stretched.attempt("playbooks/failback.yml", "-e", "ansible_ssh_timeout=5")
    assert "serve together again" in " ".join(text.split()), text[-3000:]
    assert "Still separated: dc3-zk1." in " ".join(text.split()), text[-3000:]
    assert min_isr(stretched, topic) == before
    mend_witness()
    mend = lose(stretched, "dc1")
    code, text = stretched.attempt("playbooks/disaster.yml", "-e", "wait=20")
    assert (code != 0, "fence of an earlier failover" in " ".join(text.split())) == (True, True), text[-3000:]
    _, text = stretched.attempt("playbooks/failback.yml", "-e", "ansible_ssh_timeout=5")
    assert "Fences were removed from dc3-zk1." in " ".join(text.split()), text[-3000:]
    assert not stretched.record.exists()
    left = [host for host in stretched.inventory.hosts("zookeeper") if not host.startswith("dc1-")]
    until("dc2 and the witness serve", lambda: any(modes_of(stretched.inventory, left)), 60)
    mend()
    stretched.start(stretched.servers_of("dc1"))
    stretched.whole()
    until_none("all servers serve", stretched.lab.zookeeper_problems, 60)
