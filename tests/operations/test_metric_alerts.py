"""Alerts of hosts, brokers and ZooKeeper servers are fired by real faults, and end after them.

Not among them: HostDiskFull, which compares with the metrics of six hours before, HostRestartOwed, which waits for a
day, and HostClockOff, for the hosts of a lab have the clock of their machine.
"""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import ElectionType, KafkaException, Producer, TopicPartition
from faults.disks import Disk, machine
from faults.interfaces import Interfaces
from faults.inventory import Inventory
from faults.lab import Lab, until
from faults.zookeeper import session
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from operations.watched import Watch

pytestmark = pytest.mark.campaign
PRODUCERS, IN_FLIGHT = 12, 300
"""More producers than a broker has threads for requests; writes to ZooKeeper that wait at a time."""
LONGEST = 1800
"""Seconds after which any load ends."""


def controller(lab: Lab) -> str:
    """Return the host of the broker that is the controller."""
    return lab.inventory.broker(lab.admin.describe_cluster().result(30).controller.id)


@contextmanager
def slow_disk(lab: Lab, hosts: Sequence[str], unit: str, seconds: float) -> Iterator[None]:
    """Have each fsync of a service take longer by so many seconds, until the end of the block."""
    inject = f"inject=fsync,fdatasync:delay_exit={int(seconds * 1e6)}"
    with ExitStack() as stack:
        for host in hosts:
            command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", inject]
            traced = subprocess.Popen([*command, "-p", str(process_of(lab, host, unit))])
            stack.callback(traced.wait, 60)
            stack.callback(traced.terminate)
        yield


def process_of(lab: Lab, host: str, unit: str) -> int:
    """Return the number that a service's process has on this machine."""
    first = machine("podman", "inspect", "--format", "{{.State.Pid}}", lab.inventory.container(host))
    space, inner = os.readlink(f"/proc/{first}/ns/pid"), str(lab.pid(host, unit))
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
            if status["NSpid"].split()[-1] == inner and os.readlink(folder / "ns" / "pid") == space:
                return int(folder.name)
    raise AssertionError(f"{host}: {unit} does not run")


@contextmanager
def load(act: Callable[[threading.Event], None], times: int = 1) -> Iterator[None]:
    """Run this in so many threads until the end of the block; each ends when its event is set."""
    stop = threading.Event()
    threads = [threading.Thread(target=act, args=(stop,), daemon=True) for _ in range(times)]
    timer = threading.Timer(LONGEST, stop.set)
    for thread in (timer, *threads):
        thread.daemon = True
        thread.start()
    try:
        yield
    finally:
        stop.set()
        timer.cancel()
        for thread in threads:
            thread.join(60)


def under(watch: Watch, text: str, names: set[str], *faults: AbstractContextManager[None]) -> None:
    """Measure alerts under faults that last as long as these blocks."""
    stack = ExitStack()
    watch.fault(text, names, lambda: [stack.enter_context(fault) for fault in faults], stack.close)


def test_the_proxy_is_stopped(inventory: Inventory, watch: Watch) -> None:
    """The exporters run, and nobody is answered."""
    host, unit = inventory.hosts("metrics")[-1], "prometheus-exporter-exporter"
    watch.fault(
        "the proxy of a host's metrics is stopped",
        {"HostMetricsMissing"},
        lambda: inventory.run(host, f"systemctl stop {unit}"),
        lambda: inventory.run(host, f"systemctl start {unit}"),
    )


def test_a_service_is_stopped(inventory: Inventory, watch: Watch) -> None:
    """Not by a playbook, which would know that nobody wants it."""
    (host,) = inventory.hosts("monitoring")
    watch.fault(
        "Alertmanager is stopped",
        {"HostServiceDown"},
        lambda: inventory.run(host, "systemctl stop prometheus-alertmanager"),
        lambda: inventory.run(host, "systemctl start prometheus-alertmanager"),
    )


def test_a_certificate_ends_soon(inventory: Inventory, watch: Watch, tmp_path: Path) -> None:
    """It is put in the place of a truststore that the proxy has read when it started."""
    host, file = inventory.hosts("metrics")[-1], "/etc/prometheus/tls/ca.pem"
    key, soon = tmp_path / "key.pem", tmp_path / "soon.pem"
    machine(
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=soon", "-days", "10"),
        *("-keyout", str(key), "-out", str(soon)),
    )
    watch.fault(
        "a file has a certificate that ends in ten days",
        {"HostCertificateEnds"},
        lambda: inventory.run(host, f"cp -p {file} {file}.kept && cat >{file}", stdin=soon.read_text()),
        lambda: inventory.run(host, f"mv {file}.kept {file}"),
    )


def test_nobody_writes_metrics_of_services(inventory: Inventory, watch: Watch) -> None:
    """The timer is stopped, and what it wrote stays."""
    host = inventory.hosts("metrics")[-1]
    watch.fault(
        "service-metrics.timer is stopped",
        {"HostServiceMetricsOld"},
        lambda: inventory.run(host, "systemctl stop service-metrics.timer"),
        lambda: inventory.run(host, "systemctl start service-metrics.timer"),
    )


def test_a_disk_is_nearly_full(inventory: Inventory, watch: Watch) -> None:
    """A disk of a broker that does not delete by size."""
    host, file = inventory.hosts("kafka")[0], "/data/kafka2/filled-on-purpose"
    space = "$(df --output=avail,size -B1 /data/kafka2 | awk 'NR == 2 {printf \"%d\", $1 - $2 / 20}')"
    watch.fault(
        "a disk of a broker has 5 % free",
        {"HostDiskNearlyFull"},
        lambda: inventory.run(host, f"fallocate -l {space} {file}"),
        lambda: inventory.run(host, f"rm -f {file}"),
    )


def test_the_controller_is_cut_off(inventory: Inventory, hurt: Lab, watch: Watch) -> None:
    """From ZooKeeper alone: another broker is elected, and the one cut off does not know."""
    host, interfaces = controller(hurt), Interfaces(inventory)
    rule = ("OUTPUT", "-p", "tcp", "--dport", str(inventory.zookeeper_port), "-j", "DROP")
    watch.fault(
        "what the controller sends to ZooKeeper is dropped",
        {"KafkaControllers"},
        lambda: interfaces.inside(host, "iptables", "-I", *rule),
        lambda: interfaces.inside(host, "iptables", "-D", *rule),
    )


def test_a_disk_dies(inventory: Inventory, hurt: Lab, watch: Watch) -> None:
    """The broker continues with its other disk."""
    disk = Disk(inventory, inventory.hosts("kafka")[0], "/data/kafka2")
    watch.fault("a disk of a broker gives I/O errors", {"KafkaLogDirOffline"}, disk.gives_errors, disk.restore)


def test_two_brokers_of_three_are_down(
    inventory: Inventory, hurt: Lab, watch: Watch, created: Callable[..., str]
) -> None:
    """The third leads what it may not write."""
    created()

    def kill() -> None:
        for broker in inventory.hosts("kafka")[1:]:
            hurt.kill_and_keep_down(broker, "kafka.service")

    watch.fault("two brokers of three are killed", {"KafkaUnderMinIsr"}, kill, hurt.heal)


def test_a_leader_is_elected_that_was_not_in_sync(
    inventory: Inventory, hurt: Lab, watch: Watch, created: Callable[..., str]
) -> None:
    """The last in-sync replica is down, and somebody decides not to wait for it."""
    first, second = [host for host in inventory.hosts("kafka") if host != controller(hurt)][:2]
    name = created(
        partitions=1, replicas=[*map(inventory.broker_id, (first, second))], config={"min.insync.replicas": "1"}
    )
    producer = Producer({**inventory.kafka_properties})

    def elect() -> None:
        hurt.kill_and_keep_down(second, "kafka.service")
        until("the second has left the ISR", lambda: len(hurt.partitions(name)[0].isr) == 1, 120)
        producer.produce(name, b"lost on purpose")
        assert producer.flush(30) == 0
        hurt.kill_and_keep_down(first, "kafka.service")
        until("nobody leads", lambda: hurt.partitions(name)[0].leader < 0, 120)
        inventory.run(second, "systemctl start kafka")
        until("the second leads", unclean, 300, 2)

    def unclean() -> bool:
        with suppress(KafkaException):
            hurt.admin.elect_leaders(ElectionType.UNCLEAN, [TopicPartition(name, 0)]).result(30)
        return hurt.partitions(name)[0].leader == inventory.broker_id(second)

    watch.fault(
        "a replica that is not in sync is elected, by `kafka-leader-election.sh --election-type unclean`",
        {"KafkaUncleanElection"},
        elect,
        hurt.heal,
    )


def test_handlers_wait_for_a_slow_disk(
    inventory: Inventory, hurt: Lab, watch: Watch, created: Callable[..., str]
) -> None:
    """More producers than the broker has threads, each with a partition that is flushed at each record."""
    broker = inventory.hosts("kafka")[0]
    name = created(
        partitions=PRODUCERS,
        replicas=[inventory.broker_id(broker)],
        config={"flush.messages": "1", "min.insync.replicas": "1"},
    )
    numbers = iter(range(PRODUCERS))

    def produce(stop: threading.Event) -> None:
        partition = next(numbers)
        producer = Producer({**inventory.kafka_properties, "linger.ms": 0})
        while not stop.is_set():
            producer.produce(name, b"x", partition=partition)
            producer.flush(30)

    under(
        watch,
        "each flush of a broker's disk takes 0.2 s longer, and 12 producers write to partitions that are flushed",
        {"KafkaRequestHandlersBusy"},
        slow_disk(hurt, [broker], "kafka.service", 0.2),
        load(produce, PRODUCERS),
    )


def test_the_ensemble_has_no_quorum(inventory: Inventory, hurt: Lab, watch: Watch) -> None:
    """The server that is left runs, and serves nobody."""
    others = inventory.hosts("zookeeper")[1:]
    watch.fault(
        "all ZooKeeper servers but one are stopped",
        {"ZooKeeperNoLeader"},
        lambda: hurt.on_all(others, "systemctl stop zookeeper"),
        hurt.heal,
    )


def test_the_disks_of_the_ensemble_are_slow(inventory: Inventory, hurt: Lab, watch: Watch) -> None:
    """All of them: a quorum of fast ones would be enough."""
    servers, path = inventory.hosts("zookeeper"), f"/alerts-{time.time_ns()}"
    view = replace(inventory, groups={**inventory.groups, "zookeeper": [hurt.zookeeper_leader()]})

    def write(stop: threading.Event) -> None:
        while not stop.is_set():
            with suppress(KazooException, TimeoutError), session(view, timeout=60) as client:
                client.ensure_path(path)
                keep_waiting(client, stop)

    def keep_waiting(client: KazooClient, stop: threading.Event) -> None:
        places = threading.Semaphore(IN_FLIGHT)
        while not stop.is_set():
            places.acquire(timeout=5)
            client.set_async(path, b"x").rawlink(lambda _: places.release())

    under(
        watch,
        "each flush of all ZooKeeper servers' disks takes 1 s longer, and 300 writes wait at a time",
        {"ZooKeeperSlowDisk", "ZooKeeperOutstandingRequests"},
        slow_disk(hurt, servers, "zookeeper.service", 1),
        load(write),
    )
    with session(inventory) as client:
        client.delete(path)
