"""Rules on databases: their users, and their settings by the server's own list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.database_values import (
    ZONES,
    contradictions,
    hasty,
    losing,
    losing_later,
    unarchived,
    zone_fault,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.exposure import WIDEST
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.firewall import left_alone, rules_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typos import slip
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import WILDCARDS, is_address, subnet
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import lets_in
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import (
    VERSION,
    definitions,
    network,
    text_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql_values import wrong_value
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

USERS = "postgresql_users"
NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
RESERVED = ("postgres", "template0", "template1", "public", "all", "replication", "sameuser", "samerole", "samegroup")
# Settings that the role derives from its inputs, or on which its promises stand.
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
"""Major versions whose settings are like those that are known here."""
OF_EXTENSION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)


def users(model: Model) -> Iterator[Problem]:
    """Each user is one, with a plain name, of a database that one of them owns."""
    for machine in _databases(model):
        entries = machine.inputs.entries(USERS)
        counted = Counter(str(user.get("name")) for user in entries)
        for name in (name for name, number in counted.items() if number > 1):
            wrong, advice = "there twice, and a server has one user of a name", "give the user of each database its own"
            yield machine.problem(f"{USERS}[{name}]", "DATABASE_USER_TWICE", name, wrong, advice)
        for user in entries:
            place = f"{USERS}[{user.get('name')}]"
            for key in ("name", "database"):
                text = str(user.get(key))
                if not NAME.fullmatch(text) or text in RESERVED or text.startswith("pg_"):
                    wrong = "no name for it: the server keeps it for itself, or reads another one"
                    advice = "write it in lower-case letters, figures and _, as project_orders"
                    yield machine.problem(f"{place}.{key}", "DATABASE_NAME", text, wrong, advice)
            if user.get("password") == "":
                wrong, advice = "empty, and nobody would be let in", "name one of the vaulted file"
                yield machine.problem(f"{place}.password", "DATABASE_PASSWORD_NONE", None, wrong, advice)
            yield from _places(machine, place, user)
        yield from _owners(machine, entries)


def _owners(machine: Machine, entries: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """Each database has one owner; one that nobody owns, and is almost one that somebody does, is a slip."""
    owners = Counter(str(user.get("database")) for user in entries if user.get("owner"))
    for database, of in {str(user.get("database")): user for user in reversed(entries)}.items():
        near = None if owners[database] else slip(database, owners)
        if near:
            place, wrong = f"{USERS}[{of.get('name')}].database", "nobody owns a database of this name"
            yield machine.problem(place, "DATABASE_OWNER", database, wrong, f"did you mean {near}?")
        elif owners[database] != 1:
            said = "nobody owns it, so nobody makes its tables" if not owners[database] else "several own it"
            yield machine.problem(USERS, "DATABASE_OWNER", database, said, "say owner: true for one of its users")


def sources(model: Model) -> Iterator[Problem]:
    """Users come from somewhere, from where the firewall lets them in, and not from the whole world."""
    for machine in _databases(model):
        rules, port = rules_of(machine), machine.inputs.whole("postgresql_port")
        closed = left_alone(machine) is not None
        for user in machine.inputs.entries(USERS):
            place, given = f"{USERS}[{user.get('name')}].from", user.get("from")
            if given in ([], ()):
                wrong, advice = "nowhere: nobody could log in as this user", "name addresses, or leave it out: all jobs"
                yield machine.problem(place, "DATABASE_SOURCE", None, wrong, advice)
            told = list(map(str, given)) if isinstance(given, (list, tuple)) else []
            if out := _left_out(model, machine, user):
                yield machine.problem(place, "DATABASE_SOURCE", ", ".join(told), *out)
                continue
            for source in told:
                found = subnet(source)
                if found is not None and found.prefixlen < WIDEST[found.version]:
                    wrong, advice = "the whole world may try passwords", "name the subnets of those who have to"
                    yield machine.problem(place, "DATABASE_SOURCE", source, wrong, advice)
                elif found is not None and rules and port and not lets_in(rules, port, source, closed):
                    wrong = f"no rule of the firewall lets it in at port {port}"
                    advice = f"let it in by site_firewall_rules: [{{port: {port}, from: [{source}]}}]"
                    yield machine.problem(place, "DATABASE_SOURCE", source, wrong, advice)


def _left_out(model: Model, server: Machine, user: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return that hosts whose jobs log in as a user are not among his addresses, and what mends it."""
    given = user.get("from")
    nets = [subnet(str(source)) for source in given] if isinstance(given, (list, tuple)) else []
    places, own = {*map(str, server.addresses), server.name}, str(user.get("name"))
    left: dict[str, dict[str, None]] = {}
    for node in model.spark_nodes if nets and None not in nets else ():
        address = subnet(str(node.address("client")))
        if address is None or any(net is not None and address.network_address in net for net in nets):
            continue
        for job in node.jobs:
            database = job.config.get("database")
            told = dict(database) if isinstance(database, Mapping) else {}
            for login in (told, {**told, **job.migrate}):
                if str(login.get("user")) == own and str(login.get("host")) in places:
                    left.setdefault(f"{node.name} ({node.address('client')})", {})[job.name] = None
    if not left:
        return None
    jobs = list(dict.fromkeys(job for found in left.values() for job in found))
    wrong = f"leaves out {' and '.join(left)}, where {'jobs' if len(jobs) > 1 else 'job'} {', '.join(jobs)} "
    wrong += f"{'log' if len(jobs) > 1 else 'logs'} in as this user: the server would refuse it"
    return wrong, f"add {'it' if len(left) == 1 else 'them'}, or leave it out: all jobs"


def _places(machine: Machine, place: str, user: Mapping[str, Any]) -> Iterator[Problem]:
    told = user.get("from")
    for source in told if isinstance(told, (list, tuple)) else ():
        try:
            network(source)
        except ValueError as error:
            advice = "write an address, or a subnet as 198.51.100.0/24"
            yield machine.problem(f"{place}.from", "DATABASE_SOURCE", source, str(error), advice)


def settings(model: Model) -> Iterator[Problem]:
    """Settings are known to that PostgreSQL, with values that it takes; none says what an input says."""
    for machine in _databases(model):
        version = str(machine.inputs.get("postgresql_version") or "")
        if VERSION.fullmatch(version) and not FIRST <= int(version) <= LAST:
            wrong, advice = f"no version from {FIRST} to {LAST}", "name the one that the host's release has"
            yield machine.problem("postgresql_version", "DATABASE_VERSION", version, wrong, advice)
        address = machine.inputs.text("postgresql_address")
        if address and is_address(address) and address not in {*map(str, machine.addresses), *WILDCARDS}:
            wrong, advice = "not an address of this host, so the server could not bind it", "use client_address"
            yield machine.problem("postgresql_address", "DATABASE_ADDRESS", address, wrong, advice)
        if version and not VERSION.fullmatch(version):
            advice = "say it as 15, or leave it out: then it is that of the host's release"
            yield machine.problem("postgresql_version", "DATABASE_VERSION", version, "no major version", advice)
        for source in machine.inputs.sequence("postgresql_sources"):
            yield from _places(machine, "postgresql_sources", {"from": [source]})
        known = {name.lower(): spec for name, spec in definitions(version).items()}
        for name, value in machine.inputs.mapping("postgresql_config").items():
            place, spec = f"postgresql_config[{name}]", known.get(str(name).lower())
            if str(name).lower() in OWNED:
                own = OWNED[str(name).lower()]
                wrong = f"{own} says it" if own else "the role's own: its connections stand on it"
                advice = f"use {own}" if own else "take it out"
                yield machine.problem(place, "DATABASE_SETTING_OWNED", None, wrong, advice)
            elif spec is None and not OF_EXTENSION.fullmatch(str(name)):
                near = nearest(str(name), known)
                advice = f"did you mean {near}?" if near else "take it out"
                yield machine.problem(place, "DATABASE_SETTING", None, "no setting of this PostgreSQL", advice)
            elif str(name).lower() in ZONES and (strange := zone_fault(text_of(value))):
                yield machine.problem(place, "DATABASE_VALUE", text_of(value), strange, "correct it, as Europe/Berlin")
            elif spec and value is not None and (wrong := wrong_value(spec, text_of(value))):
                yield machine.problem(place, "DATABASE_VALUE", text_of(value), wrong, "correct it")
        said = {str(name).lower(): value for name, value in machine.inputs.mapping("postgresql_config").items()}
        for name, wrong in losing(said):
            place = f"postgresql_config[{name}]"
            yield machine.problem(place, "DATABASE_UNSAFE", text_of(said[name]), wrong, "take it out")
        for name, wrong in losing_later(said):
            place = f"postgresql_config[{name}]"
            yield machine.problem(place, "DATABASE_UNSAFE", text_of(said[name]), wrong, "take it out", warning=True)
        for name, wrong, advice in (*contradictions(said, known), *unarchived(said)):
            place = f"postgresql_config[{name}]"
            yield machine.problem(place, "DATABASE_CONTRADICTION", said.get(name), wrong, advice)
        for name, wrong, advice in hasty(said, known):
            yield machine.problem(
                f"postgresql_config[{name}]", "DATABASE_VALUE", said[name], wrong, advice, warning=True
            )


def jobs(model: Model) -> Iterator[Problem]:
    """A job logs in to our databases as a user of them, and knows whom it speaks to; so does who makes its tables."""
    hosts = {str(place): machine for machine in _databases(model) for place in (*machine.addresses, machine.name)}
    for node in model.spark_nodes:
        for job in node.jobs:
            database = job.config.get("database")
            if not isinstance(database, Mapping):
                continue
            own: Mapping[str, Any] = {}
            place = f"{job.variable}.config.database"
            if server := hosts.get(str(database.get("host"))):
                user = own = yield from _login(node, place, database, server)
                if user.get("owner"):
                    wrong = "owns the database, so the job could change its tables"
                    advice = "give the job a user of its own, and name the owner in migrate"
                    yield node.problem(f"{place}.user", "DATABASE_USER_OWNS", database.get("user"), wrong, advice)
                yield from _connection(node, place, database, server)
            migrating, place = {**database, **job.migrate}, f"{job.variable}.migrate"
            if job.migrate and (server := hosts.get(str(migrating.get("host")))):
                user = yield from _login(node, place, migrating, server)
                owners = [
                    str(one.get("name"))
                    for one in server.inputs.entries(USERS)
                    if one.get("owner") and one.get("database") == user.get("database")
                ]  # nobody: DATABASE_OWNER
                if user and owners and not user.get("owner"):
                    wrong, advice = "cannot make its tables", f"name who owns the database: {', '.join(owners)}"
                    yield node.problem(f"{place}.user", "DATABASE_USER_MIGRATES", migrating.get("user"), wrong, advice)
                told = str(own.get("database"))
                if owners and own and told != user.get("database") and told in _owned(server):
                    wrong, advice = (
                        f"the job's own is {told}, and its tables would not be made there",
                        f"name who owns {told}",
                    )
                    yield node.problem(f"{place}.dbname", "DATABASE_OTHER", user.get("database"), wrong, advice)
                yield from _connection(node, place, {"sslmode": "verify-full", **job.migrate}, server)


def idle(model: Model) -> Iterator[Problem]:
    """Where there are several databases, each is somebody's: jobs are told of the first."""
    told = [one for node in model.spark_nodes for job in node.jobs for one in (job.config.get("database"), job.migrate)]
    used = {str(one.get("host")) for one in told if isinstance(one, Mapping)}
    everything = _databases(model)
    unused = [machine for machine in everything if used.isdisjoint({*map(str, machine.addresses), machine.name})]
    for machine in unused if len(unused) < len(everything) else ():
        if not any(user.get("from") for user in machine.inputs.entries(USERS)):
            wrong = "no job's database, and no copy of another: database_client leads to the first host of the group"
            advice = "let a job's config.database name its address as host, or take the host out of the group"
            yield machine.problem("", "DATABASE_IDLE", None, wrong, advice, warning=True)


def _owned(server: Machine) -> set[str]:
    return {str(user.get("database")) for user in server.inputs.entries(USERS) if user.get("owner")}


def _login(
    node: SparkNode, place: str, database: Mapping[str, Any], server: Machine
) -> Generator[Problem, None, Mapping[str, Any]]:
    """Judge whom somebody logs in as; return the user, {} where it is none of that database."""
    users = server.inputs.entries(USERS)
    found = next((user for user in users if str(user.get("name")) == str(database.get("user"))), None)
    if found is None:
        known = [str(user.get("name")) for user in users]
        near = nearest(str(database.get("user")), known)
        advice = f"did you mean {near}?" if near else f"declare it there, beside {', '.join(known) or 'nobody'}"
        wrong = f"nobody of that name is in {USERS} of {server.name}"
        yield node.problem(f"{place}.user", "DATABASE_USER", database.get("user"), wrong, advice)
        return {}
    if str(found.get("database")) != str(database.get("dbname")):
        wrong, advice = f"the user's database is {found.get('database')}", "name that one, or another user"
        yield node.problem(f"{place}.dbname", "DATABASE_OTHER", database.get("dbname"), wrong, advice)
        return {}
    return found


def _connection(node: SparkNode, place: str, database: Mapping[str, Any], server: Machine) -> Iterator[Problem]:
    nobody = [user.get("name") for user in server.inputs.entries(USERS) if user.get("password") == ""]
    told, port = database.get("port"), server.inputs.whole("postgresql_port")
    if told is not None and port and str(told) != str(port):
        wrong, advice = f"the server of {server.name} listens at {port}", "use database_client, which has its port"
        yield node.problem(f"{place}.port", "DATABASE_OTHER", told, wrong, advice)
    if not database.get("password") and database.get("user") not in nobody and not database.get("passfile"):
        wrong, advice = "without it nobody is let in", "postgresql_login gives it, from postgresql_users"
        yield node.problem(f"{place}.password", "DATABASE_PASSWORD", None, wrong, advice)
    if database.get("sslmode") != "verify-full":
        wrong = "whoever answers at that address is taken for the database, and gets what the job sends"
        advice = "use database_client, which says verify-full and sslrootcert"
        yield node.problem(f"{place}.sslmode", "DATABASE_UNVERIFIED", database.get("sslmode"), wrong, advice)


def _databases(model: Model) -> list[Machine]:
    return [model.machines[name] for name in model.groups.get("database", ())]
