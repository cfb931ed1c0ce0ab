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


def test_a_filters_page_says_who_computes_it() -> None:
    """The file of its name is its page alone."""
    said = {
        file.stem: file.read_text(encoding="utf-8").splitlines()[0] for file in (ROOT / "plugins/filter").glob("*.yml")
    }
    owner = {
        name: importlib.import_module(f"{PYTHON}.filter.{file}")
        for file in stems("filter")
        for name in importlib.import_module(f"{PYTHON}.filter.{file}").FilterModule().filters()
    }
    assert said == {name: f"# Computed by {module.__name__.rpartition('.')[2]}.py." for name, module in owner.items()}


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


@pytest.mark.parametrize("kind", sorted(PLUGINS))
def test_pages_for_people(kind: str) -> None:
    """As a terminal shows them: a colon makes a mapping of a line that is not quoted, which JSON shows all the same."""
    command = ["ansible-doc", "-t", kind, *(f"{COLLECTION}.{name}" for name in sorted(PLUGINS[kind]))]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "ANSIBLE_CONFIG": "ansible.cfg"}
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def every_page() -> list[tuple[str, str]]:
    return [(kind, name) for kind in sorted(PLUGINS) for name in sorted(PLUGINS[kind])]


def undescribed(options: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the options that have no description, those of elements too."""
    for name, option in options.items():
        if not option.get("description"):
            yield f"{prefix}{name}"
        for key in ("suboptions", "options", "contains"):
            yield from undescribed(option.get(key) or {}, f"{prefix}{name}.")


@pytest.mark.parametrize(("kind", "name"), every_page())
def test_a_page(kind: str, name: str) -> None:
    """Says what it is; every option and every value that is returned has a description; examples say the full name."""
    page = pages(kind)[name]
    if kind == "role":
        main = page["entry_points"]["main"]
        assert main["short_description"]
        assert main["description"]
        assert not list(undescribed(main["options"]))
        return
    doc = page["doc"]
    assert doc["short_description"]
    assert not list(undescribed(doc.get("options") or {}))
    if kind in ("module", "filter"):
        assert not list(undescribed(page["return"]))
        assert f"{COLLECTION}.{name}" in page["examples"]
        yaml.safe_load(page["examples"])


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


def spec_of(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return a module's argument spec, {} where there is only a page."""
    module = importlib.import_module(f"{PYTHON}.modules.{name}")
    if not hasattr(module, "main"):
        return {}
    found: dict[str, Any] = {}

    def asked(argument_spec: dict[str, Any], **_: Any) -> None:
        found.update(argument_spec)
        raise Asked

    monkeypatch.setattr(module, "KafkaModule" if hasattr(module, "KafkaModule") else "AnsibleModule", asked)
    with pytest.raises(Asked):
        module.main()
    return found


def read_by_action(name: str) -> set[str]:
    """Return the options that an action reads, by its text; those of certificates are the role's, too."""
    file = ROOT / "plugins" / "action" / f"{name}.py"
    names = set(re.findall(r'_task\.args(?:\.get\(|\[)"(\w+)"', file.read_text())) if file.exists() else set()
    inputs = {option.removeprefix("pki_") for option in argument_spec("pki")} - {"users"}
    return names | (inputs if name == "certificates" else set())


@pytest.mark.parametrize("name", sorted(PLUGINS["module"]))
def test_options_of_a_module(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has the options that module and action read, with the type, default and choices of the module's spec."""
    documented, spec = pages("module")[name]["doc"].get("options") or {}, spec_of(name, monkeypatch)
    assert set(documented) == set(spec) | read_by_action(name)
    in_both = {option: value for option, value in documented.items() if option in spec}
    assert shape(in_both, spec) == shape(spec, documented)


@pytest.mark.parametrize("name", sorted(PLUGINS["filter"]))
def test_options_of_a_filter(name: str) -> None:
    """The page has the function's arguments, in their order, with their defaults."""
    doc = pages("filter")[name]["doc"]
    _, *arguments = inspect.signature(filters()[name]).parameters.values()
    assert set(doc["options"]) == {"_input", *(argument.name for argument in arguments)}
    assert [word for word in (doc.get("positional") or "").split(", ") if word] == [
        argument.name for argument in arguments
    ]
    for argument in arguments:
        option = doc["options"][argument.name]
        assert bool(option.get("required")) == (argument.default is inspect.Parameter.empty)
        assert option.get("default") == (None if argument.default is inspect.Parameter.empty else argument.default)


def test_every_sidecar_is_a_filter() -> None:
    """A page of a filter that is gone is not left behind."""
    assert {file.stem for file in (ROOT / "plugins" / "filter").glob("*.yml")} == set(filters())
