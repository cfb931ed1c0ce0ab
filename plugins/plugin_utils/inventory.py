"""Read the model out of an Ansible inventory.

Site words and role inputs per host, with the role's own argument spec applied.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_groups import (
    groups_of,
    layers_of,
    unrelated_groups_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import (
    find_collections,
    set_extra_variables,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, inputs, passed_variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.group_layers import Layer
from ansible_collections.millrace.kafka.plugins.plugin_utils.host_variables import Texts, Variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model, model_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import ENTRY_KINDS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.variable_names import (
    BESIDES,
    INPUT_REFUSED,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.refused_inputs import refused
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec, site_words
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import undeclared


class Reader:
    """Reads host variables; remembers what is missing, so that one missing word is one problem and not twenty."""

    def __init__(self, hostvars: Any, groups: Mapping[str, Sequence[str]], loader: Any) -> None:
        """`hostvars`, `groups` and `loader` are Ansible's own."""
        self._loader = loader
        self.all_groups = {
            **{name: [] for name in functions()},
            **{name: list(members) for name, members in groups.items()},
        }
        self._variables, self._texts = Variables(hostvars, self.all_groups, loader), Texts()
        self._hostvars = HostVars(hostvars._inventory, self._variables, loader)
        self._computed: dict[Hashable, Any] = {}
        self._failed: list[tuple[str, str, str]] = []
        self.problems: list[Problem] = []

    def read(self) -> Model:
        """Return the whole model; what is wrong with single variables is in `problems`."""
        hosts: dict[str, dict[str, Any]] = {}
        words: dict[str, dict[str, Any]] = {}
        seen: dict[str, dict[str, Any]] = {}
        names = {}
        groups = {function: list(self.all_groups.get(function, [])) for function in functions()}
        for host in self.all_groups["all"]:
            raw = self.raw(host)
            written = frozenset(str(name) for name in raw if not passed_variables().match(str(name)))
            names[host] = written - self._variables.runtime_variables(host)
            words[host] = self._values(host, raw, site_words())
            self._variables.give(host, words[host])
            seen[host] = {**raw, **words[host]}
            hosts[host] = dict(words[host])
            self._validate(host, "site", hosts[host])
        for group, members in groups.items():
            for host in members:
                for role in functions()[group].roles:
                    found = self._values(host, seen[host], argument_spec(role))
                    self._validate(host, role, found, words[host])
                    hosts[host] |= found
        said = {host: self._said(host, groups, seen[host]) for host in hosts}
        self._explain(hosts)
        roles = {role for function in functions().values() for role in function.roles}
        options = {**site_words(), **{name: option for role in roles for name, option in argument_spec(role).items()}}
        prefixes = frozenset({*roles, "archive", "preflight", "rebalance_timer"})
        return model_of(hosts, groups, self.all_groups, names, options, prefixes, said)

    def raw(self, host: str) -> dict[str, Any]:
        """Return a host's variables as written."""
        return self._variables.raw(host)

    @cached_property
    def layers(self) -> list[Layer]:
        """What groups say, the weakest first."""
        return layers_of(self._hostvars, self._loader)

    def said_by_groups(self) -> dict[str, dict[str, Any]]:
        """Return what each group says, its files of group_vars among it."""
        found: dict[str, dict[str, Any]] = {}
        for layer in self.layers:
            found.setdefault(layer.group, {}).update(layer.variables)
        return found

    def groups_of(self, host: str) -> list[str]:
        """Return the groups of a host, the one that goes before all others last."""
        return groups_of(self._hostvars, host)

    def rivals(self, host: str) -> list[tuple[str, str]]:
        """Return pairs of groups of a host that know nothing of one another, the one that yields before the other."""
        return unrelated_groups_of(self._hostvars, host)

    def _values(self, host: str, raw: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the variables that are set and can be computed."""
        found: dict[str, Any] = {}
        for name in names:
            if name in raw:
                try:
                    found[name] = self._value(host, raw[name], raw)
                except AnsibleError as error:
                    self._failed.append((host, name, str(error)))
        return found

    def _value(self, host: str, value: Any, raw: Mapping[str, Any]) -> Any:
        """Return what a value is for a host. Raises AnsibleError."""
        _, _, written, hidden = self._texts.of(value)
        for text in hidden:
            with contextlib.suppress(ReferenceError):  # outside of a run, where nobody decrypts
                str(text)  # raises AnsibleError where it cannot be decrypted
        if not written:
            return value
        key = self._key(value, raw, ())
        if key is None or key not in self._computed:
            found = self._variables.templar(host).template(value)
            if key is None:
                return found
            self._computed[key] = found
        return self._computed[key]

    def _said(
        self, host: str, groups: Mapping[str, Sequence[str]], raw: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return what the functions of a host say of it, by kind and function.

        What cannot be computed is reported where nothing else is wrong on the host: else it follows from that.
        """
        found = dict[str, dict[str, Any]]()
        wrong = any(failed == host for failed, _, _ in self._failed) or any(host in p.hosts for p in self.problems)
        for kind in ENTRY_KINDS:
            by_function, found[kind] = raw.get(f"function_{kind}") or {}, {}
            for name in (name for name, members in groups.items() if host in members and name in by_function):
                try:
                    found[kind][name] = self._value(host, by_function[name], raw)
                except AnsibleError as error:
                    self._failed += [] if wrong else [(host, f"function_{kind}", str(error))]
        return found

    def _key(self, value: Any, raw: Mapping[str, Any], above: tuple[str, ...]) -> Hashable:
        """Return what a value stands on, so that the same on the next host is computed once.

        None where that cannot be known.
        """
        _, shown, written, _ = self._texts.of(value)
        parts: list[Hashable] = [shown]
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
        """Apply one argument spec to one host, option by option: unknown keys, types, choices, missing inputs.

        `words` are those of the site: entries that it adds to a list are judged where it says them.
        """
        options = site_words() if role == "site" else argument_spec(role)
        uncomputed = {name for failed_host, name, _ in self._failed if failed_host == host}
        identity = {name for _, name in inputs("identity")}  # judged in model/, with the other hosts in view
        page = "inventories/README.md" if role == "site" else f"roles/{role}/README.md"
        for name in options:
            if name in uncomputed or name in identity:
                continue
            given = {name: values[name]} if name in values else {}
            besides = next((word for word, own in BESIDES.items() if own == name), "")
            more = words.get(besides) if words else None
            if isinstance(more, list) and isinstance(given.get(name), list):
                given = {name: [entry for entry in given[name] if entry not in more]}
                found = refused(role, name, {name: more}) if more else []
                self.problems += [
                    INPUT_REFUSED.problem((host,), place.replace(name, besides, 1), fault=wrong, page=page)
                    for place, wrong in found
                ]
            self.problems += [
                INPUT_REFUSED.problem((host,), place, fault=wrong, page=page)
                for place, wrong in refused(role, name, given)
            ]

    def _explain(self, hosts: Mapping[str, Mapping[str, Any]]) -> None:
        """Report variables that cannot be computed, unless a missing address, rack or id, reported as such, is why."""
        reported_elsewhere = [
            name
            for name in ("client_address", "replication_address")
            if any(name not in values for values in hosts.values())
        ]
        reported_elsewhere += ["rack", "zookeeper_id", "kafka_broker_id", "datacenter"]
        needed = [host for host, _, error in self._failed if re.search(r"'vault' is undefined", error)]
        if needed:
            wrong = "not set, and passwords and certificates stand on it"
            advice = "make it with ansible-vault (inventories/README.md), and give --ask-vault-pass"
            self.problems.append(Problem(tuple(dict.fromkeys(needed)), "vault", "VAULT_MISSING", None, wrong, advice))
            reported_elsewhere.append("vault")
        for host, name, error in dict.fromkeys(self._failed):
            if not any(re.search(rf"['\"]{word}['\"]", error) for word in reported_elsewhere):
                wrong, advice = f"cannot be computed: {error.splitlines()[0]}", "set what it stands on"
                if re.search(r"\bvault|decrypt", error, re.IGNORECASE) and "vault'" not in error:
                    wrong = "cannot be decrypted: cut short, or encrypted with another password"
                    advice = "encrypt it anew (ansible-vault encrypt_string), with the password of this inventory"
                self.problems.append(Problem((host,), name, "NOT_COMPUTED", None, wrong, advice))

    def said_right(self, host: str, names: Iterable[str]) -> bool:
        """Tell whether these variables of a host could be computed and are what the argument spec wants."""
        wrong = {name for failed_host, name, _ in self._failed if failed_host == host}
        refused_inputs = (p for p in self.problems if host in p.hosts and p.code.startswith("INPUT_"))
        for name in (re.split(r"[.[]", problem.variable)[0] for problem in refused_inputs):
            wrong |= {name, BESIDES.get(name, name)}
        return wrong.isdisjoint(names)

    def said_of(self, found: Iterable[Problem]) -> list[Problem]:
        """Return what is wrong with single variables, and what of the model does not merely follow from it."""
        said = {(host, p.variable) for p in self.problems if p.code == "NOT_COMPUTED" for host in p.hosts}
        return [*self.problems, *(p for p in found if not any((host, p.variable) in said for host in p.hosts))]


def load(directory: Path, extra: Mapping[str, Any] | None = None) -> Reader:
    """Return a reader of an inventory directory, outside of any playbook run.

    `extra` are variables that go before all others.
    """
    find_collections()
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(directory)])
    variables = VariableManager(loader=loader, inventory=inventory)
    set_extra_variables(variables, extra or {})
    return Reader(HostVars(inventory, variables, loader), inventory.get_groups_dict(), loader)
