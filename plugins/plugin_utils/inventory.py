"""Reads the model from an Ansible inventory: the site variables and role inputs of each host.

Each value is computed and then validated against its argument spec.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_groups import (
    groups_of,
    layers_of,
    unrelated_groups_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import inventory_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.file_values import FileValues
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, inputs, passed_variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.group_layers import Layer
from ansible_collections.millrace.kafka.plugins.plugin_utils.host_variables import Texts, Variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model, model_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import ENTRY_KINDS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.variable_names import BESIDES
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.refused_inputs import Refusal, refusals
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec, site_words
from ansible_collections.millrace.kafka.plugins.plugin_utils.template_failures import failure_details
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import undeclared

COLLECTION = "ansible_collections.millrace.kafka"

VAULT_MISSING = ProblemKind(
    "VAULT_MISSING",
    "not set, but passwords and certificates depend on it",
    "create it with ansible-vault (inventories/README.md), and run with --ask-vault-pass",
)
NOT_COMPUTED = ProblemKind("NOT_COMPUTED", "cannot be computed: {error}", "set the variables that it uses")
NOT_COMPUTED_ENCRYPTED = NOT_COMPUTED.variant(
    message="cannot be decrypted: truncated, or encrypted with another password",
    advice="encrypt it again (ansible-vault encrypt_string), with the password of this inventory",
)


class Reader:
    """Reads, computes and validates the variables of all hosts of an inventory.

    A missing variable is reported once: variables that depend on it are not reported as further problems.
    """

    def __init__(
        self, hostvars: Any, groups: Mapping[str, Sequence[str]], loader: Any, extra: Iterable[str] = ()
    ) -> None:
        """Start without problems; `groups` is {group: names of its hosts}.

        `hostvars` and `loader` are Ansible's HostVars and DataLoader. `extra` are names of variables that hostvars has
        beside those of the inventory and of -e.
        """
        self._loader = loader
        self.all_groups = {
            **{name: [] for name in functions()},
            **{name: list(members) for name, members in groups.items()},
        }
        self._inventory, self._texts = inventory_of(hostvars, loader), Texts()
        self._variables = Variables(hostvars, self.all_groups, loader, self._inventory)
        self._hostvars = HostVars(self._inventory, self._variables, loader)
        self._extra = frozenset(extra)
        self._computed: dict[Hashable, Any] = {}
        self._failed: list[tuple[str, str, str]] = []
        self.problems: list[Problem] = []

    def read(self) -> Model:
        """Return the model of the whole inventory; adds the problems of single variables to `self.problems`."""
        hosts: dict[str, dict[str, Any]] = {}
        words: dict[str, dict[str, Any]] = {}
        seen: dict[str, dict[str, Any]] = {}
        names = {}
        groups = {function: list(self.all_groups.get(function, [])) for function in functions()}
        for host in self.all_groups["all"]:
            raw = self.raw(host)
            written = frozenset(str(name) for name in raw if not passed_variables().match(str(name)))
            names[host] = written - (self._variables.runtime_variables(host) - self._extra)
            words[host] = self._values(host, raw, site_words())
            self._variables.give(host, words[host])
            seen[host] = {**raw, **words[host]}
            hosts[host] = dict(words[host])
            self._validate(host, "site", hosts[host])
        for group, members in groups.items():
            for host in members:
                for role in functions()[group].roles:
                    values = self._values(host, seen[host], argument_spec(role))
                    self._validate(host, role, values, words[host])
                    hosts[host] |= values
        entries = {host: self._function_values(host, groups, seen[host]) for host in hosts}
        self._explain(hosts)
        roles = {role for function in functions().values() for role in function.roles}
        options = {**site_words(), **{name: option for role in roles for name, option in argument_spec(role).items()}}
        prefixes = frozenset({*roles, "archive", "preflight", "rebalance_timer"})
        return model_of(hosts, groups, self.all_groups, names, options, prefixes, entries)

    def raw(self, host: str) -> dict[str, Any]:
        """Return {name: value} of a host as written in the inventory, with templates not computed."""
        return self._variables.raw(host)

    @cached_property
    def files(self) -> FileValues:
        """The values in the files of the inventory, for versions of Ansible that do not tell where a value is."""
        folders = (self.raw(host).get("inventory_dir") for host in self.all_groups["all"])
        return FileValues({str(folder) for folder in folders if folder}, self._loader)

    @cached_property
    def layers(self) -> list[Layer]:
        """The variables that each group sets, as layers with the lowest precedence first."""
        return layers_of(self._inventory, self._loader)

    def values_by_group(self) -> dict[str, dict[str, Any]]:
        """Return {group: {variable: value}} of the values that groups set; group_vars override the hosts file."""
        values: dict[str, dict[str, Any]] = {}
        for layer in self.layers:
            values.setdefault(layer.group, {}).update(layer.variables)
        return values

    def groups_of(self, host: str) -> list[str]:
        """Return the names of the groups of a host, lowest precedence first."""
        return groups_of(self._inventory, host)

    def unrelated_groups(self, host: str) -> list[tuple[str, str]]:
        """Return pairs of a host's groups (overridden, overriding) of which neither contains the other."""
        return unrelated_groups_of(self._inventory, host)

    def _values(self, host: str, raw: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
        """Return {name: computed value} of the variables in `names` that a host sets and that can be computed.

        `raw` are the host's variables as written. Variables that cannot be computed are added to `self._failed`.
        """
        values: dict[str, Any] = {}
        for name in names:
            if name in raw:
                try:
                    values[name] = self._value(host, raw[name], raw)
                except AnsibleError as error:
                    self._failed.append((host, name, str(error)))
        return values

    def _value(self, host: str, value: Any, raw: Mapping[str, Any]) -> Any:
        """Return a value of a host with its templates computed; `raw` are the host's variables as written.

        Raises AnsibleError if a template fails or an encrypted text cannot be decrypted.
        """
        _, _, written, hidden = self._texts.of(value)
        for text in hidden:
            with contextlib.suppress(ReferenceError):  # outside a run, without a vault password
                str(text)  # raises AnsibleError if it cannot be decrypted
        if not written:
            return value
        key = self._key(value, raw, ())
        if key is None or key not in self._computed:
            computed = self._variables.templar(host).template(value)
            if key is None:
                return computed
            self._computed[key] = computed
        return self._computed[key]

    def _function_values(
        self, host: str, groups: Mapping[str, Sequence[str]], raw: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return {kind: {function: value}} for the functions of a host; the kinds are ports, mounts and connections.

        `raw` are the host's variables as written. If the host has another problem, a value that cannot be computed is
        not reported, since it probably follows from that problem.
        """
        values = dict[str, dict[str, Any]]()
        has_problem = any(failed == host for failed, _, _ in self._failed) or any(
            host in problem.hosts for problem in self.problems
        )
        for kind in ENTRY_KINDS:
            by_function, values[kind] = raw.get(f"function_{kind}") or {}, {}
            for name in (name for name, members in groups.items() if host in members and name in by_function):
                try:
                    values[kind][name] = self._value(host, by_function[name], raw)
                except AnsibleError as error:
                    self._failed += [] if has_problem else [(host, f"function_{kind}", str(error))]
        return values

    def _key(self, value: Any, raw: Mapping[str, Any], above: tuple[str, ...]) -> Hashable:
        """Return a cache key of a value: its text and all variables that it depends on; None if these are unknown.

        Hosts with equal keys share one computed value. `above` are the variables through which the method came to this
        value: a variable among them is not followed again.
        """
        _, text_of_value, written, _ = self._texts.of(value)
        parts: list[Hashable] = [text_of_value]
        for text in written:
            names = undeclared(str(text))
            if names is None:
                return None
            for name in sorted(names - {"hostvars", "groups"}):
                if name in above or name not in raw:
                    parts.append(name)
                    continue
                part = self._key(raw[name], raw, (*above, name))
                if part is None:
                    return None
                parts.append((name, part))
        return tuple(parts)

    def _validate(
        self, host: str, role: str, values: Mapping[str, Any], words: Mapping[str, Any] | None = None
    ) -> None:
        """Validate the inputs of one role on one host, and add the errors to `self.problems`.

        `values` are the computed inputs. `words` are the site variables: an entry that a site variable adds to a list
        is reported at the site variable.
        """
        options = site_words() if role == "site" else argument_spec(role)
        uncomputed = {name for failed_host, name, _ in self._failed if failed_host == host}
        identity = {name for _, name in inputs("identity")}  # model/ checks these against the other hosts
        page = "inventories/README.md" if role == "site" else f"roles/{role}/README.md"
        for name in options:
            if name in uncomputed or name in identity:
                continue
            given = {name: values[name]} if name in values else {}
            besides = next((word for word, own in BESIDES.items() if own == name), "")
            more = words.get(besides) if words else None
            if isinstance(more, list) and isinstance(given.get(name), list):
                site_options = site_words()[besides].get("options")
                own = {*(site_options or ())} - {
                    *(options[name].get("options") or ())
                }  # keys of the site variable only
                added = [
                    {key: entry[key] for key in entry.keys() - own} for entry in more if isinstance(entry, Mapping)
                ]
                given = {name: [entry for entry in given[name] if entry not in [*more, *added]]}
                for refusal in refusals(role, name, {name: more}) if more and not site_options else ():
                    self._refuse(host, refusal.place.replace(name, besides, 1), refusal, page)
            for refusal in refusals(role, name, given):
                self._refuse(host, refusal.place, refusal, page)

    def _refuse(self, host: str, place: str, refusal: Refusal, page: str) -> None:
        self.problems.append(refusal.kind.problem((host,), place, page=page, **refusal.details))

    def _explain(self, hosts: Mapping[str, Mapping[str, Any]]) -> None:
        """Add a problem for each variable that cannot be computed, unless another problem reports the reason.

        Such reasons are a missing address, rack, id, datacenter or vault. `hosts` is {host: computed variables}.
        """
        reported_elsewhere = [
            name
            for name in ("client_address", "replication_address")
            if any(name not in values for values in hosts.values())
        ]
        reported_elsewhere += ["rack", "zookeeper_id", "kafka_broker_id", "datacenter"]
        needed = [host for host, _, error in self._failed if re.search(r"'vault' is undefined", error)]
        if needed:
            self.problems.append(VAULT_MISSING.problem(list(dict.fromkeys(needed)), "vault"))
            reported_elsewhere.append("vault")
        for host, name, error in dict.fromkeys(self._failed):
            if not any(re.search(rf"['\"]{word}['\"]", error) for word in reported_elsewhere):
                encrypted = bool(re.search(r"\bvault|decrypt", error, re.IGNORECASE)) and "vault'" not in error
                kind = NOT_COMPUTED_ENCRYPTED if encrypted else NOT_COMPUTED
                details = failure_details("" if encrypted else error)
                self.problems.append(kind.problem((host,), name, is_encrypted=encrypted, **details))

    def are_valid(self, host: str, names: Iterable[str]) -> bool:
        """Tell whether each variable in `names` could be computed for a host and matches its argument spec."""
        invalid = {name for failed_host, name, _ in self._failed if failed_host == host}
        refused = (p for p in self.problems if host in p.hosts and p.code.startswith("INPUT_"))
        for name in (re.split(r"[.[]", problem.variable)[0] for problem in refused):
            invalid |= {name, BESIDES.get(name, name)}
        return invalid.isdisjoint(names)

    def with_own_problems(self, found: Iterable[Problem]) -> list[Problem]:
        """Return the problems of this Reader, followed by those in `found`, which are the problems of the model.

        A problem in `found` is left out if this Reader already reported that the same variable of a host cannot be
        computed.
        """
        reported = {(host, p.variable) for p in self.problems if p.code == NOT_COMPUTED.code for host in p.hosts}
        return [*self.problems, *(p for p in found if not any((host, p.variable) in reported for host in p.hosts))]


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
        import_module(name)


def _is_folder(name: str, module: Any) -> bool:
    return name.startswith(f"{COLLECTION}.") and getattr(module, "__file__", None) is None


class _WithExtra(VariableManager):  # type: ignore[misc]
    """Variable manager with variables that override all others, as with -e."""

    extra: Mapping[str, Any] = {}

    def get_vars(self, *args: Any, **options: Any) -> dict[str, Any]:
        """Return {name: value} as Ansible's variable manager, with the additional variables."""
        return {**super().get_vars(*args, **options), **self.extra}


def load(directory: Path, extra: Mapping[str, Any] | None = None) -> Reader:
    """Return a Reader of the inventory in `directory`, in a program that is not a playbook run.

    `extra` is {name: value} of variables that override all others, as with -e.
    """
    find_collections()
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(directory)])
    variables = _WithExtra(loader=loader, inventory=inventory)
    variables.extra = extra or {}
    return Reader(HostVars(inventory, variables, loader), inventory.get_groups_dict(), loader, variables.extra)
