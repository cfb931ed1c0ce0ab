"""ansible-doc lists and shows all that the collection has: each plugin, each role, each option of it."""

import importlib
import inspect
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

ROOT = Path(__file__).parents[2]
COLLECTION = "millrace.kafka"
PYTHON = "ansible_collections.millrace.kafka.plugins"
# Folders of plugins/ that hold no plugins.
LIBRARIES = {"definitions", "doc_fragments", "module_utils", "plugin_utils"}


def stems(folder: str) -> set[str]:
    """Return the names of a folder's Python files."""
    return {file.stem for file in (ROOT / "plugins" / folder).glob("*.py")}


def filters() -> dict[str, Any]:
    """Return name to function of all filters."""
    files = (importlib.import_module(f"{PYTHON}.filter.{name}") for name in sorted(stems("filter")))
    return {name: function for file in files for name, function in file.FilterModule().filters().items()}


def plugins() -> dict[str, set[str]]:
    """Return what there is, by ansible-doc's word for its type. An action's page is that of the module of its name."""
    kinds = {
        folder.name for folder in (ROOT / "plugins").iterdir() if folder.is_dir() and folder.name != "__pycache__"
    } - LIBRARIES
    found = {kind: stems(kind) for kind in kinds - {"action", "filter", "modules"}}
    roles = {folder.name for folder in (ROOT / "roles").iterdir()}
    return {**found, "module": stems("modules") | stems("action"), "filter": set(filters()), "role": roles}


PLUGINS = plugins()


@cache
def pages(kind: str) -> dict[str, Any]:
    """Return the pages of one type, by name without the collection's. A name without a page fails."""
    command = ["ansible-doc", "--json", "-t", kind, *(f"{COLLECTION}.{name}" for name in sorted(PLUGINS[kind]))]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "ANSIBLE_CONFIG": "ansible.cfg"}
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return {name.removeprefix(f"{COLLECTION}."): page for name, page in found.items()}


def shown_to_people(kind: str) -> str:
    """Return the errors of ansible-doc as a terminal shows pages: JSON hides a line that a colon made a mapping."""
    command = ["ansible-doc", "-t", kind, *(f"{COLLECTION}.{name}" for name in sorted(PLUGINS[kind]))]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "ANSIBLE_CONFIG": "ansible.cfg"}
    )
    return done.stderr or f"ansible-doc ended with {done.returncode}" * bool(done.returncode)


def undescribed(options: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the options that have no description, those of elements too."""
    for name, option in options.items():
        if not option.get("description"):
            yield f"{prefix}{name}"
        for key in ("suboptions", "options", "contains"):
            yield from undescribed(option.get(key) or {}, f"{prefix}{name}.")


def incomplete(kind: str, name: str) -> Iterator[str]:
    """Yield what a page lacks: descriptions of itself, of options and of results, an example with the full name."""
    page = pages(kind)[name]
    doc = page["entry_points"]["main"] if kind == "role" else page["doc"]
    if not doc["short_description"] or not doc["description"]:
        yield "has no description"
    for option in undescribed(doc.get("options") or {}):
        yield f"option {option} has no description"
    if kind in ("module", "filter"):
        for result in undescribed(page["return"]):
            yield f"result {result} has no description"
        yaml.safe_load(page["examples"])
        if f"{COLLECTION}.{name}" not in page["examples"]:
            yield "no example has its full name"


@pytest.mark.parametrize("kind", sorted(PLUGINS))
def test_pages_are_complete(kind: str) -> None:
    assert shown_to_people(kind) == ""
    assert [f"{name}: {fault}" for name in sorted(PLUGINS[kind]) for fault in incomplete(kind, name)] == []


def test_one_entry_of_module_defaults_sets_the_connection() -> None:
    """The action group has exactly the modules with both options; others would reject one of them."""
    groups = yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["action_groups"]
    both = {name for name, page in pages("module").items() if {"admin", "cluster_id"} <= {*page["doc"]["options"]}}
    assert {*groups["kafka"]} == both


def test_modules_are_named_without_a_type() -> None:
    """M() takes a name alone. With #module, ansible-doc and sites show the markup, or an error."""
    texts = {
        file: file.read_text(encoding="utf-8")
        for file in (ROOT / "plugins").glob("*/*.*")
        if file.suffix in (".py", ".yml")
    }
    assert {
        file.name: found for file, text in texts.items() if (found := re.findall(r"\bM\([^)]*#[^)]*\)", text))
    } == {}


def shape(options: Mapping[str, Any], documented: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a spec, or a page, says of the options; below the first level only what both say.

    A spec may leave a dict open.
    """
    found = {}
    for name, option in options.items():
        inner, other = (one.get("suboptions") or one.get("options") or {} for one in (option, documented.get(name, {})))
        said = {key: option.get(key) for key in ("elements", "choices", "default")}
        kept = shape(inner, other) if inner and other else {}
        found[name] = {
            **said,
            "type": option.get("type", "str"),
            "required": bool(option.get("required")),
            "options": kept,
        }
    return found


class Asked(Exception):
    """The module made its AnsibleModule: the spec is known."""


def spec_of(name: str) -> dict[str, Any]:
    """Return a module's argument spec, {} where there is only a page."""
    module = importlib.import_module(f"{PYTHON}.modules.{name}")
    if not hasattr(module, "main"):
        return {}
    found: dict[str, Any] = {}

    def asked(argument_spec: dict[str, Any], **_: Any) -> None:
        found.update(argument_spec)
        raise Asked

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Asked):
        patch.setattr(module, "KafkaModule" if hasattr(module, "KafkaModule") else "AnsibleModule", asked)
        module.main()
    return found


def read_by_action(name: str) -> set[str]:
    """Return the options that an action reads, by its text; those of certificates are the role's, too."""
    file = ROOT / "plugins" / "action" / f"{name}.py"
    names = set(re.findall(r'_task\.args(?:\.get\(|\[)"(\w+)"', file.read_text())) if file.exists() else set()
    inputs = {option.removeprefix("pki_") for option in argument_spec("pki")} - {"users"}
    return names | (inputs if name == "certificates" else set())


def test_options_of_modules() -> None:
    """A page has the options that module and action read, with the type, default and choices of the module's spec."""
    wrong = []
    for name in sorted(PLUGINS["module"]):
        documented, spec = pages("module")[name]["doc"].get("options") or {}, spec_of(name)
        if names := set(documented) ^ (set(spec) | read_by_action(name)):
            wrong.append(f"{name}: {names} are in the page or in the code, not in both")
        in_both = {option: value for option, value in documented.items() if option in spec}
        found, wanted = shape(in_both, spec), shape(spec, documented)
        wrong += [
            f"{name}: {option}: {found[option]}, not {wanted[option]}"
            for option in found
            if found[option] != wanted[option]
        ]
    assert wrong == []


def test_options_of_filters() -> None:
    """A page has the function's arguments, in their order, with their defaults."""
    wrong = []
    for name, function in filters().items():
        doc, none = pages("filter")[name]["doc"], inspect.Parameter.empty
        _, *arguments = inspect.signature(function).parameters.values()
        wanted = {argument.name: (argument.default is none, argument.default) for argument in arguments}
        found = {
            option: (bool(said.get("required")), none if said.get("required") else said.get("default"))
            for option, said in doc["options"].items()
            if option != "_input"
        }
        order = [word for word in (doc.get("positional") or "").split(", ") if word]
        if "_input" not in doc["options"] or found != wanted or order != list(wanted):
            wrong.append(f"{name}: page {found}, in the order {order}; function {wanted}")
    assert wrong == []


def test_every_sidecar_is_a_filter() -> None:
    """A page of a filter that is gone is not left behind."""
    assert {file.stem for file in (ROOT / "plugins" / "filter").glob("*.yml")} == set(filters())
