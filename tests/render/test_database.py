"""What a database's host gets, and the jobs that keep read models in it."""

import json
import re
from collections.abc import Callable

import pytest
from model.mistakes.base import VAULT

from render.conftest import Hosts
from render.test_security import secrets

SPARK = {
    "dc1": [f"198.19.1.{number}" for number in (31, 32, 33, 34)],
    "dc2": [f"198.19.11.{number}" for number in (31, 32, 33, 34)],
    "lab_orders": ["198.18.5.31", "198.18.5.32"],
}
ADDRESS = {"dc1": "198.19.1.41", "dc2": "198.19.11.41", "lab_orders": "198.18.5.41"}
HOST = {"dc1": "dc1-db1", "dc2": "dc2-db1", "lab_orders": "dc1-db1"}
JOBS = {"dc1": {"dc1-spark3": True, "dc1-spark4": False}, "lab_orders": {"dc1-spark2": True}}
# The password of project_orders: of the vault, or what a lab made itself.
PASSWORD = {"dc1": VAULT["database_passwords"]["project_orders"], "lab_orders": r"[\w.,:-]{32}"}


@pytest.mark.parametrize("name", HOST)
def test_who_is_let_in(name: str, rendered: Callable[[str], Hosts]) -> None:
    """Users of jobs, over TLS, from the nodes of jobs; the superuser on the host itself; the firewall alike."""
    host = rendered(name)[HOST[name]]
    lines = [line for line in host.text("/etc/postgresql/pg_hba.conf").splitlines() if not line.startswith("#")]
    assert lines == ["local all postgres peer map=admin"] + [
        f'hostssl "orders" "{user}" {address}/32 scram-sha-256'
        for user in ("orders_owner", "project_orders")
        for address in SPARK[name]
    ]
    rules = host.roles["postgresql"]["nftables"][0]["content"]
    assert f"tcp dport 5432 ip saddr {{ {', '.join(SPARK[name])} }} accept" in rules
    assert re.search(r"tcp dport \{ 5432[^}]* \} drop", rules)


@pytest.mark.parametrize("name", HOST)
def test_settings(name: str, rendered: Callable[[str], Hosts]) -> None:
    """TLS with the host's certificate, SCRAM, the declared address alone, data on its disk; the site's own beside."""
    text = rendered(name)[HOST[name]].text("/etc/postgresql/postgresql.conf")
    found = dict(line.split(" = ") for line in text.splitlines() if not line.startswith("#"))
    assert {key: found[key].strip("'") for key in ("listen_addresses", "port", "ssl", "password_encryption")} == {
        "listen_addresses": ADDRESS[name],
        "port": "5432",
        "ssl": "on",
        "password_encryption": "scram-sha-256",
    }
    assert found["ssl_key_file"] == found["ssl_cert_file"] == "'/etc/postgresql/tls/server.pem'"
    assert found["data_directory"] == "'/data/postgresql/15'"
    assert found["max_connections"] == ("'20'" if name == "lab_orders" else "'50'")


@pytest.mark.parametrize("name", HOST)
def test_unit(name: str, rendered: Callable[[str], Hosts]) -> None:
    """It runs as postgres, not without its disk, is restarted by its digest, and its key is of its group alone."""
    host = rendered(name)[HOST[name]]
    unit = host.unit("postgresql.service")
    assert unit["User"] == ["postgres"]
    assert unit["RequiresMountsFor"] == unit["AssertPathIsMountPoint"] == ["/data/postgresql"]
    assert unit["ReadWritePaths"] == ["/data/postgresql /run/postgresql"]
    (service,) = host.services
    assert (service["name"], service["state"]) == ("postgresql.service", "converged")
    assert f"CONFIG_DIGEST={service['digest']} " in unit["Environment"][0]
    key = host.file("/etc/postgresql/tls/server.pem")
    assert (key["owner"], key["group"], key["mode"], key["secret"]) == ("root", "postgres", "0640", True)


def test_its_certificate_is_not_the_nodes_business(rendered: Callable[[str], Hosts]) -> None:
    """A job gets the CA, and no key."""
    paths = [file["path"] for file in rendered("dc1")["dc1-spark3"].items("files")]
    own = [path for path in paths if path.endswith(".pem") and "/prometheus/" not in path]  # test_metrics.py
    assert own == ["/etc/millrace/tls/ca.pem"]


@pytest.mark.parametrize("name", JOBS)
def test_the_job_that_keeps_orders(name: str, rendered: Callable[[str], Hosts]) -> None:
    """It verifies the database's certificate, and has no login of the owner; a standby is stopped."""
    for host, runs in JOBS[name].items():
        node = rendered(name)[host]
        database = json.loads(node.secret("/etc/spark-job/project_orders.json"))["database"]
        assert re.fullmatch(PASSWORD[name], database.pop("password"))
        assert database == {
            "host": ADDRESS[name],
            "port": 5432,
            "sslmode": "verify-full",
            "sslrootcert": "/etc/millrace/tls/ca.pem",
            "dbname": "orders",
            "user": "project_orders",
        }
        everything = json.dumps(node.roles) + secrets(node)
        assert "project_orders" in everything and "orders_owner" not in everything
        assert VAULT["database_passwords"]["orders_owner"] not in everything  # a lab makes another one
        units = {unit["name"]: unit["state"] for unit in node.services}
        assert units["spark-job@project_orders.service"] == ("converged" if runs else "stopped")
