"""The databases let in the users of jobs, over TLS, from where they are declared to come, and nobody else."""

import json
import re
import shlex
import socket

import pytest
from faults.inventory import Inventory
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
