"""Finds secrets in plain text: in inventory files, and in systemd units and command lines of services."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import (
    UntoldError,
    place_of,
    was_vaulted,
    written_in,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.file_values import FileValues
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import OPTION_SECRET, open_options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import NAME, Standing, texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.units import UNIT_SECRET, secrets
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind, count
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import is_secret
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import texts as texts_with_places
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import templates

VAULT = "vault"

# Passwords of connection and become plugins: Ansible has more of them than definitions/site.yml.
OF_CONNECTION = re.compile(r"ansible_\w+_(pass|password|passphrase)")
SECRET_CLEAR = ProblemKind(
    "SECRET_CLEAR",
    "a secret in plain text",
    "encrypt it (ansible-vault encrypt_string), or use a variable of an encrypted file",
)
SECRET_CLEAR_FILE = SECRET_CLEAR.variant(
    message="{secrets} in plain text: the file is not encrypted",
    advice="run `ansible-vault encrypt {file}`, with new secrets if others could read these",
)

FROM_VAULT = "the value comes from the vault, but every user of the host can read units and command lines"
USE_FILE = "put the secret into a file, and name the file in EnvironmentFile or LoadCredential"
UNIT_SECRET_VAULT = UNIT_SECRET.variant(message=FROM_VAULT, advice=USE_FILE)
OPTION_SECRET_VAULT = OPTION_SECRET.variant(message=FROM_VAULT, advice=USE_FILE)


def plaintext_secrets(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield a problem for each secret that a file of the inventory contains in plain text.

    A value that is a template is skipped: the variable in the template is checked instead. The problem is an error in
    production, a warning in a lab.
    """
    for host, values in model.hosts.items():
        raw, production = reader.raw(host), values.get("site_environment") != "lab"
        others = (name for name in raw if name not in values and OF_CONNECTION.fullmatch(str(name)))
        for name in (*values, *others):
            places = [
                place
                for place, text in texts_with_places(name, raw[name])
                if is_secret(place, text) and _is_plaintext(place, text, reader)
            ]
            file = _vault_file(raw) if places and name == VAULT else None
            if file:
                secret_count = count(places, "secret")
                yield SECRET_CLEAR_FILE.problem((host,), VAULT, warning=not production, secrets=secret_count, file=file)
                continue
            for place in places:
                yield SECRET_CLEAR.problem((host,), place, warning=not production)


def _is_plaintext(place: str, text: str, reader: Reader) -> bool:
    """Tell whether a file of the inventory contains this text itself, not encrypted and not as a template."""
    if not text or any(templates(text)):
        return False
    try:
        return place_of(text)[0] is not None and not was_vaulted(text)
    except UntoldError:
        return reader.files.is_plain(place, text)


def _vault_file(raw: Mapping[str, Any]) -> str | None:
    """Return the file that sets `vault` for a host and nothing else.

    Returns None if the file sets further variables or encrypts single values. `raw` are the host's variables as
    written.
    """
    file = written_in(raw[VAULT])
    if file is None:
        return None
    has_others = any(written_in(value) == file for name, value in raw.items() if name != VAULT)
    try:
        encrypted = any(was_vaulted(text) for _, text in texts_with_places(VAULT, raw[VAULT]))
    except UntoldError:
        return None
    return None if has_others or encrypted else file


def secrets_in_units(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield a problem for each drop-in of a unit and each Java option whose value comes from the variable `vault`.

    Values that rules of the model already report are skipped.
    """
    standing = Standing(reader.raw)
    found = [
        (machine, place, kind)
        for machine in model.functional
        for place, value, kind in _unit_values(reader.raw(machine.name), model, machine)
        if _uses_vault(value, machine.name, standing, reader.files)
    ]
    rules = (secrets, open_options) if found else ()
    reported = {(host, problem.variable) for rule in rules for problem in rule(model) for host in problem.hosts}
    for machine, place, kind in found:
        if (machine.name, place) not in reported:
            yield machine.report(kind, place)


def _unit_values(raw: Mapping[str, Any], model: Model, machine: Machine) -> Iterator[tuple[str, Any, ProblemKind]]:
    """Yield (place, value as written, kind of its problem) of each value that becomes part of a host's systemd units.

    `raw` are the host's variables as written.
    """
    for function in model.functions_of(machine):
        for name in function.jvm:
            yield name, raw.get(name), OPTION_SECRET_VAULT
        yield from _drop_in(f"{function.prefix}_unit_overrides", raw.get(f"{function.prefix}_unit_overrides"))
    jobs = raw.get("spark_job_jobs")
    for job in jobs if isinstance(jobs, (list, tuple)) else ():
        if isinstance(job, Mapping):
            yield from _drop_in(f"spark_job_jobs[{job.get('name')}].unit_overrides", job.get("unit_overrides"))


def _drop_in(name: str, sections: Any) -> Iterator[tuple[str, Any, ProblemKind]]:
    if not isinstance(sections, Mapping):
        yield name, sections, UNIT_SECRET_VAULT
        return
    for section, settings in sections.items():
        for key, value in settings.items() if isinstance(settings, Mapping) else ():
            yield f"{name}[{section}][{key}]", value, UNIT_SECRET_VAULT


def _uses_vault(value: Any, host: str, standing: Standing, files: FileValues) -> bool:
    """Tell whether `value` contains an encrypted text, or a template that depends on the variable `vault`."""
    if isinstance(value, (list, tuple)):
        return any(_uses_vault(item, host, standing, files) for item in value)
    if isinstance(value, Mapping):
        return any(_uses_vault(item, host, standing, files) for item in value.values())
    if not isinstance(value, str):
        return False
    names = {name for text in texts(value) for name in NAME.findall(text)}
    if VAULT in names or any(VAULT in standing.on(host, name) for name in names):
        return True
    try:
        return was_vaulted(value)
    except UntoldError:
        return files.is_vaulted(value)
