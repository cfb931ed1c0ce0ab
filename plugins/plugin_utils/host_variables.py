"""Computes each variable of a host once, even if several templates use the variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.template import Templar
from ansible.vars.manager import VariableManager

from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import decrypted, encrypted, templates


class Variables:
    """Replaces Ansible's variable manager: reads and computes each variable of a host once.

    Templates of a host can use the variables of other hosts through `hostvars`.
    """

    def __init__(self, hostvars: Any, groups: Mapping[str, Sequence[str]], loader: Any, inventory: Any) -> None:
        """Read the variables that Ansible has; `groups` is {group: names of its hosts}.

        `hostvars`, `loader` and `inventory` are Ansible's HostVars, DataLoader and InventoryManager.
        """
        self._source, self._groups, self._loader, self._inventory = hostvars, groups, loader, inventory
        self._written = VariableManager(loader=loader, inventory=inventory)
        self._known: dict[str, dict[str, Any]] = {}
        self._templars: dict[str, Any] = {}
        self._hostvars: Any = None
        self._decrypted: dict[int, tuple[Any, Any]] = {}  # hosts share most values

    def runtime_variables(self, host: str) -> set[str]:
        """Return the names of a host's variables that this run itself has set, such as with set_fact.

        Ansible's VariableManager of a run has them; a new one has the variables of the inventory and of -e alone.
        """
        written = self._written.get_vars(host=self._inventory.get_host(host), include_hostvars=False)
        return {str(name) for name in self._source.raw_get(host).keys() - written.keys()}

    def raw(self, host: str) -> dict[str, Any]:
        """Return {name: value} of a host as written in the inventory: decrypted, with templates not computed."""
        if host not in self._known:
            written = {name: self._text(value) for name, value in self._source.raw_get(host).items()}
            self._known[host] = {**written, "hostvars": self._hostvars, "groups": self._groups}
        return self._known[host]

    def _text(self, value: Any) -> Any:
        if id(value) not in self._decrypted:
            self._decrypted[id(value)] = (value, decrypted(value))
        return self._decrypted[id(value)][1]

    def templar(self, host: str) -> Any:
        """Return the Ansible Templar that computes templates with the variables of a host."""
        if host not in self._templars:
            self._templars[host] = Templar(loader=self._loader, variables=dict(self.raw(host)))
        return self._templars[host]

    def give(self, host: str, computed: Mapping[str, Any]) -> None:
        """Set variables of a host; `computed` is {name: value}, with values that contain no templates."""
        self.templar(host).available_variables.update(computed)

    def get_vars(self, host: Any, include_hostvars: bool = False) -> Any:
        """Return {name: value} of a host's variables.

        Ansible calls this method if a template of another host uses `hostvars`.
        """
        return self.templar(host.name).available_variables


class Texts:
    """Finds the templates and encrypted texts inside values; remembers the results, since hosts share most values."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        self._known: dict[int, tuple[Any, str, list[str], list[Any]]] = {}

    def of(self, value: Any) -> tuple[Any, str, list[str], list[Any]]:
        """Return (value, repr of the value, the templates inside it, the encrypted texts inside it)."""
        if id(value) not in self._known:
            self._known[id(value)] = (value, repr(value), list(templates(value)), list(encrypted(value)))
        return self._known[id(value)]
