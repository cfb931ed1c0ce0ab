"""Builds the files of a PostgreSQL server, and computes which users, databases and rights must change."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import FOLDER

User = Mapping[str, Any]
"""An entry of postgresql_users."""
State = Mapping[str, Any]
"""What a server answered to roles/postgresql/templates/question.sql.j2."""
VERSION = re.compile("[1-9][0-9]?")
"""A major version, which is part of paths and of a command."""
RELEASES = {"debian 12": "15", "debian 13": "17", "ubuntu 22.04": "14", "ubuntu 24.04": "16"}
"""The major version of PostgreSQL by release, named as in /etc/os-release."""
ROUNDS = 4096
"""Iterations of SCRAM-SHA-256: PostgreSQL's default of scram_iterations."""
SCRAM = re.compile(r"SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)")
# Rights of users who do not own a database; its owner has all rights.
USER_RIGHTS = ("CONNECT", "TEMPORARY")


@cache
def definitions(version: str) -> dict[str, dict[str, Any]]:
    """Return {setting name: spec} of a PostgreSQL major version.

    If there is no definitions file for this version, the nearest version with a file is used.
    """
    known = {int(file.stem.partition("-")[2]): file for file in FOLDER.glob("postgresql-*.json")}
    number = int(version) if VERSION.fullmatch(version) else max(known)
    nearest = min(known, key=lambda other: (abs(other - number), other))
    settings: dict[str, dict[str, Any]] = json.loads(known[nearest].read_text(encoding="utf-8"))
    return settings


def version_of(declared: Any, release: str) -> str:
    """Return the PostgreSQL major version of a host: `declared` if set, else the version in its OS release.

    `release` is the OS as named in RELEASES, such as "debian 12". Returns '' if nothing is declared and RELEASES does
    not contain the OS.
    """
    return str(declared or RELEASES.get(release, ""))


def text_of(value: Any) -> str:
    """Return a value as text for postgresql.conf, without quotes: booleans as on or off, lists joined with commas."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return ",".join(map(text_of, value)) if isinstance(value, (list, tuple)) else str(value)


def config_lines(settings: Mapping[str, Any]) -> list[str]:
    """Return the sorted lines `name = 'value'` of postgresql.conf; settings that are None are skipped."""
    texts = {name: text_of(value) for name, value in settings.items() if value is not None}
    escaped = {name: text.replace("\\", "\\\\").replace("'", "''") for name, text in texts.items()}
    return [f"{name} = '{text}'" for name, text in sorted(escaped.items())]


def restart_lines(settings: Mapping[str, Any], version: str | int) -> list[str]:
    """Return the lines of postgresql.conf for those `settings` that take effect only at a restart.

    The list of settings of this PostgreSQL `version` decides. It does not contain settings of extensions, so these are
    not returned.
    """
    known = {name.lower(): spec for name, spec in definitions(str(version)).items()}
    at_start = {
        name: value for name, value in settings.items() if known.get(name.lower(), {}).get("context") == "postmaster"
    }
    return config_lines(at_start)


def hba_lines(users: Sequence[User], sources: Sequence[str]) -> list[str]:
    """Return the lines of pg_hba.conf: one for each user and each address from which this user may log in.

    `users` are entries of postgresql_users; `sources` are the addresses for users without the key `from`. Raises
    ValueError if an address is invalid.
    """
    return [
        f"hostssl {quoted(user['database'])} {quoted(user['name'])} {network(source)} scram-sha-256"
        for user in users
        for source in (user["from"] if user.get("from") is not None else sources)
    ]


def network(source: Any) -> IPv4Network | IPv6Network:
    """Return `source`, the text of an address or subnet, as an IP network.

    Raises ValueError if the text is neither, or if it contains a zone, as fe80::1%eth0 does: the zone names an
    interface, which differs between hosts.
    """
    parsed = ip_network(str(source))
    if "%" in str(source):
        raise ValueError(f"{source!r} contains a zone, which has another meaning on each host")
    return parsed


def is_owner(user: User) -> bool:
    """Tell whether this entry of postgresql_users has `owner` set to true, as a bool or as a text such as 'yes'."""
    return bool(boolean(user.get("owner") or False, strict=False))


def quoted(name: str) -> str:
    """Return an SQL identifier in double quotes, for SQL and pg_hba.conf; double quotes inside it are doubled."""
    return '"' + str(name).replace('"', '""') + '"'


def scram_hash(password: str, salt: bytes, rounds: int = ROUNDS) -> str:
    """Return the SCRAM-SHA-256 hash of a password as PostgreSQL stores it (RFC 5802).

    The hash is computed here, so that the password itself is never sent to the server. `salt` is random for a new hash,
    `rounds` is the number of iterations.
    """
    prepared = password if password.isascii() else unicodedata.normalize("NFKC", password)
    salted = hashlib.pbkdf2_hmac("sha256", prepared.encode(), salt, rounds)
    client = hmac.digest(salted, b"Client Key", "sha256")
    parts = [salt, hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256")]
    texts = [base64.b64encode(part).decode() for part in parts]
    return f"SCRAM-SHA-256${rounds}:{texts[0]}${texts[1]}:{texts[2]}"


def matches(stored: str | None, password: str) -> bool:
    """Tell whether `stored`, the hash that the server has for a user (or None), is the SCRAM hash of `password`."""
    match = SCRAM.fullmatch(stored or "")
    return match is not None and scram_hash(password, base64.b64decode(match[2]), int(match[1])) == stored


def plan(users: Sequence[User], state: State) -> dict[str, list[Any]]:
    """Return what must change on a PostgreSQL server, as a dict:

    - users: list of {name, hash} to create or change;
    - databases: list of {name, owner} to create or change;
    - rights: list of SQL statements.

    `users` are entries of postgresql_users. `state` is the server's present state, {} if it could not be read.
    """
    existing, databases = state.get("users") or {}, state.get("databases") or {}
    changed = [
        {"name": user["name"], "hash": scram_hash(user["password"], os.urandom(16))}
        for user in users
        if not existing.get(user["name"], {}).get("plain")
        or not matches(existing[user["name"]].get("password"), user["password"])
    ]
    owners = {user["database"]: user["name"] for user in users if is_owner(user)}
    created = [
        {"name": name, "owner": owner}
        for name, owner in owners.items()
        if (databases.get(name) or {}).get("owner") != owner
    ]
    rights = [text for name in owners for text in _rights(name, users, (databases.get(name) or {}).get("rights"))]
    return {"users": changed, "databases": created, "rights": rights}


def _rights(database: str, users: Sequence[User], held: Sequence[str] | None) -> list[str]:
    """Return the SQL statements that grant the users of a database their rights, and revoke those of PUBLIC.

    `held` are the rights that exist, such as "PUBLIC CONNECT". None means that the database is new, so PUBLIC has
    rights.
    """
    existing = {"PUBLIC CONNECT", "PUBLIC TEMPORARY"} if held is None else {*held}
    statements = []
    if any(entry.startswith("PUBLIC ") for entry in existing):
        statements.append(f"REVOKE ALL ON DATABASE {quoted(database)} FROM PUBLIC")
    for user in (user for user in users if user["database"] == database and not is_owner(user)):
        if missing := [right for right in USER_RIGHTS if f"{user['name']} {right}" not in existing]:
            statements.append(f"GRANT {', '.join(missing)} ON DATABASE {quoted(database)} TO {quoted(user['name'])}")
    return statements
