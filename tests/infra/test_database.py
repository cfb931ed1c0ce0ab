"""The databases let in the users of jobs, over TLS, from where they are declared to come, and nobody else."""

import json
import re
import shlex
import socket
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer
from faults.inventory import Inventory
from faults.lab import until
from orders import TOPIC, Topic, snapshot
from testinfra.host import Host

from infra.conftest import service_problem
from infra.hardening import assert_hardened

# Connects as a job does, with some properties changed; prints what the server said.
CONNECT = """
import json, sys, psycopg
told = json.load(open(sys.argv[1]))["database"] | json.loads(sys.argv[2])
try:
    with psycopg.connect(**told, connect_timeout=10) as connection:
        print("connected as", connection.execute("SELECT current_user").fetchone()[0])
        print(*connection.execute(sys.argv[3]).fetchone())
except psycopg.Error as error:
    print("refused:", " ".join(str(error).split()))
"""

# The events of an order, and its row after them: status, customer, amount, number of events.
EVENTS: list[dict[str, str | int]] = [
    {"event": "OrderCreated", "customer": "customer-1", "amount_cents": 500},
    {"event": "OrderUpdated", "amount_cents": 700},
    {"event": "OrderClosed"},
]
ROW = ("OrderClosed", "customer-1", 700, len(EVENTS))


def job_file(inventory: Inventory) -> tuple[str, str]:
    """Return the node and the configuration of a job that has a database."""
    for host in inventory.hosts("spark"):
        found = inventory.run(host, "grep -l dbname /etc/spark-job/*.json || true").split()
        if found:
            return host, found[0]
    raise AssertionError("no job of this inventory has a database")


def answer(inventory: Inventory, query: str = "SELECT 1", **changed: str) -> str:
    """Return what a job's node hears of the database."""
    host, file = job_file(inventory)
    words = ["/opt/spark-job/current/bin/python", "-c", CONNECT, file, json.dumps(changed), query]
    return str(inventory.run(host, shlex.join(words)))


def test_it_runs_and_starts_at_boot(database_host: Host) -> None:
    assert service_problem(database_host, "postgresql") == ""
    assert_hardened(database_host, "postgresql", umask="0077")


def test_its_data_is_on_its_disk(database_host: Host) -> None:
    """The server itself says where; the file system there is none of the root's."""
    data = database_host.check_output("runuser -u postgres -- psql -qAtc 'SHOW data_directory'")
    assert database_host.check_output(f"findmnt -n -o TARGET --target {data}") != "/"
    assert (database_host.file(data).user, database_host.file(data).mode) == ("postgres", 0o700)


def test_a_job_comes_in_over_tls(inventory: Inventory) -> None:
    said = answer(inventory, "SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    assert said.splitlines()[0].startswith("connected as ")
    assert said.splitlines()[1] in ("True TLSv1.2", "True TLSv1.3")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sslmode": "disable"}, "no pg_hba.conf entry for host .* no encryption"),
        ({"user": "postgres"}, "no pg_hba.conf entry for host"),
        ({"dbname": "postgres"}, "no pg_hba.conf entry for host"),
        ({"password": "wrong"}, "password authentication failed"),
        ({"sslrootcert": "/etc/ssl/certs/ca-certificates.crt"}, "certificate verify failed|does not exist"),
    ],
)
def test_who_is_refused(changed: dict[str, str], said: str, inventory: Inventory) -> None:
    """Without TLS, as somebody else, elsewhere, with a wrong password; and a job refuses a server of another CA."""
    assert re.match(f"refused: .*({said})", answer(inventory, **changed))


def test_a_job_makes_no_table(inventory: Inventory) -> None:
    """Nor does it change what migrations have made, or whom the server knows."""
    for query in ("CREATE TABLE mine (a int)", "DELETE FROM job_migrations", "DROP TABLE job_positions"):
        assert "refused: " in answer(inventory, query)
    assert "refused: permission denied" in answer(inventory, "SELECT rolpassword FROM pg_authid")


def test_nobody_else_gets_an_answer(inventory: Inventory) -> None:
    """The control node is no host of jobs."""
    for host in inventory.hosts("database"):
        address = inventory.client_address(host)
        with pytest.raises(TimeoutError):
            socket.create_connection((address, 5432), timeout=2).close()


def send_orders(inventory: Inventory, names: Sequence[str]) -> dict[int, int]:
    """Send the events of new orders; return the offset after the last one of each partition."""
    ends: dict[int, int] = {}

    def sent(error: object, message: Message) -> None:
        assert error is None, error
        number, offset = message.partition() or 0, message.offset() or 0
        ends[number] = max(ends.get(number, 0), offset + 1)

    producer = Producer({**inventory.kafka_properties, "acks": "all", "enable.idempotence": True})
    for number, event in enumerate(EVENTS, start=1):
        for name in names:
            value = {"order_id": name, "sequence": number, "at": f"2026-01-01T00:00:0{number}Z", **event}
            producer.produce(TOPIC, json.dumps(value), name, on_delivery=sent)
    assert producer.flush(60) == 0
    return ends


def test_the_read_model_equals_the_events_of_its_topic(inventory: Inventory, note: Callable[[str], None]) -> None:
    """In a lab only, for the test makes up orders. A job that does not run is started, and stopped afterwards."""
    lab = inventory.lab_directory
    if lab is None:
        pytest.skip("makes up orders, which only a lab may have")
    (node, file), database = job_file(inventory), inventory.hosts("database")[0]
    unit = f"spark-job@{Path(file).stem}"
    ran = inventory.run(node, f"systemctl is-active {unit}", check=False).strip() == "active"
    names = [f"test-{uuid.uuid4().hex}" for _ in range(20)]
    ends = send_orders(inventory, names)

    def applied() -> bool:
        offsets = snapshot(lab, database).offsets
        return all(offsets.get(number, 0) >= end for number, end in ends.items())

    inventory.run(node, f"systemctl start {unit}")
    try:
        until("the job applied all events", applied, 300, poll=2)
        held, topic = snapshot(lab, database), Topic(inventory.kafka_properties)
        topic.read(held.offsets, 60)
    finally:
        if not ran:
            inventory.run(node, f"systemctl stop {unit}", seconds=150)
    assert {name: held.rows[name][1:5] for name in names} == dict.fromkeys(names, ROW)
    assert held.rows == {name: order.row(name) for name, order in topic.orders.items()}
    assert held.dead == 0
    note(f"{len(held.rows)} orders of {held.records} events: the database and the topic agree")
