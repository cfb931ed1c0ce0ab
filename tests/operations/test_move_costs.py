"""What a move within a limit costs those who write meanwhile, and over which network its bytes go."""

import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from faults.interfaces import Interfaces
from faults.lab import until
from faults.ledger import Ledger
from faults.verdict import verdict
from faults.writer import Writer

from operations.conftest import Operator
from operations.moving import Topic, begun, ids

pytestmark = pytest.mark.campaign
FILL, SIZE, RATE = 60_000, 10_000, 6_000_000
SECONDS = 20
"""As long is looked at the load before the move."""
HEADERS = 66
"""Of Ethernet, IP and TCP, in bytes, of a packet."""
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


@dataclass(frozen=True)
class Counters:
    """What has arrived at each of the hosts without its headers, in bytes, by network, and when (monotonic seconds)."""

    arrived: dict[str, dict[str, int]]
    at: float

    def since(self, before: "Counters", network: str) -> int:
        """Return the bytes that have arrived at all hosts since then."""
        return sum(one[network] - before.arrived[host][network] for host, one in self.arrived.items())


def read(operator: Operator) -> Counters:
    """Read the counters of the interfaces of all brokers, which are named after their networks."""
    interfaces, found = Interfaces(operator.inventory), dict[str, dict[str, int]]()
    for host in operator.inventory.hosts("kafka"):
        lines = (line.partition(":") for line in interfaces.inside(host, "cat", "/proc/net/dev").splitlines()[2:])
        counted = {name.strip(): [int(number) for number in numbers.split()[:2]] for name, _, numbers in lines}
        found[host] = {name: counted[name][0] - HEADERS * counted[name][1] for name in ("client", "replication")}
    return Counters(found, time.monotonic())


def p99(ledger: Ledger, since: float, until: float) -> float:
    """Return how long 99 of 100 of what was acknowledged meanwhile took at most, in seconds."""
    return statistics.quantiles([ack.took for ack in ledger.acks if since <= ack.at < until], n=100)[98]


def test_producers_and_networks(
    operator: Operator, made: Callable[..., Topic], tmp_path: Path, note: Callable[[str], None]
) -> None:
    """Beside copies p99 is at most twice what it was; bytes are those of the plan and 5 %, and go by one network."""
    one, two, three = ids(operator)
    topic = made([three, one], [three, two], [three, one], [three, two])
    properties = operator.inventory.kafka_properties
    with Writer(
        properties, topic.name, tmp_path, run=topic.name, name="f", limit=FILL, rate=2000, size=SIZE
    ) as filling:
        filling.join()
    soon = {**properties, "linger.ms": "5"}  # how long an acknowledgement takes is compared
    with Writer(soon, topic.name, tmp_path, run=topic.name, limit=200_000, rate=200):
        time.sleep(5)  # what was filled is flushed
        before = read(operator)
        time.sleep(SECONDS)
        asked = read(operator)
        run = begun(operator, topic, f"drain={three}", "-e", f"rate={RATE // 1_000_000}MB")
        since = time.monotonic()
        until("the first partition has another leader", lambda: topic.leaders() != {three}, 300)
        copied = time.monotonic()
        until("nothing is on the move any more", lambda: not topic.on_the_move(), 300)
        ended = read(operator)
        output, _ = run.communicate(timeout=120)
    assert run.returncode == 0, output[-3000:]
    assert not any(three in replicas for replicas in topic.moved().values())
    ledger, _ = verdict(topic.lab, topic.name, tmp_path, 0)

    (number, unit) = re.findall(r"4 replicas are copied, ([\d.]+) (\w+)", output)[0]
    planned = float(number) * UNITS[unit]
    idle = {name: asked.since(before, name) / (asked.at - before.at) for name in ("client", "replication")}
    moved = {name: ended.since(asked, name) - idle[name] * (ended.at - asked.at) for name in idle}
    usual, meanwhile = p99(ledger, before.at, asked.at), p99(ledger, since, copied)
    longest = max(ack.took for ack in ledger.acks if since <= ack.at < copied)
    note(
        f"{planned / 1e6:.1f} MB planned: {moved['replication'] / 1e6:.1f} MB by the network of replication, "
        f"{moved['client'] / 1e6:.1f} by that of clients; "
        f"p99 {usual * 1e3:.1f} ms before, {meanwhile * 1e3:.1f} meanwhile, the longest {longest * 1e3:.0f}"
    )
    written = idle["replication"] * (ended.at - asked.at)  # the new replicas get it as well
    assert 0.95 * planned <= moved["replication"] <= 1.05 * planned + written
    assert moved["client"] <= 0.01 * planned, "clients' network carries what was asked, no more"
    assert meanwhile <= 2 * usual
