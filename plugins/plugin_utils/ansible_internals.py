"""What this project uses of Ansible without its promise; tests/unit/test_ansible_internals.py says when it moves."""

from __future__ import annotations

import importlib
import json
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
from ansible._internal._templating._jinja_bits import _TEMPLATE_OVERRIDE_FIELD_NAMES as READ_BY
from ansible._internal._templating._jinja_bits import AnsibleEnvironment, _TemplateCompileContext
from ansible._internal._templating._jinja_plugins import JinjaPluginIntercept
from ansible._internal._templating._lazy_containers import _AnsibleLazyTemplateMixin
from ansible._internal._templating._utils import TemplateContext
from ansible.inventory.helpers import sort_groups
from ansible.module_utils import _internal
from ansible.module_utils._internal._ansiballz import _loader
from ansible.module_utils._internal._datatag import AnsibleTagHelper
from ansible.module_utils.common.json import Direction, get_module_encoder
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import init_plugin_loader, test_loader
from ansible.template import Templar
from ansible.vars.clean import remove_internal_keys
from jinja2.environment import TemplateExpression

from ansible_collections.millrace.kafka.plugins.plugin_utils.bytecode import COLLECTION, keep
from ansible_collections.millrace.kafka.plugins.plugin_utils.forked import forked

keep()  # here, for nothing much of this collection is imported before


def written_in(text: str) -> str | None:
    """Return the file that a text of the inventory comes from; None where it was computed, or given with -e."""
    return written_at(text)[0]


def written_at(value: Any) -> tuple[str | None, int | None, int | None]:
    """Return file, line and column at which a value of the inventory begins, each None where it is not known."""
    origin = Origin.get_tag(value)
    return (origin.path, origin.line_num, origin.col_num) if origin else (None, None, None)


def as_text(value: float) -> str:
    """Return a number as text that is known to come from the same file."""
    text: str = AnsibleTagHelper.tag_copy(value, str(value))
    return text


def was_vaulted(text: str) -> bool:
    """Tell whether a text was encrypted, by itself (ansible-vault encrypt_string) or with the whole file it is of."""
    path = written_in(text)
    return bool(VaultedValue.is_tagged_on(text)) or (path is not None and _is_vault(path))


@cache
def _is_vault(path: str) -> bool:
    """Tell whether a file is encrypted by ansible-vault: what is read from it says no more than where it stood."""
    try:
        with open(path, "rb") as stream:
            return stream.read(14) == b"$ANSIBLE_VAULT"
    except OSError:
        return False


def weakest_first(groups: Iterable[Any]) -> list[Any]:
    """Return groups of the inventory in the order in which their variables go one before the other."""
    found: list[Any] = sort_groups(groups)
    return found


def made_by_the_run(variable_manager: Any, host: str) -> set[str]:
    """Return the names of what earlier tasks of this run registered or set."""
    caches = (getattr(variable_manager, name) for name in ("_nonpersistent_fact_cache", "_vars_cache"))
    return {name for cache in caches for name in cache.get(host, ())}


def set_extra_variables(variable_manager: Any, extra: Mapping[str, Any]) -> None:
    """Add variables that go before all others, as -e does."""
    variable_manager._extra_vars = {**variable_manager._extra_vars, **extra}


_FOUND: dict[tuple[str, str], Any] = {}
_COMPILED: dict[tuple[Any, ...], Any] = {}


class _Plugins(JinjaPluginIntercept):  # type: ignore[misc]
    """Filters or tests; one of a collection is looked for once in a process, and not by each templar of each task."""

    def __getitem__(self, key: str) -> Any:
        if "." not in key:
            return super().__getitem__(key)
        place = (self._plugin_loader.type, key)
        if place not in _FOUND:
            _FOUND[place] = super().__getitem__(key)
        return _FOUND[place]


class _Environment(AnsibleEnvironment):  # type: ignore[misc]
    """Compiles a text once for as many hosts as have it, in this process and in a run's others.

    Else that is half of what reading 100 hosts costs, and a third of what a host's own process computes.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for kind in ("filters", "tests"):
            known = getattr(self, kind)
            setattr(self, kind, _Plugins(known._jinja_builtins, known._plugin_loader))

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
        super().compile_expression(source)  # it parses, and has the tree compiled
        return self._tree

    def _once(self, kind: str, source: Any, compiled: Callable[[], Any]) -> Any:
        context = _TemplateCompileContext.current(optional=True)
        if context is None:
            return compiled()
        key = (kind, str(source), context.escape_backslashes, *(getattr(self, name) for name in READ_BY))
        if key not in _COMPILED:
            _COMPILED[key] = _shared(key, compiled, private=written_in(source) is None or was_vaulted(source))
        return _COMPILED[key]


def _shared(key: tuple[Any, ...], compiled: Callable[[], Any], private: bool) -> Any:
    """Return what another process of this run has compiled, from the folder of the run that only its user may read.

    Of what is secret, or may be since nobody knows where it was written, nothing is kept there.
    """
    if private:
        return compiled()
    file = Path(C.DEFAULT_LOCAL_TMP) / f"compiled-{sha256(repr(key).encode()).hexdigest()}"
    try:
        found = marshal.loads(file.read_bytes())
    except FileNotFoundError:
        found = compiled()
        with suppress(OSError):  # a folder that is gone, or full: then each compiles for itself
            half = file.with_name(f"{file.name}.{os.getpid()}")
            half.write_bytes(marshal.dumps(found))
            half.rename(file)
    return found


def compile_once() -> None:
    """Have all templates of the run compiled once, also those of Ansible's own: names, conditions, other options.

    What each host's process would load for itself is loaded before they are forked.
    """
    _engine.AnsibleEnvironment = _Environment
    test_loader._ensure_non_collection_wrappers()


@cache
def environment(basedir: str) -> Any:
    """Return where templates are compiled, for the templars of all hosts; `basedir` is that of Ansible's loader."""
    return _Environment(ansible_basedir=basedir)


def templar_of(loader: Any, variables: Mapping[str, Any], once: bool = False) -> Templar:
    """Return what renders the texts of one host; `once` computes each variable that they name a single time."""
    made = Templar(loader=loader, variables=variables)
    made._engine._environment = environment(loader.get_basedir())
    if once:
        _remember(made._engine)
    return made


def with_more(variables: Mapping[str, Any], more: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return variables with some that go before them; what was computed of the others stays computed."""
    return ChainMap(dict(more), variables)  # type: ignore[arg-type]  # it reads alone


class OnceForEachTask:
    """Base of an action whose options stand on many variables: each is computed once for a task.

    Else it is computed wherever it is named, with all that it stands on, and each text is compiled every time.
    """

    @classmethod
    @contextmanager
    def get_finalize_task_args_context(cls) -> Iterator[dict[str, Any]]:
        """Give the options of one task something in common."""
        yield {}

    @classmethod
    def finalize_task_arg(cls, name: str, value: Any, templar: Any, context: dict[str, Any]) -> Any:
        """Return an option computed."""
        if "templar" not in context:
            context["templar"] = _remember(templar.extend())
        return context["templar"].template(value)


def _remember(engine: Any) -> Any:
    engine._environment = environment(engine.basedir)
    with TemplateContext(template_value=None, templar=engine, options=TemplateOptions.DEFAULT, stop_on_template=False):
        engine.available_variables = _AnsibleLazyTemplateMixin._try_create(dict(engine.available_variables))
    return engine


class RunsHere(OnceForEachTask, ActionBase):  # type: ignore[misc]
    """Action whose module, where the control node itself would run it, runs in a fork of this process.

    It has all of Ansible that it needs: neither a package for another Python is made, nor does that start.
    """

    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        return result | self.module(self._task.args, task_vars or {})

    def module(self, options: Mapping[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """Call the module of this action's name."""
        if self._would_run_here(variables):
            return self._here(dict(options), variables)
        wrap_async = self._task.async_val and not self._connection.has_native_async
        answer: dict[str, Any] = self._execute_module(
            module_args=dict(options), task_vars=variables, wrap_async=wrap_async
        )
        return answer

    def _would_run_here(self, variables: Mapping[str, Any]) -> bool:
        """Tell whether this very Python would run it, as this user, in this environment."""
        host = variables.get("ansible_delegated_vars", {}).get(self._task.delegate_to, variables)
        python = self._templar.template(host.get("ansible_python_interpreter"))
        alike = self._connection.transport == "local" and python == sys.executable
        return bool(alike and not (self._connection.become or self._task.async_val or any(self._task.environment)))

    def _here(self, options: dict[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        name = self._task.action.rpartition(".")[2]
        self._update_module_args(self._task.action, options, variables)
        folder = self._loader.get_basedir()  # where a module in a Python of its own would begin
        code, output, errors = forked(lambda: run_module(f"{COLLECTION}.plugins.modules.{name}", options, folder))
        answer: dict[str, Any] = self._parse_returned_data({"rc": code, "stdout": output, "stderr": errors}, PROFILE)
        remove_internal_keys(answer)
        return answer


# What Ansible's modules are spoken to by, where they say nothing else.
PROFILE = "legacy"


def run_module(name: str, options: Mapping[str, Any], folder: str = ".") -> None:
    """Be a module, in a process that ends with it: its warnings are in its answer, not said by the control node."""
    os.chdir(folder)
    _internal.is_controller = False
    encoder = get_module_encoder(PROFILE, Direction.CONTROLLER_TO_MODULE)
    asked = json.dumps({"ANSIBLE_MODULE_ARGS": dict(options)}, cls=encoder).encode()
    _loader.run_module(json_params=asked, profile=PROFILE, module_fqn=name, modlib_path="", extensions={})


@cache
def find_collections() -> None:
    """Let templates find plugins by their full names, as the command line does for a run.

    Python may have imported this collection already, as any package; Ansible wants to have done so itself.
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
