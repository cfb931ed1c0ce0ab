"""Reads the functions that a host can have: groups/<name>.yml describes one, the group of that name gives it."""

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

# Keys that hold names, of roles and of their inputs.
INPUTS = ("roles", "heaps", "open_files", "identity", "jvm", "java", "archives", "paths")
# Who may connect besides hosts of functions (plugin_utils/nft_rules.py).
OTHERS = ("client", "admin")
# Keys that hold templates of a host.
KINDS = ("certificates", "truststores", "units", "mounts", "ports", "connects")
FOLDER = Path(__file__).resolve().parents[2] / "groups"


@dataclass(frozen=True)
class Function:
    """One file of groups/: its name, the roles of its hosts, and the variables that it adds to the inventory."""

    name: str
    order: int = 0
    """Where its hosts come among the layers, from below."""
    roles: tuple[str, ...] = ()
    prefix: str = ""
    """What the inputs of its own role begin with; the function's name where it is not said."""
    heaps: tuple[str, ...] = ()
    """Inputs that say how much memory its processes take for good."""
    open_files: tuple[str, ...] = ()
    """Inputs that say how many files its processes open."""
    identity: tuple[str, ...] = ()
    """Inputs that say which host it is: rules of its own judge them, with the other hosts in view.

    A host without the function that has one was meant to have it.
    """
    jvm: tuple[str, ...] = ()
    """Inputs that are options of its JVM, those of the garbage collector first; the heap is among `heaps`."""
    java: tuple[str, ...] = ()
    """Inputs that name the java that its units run."""
    archives: tuple[str, ...] = ()
    """Inputs that name what is installed; each has one of its name and `_checksum` beside it."""
    paths: tuple[str, ...] = ()
    """Inputs that are one path on the host."""
    certificates: Any = ()
    """Entries of pki_certificates. This and the following are templates of a host."""
    truststores: Any = ()
    """Entries of pki_truststores."""
    units: Any = ()
    """systemd units that run there."""
    mounts: Any = ()
    """Paths that are file systems of their own; of a disk that need not be there, none."""
    ports: Any = ()
    """Ports that it opens, each {port, from}, and where it is more than that {action, what, input, address, optional}.

    `from` names groups, or `client` and `admin` (plugin_utils/nft_rules.py). With `action: reject` nothing listens
    there. `what` is what preflight calls it, `input` what says it, `address` where it is bound, if not everywhere; 0 is
    no port where it is `optional`.
    """
    connects: Any = ()
    """Whom it connects to, as address:port; those that are hosts of this inventory are tried."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Variables below everything that a site writes; templates of a host."""


def read(load: Callable[[Path], Any] | None = None) -> dict[str, Function]:
    """Return the functions by name, sorted by `order` and then by name; `all` is the first.

    `load` reads a file; pass the method of Ansible's loader if templates are to be computed. Raises ValueError if a
    file is not a valid function.
    """
    found = []
    for file in FOLDER.glob("*.yml"):
        data = load(file) if load else yaml_load(file.read_text(encoding="utf-8"))
        if not isinstance(data, Mapping):
            raise ValueError(f"{_place(file)}: holds no keys; write them as order: 4")
        for text in _faults(data):
            raise ValueError(f"{_place(file)}: {text}")
        texts = {name: tuple(data.get(name, ())) for name in INPUTS}
        found.append(Function(file.stem, **{"prefix": file.stem, **data, **texts}))
    for function in found:
        for text in _strangers(function.ports, [*(one.name for one in found if one.name != "all"), *OTHERS]):
            raise ValueError(f"{FOLDER.name}/{function.name}.yml: {text}")
    return {function.name: function for function in sorted(found, key=lambda one: (one.order, one.name))}


def _strangers(ports: Any, known: Sequence[str]) -> Iterator[str]:
    """Yield the names of sources that may connect to a port but are not known; templates are checked once computed."""
    for port in ports if isinstance(ports, (list, tuple)) else ():
        names = port.get("from") if isinstance(port, Mapping) else ()
        for name in names if isinstance(names, (list, tuple)) else ():
            if name not in known:
                yield stranger(str(name), port.get("port"), known)


def stranger(name: str, port: Any, known: Iterable[str]) -> str:
    """Return the message for an unknown source of a port, and what to write instead."""
    near = nearest(name, known)
    advice = f"did you mean {near}?" if near else f"name some of {', '.join(sorted(known))}"
    return f"from = {name}: who may connect to port {port} is no function, and neither client nor admin; {advice}"


def _place(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def _faults(data: Mapping[Any, Any]) -> Iterator[str]:
    """Yield what is wrong with the keys of a file, and how to correct it."""
    known = [one.name for one in fields(Function) if one.name != "name"]
    for key in data:
        if key not in known:
            near = nearest(str(key), known)
            advice = f"did you mean {near}?" if near else f"use {', '.join(known)}"
            yield f"{key} is no key of a function; {advice}"
    order = data.get("order", 0)
    if not isinstance(order, int) or isinstance(order, bool):
        yield f"order = {order}: no whole number; write its place among the layers, from below, as 4"
    if not isinstance(data.get("prefix", ""), str):
        yield f"prefix = {data['prefix']}: no text; write what its inputs begin with, as spark_job"
    for key in INPUTS:
        value = data.get(key, [])
        if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
            yield f"{key} = {value}: no list of names; write it as [{value}]"
    if not isinstance(data.get("variables", {}), Mapping):
        yield "variables: no names with values; write each as name: value"
    for role in data.get("roles", ()):
        if not (ROLES_PATH / role / "meta" / "argument_specs.yml").is_file():
            near = nearest(role, [path.name for path in ROLES_PATH.iterdir()])
            advice = f"did you mean {near}?" if near else "make the role, or correct its name"
            yield f"roles = {role}: no roles/{role}/meta/argument_specs.yml; {advice}"


@cache
def _plain() -> dict[str, Function]:
    return read()


@cache
def laid() -> frozenset[str]:
    """Return the names of the variables that groups/*.yml set for every host."""
    return frozenset(name for function in _plain().values() for name in function.variables)


def usual(name: str) -> Any:
    """Return the value that groups/*.yml set for a variable, templates unrendered; None if they do not set it."""
    return next((function.variables[name] for function in _plain().values() if name in function.variables), None)


@cache
def functions() -> dict[str, Function]:
    """Return the functions that hosts can have, by name, without `all`; templates in them are plain text."""
    return {name: function for name, function in _plain().items() if name != "all"}


def inputs(kind: str) -> list[tuple[str, str]]:
    """Return the inputs of a kind (one of INPUTS), each preceded by its function."""
    return [(function.name, name) for function in functions().values() for name in getattr(function, kind)]


@cache
def internal() -> re.Pattern[str]:
    """Return the names of variables that playbooks pass or register for the roles; no inventory sets them."""
    prefixes = "|".join(function.prefix for function in functions().values())
    return re.compile(
        rf"java_found|({prefixes})_(restart_(listeners|brokers|admin|servers|tls)|pki|base|state|found)$"
        "|pki_(made|state)$|base_state$|preflight_(model|probe)$|archive_(list|installed)"
    )


def variables(known: Mapping[str, Function]) -> dict[str, Any]:
    """Return the variables that every host gets.

    These are the variables of all functions, and `function_<kind>` with the values of hosts of each function. Raises
    ValueError if two functions set the same variable: a host may have both, and neither would override the other.
    """
    found: dict[str, Any] = {}
    for function in known.values():
        twice = sorted(found.keys() & function.variables.keys())
        if twice:
            others = ", ".join(name for name, other in known.items() if twice[0] in other.variables)
            raise ValueError(f"groups/*.yml: {twice[0]} is said in {others}; keep one, in all.yml")
        found |= function.variables
    for kind in KINDS:
        found[f"function_{kind}"] = {
            name: items for name, function in known.items() if (items := getattr(function, kind))
        }
    return found
