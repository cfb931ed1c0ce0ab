"""The datacenters of a stretched cluster are apart: what that costs, what preflight says, where consumers read."""

import json
import uuid
from collections.abc import Callable

import pytest
from observations import write

from survival.conftest import QUICK

from .distance import Link, apart, fill, measured
from .stretched import Stretched

pytestmark = pytest.mark.campaign
LAYOUT = "lab_stretch2"
ROUND_TRIPS = (2, 20, 100)
READ = 20_000_000


def one_partition(cluster: Stretched) -> str:
    """Create a topic with one partition, so that the leader is known; return its name."""
    name = f"distance{uuid.uuid4().hex[:8]}"
    cluster.create_topic(name, 1)
    return name


def test_what_a_distance_costs(stretched: Stretched, pytestconfig: pytest.Config, note: Callable[[str], None]) -> None:
    """Measured next to each other, and then at each distance, on one cluster."""
    if stretched.name != LAYOUT:
        pytest.skip("one layout is enough")
    found = {"0": measured(stretched, one_partition(stretched))}
    print(json.dumps(found), flush=True)
    for milliseconds in ROUND_TRIPS:
        topic = one_partition(stretched)
        with apart(stretched.inventory, milliseconds):
            found[str(milliseconds)] = measured(stretched, topic)
            print(milliseconds, json.dumps(found[str(milliseconds)]), flush=True)
            code, text = stretched.attempt("playbooks/preflight.yml", "-e", json.dumps(QUICK))
            said = "DATACENTERS_FAR" in text
            assert (code, said) == (0, milliseconds == 100), text[-3000:]  # a warning, since the cluster runs
        assert found[str(milliseconds)]["connection ms"] >= milliseconds
        stretched.whole()
    for distance, values in found.items():
        note(f"{distance} ms: {json.dumps(values)}")
    folder = pytestconfig.getoption("--survival-record")
    if folder:
        write(folder / "distance.json", json.dumps(found, indent=1) + "\n")


def read(cluster: Stretched, link: Link, topic: str, host: str, more: str) -> int:
    """Read a topic on a host; return the bytes that came from the other datacenter meanwhile."""
    tool = (
        f"{more} /etc/kafka/client.properties > /tmp/reader && timeout 200 kafka-console-consumer.sh --topic {topic} "
        f"--from-beginning --max-messages {READ // 100_000} --consumer.config /tmp/reader --bootstrap-server "
        f"{cluster.inventory.replication_address(host)}:{cluster.inventory.port('REPLICATION')} > /dev/null"
    )
    before = link.settled()
    cluster.inventory.run(host, tool, seconds=240)
    after = link.settled()
    return sum(count - before.get(pair, 0) for pair, count in after.items())


def test_consumers_read_in_their_own_datacenter(stretched: Stretched) -> None:
    """With the client file that is installed nearly nothing passes the link; without client.rack all records do."""
    if stretched.name != LAYOUT:
        pytest.skip("one layout is enough")
    topic = one_partition(stretched)
    fill(stretched, topic, READ)
    stretched.whole()
    leader = stretched.lab.leader(topic).partition("-")[0]
    host = next(host for host in stretched.inventory.hosts("kafka") if not host.startswith(f"{leader}-"))
    with apart(stretched.inventory, 20) as link:
        near = read(stretched, link, topic, host, "cat")
        far = read(stretched, link, topic, host, "grep -v client.rack")
    stretched.whole()
    print(f"bytes over the link: {near} with client.rack, {far} without")
    assert far > READ > 10 * near
