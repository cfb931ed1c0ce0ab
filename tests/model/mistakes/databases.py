"""Wrong inventories: databases, their users and settings, and the jobs that write to them."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import Mistake

OWNER = {"name": "orders_owner", "password": "{{ vault.database_passwords.orders_owner }}", "database": "orders"}
USER = {"name": "project_orders", "password": "{{ vault.database_passwords.project_orders }}", "database": "orders"}
JOB = "group spark_consumer/spark_job_jobs[project_orders].config.database"
MIGRATE = "group spark_consumer/spark_job_jobs[project_orders].migrate"
OWN = "postgresql_users | millrace.kafka.postgresql_login('{}')"
LOGIN = "database_client | combine(postgresql_users | millrace.kafka.postgresql_login('{}'))"


def users(*more: dict[str, Any], owner: bool = True, places: list[str] | None = None) -> dict[str, dict[str, Any]]:
    """Return the users of the database, the job's user with other addresses, and more users."""
    user = {**USER, "from": places} if places else USER
    return {"all": {"postgresql_users": [{**OWNER, "owner": owner}, user, *more]}}


def settings(**config: Any) -> dict[str, dict[str, Any]]:
    """Return postgresql_config."""
    return {"all": {"postgresql_config": config}}


def job(login: str = "project_orders", migrate: str = "", **changed: Any) -> dict[str, dict[str, Any]]:
    """Return the job with another user, changed properties of its connection, and a login for migrations."""
    kafka = "{{ kafka_client | combine(kafka_users | millrace.kafka.kafka_login('project_orders')) }}"
    config = {
        "input_topic": "orders",
        "dead_letter_topic": "orders-dead",
        "kafka": kafka,
        "database": f"{{{{ {LOGIN.format(login)} | combine({changed!r}) }}}}",
        "checkpoint": "/var/lib/spark-job/project_orders/checkpoint",
    }
    entry = {"name": "project_orders", "config": config, **({"migrate": f"{{{{ {migrate} }}}}"} if migrate else {})}
    return {"spark_consumer": {"spark_job_jobs": [entry]}}


def empty() -> dict[str, dict[str, Any]]:
    """Return the users of the database, one without a password."""
    return {"all": {"postgresql_users": [{**OWNER, "owner": True}, {**USER, "password": ""}]}}


def memory(host: str, shared: str) -> dict[str, dict[str, Any]]:
    """Return the memory of a host, and shared_buffers of its server."""
    return {"database": {"memory": host}, **settings(shared_buffers=shared)}


def address(listens: str) -> dict[str, dict[str, Any]]:
    """Return postgresql_address."""
    return {"database": {"postgresql_address": listens}}


def mistake(code: str, where: str, advice: str, variables: dict[str, dict[str, Any]], *also: str) -> Mistake:
    """Return a mistake in the lab that has a database."""
    return Mistake(code, where, advice, variables=variables, also=frozenset(also), inventory="lab_orders")


PLACE = "group all/postgresql_users"
CONFIG = "group all/postgresql_config"
MISTAKES: tuple[Mistake, ...] = (
    mistake("DATABASE_USER_TWICE", f"{PLACE}[project_orders]", "another name", users(USER)),
    mistake("DATABASE_NAME", f"{PLACE}[Reader].name", "lower-case", users({**USER, "name": "Reader"})),
    mistake("DATABASE_SOURCE", f"{PLACE}[project_orders].from", "198.51.100.0/24", users(places=["dc1-spark2"])),
    mistake("DATABASE_OWNER", PLACE, "owner: true", users(owner=False)),
    mistake("DATABASE_SETTING_OWNED", f"{CONFIG}[port]", "use postgresql_port", settings(port=5433)),
    mistake(
        "DATABASE_SETTING", f"{CONFIG}[share_buffers]", "did you mean shared_buffers", settings(share_buffers="1GB")
    ),
    mistake(
        "DATABASE_VERSION",
        "group all/postgresql_version",
        "a number, for example 15",
        {"all": {"postgresql_version": "15; x"}},
    ),
    mistake("DATABASE_VALUE", f"{CONFIG}[max_connections]", "use a number from 1", settings(max_connections=0)),
    mistake(
        "DATABASE_CONTRADICTION",
        f"{CONFIG}[superuser_reserved_connections]",
        "raise max_connections",
        settings(max_connections=20, superuser_reserved_connections=30),
    ),
    mistake("DATABASE_USER", f"{JOB}.user", "did you mean project_orders", job(user="project_order")),
    mistake("DATABASE_OTHER", f"{JOB}.dbname", "set dbname to orders", job(dbname="order")),
    mistake("DATABASE_USER_OWNS", f"{JOB}.user", "set another user", job("orders_owner")),
    mistake("DATABASE_USER_MIGRATES", f"{MIGRATE}.user", "orders_owner", job(migrate=OWN.format("project_orders"))),
    mistake("DATABASE_PASSWORD", f"{JOB}.password", "postgresql_login", job(password="")),
    mistake("DATABASE_UNVERIFIED", f"{JOB}.sslmode", "database_client", job(sslmode="require")),
    Mistake(
        "DATABASE_IDLE",
        "dc1-db2",
        "remove the host",
        hosts={
            "        dc1-db1: {client_address: 198.18.5.41}\n": "        dc1-db1: {client_address: 198.18.5.41}\n"
            "        dc1-db2: {client_address: 198.18.5.42}\n"
        },
        inventory="lab_orders",
    ),
    mistake(
        "DATABASE_CONNECTIONS",
        f"{CONFIG}[max_connections]",
        "raise max_connections by at least 1",
        settings(max_connections=4),
    ),
    mistake("DATABASE_PASSWORD_NONE", f"{PLACE}[project_orders].password", "vaulted", empty()),
    mistake("DATABASE_MEMORY", f"{CONFIG}[shared_buffers]", "a quarter", memory("2g", "2GB")),
    mistake("DATABASE_ADDRESS", "group database/postgresql_address", "client_address", address("198.18.9.9")),
    mistake("DATABASE_UNSAFE", f"{CONFIG}[fsync]", "remove it", settings(fsync=False)),
)
