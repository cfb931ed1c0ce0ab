"""What a list of users becomes on a PostgreSQL: who may connect from where, users, databases, rights."""

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
Found = Mapping[str, Any]
VERSION = re.compile("[1-9][0-9]?")
"""A major version: it is part of paths and of a command."""
RELEASES = {"debian 12": "15", "debian 13": "17", "ubuntu 22.04": "14", "ubuntu 24.04": "16"}
"""The major version that a release has, as /etc/os-release names it."""
ROUNDS = 4096
"""Of SCRAM-SHA-256, as PostgreSQL's own (scram_iterations)."""
SCRAM = re.compile(r"SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)")
# What who works in a database has of it; its owner has all.
WORKS = ("CONNECT", "TEMPORARY")


@cache
def definitions(version: str) -> dict[str, dict[str, Any]]:
    """Return the settings of a major version by name, of the nearest one where it is not known."""
    known = {int(file.stem.partition("-")[2]): file for file in FOLDER.glob("postgresql-*.json")}
    wanted = int(version) if VERSION.fullmatch(version) else max(known)
    nearest = min(known, key=lambda number: (abs(number - wanted), number))
    found: dict[str, dict[str, Any]] = json.loads(known[nearest].read_text(encoding="utf-8"))
    return found


def version_of(said: Any, release: str) -> str:
    """Return the major version of a host: what is said, else that of its release, '' where none is known."""
    return str(said or RELEASES.get(release, ""))


def text_of(value: Any) -> str:
    """Return a value as it stands in postgresql.conf, without quotes."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return ",".join(map(text_of, value)) if isinstance(value, (list, tuple)) else str(value)


def lines(settings: Mapping[str, Any]) -> list[str]:
    """Return the lines of postgresql.conf; what is null is left out."""
    found = {name: text_of(value) for name, value in settings.items() if value is not None}
    quoted = {name: text.replace("\\", "\\\\").replace("'", "''") for name, text in found.items()}
    return [f"{name} = '{text}'" for name, text in sorted(quoted.items())]


def restarting(settings: Mapping[str, Any], version: str | int) -> list[str]:
    """Return those lines that a running server does not take, by its own list; it takes those of extensions."""
    known = {name.lower(): spec for name, spec in definitions(str(version)).items()}
    alone = {
        name: value for name, value in settings.items() if known.get(name.lower(), {}).get("context") == "postmaster"
    }
    return lines(alone)


def hba(users: Sequence[User], sources: Sequence[str]) -> list[str]:
    """Return a line of pg_hba.conf for each place that a user comes from. Raises ValueError for what is no address."""
    return [
        f"hostssl {quoted(user['database'])} {quoted(user['name'])} {network(place)} scram-sha-256"
        for user in users
        for place in (user["from"] if user.get("from") is not None else sources)
    ]


def network(place: Any) -> IPv4Network | IPv6Network:
    """Return where somebody may come from. Raises ValueError for what is no address, or names a zone of one host."""
    found = ip_network(str(place))
    if "%" in str(place):
        raise ValueError(f"{place!r} names a zone, which each host has of its own")
    return found


def owns(user: User) -> bool:
    """Tell whether a user is the owner of the database, also where that is said as a text."""
    return bool(boolean(user.get("owner") or False, strict=False))


def quoted(name: str) -> str:
    """Return a name as SQL and pg_hba.conf read it, whatever is in it."""
    return '"' + str(name).replace('"', '""') + '"'


def hashed(password: str, salt: bytes, rounds: int = ROUNDS) -> str:
    """Return what PostgreSQL keeps of a password (RFC 5802), so that the password itself is never sent to it."""
    prepared = password if password.isascii() else unicodedata.normalize("NFKC", password)
    salted = hashlib.pbkdf2_hmac("sha256", prepared.encode(), salt, rounds)
    client = hmac.digest(salted, b"Client Key", "sha256")
    parts = [salt, hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256")]
    shown = [base64.b64encode(part).decode() for part in parts]
    return f"SCRAM-SHA-256${rounds}:{shown[0]}${shown[1]}:{shown[2]}"


def holds(kept: str | None, password: str) -> bool:
    """Tell whether what a server keeps is of this password."""
    found = SCRAM.fullmatch(kept or "")
    return found is not None and hashed(password, base64.b64decode(found[2]), int(found[1])) == kept


def plan(users: Sequence[User], found: Found) -> dict[str, list[Any]]:
    """Return what lacks on a server: `users` {name, hash}, `databases` {name, owner}, and `rights`, statements.

    `found` is the server's answer to roles/postgresql/templates/question.sql.j2, {} where it has not been asked.
    """
    there, databases = found.get("users") or {}, found.get("databases") or {}
    lacking = [
        {"name": user["name"], "hash": hashed(user["password"], os.urandom(16))}
        for user in users
        if not there.get(user["name"], {}).get("plain")
        or not holds(there[user["name"]].get("password"), user["password"])
    ]
    owners = {user["database"]: user["name"] for user in users if owns(user)}
    made = [
        {"name": name, "owner": owner}
        for name, owner in owners.items()
        if (databases.get(name) or {}).get("owner") != owner
    ]
    rights = [text for name in owners for text in _rights(name, users, (databases.get(name) or {}).get("rights"))]
    return {"users": lacking, "databases": made, "rights": rights}


def _rights(database: str, users: Sequence[User], held: Sequence[str] | None) -> list[str]:
    """Return the statements after which a database has what is declared; a new one lets in everybody."""
    there = {"PUBLIC CONNECT", "PUBLIC TEMPORARY"} if held is None else {*held}
    found = []
    if any(entry.startswith("PUBLIC ") for entry in there):
        found.append(f"REVOKE ALL ON DATABASE {quoted(database)} FROM PUBLIC")
    for user in (user for user in users if user["database"] == database and not owns(user)):
        if lacking := [right for right in WORKS if f"{user['name']} {right}" not in there]:
            found.append(f"GRANT {', '.join(lacking)} ON DATABASE {quoted(database)} TO {quoted(user['name'])}")
    return found
