"""Wraps the private API of Ansible that this project uses; a test fails if Ansible changes it.

The test is tests/unit/test_ansible_internals.py.
"""

from __future__ import annotations

import importlib
import marshal
import os
import sys
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from ansible import constants as C
from ansible._internal._datatag._tags import Origin, VaultedValue
from ansible._internal._templating import _engine
from ansible._internal._templating._engine import TemplateOptions
from ansible._internal._templating._jinja_bits import _TEMPLATE_OVERRIDE_FIELD_NAMES as TEMPLATE_OVERRIDES
from ansible._internal._templating._jinja_bits import AnsibleEnvironment, _TemplateCompileContext
from ansible._internal._templating._jinja_plugins import JinjaPluginIntercept
from ansible._internal._templating._lazy_containers import _AnsibleLazyTemplateMixin
from ansible._internal._templating._utils import TemplateContext
from ansible.errors import AnsibleError
from ansible.inventory.helpers import sort_groups
from ansible.module_utils._internal._datatag import AnsibleTagHelper
from ansible.plugins.loader import init_plugin_loader, test_loader
from ansible.template import Templar
from jinja2.environment import TemplateExpression

COLLECTION = "ansible_collections.millrace.kafka"


def written_in(text: str) -> str | None:
    """Return the path of the inventory file that contains a text; None if the text was computed or passed with -e."""
    return written_at(text)[0]


def written_at(value: Any) -> tuple[str | None, int | None, int | None]:
    """Return (path, line, column) at which a value begins in a file of the inventory; each is None if unknown."""
    origin = Origin.get_tag(value)
    return (origin.path, origin.line_num, origin.col_num) if origin else (None, None, None)


def as_text(value: float) -> str:
    """Return a number as text; Ansible's tag on the number, which records its file and line, is copied to the text."""
    text: str = AnsibleTagHelper.tag_copy(value, str(value))
    return text


def was_vaulted(text: str) -> bool:
    """Tell whether a text was encrypted in the inventory, alone (encrypt_string) or with its whole file."""
    path = written_in(text)
    return bool(VaultedValue.is_tagged_on(text)) or (path is not None and _is_vault(path))


def decrypted(value: Any) -> Any:
    """Return `value` with each text inside it that was encrypted alone (encrypt_string) as a text.

    The texts keep the tags by which `was_vaulted` knows them. `value` itself is returned if nothing in it is encrypted;
    a text that cannot be decrypted stays encrypted: its first use raises AnsibleError.
    """
    if type(value).__name__ == "EncryptedString":
        with suppress(AnsibleError, ReferenceError):  # ReferenceError: outside a run, without a vault password
            return str(value)
    elif isinstance(value, Mapping):
        items = {key: decrypted(item) for key, item in value.items()}
        if any(items[key] is not item for key, item in value.items()):
            return AnsibleTagHelper.tag_copy(value, items)
    elif isinstance(value, (list, tuple)):
        entries = [decrypted(item) for item in value]
        if any(new is not item for new, item in zip(entries, value, strict=True)):
            return AnsibleTagHelper.tag_copy(value, entries)
    return value


@cache
def _is_vault(path: str) -> bool:
    """Tell whether ansible-vault encrypted a whole file; the values read from such a file do not record this."""
    try:
        with open(path, "rb") as stream:
            return stream.read(14) == b"$ANSIBLE_VAULT"
    except OSError:
        return False


def by_precedence(groups: Iterable[Any]) -> list[Any]:
    """Return groups of the inventory, lowest precedence first: variables of a later group override earlier ones."""
    ordered: list[Any] = sort_groups(groups)
    return ordered


def runtime_variables(variable_manager: Any, host: str) -> set[str]:
    """Return the names of the variables of a host that this run itself has set: registered, set_fact or include_vars.

    `variable_manager` is Ansible's VariableManager.
    """
    caches = (getattr(variable_manager, name) for name in ("_nonpersistent_fact_cache", "_vars_cache"))
    return {name for cache in caches for name in cache.get(host, ())}


def set_extra_variables(variable_manager: Any, extra: Mapping[str, Any]) -> None:
    """Add `extra`, {name: value}, to Ansible's variable manager as if the variables were passed with -e.

    They then override all other variables.
    """
    variable_manager._extra_vars = {**variable_manager._extra_vars, **extra}


_PLUGINS: dict[tuple[str, str], Any] = {}
_COMPILED: dict[tuple[Any, ...], Any] = {}


class _Plugins(JinjaPluginIntercept):  # type: ignore[misc]
    """Looks up filters or tests; finds a collection's plugin once per process instead of once per task."""

    def __getitem__(self, key: str) -> Any:
        if "." not in key:
            return super().__getitem__(key)
        key_of_plugin = (self._plugin_loader.type, key)
        if key_of_plugin not in _PLUGINS:
            _PLUGINS[key_of_plugin] = super().__getitem__(key)
        return _PLUGINS[key_of_plugin]


class _Environment(AnsibleEnvironment):  # type: ignore[misc]
    """Jinja environment that compiles each text once for all hosts and all processes of a run.

    Without it, compiling takes half of the time to read 100 hosts, and a third of the CPU time of the worker process
    that Ansible forks for each task on a host.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for kind in ("filters", "tests"):
            current = getattr(self, kind)
            setattr(self, kind, _Plugins(current._jinja_builtins, current._plugin_loader))

    def compile(self, source: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(source, str) or args or kwargs:
            self._tree = super().compile(source, *args, **kwargs)
            return self._tree
        return self._once("text", source, lambda: super(_Environment, self).compile(source))

    def compile_expression(self, source: str, undefined_to_none: bool = True) -> Any:
        code = self._once("expression", source, lambda: self._expression(source))
        template = self.template_class.from_code(self, code, self.make_globals(None))
        return TemplateExpression(template, undefined_to_none)

    def _expression(self, source: str) -> Any:
        super().compile_expression(source)  # it parses, and calls compile() with the tree
        return self._tree

    def _once(self, kind: str, source: Any, compiled: Callable[[], Any]) -> Any:
        context = _TemplateCompileContext.current(optional=True)
        if context is None:
            return compiled()
        key = (kind, str(source), context.escape_backslashes, *(getattr(self, name) for name in TEMPLATE_OVERRIDES))
        if key not in _COMPILED:
            _COMPILED[key] = _compiled_in_run(key, compiled, private=written_in(source) is None or was_vaulted(source))
        return _COMPILED[key]


def _compiled_in_run(key: tuple[Any, ...], compiled: Callable[[], Any], private: bool) -> Any:
    """Return the code object of a template, compiled once for all processes of a run.

    `key` identifies the template, `compiled` compiles it. Processes share the code in a folder that only the user of
    the run can read. With `private` the code is not shared: the text of the template is secret, or of unknown origin.
    """
    if private:
        return compiled()
    file = Path(C.DEFAULT_LOCAL_TMP) / f"compiled-{sha256(repr(key).encode()).hexdigest()}"
    try:
        code = marshal.loads(file.read_bytes())
    except FileNotFoundError:
        code = compiled()
        with suppress(OSError):  # the folder is missing or the disk full: each process compiles by itself
            partial = file.with_name(f"{file.name}.{os.getpid()}")
            partial.write_bytes(marshal.dumps(code))
            partial.rename(file)
    return code


def compile_once() -> None:
    """Make Ansible compile each template of the run once, also in names, conditions and other options of tasks.

    Also loads Ansible's wrappers of Jinja tests, which each worker process would otherwise load after its fork.
    """
    _engine.AnsibleEnvironment = _Environment
    test_loader._ensure_non_collection_wrappers()


@cache
def environment(basedir: str) -> Any:
    """Return the Jinja environment shared by all hosts; `basedir` is the base directory of Ansible's loader."""
    return _Environment(ansible_basedir=basedir)


def templar_of(loader: Any, variables: Mapping[str, Any], once: bool = False) -> Templar:
    """Return an Ansible Templar that renders texts with `variables`, {name: value} of one host.

    With `once`, the Templar computes each variable only at its first use and keeps the value. `loader` is Ansible's
    DataLoader.
    """
    templar = Templar(loader=loader, variables=variables)
    templar._engine._environment = environment(loader.get_basedir())
    if once:
        _compute_once(templar._engine)
    return templar


def with_more(variables: Mapping[str, Any], more: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a mapping of both arguments, in which `more` overrides `variables`.

    Values of `variables` that Ansible has already computed are not computed again.
    """
    return ChainMap(dict(more), variables)  # type: ignore[arg-type]  # it is only read


class OnceForEachTask:
    """Base class of an action plugin that computes each variable only once for all options of a task.

    Without this class, Ansible computes a variable, and each variable that it uses, again for every option that names
    it.
    """

    @classmethod
    @contextmanager
    def get_finalize_task_args_context(cls) -> Iterator[dict[str, Any]]:
        """Yield a dict that the options of one task share while Ansible computes them."""
        yield {}

    @classmethod
    def finalize_task_arg(cls, name: str, value: Any, templar: Any, context: dict[str, Any]) -> Any:
        """Return the computed value of one option; `context` is the dict that all options of the task share."""
        if "templar" not in context:
            context["templar"] = _compute_once(templar.extend())
        return context["templar"].template(value)


def _compute_once(engine: Any) -> Any:
    engine._environment = environment(engine.basedir)
    with TemplateContext(template_value=None, templar=engine, options=TemplateOptions.DEFAULT, stop_on_template=False):
        engine.available_variables = _AnsibleLazyTemplateMixin._try_create(dict(engine.available_variables))
    return engine


@cache
def find_collections() -> None:
    """Enable templates to find plugins by their full names in a program that is not one of Ansible's commands.

    If Python already imported this collection as an ordinary package, the collection is imported again through Ansible.
    """
    init_plugin_loader()
    packages = [
        name
        for name, module in sys.modules.items()
        if f"{COLLECTION}.".startswith(f"{name}.") or _is_folder(name, module)
    ]
    for name in packages:
        sys.modules.pop(name)
    sys.path_importer_cache.clear()
    for name in sorted(packages):
        importlib.import_module(name)


def _is_folder(name: str, module: Any) -> bool:
    return name.startswith(f"{COLLECTION}.") and getattr(module, "__file__", None) is None
