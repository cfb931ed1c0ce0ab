"""The variables of hosts as templates read them: each is computed once, whoever reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import runtime_variables, templar_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import encrypted, templates


class Variables:
    """Stands in for Ansible's variable manager.

    Reads each host's variables once, and lets them see the other hosts'.
    """

    def __init__(self, hostvars: Any, groups: Mapping[str, Sequence[str]], loader: Any) -> None:
        """`hostvars` and `loader` are Ansible's own."""
        self._source, self._groups, self._loader = hostvars, groups, loader
        self._known: dict[str, dict[str, Any]] = {}
        self._templars: dict[str, Any] = {}
        self._hostvars: Any = None

    def runtime_variables(self, host: str) -> set[str]:
        """Return what earlier tasks of this run registered or set."""
        return runtime_variables(self._source._variable_manager, host)

    def raw(self, host: str) -> dict[str, Any]:
        """Return a host's variables as written."""
        if host not in self._known:
            self._known[host] = {**self._source.raw_get(host), "hostvars": self._hostvars, "groups": self._groups}
        return self._known[host]

    def templar(self, host: str) -> Any:
        """Return what computes a host's variables."""
        if host not in self._templars:
            self._templars[host] = templar_of(self._loader, self.raw(host), once=True)
        return self._templars[host]

    def give(self, host: str, computed: Mapping[str, Any]) -> None:
        """Give a host variables that are computed already."""
        self.templar(host).available_variables.update(computed)

    def get_vars(self, host: Any, include_hostvars: bool = False) -> Any:
        """Return a host's variables as templates of other hosts read them."""
        return self.templar(host.name).available_variables


class Texts:
    """What stands in values, which most hosts have the same."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[int, tuple[Any, str, list[str], list[Any]]] = {}

    def of(self, value: Any) -> tuple[Any, str, list[str], list[Any]]:
        """Return a value, its text, its templates, and what of it is encrypted."""
        if id(value) not in self._known:
            self._known[id(value)] = (value, repr(value), list(templates(value)), list(encrypted(value)))
        return self._known[id(value)]
