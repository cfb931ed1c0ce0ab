"""Checks passwords of users, and super users (ACLs do not restrict super users)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.entry_checks import has_unusable_characters
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typed_values import PRINCIPALS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.variable_names import is_well_known
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import encrypted

SHORTEST = 8
PASSWORDS = ("passwords", "new_passwords", "database_passwords")
"""Keys of `vault` with a password for each user."""
# The principals that rules of functions/kafka.yml derive from the certificates of brokers and of the control node.
OURS = ("User:admin", "User:kafka-broker")


def super_users(broker: Broker) -> list[tuple[str, str]]:
    """Return [(principal, variable that sets it)] of the super users of a broker.

    super.users in kafka_config overrides kafka_super_users.
    """
    for variable, layer in reversed(broker.layers):
        if layer.get("super.users") is not None:
            users = str(layer["super.users"]).split(";")
            return [(name.strip(), f"{variable}[super.users]") for name in users if name.strip()]
    return [(name, "kafka_super_users") for name in broker.super_users]


VAULT_EMPTY = ProblemKind(
    "VAULT_EMPTY", "the entry has no value", "set the value (ansible-vault edit), or remove the line"
)
VAULT_NUMBER = ProblemKind(
    "VAULT_NUMBER",
    "not a text: YAML reads it as a number, a date or a boolean, which may differ from what is written",
    "put the value in quotes",
)


def vault(model: Model) -> Iterator[Problem]:
    """Yield a problem for each password in the variable `vault` that is empty or not a text.

    In an encrypted file, such an entry is easily overlooked.
    """
    mistyped = {problem.variable for problem in model.mistyped}
    for host, values in model.hosts.items():
        entries = values.get("vault")
        for variable in {*_null(entries)} - mistyped if isinstance(entries, Mapping) else ():
            yield VAULT_EMPTY.problem((host,), variable)
        for variable in _numbers(entries) if isinstance(entries, Mapping) else ():
            yield VAULT_NUMBER.problem((host,), variable)


def _null(entries: Mapping[Any, Any]) -> Iterator[str]:
    """Yield the places of entries of `vault` without a value, as vault.passwords.alice."""
    if "pki_passphrase" in entries and entries["pki_passphrase"] in (None, ""):
        yield "vault.pki_passphrase"
    for part in PASSWORDS:
        passwords = entries.get(part)
        if part == "passwords" and part in entries and passwords is None:
            yield "vault.passwords"
        for user, password in passwords.items() if isinstance(passwords, Mapping) else ():
            if password in (None, ""):
                yield f"vault.{part}.{user}"


def _numbers(entries: Mapping[Any, Any]) -> Iterator[str]:
    """Yield the places of passwords in `vault` that are not a text, as vault.passwords.alice."""
    for part in PASSWORDS:
        passwords = entries.get(part)
        for user, password in passwords.items() if isinstance(passwords, Mapping) else ():
            is_text = isinstance(password, str) or any(encrypted(password))
            if password is not None and not is_text and not isinstance(password, (Mapping, list)):
                yield f"vault.{part}.{user}"


SUPER_USER_INVALID = ProblemKind(
    "SUPER_USER_INVALID", "not a principal: Kafka would not start", "write it as User:{name}"
)
SUPER_USER_INVALID_TYPE = SUPER_USER_INVALID.variant(
    message="Kafka knows users only, and no client would ever be a {type}",
    advice="name each user, for example User:ops",
)
SUPER_USER_INVALID_CASE = SUPER_USER_INVALID.variant(
    message="Kafka compares the type with upper and lower case, and no client would ever be a {type}"
)
SUPER_USER_INVALID_BLANK = SUPER_USER_INVALID.variant(
    message="a blank beside the type or the name, and runs compare the whole text"
)
SUPER_USER_INVALID_EMPTY = SUPER_USER_INVALID.variant(
    message="no name of a user", advice="remove the entry, or write it as User:ops with the name of a user"
)
SUPER_USER_INVALID_TWO = SUPER_USER_INVALID.variant(
    message="several principals in one entry", advice="write them as {entries}"
)
SUPER_USER_EVERYBODY = ProblemKind(
    "SUPER_USER_EVERYBODY",
    "does not match all users: Kafka compares the whole text",
    "name the principals of the brokers and the admin, for example [User:kafka-broker, User:admin]",
)
SUPER_USER_EVERYBODY_ANONYMOUS = SUPER_USER_EVERYBODY.variant(
    message="every client that does not log in would have all permissions"
)
USER_RESERVED = ProblemKind(
    "USER_RESERVED",
    "the name of a super user of this project, which logs in with a certificate",
    "use another name for the user",
)
SUPER_USER_APPLICATION = ProblemKind(
    "SUPER_USER_APPLICATION",
    "the user of an application: its password would give all permissions",
    "remove it and write ACLs, or name a separate user as super user",
)
SUPER_USER_APPLICATION_ACLS = SUPER_USER_APPLICATION.variant(
    message="ACLs are declared for this user, but a super user has all permissions",
    advice="remove the user here, or remove its ACLs",
)


def admins(model: Model) -> Iterator[Problem]:
    """Yield a problem for each super user that is not a single named principal.

    Also yield a problem if a super user logs in with a password or has ACLs: super users should not be applications.
    """
    present = model.present("kafka_users")
    users = {f"User:{user.get('name')}" for user in present if switch(user.get("credential")) is not False}
    restricted = {str(acl.get("principal")) for acl in model.acls if acl.get("permission") != "deny"}
    for broker in model.brokers:
        for name, variable in super_users(broker):
            if malformed := _malformed(name, bool(broker.config.get("principal.builder.class"))):
                kind, details = malformed
                yield broker.report(kind, variable, name if name == name.strip() != "" else repr(name), **details)
            elif name in users and name in OURS:
                yield broker.report(USER_RESERVED, f"kafka_users[{name.removeprefix('User:')}]")
            elif name in users:
                yield broker.report(SUPER_USER_APPLICATION, variable, name)
            elif name in restricted:
                yield broker.report(SUPER_USER_APPLICATION_ACLS, variable, name, warning=True)


def _malformed(name: str, other_types: bool) -> tuple[ProblemKind, dict[str, Any]] | None:
    """Return (kind of problem, its details) of a super user that is not a single named user; None if it is one.

    `other_types` tells whether a class of the site builds principals, which may have other types than User.
    """
    kind, colon, user = (part.strip() for part in name.partition(":"))
    if not name.strip() or (kind.lower() == "user" and not user):
        return SUPER_USER_INVALID_EMPTY, {}
    if len(parts := PRINCIPALS.split(name.strip())) > 1:
        entries = [f"'{part}'" for part in parts if part]
        return SUPER_USER_INVALID_TWO, {"entries": f"[{', '.join(entries)}]"}
    if name == "User:ANONYMOUS":
        return SUPER_USER_EVERYBODY_ANONYMOUS, {}
    if "*" in name:
        return SUPER_USER_EVERYBODY, {}
    if not colon:
        return SUPER_USER_INVALID, {"name": name.strip()}
    if kind.lower() != "user":
        return None if other_types else (SUPER_USER_INVALID_TYPE, {"type": kind})
    if kind != "User":
        return SUPER_USER_INVALID_CASE, {"type": kind, "name": user}
    return None if name == f"User:{user}" else (SUPER_USER_INVALID_BLANK, {"name": user})


PASSWORD_GUESSABLE = ProblemKind(
    "PASSWORD_GUESSABLE",
    "the password is derived from the name: an attacker tries such passwords first",
    "use a random password, for example from `openssl rand -base64 24`",
)
PASSWORD_GUESSABLE_SHORT = PASSWORD_GUESSABLE.variant(
    message="the password has fewer than {shortest} characters: a program tries all such passwords in a day"
)
PASSWORD_CHARACTERS = ProblemKind(
    "PASSWORD_CHARACTERS",
    "the password starts or ends with a blank or a line end, or contains a control character: logins would fail",
    "write it in one line in quotes, without these characters (a block of YAML, `|` or `>`, ends with a line end)",
)
PASSWORD_SHARED = ProblemKind(
    "PASSWORD_SHARED",
    "also the password of {other}: each of the two users can log in as the other",
    "give each user its own password",
)


def passwords(model: Model) -> Iterator[Problem]:
    """Yield a problem for each password that is short, resembles the user's name, or belongs to two users.

    Also yield a problem for a password, declared or new, with which no client could log in.

    Messages do not contain the password.
    """
    owners: dict[str, str] = {}
    hosts = names(model.brokers)
    for user in model.present("kafka_users"):
        name, password = str(user.get("name")), str(user.get("password") or "")
        variable = f"kafka_users[{name}].password"
        if has_unusable_characters(password):
            yield PASSWORD_CHARACTERS.problem(hosts, variable)
        elif is_well_known(password):
            continue  # reported as SECRET_DEFAULT
        elif password and _is_guessable(name, password):
            yield PASSWORD_GUESSABLE.problem(hosts, variable)
        elif 0 < len(password) < SHORTEST:
            yield PASSWORD_GUESSABLE_SHORT.problem(hosts, variable, shortest=SHORTEST)
        elif password and owners.setdefault(password, name) != name:
            yield PASSWORD_SHARED.problem(hosts, variable, other=owners[password])
    for host, values in model.hosts.items():
        vault = values.get("vault")
        new = vault.get("new_passwords") if isinstance(vault, Mapping) else None
        for name, password in new.items() if isinstance(new, Mapping) else ():
            if isinstance(password, str) and has_unusable_characters(password):
                yield PASSWORD_CHARACTERS.problem((host,), f"vault.new_passwords.{name}")


def _is_guessable(name: str, password: str) -> bool:
    """Tell whether a password is the name of its user, forwards or backwards, with digits or signs around it."""
    plain = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", password).lower()
    plain_name = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", name).lower()
    return bool(plain_name) and plain in (plain_name, plain_name[::-1])


USER_LOGIN = ProblemKind(
    "USER_LOGIN",
    "runs check passwords through this listener, which has no SASL: a wrong password of {users} would go unnoticed",
    "set kafka_client to a listener with SASL, or set verify: generation for each user",
)


def verification(model: Model) -> Iterator[Problem]:
    """Yield a problem if passwords are to be verified by a login through a listener that requires no password.

    The login uses the settings in kafka_client. Without SASL, every password would seem to be correct.
    """
    for broker in model.brokers[:1]:
        protocol = str(broker.inputs.mapping("kafka_client").get("security.protocol") or "PLAINTEXT")
        users = [user for user in model.present("kafka_users") if user.get("password") and _by_login(user)]
        if users and broker.super_users and not protocol.upper().startswith("SASL_"):
            user_names = [str(user.get("name")) for user in users]
            yield USER_LOGIN.problem(
                names(model.brokers), "kafka_client[security.protocol]", protocol, users=user_names
            )


def _by_login(user: Mapping[str, Any]) -> bool:
    """Tell whether a run verifies a user's password by a login with it (`verify` is login or not set)."""
    return user.get("verify") in (None, "login") and switch(user.get("credential")) is not False
