"""Rules on passwords, and on super users: whom no ACL binds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

SHORTEST = 8
# Whom rules of groups/kafka.yml make of the certificates of brokers and of the control node.
OURS = ("User:admin", "User:kafka-broker")


def super_users(broker: Broker) -> list[tuple[str, str]]:
    """Return those that hold, each with its variable: kafka_config goes before the role's input."""
    for variable, layer in reversed(broker.layers):
        if layer.get("super.users") is not None:
            found = str(layer["super.users"]).split(";")
            return [(name.strip(), f"{variable}[super.users]") for name in found if name.strip()]
    return [(name, "kafka_super_users") for name in broker.super_users]


def vault(model: Model) -> Iterator[Problem]:
    """What stands in the vault has a value: a name without one is null, and nobody sees it in an encrypted file."""
    mistyped = {problem.variable for problem in model.mistyped}
    for name, values in model.hosts.items():
        held = values.get("vault")
        for place in {*_null(held)} - mistyped if isinstance(held, Mapping) else ():
            advice = "write it there (ansible-vault edit), or take the line out"
            yield Problem((name,), place, "VAULT_EMPTY", None, "nothing is written there", advice)
        for place in _numbers(held) if isinstance(held, Mapping) else ():
            wrong = "no text: YAML makes a number, a date or true of it, which need not be what is written"
            yield Problem((name,), place, "VAULT_NUMBER", None, wrong, "put it in quotes")


def _null(held: Mapping[Any, Any]) -> Iterator[str]:
    if "pki_passphrase" in held and held["pki_passphrase"] in (None, ""):
        yield "vault.pki_passphrase"
    for part in ("passwords", "new_passwords"):
        passwords = held.get(part)
        if part == "passwords" and part in held and passwords is None:
            yield "vault.passwords"
        for user, password in passwords.items() if isinstance(passwords, Mapping) else ():
            if password in (None, ""):
                yield f"vault.{part}.{user}"


def _numbers(held: Mapping[Any, Any]) -> Iterator[str]:
    for part in ("passwords", "new_passwords"):
        passwords = held.get(part)
        for user, password in passwords.items() if isinstance(passwords, Mapping) else ():
            if password is not None and not isinstance(password, (str, Mapping, list)):
                yield f"vault.{part}.{user}"


def almighty(model: Model) -> Iterator[Problem]:
    """Super users are brokers and admins, each named; no application is one."""
    present = model.present("kafka_users")
    users = {f"User:{user.get('name')}" for user in present if switch(user.get("credential")) is not False}
    bound = {str(acl.get("principal")) for acl in model.acls if acl.get("permission") != "deny"}
    for broker in model.brokers:
        for name, variable in super_users(broker):
            if ":" not in name:
                wrong = "no principal, and Kafka would not start"
                yield broker.problem(variable, "SUPER_USER_INVALID", name, wrong, f"write it as User:{name}")
            elif not name.startswith("User:") and not broker.config.get("principal.builder.class"):
                kind = name.partition(":")[0]
                wrong = f"Kafka knows users alone, and nobody would ever be a {kind}"
                yield broker.problem(variable, "SUPER_USER_INVALID", name, wrong, "name each, as User:ops")
            elif name in ("User:*", "User:", "User:ANONYMOUS") or "*" in name:
                wrong = "read by people as everybody; Kafka compares the whole text"
                if name == "User:ANONYMOUS":
                    wrong = "everybody who does not prove who he is may do everything"
                advice = "name the principals of the brokers and the admin"
                yield broker.problem(variable, "SUPER_USER_EVERYBODY", name, wrong, advice)
            elif name in users and name in OURS:
                wrong = "the project's own name for one who may do everything, by a certificate"
                place, advice = f"kafka_users[{name.removeprefix('User:')}]", "give the user another name"
                yield broker.problem(place, "USER_RESERVED", None, wrong, advice)
            elif name in users:
                wrong = "a user who logs in with a password, and whoever knows it may do everything"
                advice = "take it out and write ACLs, or give the user another name"
                yield broker.problem(variable, "SUPER_USER_APPLICATION", name, wrong, advice)
            elif name in bound:
                wrong = "ACLs say what it may do, and a super user may do everything"
                advice = "take it out, or take its ACLs out"
                yield broker.problem(variable, "SUPER_USER_APPLICATION", name, wrong, advice, warning=True)


def passwords(model: Model) -> Iterator[Problem]:
    """No password can be guessed from the name, and each is one user's; none is ever shown."""
    owners: dict[str, str] = {}
    for user in model.present("kafka_users"):
        name, password = str(user.get("name")), str(user.get("password") or "")
        variable, where = f"kafka_users[{name}].password", names(model.brokers)
        advice = "make a random one, as openssl rand -base64 24 does"
        if password and _guessed(name, password):
            wrong = "the first that somebody who knows the name tries"
            yield Problem(where, variable, "PASSWORD_GUESSABLE", None, wrong, advice)
        elif 0 < len(password) < SHORTEST:
            wrong = f"fewer than {SHORTEST} characters, which a program tries in a day"
            yield Problem(where, variable, "PASSWORD_GUESSABLE", None, wrong, advice)
        elif password and owners.setdefault(password, name) != name:
            wrong = f"that of {owners[password]} as well: each of the two can log in as the other"
            yield Problem(where, variable, "PASSWORD_SHARED", None, wrong, "give each user one of its own")


def _guessed(name: str, password: str) -> bool:
    """Tell whether a password is the user's name, with some figures or signs around it, or backwards."""
    plain = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", password).lower()
    own = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", name).lower()
    return bool(own) and plain in (own, own[::-1])


def tried(model: Model) -> Iterator[Problem]:
    """A password is tried where a password decides: at another listener every one of them would seem to be right."""
    for broker in model.brokers[:1]:
        protocol = str(broker.inputs.mapping("kafka_client").get("security.protocol") or "PLAINTEXT")
        users = [user for user in model.present("kafka_users") if user.get("password") and _by_login(user)]
        if users and broker.super_users and not protocol.upper().startswith("SASL_"):
            who = ", ".join(str(user.get("name")) for user in users)
            wrong = f"no password is asked for there, so that those of {who} would all seem to be right"
            place, advice = "kafka_client[security.protocol]", "name a SASL listener, or say verify: generation of each"
            yield Problem(names(model.brokers), place, "USER_LOGIN", protocol, wrong, advice)


def _by_login(user: Mapping[str, Any]) -> bool:
    return user.get("verify") in (None, "login") and switch(user.get("credential")) is not False
