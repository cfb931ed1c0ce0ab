"""Secrets in the clear, and those that would stand in a unit of systemd, or in the command line that it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import was_vaulted, written_in
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import OPTION_SECRET, open_options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import NAME, Standing, texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.units import UNIT_SECRET, secrets
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind, count
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import is_secret
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import texts as written
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import encrypted, templates

VAULT = "vault"
FROM_VAULT = "the value comes from the vault, but every user of the host can read units and command lines"
USE_FILE = "use a file that contains it: EnvironmentFile, or LoadCredential"
UNIT_SECRET_VAULT = UNIT_SECRET.variant(message=FROM_VAULT, advice=USE_FILE)
OPTION_SECRET_VAULT = OPTION_SECRET.variant(message=FROM_VAULT, advice=USE_FILE)


def secrets_in_the_clear(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield secrets that stand in the inventory as they are; a template is judged where it ends."""
    for host, values in model.hosts.items():
        raw, production = reader.raw(host), values.get("site_environment") != "lab"
        for name in values:
            clear = [path for path, text in written(name, raw[name]) if is_secret(path, text) and _clear(text)]
            file = _file_of_the_vault(raw) if clear and name == VAULT else None
            if file:
                wrong = f"{count(clear, 'secret')} in the clear: the file is not encrypted"
                advice = f"ansible-vault encrypt {file}, with new ones where others could read these"
                yield Problem((host,), VAULT, "SECRET_CLEAR", None, wrong, advice, warning=not production)
                continue
            for path in clear:
                advice = "encrypt it (ansible-vault encrypt_string), or name one of a vaulted file"
                wrong = "a secret in the clear"
                yield Problem((host,), path, "SECRET_CLEAR", None, wrong, advice, warning=not production)


def _clear(text: str) -> bool:
    """Tell whether a text stands unencrypted in a file of the inventory."""
    return bool(text) and not any(templates(text)) and written_in(text) is not None and not was_vaulted(text)


def _file_of_the_vault(raw: Mapping[str, Any]) -> str | None:
    """Return the file that holds the vault of a host; None where it has other words too, or encrypts some of them."""
    file = written_in(raw[VAULT])
    others = any(written_in(value) == file for name, value in raw.items() if name != VAULT)
    return None if others or any(encrypted(raw[VAULT])) else file


def secrets_in_units(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield what of drop-ins and options of Java is of the vault, whatever its name, unless that is said already."""
    standing = Standing(reader.raw)
    found = [
        (machine, place, kind)
        for machine in model.functional
        for place, value, kind in _in_units(reader.raw(machine.name), model, machine)
        if _of_the_vault(value, machine.name, standing)
    ]
    rules = (secrets, open_options) if found else ()
    said = {(host, problem.variable) for rule in rules for problem in rule(model) for host in problem.hosts}
    for machine, place, kind in found:
        if (machine.name, place) not in said:
            yield machine.report(kind, place)


def _in_units(raw: Mapping[str, Any], model: Model, machine: Machine) -> Iterator[tuple[str, Any, ProblemKind]]:
    """Yield place, value as it is written, and kind of problem of all that goes into units of a host."""
    for function in model.functions_of(machine):
        for name in function.jvm:
            yield name, raw.get(name), OPTION_SECRET_VAULT
        yield from _settings(f"{function.prefix}_unit_overrides", raw.get(f"{function.prefix}_unit_overrides"))
    jobs = raw.get("spark_job_jobs")
    for job in jobs if isinstance(jobs, (list, tuple)) else ():
        if isinstance(job, Mapping):
            yield from _settings(f"spark_job_jobs[{job.get('name')}].unit_overrides", job.get("unit_overrides"))


def _settings(name: str, found: Any) -> Iterator[tuple[str, Any, ProblemKind]]:
    if not isinstance(found, Mapping):
        yield name, found, UNIT_SECRET_VAULT
        return
    for section, settings in found.items():
        for key, value in settings.items() if isinstance(settings, Mapping) else ():
            yield f"{name}[{section}][{key}]", value, UNIT_SECRET_VAULT


def _of_the_vault(value: Any, host: str, standing: Standing) -> bool:
    """Tell whether a text of a value is encrypted, or a template of it stands on the vault."""
    if isinstance(value, (list, tuple)):
        return any(_of_the_vault(item, host, standing) for item in value)
    if isinstance(value, Mapping):
        return any(_of_the_vault(item, host, standing) for item in value.values())
    if not isinstance(value, str):
        return False
    names = {name for text in texts(value) for name in NAME.findall(text)}
    return was_vaulted(value) or VAULT in names or any(VAULT in standing.on(host, name) for name in names)
