"""Reads functions/<name>.yml: each file describes one function that a host can have, such as kafka.

A host has a function if the host is in the Ansible group of the same name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from ansible.module_utils.common.yaml import yaml_load

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import ROLES_PATH

# Keys whose values are lists of names, of roles or of their inputs.
INPUTS = ("roles", "heaps", "open_files", "identity", "jvm", "java", "archives", "paths")
# Sources of connections besides the hosts of a function (plugin_utils/nft_rules.py).
CLIENT_SOURCES = ("client", "replication", "admin")
# Keys whose values are templates, computed for each host.
KINDS = ("certificates", "truststores", "units", "mounts", "ports", "connects")
FOLDER = Path(__file__).resolve().parents[2] / "functions"


@dataclass(frozen=True)
class Function:
    """The contents of functions/<name>.yml: roles for the hosts in the group <name>, and variables for every host."""

    name: str
    order: int = 0
    """The place of the function's hosts in the order of layers; layers with lower numbers are deployed first."""
    roles: tuple[str, ...] = ()
    prefix: str = ""
    """The beginning of the names of inputs of the function's own role; by default the function's name."""
    heaps: tuple[str, ...] = ()
    """Inputs that set the memory that processes of the function reserve."""
    open_files: tuple[str, ...] = ()
    """Inputs that set how many files processes of the function may open."""
    identity: tuple[str, ...] = ()
    """Inputs that identify the host, such as an id. Rules compare them with those of the other hosts.

    If a host sets such an input without having the function, the host was probably meant to have the function.
    """
    jvm: tuple[str, ...] = ()
    """Inputs that are options of the function's JVM, first those of the garbage collector; the heap is in `heaps`."""
    java: tuple[str, ...] = ()
    """Inputs that contain the path of the java command that the function's units run."""
    archives: tuple[str, ...] = ()
    """Inputs that name the archives to install; each has a second input with the suffix `_checksum`."""
    paths: tuple[str, ...] = ()
    """Inputs that are one path on the host."""
    certificates: Any = ()
    """Entries of pki_certificates. This field and the fields below contain templates, computed for each host."""
    truststores: Any = ()
    """Entries of pki_truststores."""
    units: Any = ()
    """The function's systemd units."""
    mounts: Any = ()
    """Data paths of the function that should be mount points (the option `mounts` of host_probe)."""
    ports: Any = ()
    """Ports that the function opens, as dicts {port, from}; optional keys: action, what, input, address, optional.

    `from` names functions, or `client` and `admin` (plugin_utils/nft_rules.py). With `action: reject` nothing listens
    on the port. `what` is the port's name in messages of preflight, `input` the variable that sets the port, `address`
    the address to which the process binds (default: all). With `optional`, port 0 means that there is no port.
    """
    connects: Any = ()
    """Addresses to which the function's processes connect, as address:port.

    Preflight tries to connect to those addresses that belong to hosts of this inventory.
    """
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Variables with the lowest precedence: a value that a site sets overrides them. They may be templates."""


def read(load: Callable[[Path], Any] | None = None) -> dict[str, Function]:
    """Return {name: Function} for all files functions/*.yml, `all` first, then sorted by `order` and name.

    `load` reads one file, by default as plain YAML; to let Ansible compute templates in it, pass the method of
    Ansible's loader. Raises ValueError if a file has an unknown key or an invalid value.
    """
    functions_read = []
    for file in FOLDER.glob("*.yml"):
        data = load(file) if load else yaml_load(file.read_text(encoding="utf-8"))
        if not isinstance(data, Mapping):
            raise ValueError(f"{_place(file)}: contains no keys; write them like order: 4")
        for message in _key_errors(data):
            raise ValueError(f"{_place(file)}: {message}")
        texts = {name: tuple(data.get(name, ())) for name in INPUTS}
        functions_read.append(Function(file.stem, **{"prefix": file.stem, **data, **texts}))
    sources = [*(function.name for function in functions_read if function.name != "all"), *CLIENT_SOURCES]
    for function in functions_read:
        for message in _unknown_sources(function.ports, sources):
            raise ValueError(f"{FOLDER.name}/{function.name}.yml: {message}")
    by_order = sorted(functions_read, key=lambda function: (function.order, function.name))
    return {function.name: function for function in by_order}


def _unknown_sources(ports: Any, known: Sequence[str]) -> Iterator[str]:
    """Yield a message for each name in the key `from` of a port that is not in `known`.

    `ports` is skipped if it is a template: templates are checked after they were computed.
    """
    for port in ports if isinstance(ports, (list, tuple)) else ():
        names = port.get("from") if isinstance(port, Mapping) else ()
        for name in names if isinstance(names, (list, tuple)) else ():
            if name not in known:
                yield unknown_source(str(name), port.get("port"), known)


def unknown_source(name: str, port: Any, known: Iterable[str]) -> str:
    """Return the error message for a port whose key `from` contains `name`, which is no valid source of connections.

    `port` is the port's number, `known` are the valid names: functions and CLIENT_SOURCES.
    """
    closest = nearest(name, known)
    advice = f"did you mean {closest}?" if closest else f"use {', '.join(sorted(known))}"
    others = " or ".join(CLIENT_SOURCES)
    return f"from = {name}: unknown source of port {port}: neither a function nor {others}; {advice}"


def _place(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def _key_errors(data: Mapping[Any, Any]) -> Iterator[str]:
    """Yield an error for each invalid key or value in the contents of a file functions/*.yml."""
    known = [key.name for key in fields(Function) if key.name != "name"]
    for key in data:
        if key not in known:
            closest = nearest(str(key), known)
            advice = f"did you mean {closest}?" if closest else f"use {', '.join(known)}"
            yield f"{key}: unknown key; {advice}"
    order = data.get("order", 0)
    if not isinstance(order, int) or isinstance(order, bool):
        yield f"order = {order}: not a whole number; set the place of its layer, like 4; lower ones are deployed first"
    if not isinstance(data.get("prefix", ""), str):
        yield f"prefix = {data['prefix']}: not text; set what the names of its inputs begin with, like spark_job"
    for key in INPUTS:
        value = data.get(key, [])
        if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
            yield f"{key} = {value}: not a list of names; write it as [{value}]"
    if not isinstance(data.get("variables", {}), Mapping):
        yield "variables: not a mapping; write each variable as name: value"
    for role in data.get("roles", ()):
        if not (ROLES_PATH / role / "meta" / "argument_specs.yml").is_file():
            closest = nearest(role, [path.name for path in ROLES_PATH.iterdir()])
            advice = f"did you mean {closest}?" if closest else "create the role, or correct its name"
            yield f"roles = {role}: roles/{role}/meta/argument_specs.yml does not exist; {advice}"


@cache
def _read_once() -> dict[str, Function]:
    return read()


@cache
def project_variables() -> frozenset[str]:
    """Return the names of the variables that the files functions/*.yml set for every host."""
    return frozenset(name for function in _read_once().values() for name in function.variables)


def project_value(name: str) -> Any:
    """Return the value of a variable in functions/*.yml, with templates not computed; None if no file sets it."""
    return next((function.variables[name] for function in _read_once().values() if name in function.variables), None)


@cache
def functions() -> dict[str, Function]:
    """Return {name: Function} of all functions that a host can have (without `all`); templates are plain text."""
    return {name: function for name, function in _read_once().items() if name != "all"}


def inputs(kind: str) -> list[tuple[str, str]]:
    """Return (function name, variable name) for each role input of one kind.

    `kind` is a name in INPUTS: "heaps", for example, are the inputs that set the memory of processes.
    """
    return [(function.name, name) for function in functions().values() for name in getattr(function, kind)]


@cache
def passed_variables() -> re.Pattern[str]:
    """Return a pattern for the names of variables that playbooks pass to roles or register.

    An inventory never sets these variables.
    """
    prefixes = "|".join(function.prefix for function in functions().values())
    return re.compile(
        rf"java_found|({prefixes})_(restart_(listeners|brokers|admin|servers|tls)|pki|base|state|found)$"
        "|pki_(made|state)$|base_state$|preflight_(model|probe)$|archive_(list|installed)"
    )


def variables(known: Mapping[str, Function]) -> dict[str, Any]:
    """Return {name: value} of the variables that the inventory plugin sets on every host.

    These are the variables of all functions, and for each kind in KINDS a variable such as function_ports, whose value
    is {function name: its ports}. `known` is {name: Function}. Raises ValueError if two functions set the same
    variable: neither would override the other.
    """
    values: dict[str, Any] = {}
    for function in known.values():
        repeated = sorted(values.keys() & function.variables.keys())
        if repeated:
            setters = ", ".join(name for name, other in known.items() if repeated[0] in other.variables)
            raise ValueError(f"functions/*.yml: {repeated[0]} is set in {setters}; set it once, in all.yml")
        values |= function.variables
    for kind in KINDS:
        values[f"function_{kind}"] = {
            name: items for name, function in known.items() if (items := getattr(function, kind))
        }
    return values
