"""Rules on variables: misspelt names, wrong types, null values, replaced lists and well-known passwords."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import takewhile
from typing import Any

import yaml

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, project_variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typed_values import (
    OTHER_FORM,
    Fault,
    meant_items,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import is_secret, texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

# Passwords of installers, tutorials and tests.
DEFAULTS = {
    "changeme",
    "change_me",
    "change-me",
    "changeit",
    "password",
    "passwd",
    "secret",
    "admin",
    "admin-secret",
    "kafka",
    "test",
    "123456",
}
# What pages print in place of a secret: dots, stars, one letter again and again, or a description in <>.
PLACEHOLDER = re.compile(r"(.)\1*|<.*>|todo|tbd|replace[-_ ]?me", re.IGNORECASE | re.DOTALL)
# Inputs that may be empty, or whose empty value has a meaning, and ids and places, which other rules check.
MAY_BE_EMPTY = (
    "rack",
    "kafka_rack",
    "kafka_broker_id",
    "zookeeper_id",
    "organization",
    "client_address",
    "replication_address",
    "pki_requests_directory",
    "pki_signed_directory",
    "kafka_zookeeper_keystore",
)
REQUIRED = (
    "archives",
    "infra_authority",
    "kafka_admin_listeners",
    "kafka_version",
    "zookeeper_servers",
    "zookeeper_version",
)
# The site's additional entries, and the input into which the wiring puts them.
BESIDES = {
    "site_listeners": "kafka_listeners",
    "site_firewall_rules": "base_firewall_rules",
    "site_certificates": "pki_certificates",
    "site_truststores": "pki_truststores",
}
# Arguments of playbooks (-e) that are almost a known name.
OF_PLAYBOOKS = {"drain", "replication_factor"}


VARIABLE_UNKNOWN = ProblemKind(
    "VARIABLE_UNKNOWN",
    "no role has an input of this name, so it has no effect",
    "use an input from the tables in the READMEs of the roles",
)
VARIABLE_UNKNOWN_MEANT = VARIABLE_UNKNOWN.variant(advice="did you mean {near}?")
VARIABLE_SUSPECT = ProblemKind(
    "VARIABLE_SUSPECT", "nothing of this project reads a variable of this name", "did you mean {near}?"
)


def names(model: Model) -> Iterator[Problem]:
    """Yield a problem for each variable that begins like the inputs of a role, but is not an input of the role.

    Also yield a problem for each variable that looks like a typo of a known variable. preflight/unused_variables.py
    later drops the problems of variables that a template of the site uses.
    """
    everywhere, meant = project_variables() | OF_PLAYBOOKS, cache(partial(_meant, model, *_parted(model)))
    for host, own_names in model.names.items():
        for name in own_names - model.known:
            if _prefixed(model, name):
                if near := nearest(name, model.known):
                    yield VARIABLE_UNKNOWN_MEANT.problem((host,), name, near=near)
                else:
                    yield VARIABLE_UNKNOWN.problem((host,), name)
            elif not name.startswith(("ansible_", "group", "inventory_", "omit", "play", "role_", "_")):
                near = meant(name)
                same = near == _plain(name)  # the same words in another notation
                role = near is not None and near.partition("_")[2] == name.partition("_")[2] != ""  # zookeper_heap
                set_too = near in own_names - everywhere and not same
                if near and (role or not set_too) and not _numbered(name, near) and name not in everywhere:
                    other = role and set_too and not _one_letter(name.partition("_")[0], near.partition("_")[0])
                    yield VARIABLE_SUSPECT.problem((host,), name, warning=other, near=near)


def _parted(model: Model) -> tuple[list[str], list[str]]:
    """Return (variables that belong to no role, inputs of roles), both sorted."""
    inputs = {word for word in model.known if _prefixed(model, word)}
    return sorted(model.known - inputs), sorted(inputs)


def _meant(model: Model, words: Sequence[str], inputs: Sequence[str], name: str) -> str | None:
    """Return the known variable that `name` is probably a typo of; None if there is none.

    `words` are the known variables that belong to no role, `inputs` those of roles.
    """
    plain = _plain(name)
    if plain in model.known:
        return plain
    near = nearest(name, words)
    if near and abs(len(near) - len(name)) <= 2 and len(name) > 4:
        return near
    near = nearest(name, inputs)
    return near if near and len(name) > 8 and "_" in plain else None


def _numbered(name: str, near: str) -> bool:
    """Tell whether the first words of two names differ in a digit, as kafka2_heap: this is rarely a typo."""
    own, meant = (re.findall(r"\d", text.partition("_")[0]) for text in (name, near))
    return "_" in name and own != meant


def _one_letter(word: str, meant: str) -> bool:
    """Tell whether two words differ by at most one letter, as zookeper and zookeeper."""
    begin = _shared(word, meant)
    end = _shared(word[begin:][::-1], meant[begin:][::-1])
    return max(len(word), len(meant)) - begin - end <= 1


def _shared(word: str, other: str) -> int:
    """Return the length of the common beginning of two words."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))


def _plain(name: str) -> str:
    """Return a name as Ansible writes variables, as kafka_config for kafka-config and kafkaConfig."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")


def _prefixed(model: Model, name: str) -> bool:
    return any(name.startswith(f"{prefix}_") for prefix in model.prefixes)


def types(model: Model) -> Iterator[Problem]:
    """Yield the problems of all values that are not of the type that their role declares."""
    yield from model.mistyped


INPUT_NOT_A_LIST = ProblemKind("INPUT_NOT_A_LIST", "{fault}", "write it as {written}")
INPUT_REFUSED = ProblemKind("INPUT_REFUSED", "{fault}", "see {page} for the valid names and types")
INPUT_NOT_A_LIST_HIDDEN = INPUT_NOT_A_LIST.variant(advice="see {page} for the valid names and types")
INPUT_REFUSED_FORM = INPUT_REFUSED.variant(advice="write {number} (if a template computes it, add the filter int)")
INPUT_REFUSED_QUOTES = INPUT_REFUSED.variant(advice="put it in quotes: yes, no, on and off are true and false in YAML")
INPUT_REFUSED_SIZE = INPUT_REFUSED.variant(message="true or false instead of a size", advice="write a size, such as 6g")
INPUT_REFUSED_ADDRESS = INPUT_REFUSED.variant(
    message="true or false instead of an address", advice="write an address, such as 198.51.100.7"
)
# Texts of argument specs that are sizes or addresses.
SIZE, ADDRESS = re.compile(r"(\w+_)?(heap|memory|memory_max)"), re.compile(r"(.*[_.])?address")


def mistyped(host: str, fault: Fault) -> Problem:
    """Return the problem of a value that is not of its declared type.

    The message does not show the value if the variable may be a secret.
    """
    variable, value = fault.place, fault.value
    base = re.split(r"[.[]", variable)[0]
    hidden = value is None or base == "vault" or is_secret(variable.rpartition(".")[2], str(value))
    roles = {role for function in functions().values() for role in function.roles}
    role = next((role for role in sorted(roles) if base in argument_spec(role)), None)
    kind = INPUT_REFUSED
    if fault.declared == "list":
        kind = INPUT_NOT_A_LIST_HIDDEN if hidden else INPUT_NOT_A_LIST
    elif fault.declared == "str" and isinstance(value, bool):
        sizes = SIZE.fullmatch(variable), INPUT_REFUSED_SIZE
        addresses = ADDRESS.fullmatch(variable), INPUT_REFUSED_ADDRESS
        kind = next((refused for match, refused in (sizes, addresses) if match), INPUT_REFUSED_QUOTES)
    elif fault.message == OTHER_FORM:
        kind = INPUT_REFUSED_FORM
    return kind.problem(
        (host,),
        variable,
        None if hidden else repr(value) if kind is INPUT_REFUSED_FORM else value,
        number=whole(value),
        fault=fault.message,
        written="" if hidden else _as_list(value),
        page=f"{f'roles/{role}' if role else 'inventories'}/README.md",
    )


def _as_list(value: Any) -> str:
    """Return the list that a single value probably means, as YAML in one line, with quotes where YAML needs them."""
    if not isinstance(value, str):
        return f"[{value}]"
    return yaml.safe_dump(meant_items(value), default_flow_style=True, allow_unicode=True, width=10_000).strip()


VALUE_NONE = ProblemKind("VALUE_NONE", "empty", "set a value, or remove the line")
VALUE_NONE_NULL = VALUE_NONE.variant(message="null, which does not restore the default")
VALUE_NONE_LIST = VALUE_NONE_NULL.variant(advice="set a value, or {empty} for none, or remove the line")


def nothing(host: str, values: Mapping[str, Any], options: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield a problem for each variable of a host that is null or empty, although it needs a value.

    Null does not mean the default: templates would write None. `options` is {variable: its argument spec}.
    """
    for name, value in values.items():
        option = options.get(name, {})
        kind = str(option.get("type") or "str")
        if value is None and name not in MAY_BE_EMPTY and ("default" in option or name in project_variables()):
            empty_value = {"list": "[]", "dict": "{}"}.get(kind, "")
            if empty_value:
                yield VALUE_NONE_LIST.problem((host,), name, empty=empty_value)
            else:
                yield VALUE_NONE_NULL.problem((host,), name)
        empty = isinstance(value, str) and not value.strip() and not name.endswith("_checksum")  # ARCHIVE_CLEAR
        if (empty and (kind == "path" or option.get("required") or name in REQUIRED) and name not in MAY_BE_EMPTY) or (
            name in REQUIRED and isinstance(value, (Mapping, list, tuple)) and not value
        ):
            yield VALUE_NONE.problem((host,), name)


LIST_REPLACED = ProblemKind(
    "LIST_REPLACED",
    "this list overrides the default, and does not contain {entries} of {additional}",
    "remove {list} (the default contains {additional}), or put all entries into {list}",
)


def lists(model: Model) -> Iterator[Problem]:
    """Yield a problem for each list that a site sets and that thereby loses the additional entries of the site.

    Additional entries, such as those in site_listeners, are added only to the default of a list, here kafka_listeners.
    """
    for machine in model.functional:
        for additional, name in BESIDES.items():
            present = {_identity(entry) for entry in machine.inputs.entries(name)}
            lost = [entry for entry in machine.inputs.entries(additional) if _identity(entry) not in present]
            if lost and name in machine.inputs.values:
                entries = [str(entry.get("name") or entry.get("port") or entry.get("path")) for entry in lost]
                yield machine.report(LIST_REPLACED, name, entries=entries, additional=additional, list=name)


def _identity(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the name, port and path of an entry, which identify it, as text.

    A port such as 09095 is reported where it is set; templates that copy the entry write it as a number.
    """
    port = whole(entry.get("port"))
    return (str(entry.get("name")), str(entry.get("port") if port is None else port), str(entry.get("path")))


SECRET_DEFAULT = ProblemKind(
    "SECRET_DEFAULT",
    "a well-known default password, which an attacker tries first",
    "use a random password, for example from `openssl rand -base64 24`, and keep it in a vaulted file",
)
SECRET_DEFAULT_PLACEHOLDER = SECRET_DEFAULT.variant(message="a placeholder, as pages print it in place of a secret")


def secrets(model: Model) -> Iterator[Problem]:
    """Yield a problem for each password that is a well-known default; messages do not show the password."""
    seen: dict[str, tuple[Any, list[tuple[str, str]]]] = {}  # most hosts have the same values
    for host, values in model.hosts.items():
        vault = {secret for _, secret in texts("vault", values.get("vault")) if is_well_known(secret)}
        for variable, value in values.items():
            if variable not in seen or seen[variable][0] != value:
                guessable = [item for item in texts(variable, value) if is_secret(*item) and is_well_known(item[1])]
                seen[variable] = value, guessable
            for path, secret in seen[variable][1]:
                if variable == "vault" or _inner(secret) not in vault:  # else reported of the vault
                    known = _inner(secret).strip().lower() in DEFAULTS
                    yield (SECRET_DEFAULT if known else SECRET_DEFAULT_PLACEHOLDER).problem((host,), path)


def is_well_known(text: str) -> bool:
    """Tell whether a password, or the one in the text of a login, is a well-known default or a placeholder."""
    secret = _inner(text).strip()
    return secret.lower() in DEFAULTS or PLACEHOLDER.fullmatch(secret) is not None


def _inner(text: str) -> str:
    """Return the password inside the text of a login (password="..."), or else the text itself."""
    match = "password" in text and re.search(r"password\s*=\s*[\"']([^\"']*)", text)
    return match.group(1) if match else text
