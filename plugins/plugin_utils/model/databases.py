"""Rules on PostgreSQL servers: their users, their settings, and the Spark jobs that log in to them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.database_values import (
    DATABASE_VALUE,
    DATABASE_VALUE_ZONE,
    ZONES,
    contradictions,
    short_timeouts,
    unarchived,
    unknown_zone,
    unsafe_later,
    unsafe_values,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.exposure import WIDEST
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.firewall import left_alone, rules_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typos import typo_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import WILDCARDS, is_address, subnet
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import lets_in
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import (
    VERSION,
    definitions,
    network,
    text_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql_values import expected_value
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

USERS = "postgresql_users"
NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
RESERVED = ("postgres", "template0", "template1", "public", "all", "replication", "sameuser", "samerole", "samegroup")
# Settings that the role derives from its inputs; "" if no input sets the value.
OWNED = {
    "data_directory": "postgresql_data_dir",
    "listen_addresses": "postgresql_address",
    "port": "postgresql_port",
    "hba_file": USERS,
    "ident_file": USERS,
    "password_encryption": "",
    "ssl": "",
    "ssl_cert_file": "",
    "ssl_key_file": "",
    "unix_socket_directories": "",
}
FIRST, LAST = 13, 18
"""The major versions of PostgreSQL whose settings this project knows."""
OF_EXTENSION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)

DATABASE_USER_TWICE = ProblemKind(
    "DATABASE_USER_TWICE",
    "two entries declare this user, but a user name is unique on a server",
    "give the user of each database another name",
)
DATABASE_NAME = ProblemKind(
    "DATABASE_NAME",
    "PostgreSQL reserves this name, or reads it as another name",
    "use lower-case letters, digits and _, such as project_orders",
)
DATABASE_PASSWORD_NONE = ProblemKind(
    "DATABASE_PASSWORD_NONE",
    "empty: the server would reject every login",
    "set a password from the vaulted file, for example \"{{{{ vault.passwords['{user}'] }}}}\"",
)
DATABASE_OWNER = ProblemKind(
    "DATABASE_OWNER", "no user owns this database: its tables cannot be created", "set owner: true for one of its users"
)
DATABASE_OWNER_SEVERAL = DATABASE_OWNER.variant(message="several users own this database")
DATABASE_OWNER_TYPO = DATABASE_OWNER.variant(
    message="no user owns a database of this name", advice="did you mean {near}?"
)


def users(model: Model) -> Iterator[Problem]:
    """Yield a problem for each user in postgresql_users that is declared wrongly.

    Such a user is declared twice, or has an invalid name, no password or an invalid source. Also yield a problem for
    each database that does not have exactly one owner.
    """
    for machine in _databases(model):
        entries = machine.inputs.entries(USERS)
        counted = Counter(str(user.get("name")) for user in entries)
        for name in (name for name, number in counted.items() if number > 1):
            yield machine.report(DATABASE_USER_TWICE, f"{USERS}[{name}]", name)
        for user in entries:
            place = f"{USERS}[{user.get('name')}]"
            for key in ("name", "database"):
                text = str(user.get(key))
                if not NAME.fullmatch(text) or text in RESERVED or text.startswith("pg_"):
                    yield machine.report(DATABASE_NAME, f"{place}.{key}", text)
            if user.get("password") == "":
                yield machine.report(DATABASE_PASSWORD_NONE, f"{place}.password", user=user.get("name"))
            yield from _invalid_sources(machine, f"{place}.from", user.get("from"))
        yield from _owners(machine, entries)


def _owners(machine: Machine, entries: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield a problem for each database without an owner, or with several.

    If the name of a database without owner resembles that of another database, the advice is that name.
    """
    owners = Counter(str(user.get("database")) for user in entries if user.get("owner"))
    for database, user in {str(user.get("database")): user for user in reversed(entries)}.items():
        near = None if owners[database] else typo_of(database, owners)
        if near:
            yield machine.report(DATABASE_OWNER_TYPO, f"{USERS}[{user.get('name')}].database", database, near=near)
        elif owners[database] != 1:
            yield machine.report(DATABASE_OWNER_SEVERAL if owners[database] else DATABASE_OWNER, USERS, database)


DATABASE_SOURCE = ProblemKind(
    "DATABASE_SOURCE",
    "the list is empty: this user could not log in from any host",
    "list addresses, or remove the key `from`: then the hosts of all jobs are allowed",
)
DATABASE_SOURCE_FORM = DATABASE_SOURCE.variant(
    message="{reason}", advice="use an address, or a subnet such as 198.51.100.0/24"
)
DATABASE_SOURCE_DEFAULT = DATABASE_SOURCE.variant(
    message="the list is empty: users without `from` could not log in from any host",
    advice="list addresses, or remove it (default: the Spark hosts)",
)
DATABASE_SOURCE_WORLD = DATABASE_SOURCE.variant(
    message="every host of the internet may try passwords", advice="list the subnets of the clients"
)
DATABASE_SOURCE_FIREWALL = DATABASE_SOURCE.variant(
    message="no firewall rule allows this source to connect to port {port}",
    advice="add a rule: site_firewall_rules: [{{port: {port}, from: [{source}]}}]",
)
DATABASE_SOURCE_JOB = DATABASE_SOURCE.variant(
    message="does not include {nodes}, where job {jobs} logs in as this user: the server would reject the job",
    advice="add this address, or remove the key `from`: then the hosts of all jobs are allowed",
)
DATABASE_SOURCE_HOSTS = DATABASE_SOURCE_JOB.variant(
    advice="add these addresses, or remove the key `from`: then the hosts of all jobs are allowed"
)
LOG_IN = "does not include {nodes}, where jobs {jobs} log in as this user: the server would reject the jobs"
DATABASE_SOURCE_JOBS = DATABASE_SOURCE_JOB.variant(message=LOG_IN)
DATABASE_SOURCE_HOSTS_JOBS = DATABASE_SOURCE_HOSTS.variant(message=LOG_IN)


def sources(model: Model) -> Iterator[Problem]:
    """Yield a problem for each wrong `from` of a database user, the list of hosts from which the user may log in.

    The list is wrong if it is empty, includes the whole internet, is denied by the firewall, or does not include the
    host of a job that logs in as this user.
    """
    for machine in _databases(model):
        for user in machine.inputs.entries(USERS):
            place, given = f"{USERS}[{user.get('name')}].from", user.get("from")
            if given in ([], ()):
                yield machine.report(DATABASE_SOURCE, place)
            addresses = list(map(str, given)) if isinstance(given, (list, tuple)) else []
            if excluded := _excluded_jobs(model, machine, user):
                kind, details = excluded
                yield machine.report(kind, place, ", ".join(addresses), **details)
                continue
            for source in addresses:
                yield from _source(machine, place, source)
        yield from _default_sources(machine)


def _default_sources(machine: Machine) -> Iterator[Problem]:
    """Yield the problems of postgresql_sources, from which the users without `from` may log in."""
    place, users = "postgresql_sources", [user for user in machine.inputs.entries(USERS) if user.get("from") is None]
    addresses = machine.inputs.sequence(place)
    if users and machine.inputs.values.get(place) in ([], ()):
        yield machine.report(DATABASE_SOURCE_DEFAULT, place)
    for source in map(str, addresses) if users else ():
        yield from _source(machine, place, source)


def _source(machine: Machine, place: str, source: str) -> Iterator[Problem]:
    """Yield the problem of a source of a database user that includes the internet, or that the firewall denies."""
    rules, port = rules_of(machine), machine.inputs.whole("postgresql_port")
    net, closed = subnet(source), left_alone(machine) is not None
    if net is not None and net.prefixlen < WIDEST[net.version]:
        yield machine.report(DATABASE_SOURCE_WORLD, place, source)
    elif net is not None and rules and port and not lets_in(rules, port, source, closed):
        yield machine.report(DATABASE_SOURCE_FIREWALL, place, source, port=port, source=source)


def _excluded_jobs(model: Model, server: Machine, user: Mapping[str, Any]) -> tuple[ProblemKind, dict[str, Any]] | None:
    """Return (kind of problem, message details) if a job logs in as this user from a host that `from` does not include.

    Return None if there is no such job.
    """
    given = user.get("from")
    nets = [subnet(str(source)) for source in given] if isinstance(given, (list, tuple)) else []
    places, name = {*map(str, server.addresses), server.name}, str(user.get("name"))
    excluded: dict[str, dict[str, None]] = {}
    for node in model.spark_nodes if nets and None not in nets else ():
        address = subnet(str(node.address("client")))
        if address is None or any(net is not None and address.network_address in net for net in nets):
            continue
        for job in node.jobs:
            database = job.config.get("database")
            login = dict(database) if isinstance(database, Mapping) else {}
            for properties in (login, {**login, **job.migrate}):
                if str(properties.get("user")) == name and str(properties.get("host")) in places:
                    excluded.setdefault(f"{node.name} ({node.address('client')})", {})[job.name] = None
    if not excluded:
        return None
    jobs = list(dict.fromkeys(job for of_host in excluded.values() for job in of_host))
    kinds = (DATABASE_SOURCE_JOB, DATABASE_SOURCE_JOBS, DATABASE_SOURCE_HOSTS, DATABASE_SOURCE_HOSTS_JOBS)
    return kinds[2 * (len(excluded) > 1) + (len(jobs) > 1)], {"nodes": " and ".join(excluded), "jobs": jobs}


def _invalid_sources(machine: Machine, place: str, given: Any) -> Iterator[Problem]:
    """Yield a problem for each source in the list `given` that is neither an address nor a subnet."""
    for source in given if isinstance(given, (list, tuple)) else ():
        try:
            network(source)
        except ValueError as error:
            reason = str(error) if "host bits" in str(error) else "neither an address nor a subnet"
            yield machine.report(DATABASE_SOURCE_FORM, place, source, reason=reason)


DATABASE_VERSION = ProblemKind(
    "DATABASE_VERSION",
    "this project supports only PostgreSQL {first} to {last}",
    "remove it (default: the version of the host's Debian release)",
)
DATABASE_VERSION_FORM = DATABASE_VERSION.variant(
    message="not a major version",
    advice="set a number, for example 15, or remove it (default: the version of the host's Debian release)",
)
DATABASE_ADDRESS = ProblemKind(
    "DATABASE_ADDRESS",
    "not an address of this host: the server could not bind it",
    "remove it (default: client_address)",
)
DATABASE_SETTING_OWNED = ProblemKind(
    "DATABASE_SETTING_OWNED", "the role sets it from {input}", "remove it, and use {input}"
)
DATABASE_SETTING_OWNED_FIXED = DATABASE_SETTING_OWNED.variant(
    message="the role sets this setting: connections of jobs depend on the value", advice="remove it"
)
DATABASE_SETTING_OWNED_NEAR = DATABASE_SETTING_OWNED.variant(
    message="this version of PostgreSQL has no such setting, and the role sets {near}", advice="remove it{instead}"
)
DATABASE_SETTING = ProblemKind("DATABASE_SETTING", "this version of PostgreSQL has no such setting", "remove it")
DATABASE_SETTING_TYPO = DATABASE_SETTING.variant(advice="did you mean {near}?")


def settings(model: Model) -> Iterator[Problem]:
    """Yield a problem for each wrong version, address or setting of a PostgreSQL server.

    A setting is wrong if PostgreSQL rejects it, if the role sets it itself, or if it can lose rows.
    """
    for machine in _databases(model):
        version = str(machine.inputs.get("postgresql_version") or "")
        if VERSION.fullmatch(version) and not FIRST <= int(version) <= LAST:
            yield machine.report(DATABASE_VERSION, "postgresql_version", version, first=FIRST, last=LAST)
        address = machine.inputs.text("postgresql_address")
        if address and is_address(address) and address not in {*map(str, machine.addresses), *WILDCARDS}:
            yield machine.report(DATABASE_ADDRESS, "postgresql_address", address)
        if version and not VERSION.fullmatch(version):
            yield machine.report(DATABASE_VERSION_FORM, "postgresql_version", version)
        yield from _invalid_sources(machine, "postgresql_sources", machine.inputs.values.get("postgresql_sources"))
        specs = {name.lower(): spec for name, spec in definitions(version).items()}
        for name, value in machine.inputs.mapping("postgresql_config").items():
            yield from _setting(machine, specs, str(name), value)
        yield from _combined_settings(machine, specs)


def _setting(machine: Machine, specs: Mapping[str, Mapping[str, Any]], name: str, value: Any) -> Iterator[Problem]:
    """Yield the problem of one entry of postgresql_config: set by the role, unknown, or with an invalid value.

    `specs` is {setting in lower case: what PostgreSQL accepts as its value}.
    """
    place, key, spec = f"postgresql_config[{name}]", name.lower(), specs.get(name.lower())
    if key in OWNED:
        kind = DATABASE_SETTING_OWNED if OWNED[key] else DATABASE_SETTING_OWNED_FIXED
        yield machine.report(kind, place, input=OWNED[key])
    elif spec is None and not OF_EXTENSION.fullmatch(name):
        near = nearest(name, [*specs, *OWNED])
        if near in OWNED:
            instead = f", and use {OWNED[near]}" if OWNED[near] else ""
            yield machine.report(DATABASE_SETTING_OWNED_NEAR, place, near=near, instead=instead)
            return
        yield machine.report(DATABASE_SETTING_TYPO if near else DATABASE_SETTING, place, near=near)
    elif key in ZONES and unknown_zone(text_of(value)):
        yield machine.report(DATABASE_VALUE_ZONE, place, text_of(value))
    elif spec and value is not None and (expected := expected_value(spec, text_of(value))):
        yield machine.report(DATABASE_VALUE, place, text_of(value), expected=expected)


def _combined_settings(machine: Machine, specs: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield problems of settings of a server that contradict each other, lose rows or fill the disk."""
    config = {str(name).lower(): value for name, value in machine.inputs.mapping("postgresql_config").items()}
    for name, kind in unsafe_values(config):
        yield machine.report(kind, f"postgresql_config[{name}]", text_of(config[name]))
    for name, kind in unsafe_later(config):
        yield machine.report(kind, f"postgresql_config[{name}]", text_of(config[name]), warning=True)
    for name, kind, details in (*contradictions(config, specs), *unarchived(config)):
        yield machine.report(kind, f"postgresql_config[{name}]", config.get(name), **details)
    for name, kind, details in short_timeouts(config, specs):
        yield machine.report(kind, f"postgresql_config[{name}]", config[name], warning=True, **details)


DATABASE_USER_OWNS = ProblemKind(
    "DATABASE_USER_OWNS",
    "this user owns the database: the job could change its table definitions",
    "set another user of this database here, and use the owner only in migrate",
)
DATABASE_USER_MIGRATES = ProblemKind(
    "DATABASE_USER_MIGRATES",
    "this user may not create tables in the database",
    "use the owner of the database: {owners}",
)
DATABASE_OTHER = ProblemKind(
    "DATABASE_OTHER",
    "postgresql_users declares the user of this login for database {database}",
    "set dbname to {database}, or use another user",
)
DATABASE_OTHER_USERS = DATABASE_OTHER.variant(advice="use a user of database {wanted}: {candidates}")
DATABASE_OTHER_MIGRATE = DATABASE_OTHER.variant(
    message="the job uses database {database}, but migrate would create the tables in this database",
    advice="use the owner of {database} in migrate: {owners}",
)
DATABASE_OTHER_PORT = DATABASE_OTHER.variant(
    message="the database server of {server} listens at port {port}", advice="use database_client, which sets the port"
)


def jobs(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Spark job with a wrong login to a declared database.

    A job must verify the server's certificate and log in as a declared user that does not own the database. Only the
    migration of tables logs in as the owner.
    """
    hosts = {str(place): machine for machine in _databases(model) for place in (*machine.addresses, machine.name)}
    for node in model.spark_nodes:
        for job in node.jobs:
            database = job.config.get("database")
            if not isinstance(database, Mapping):
                continue
            job_user: Mapping[str, Any] = {}
            place = f"{job.variable}.config.database"
            if server := hosts.get(str(database.get("host"))):
                user = job_user = yield from _login(node, place, database, server, database.get("dbname"), owner=False)
                if user.get("owner"):
                    yield node.report(DATABASE_USER_OWNS, f"{place}.user", database.get("user"))
                yield from _connection(node, place, database, server)
            migrating, place = {**database, **job.migrate}, f"{job.variable}.migrate"
            if job.migrate and (server := hosts.get(str(migrating.get("host")))):
                wanted = job_user.get("database") or database.get("dbname")
                user = yield from _login(node, place, migrating, server, wanted, owner=True)
                owners = _owners_of(server, str(user.get("database")))  # without an owner: DATABASE_OWNER
                if user and owners and not user.get("owner"):
                    yield node.report(DATABASE_USER_MIGRATES, f"{place}.user", migrating.get("user"), owners=owners)
                name = str(job_user.get("database"))
                if owners and job_user and name != user.get("database") and (right := _owners_of(server, name)):
                    kind, other = DATABASE_OTHER_MIGRATE, user.get("database")
                    yield node.report(kind, f"{place}.dbname", other, database=name, owners=right)
                yield from _connection(node, place, {"sslmode": "verify-full", **job.migrate}, server)


DATABASE_IDLE = ProblemKind(
    "DATABASE_IDLE",
    "no job uses the database of this host, and it is no replica: database_client names the first host of the group",
    "set config.database.host of a job to the address of this host, or remove the host from the group database",
    warning=True,
)


def unused(model: Model) -> Iterator[Problem]:
    """Yield a warning for each database server that neither a job nor a replica uses, if jobs use another server.

    A job whose configuration names no server uses the first declared server.
    """
    logins = [
        login for node in model.spark_nodes for job in node.jobs for login in (job.config.get("database"), job.migrate)
    ]
    used = {str(login.get("host")) for login in logins if isinstance(login, Mapping)}
    databases = _databases(model)
    unused = [machine for machine in databases if used.isdisjoint({*map(str, machine.addresses), machine.name})]
    for machine in unused if len(unused) < len(databases) else ():
        if not any(user.get("from") for user in machine.inputs.entries(USERS)):
            yield machine.report(DATABASE_IDLE, "")


def _owners_of(server: Machine, database: str) -> list[str]:
    owners = (user for user in server.inputs.entries(USERS) if user.get("owner"))
    return [str(user.get("name")) for user in owners if str(user.get("database")) == database]


DATABASE_USER = ProblemKind(
    "DATABASE_USER",
    "no user of this name in postgresql_users of {server}",
    "declare the user there (declared users: {known})",
)
DATABASE_USER_NONE = DATABASE_USER.variant(advice="declare the user there")
DATABASE_USER_TYPO = DATABASE_USER.variant(advice="did you mean {near}?")


def _login(
    node: SparkNode, place: str, database: Mapping[str, Any], server: Machine, wanted: Any, *, owner: bool
) -> Generator[Problem, None, Mapping[str, Any]]:
    """Check that the user of a login is declared for its database; yield the problem, return the declared user.

    Return {} if there is a problem. `database` has the connection parameters of the job, `place` is their variable,
    `wanted` is the database that the job uses. `owner` is whether the login requires the owner of the database.
    """
    users = server.inputs.entries(USERS)
    user = next((entry for entry in users if str(entry.get("name")) == str(database.get("user"))), None)
    if user is None:
        known = [str(entry.get("name")) for entry in users]
        near = nearest(str(database.get("user")), known)
        kind = DATABASE_USER_TYPO if near else DATABASE_USER if known else DATABASE_USER_NONE
        yield node.report(kind, f"{place}.user", database.get("user"), server=server.name, near=near, known=known)
        return {}
    if str(user.get("database")) != str(database.get("dbname")):
        fitting = (entry for entry in users if entry.get("database") == wanted and bool(entry.get("owner")) == owner)
        candidates = [str(entry.get("name")) for entry in fitting if entry is not user]
        kind = DATABASE_OTHER_USERS if candidates else DATABASE_OTHER
        details: dict[str, Any] = {"database": user.get("database"), "wanted": wanted, "candidates": candidates}
        yield node.report(kind, f"{place}.dbname", database.get("dbname"), **details)
        return {}
    return user


DATABASE_PASSWORD = ProblemKind(
    "DATABASE_PASSWORD",
    "not set: the server would reject the login",
    "use the filter postgresql_login, which takes the password from postgresql_users",
)
DATABASE_UNVERIFIED = ProblemKind(
    "DATABASE_UNVERIFIED",
    "the job does not verify the server: any host that answers at this address would receive its data",
    "use database_client, which sets sslmode verify-full and sslrootcert",
)


def _connection(node: SparkNode, place: str, database: Mapping[str, Any], server: Machine) -> Iterator[Problem]:
    """Yield a problem if a job's login has another port than the server, no password, or does not verify the server.

    `database` has the connection parameters of the job, `place` is their variable.
    """
    without_password = [user.get("name") for user in server.inputs.entries(USERS) if user.get("password") == ""]
    declared, port = database.get("port"), server.inputs.whole("postgresql_port")
    if declared is not None and port and str(declared) != str(port):
        yield node.report(DATABASE_OTHER_PORT, f"{place}.port", declared, server=server.name, port=port)
    if not database.get("password") and database.get("user") not in without_password and not database.get("passfile"):
        yield node.report(DATABASE_PASSWORD, f"{place}.password")
    if database.get("sslmode") != "verify-full":
        yield node.report(DATABASE_UNVERIFIED, f"{place}.sslmode", database.get("sslmode"))


def _databases(model: Model) -> list[Machine]:
    return [model.machines[name] for name in model.groups.get("database", ())]
