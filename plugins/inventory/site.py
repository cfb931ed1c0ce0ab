"""The inventory of a site: facts in its own files, the wiring from this project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible import constants as C
from ansible import context
from ansible.errors import AnsibleParserError
from ansible.plugins.inventory.yaml import InventoryModule as YamlInventory

from ansible_collections.millrace.kafka.plugins.plugin_utils import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import compile_once, weakest_first
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.group_layers import LAID
from ansible_collections.millrace.kafka.plugins.plugin_utils.variable_files import faults

DOCUMENTATION = """
name: site
short_description: A YAML inventory, and below it the variables that join facts to the inputs of roles
description:
  - The groups of this file are read as in any YAML inventory. A file without groups does the same for the hosts of
    other sources (INI, dynamic).
  - Then every variable of C(groups/*.yml) of this collection is set on the group C(all), unless a source set it
    there. So whatever a site writes goes before it, in any group, for any host, in any file of group_vars and
    host_vars.
  - C(ansible-inventory --host) shows what a host has in the end.
options:
  plugin: {description: The name of this plugin., required: true, choices: [millrace.kafka.site]}
  shared:
    description:
      - Folders of variables that several sites share, between this project's and the site's own, the later the
        stronger. Each holds C(all.yml), C(<group>.yml) of the groups that it has words for.
      - C({{ inventory_dir }}) is the folder of this file.
      - Where other sources say something of C(all) or of groups, have this file read after them, as C(z.yml) is.
    type: list
    elements: path
    default: []
author: [Millrace developers]
"""

EXAMPLES = """
plugin: millrace.kafka.site
all:
  vars: {organization: example, datacenter: dc1, client_network: 198.51.100.0/24, replication_network: 203.0.113.0/24}
  children:
    zookeeper:
      hosts:
        dc1-zk1: {zookeeper_id: 1, client_address: 198.51.100.11, replication_address: 203.0.113.11}
"""

HERE = "{{ inventory_dir }}"
# What Ansible reads of a group. Anything else it leaves out, with a warning that scrolls by.
PARTS = ("hosts", "children", "vars")
# What this plugin has set is noted at the group (LAID): a second file of the same site takes it for no word of the
# site's. The inventory itself is another object for each file (a wrapper of Ansible's).
NOTHING = object()
# Functions and what sites share, by path and time of change: nobody changes them, and several inventories of one
# process have the same.
READ: dict[tuple[str, int], Any] = {}


class InventoryModule(YamlInventory):  # type: ignore[misc]
    """Reads a site's file, and lays the wiring below."""

    NAME = "millrace.kafka.site"

    def verify_file(self, path: str) -> bool:
        """Tell whether the file is there; that it names this plugin, Ansible has seen."""
        return bool(super(YamlInventory, self).verify_file(path))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Read the groups of the file, then set what it leaves to this project.

        Ansible would try other plugins on what is refused here, and end with their words: so a run that an inventory
        without hosts ends anyway (any_unparsed_is_failed) ends here, with the one error.
        """
        compile_once()
        try:
            self._parse(inventory, loader, path)
        except AnsibleParserError as error:
            if not (context.CLIARGS and C.INVENTORY_ANY_UNPARSED_IS_FAILED):
                raise
            self.display.error(error)
            raise SystemExit(int(error._exit_code)) from error

    def _parse(self, inventory: Any, loader: Any, path: str) -> None:
        super(YamlInventory, self).parse(inventory, loader, path)
        data = dict(loader.load_from_file(path, cache="none", unsafe=True, trusted_as_template=True))
        data.pop("plugin")
        shared = data.pop("shared", None) or []
        if not isinstance(shared, list):
            raise AnsibleParserError(f"{path}: shared = {shared}: a list of folders")
        for group, content in data.items():
            if content is not None and not isinstance(content, Mapping):
                raise AnsibleParserError(f"{path}: {group} = {content}: a group, as all is: hosts, children and vars")
            if "shared" in ((content or {}).get("vars") or {}):
                raise AnsibleParserError(f"{path}: shared in vars of {group}: it stands beside plugin, in column one")
            self._well_formed(path, group, content)
            self._parse_group(group, content)
        unreadable = list(faults(Path(path).parent, {*inventory.groups, *inventory.hosts}, loader))
        if unreadable:
            raise AnsibleParserError("\n".join(unreadable))
        written = {
            name: {
                variable
                for variable, value in group.get_vars().items()
                if getattr(group, LAID, {}).get(variable, NOTHING) is not value
            }
            for name, group in inventory.groups.items()
        }

        def read(file: Path) -> Any:
            key = (str(file), file.stat().st_mtime_ns)
            if key not in READ:
                READ[key] = loader.load_from_file(str(file), cache="none", unsafe=True, trusted_as_template=True)
            return READ[key]

        try:
            wiring = functions.variables(functions.read(read))
        except ValueError as error:
            raise AnsibleParserError(str(error)) from error
        self._lay("all", wiring, written)
        # It is in the group all, and has no address there; tasks that are delegated to it would show the template.
        here = self.inventory.get_host("localhost")
        if here.implicit:
            here.set_variable("ansible_host", here.name)
        for folder in shared:
            for file in self._shared(path, str(folder)):
                values = read(file) or {}
                if not isinstance(values, Mapping):
                    raise AnsibleParserError(f"{file}: holds no variables; write them as name: value")
                self._unrivalled(file, values, written)
                inventory.add_group(file.stem)  # its hosts may stand in a source that is read later
                self._lay(file.stem, values, written)

    @classmethod
    def _well_formed(cls, path: str, group: str, content: Mapping[str, Any] | None) -> None:
        """Refuse what nobody reads, and lists and texts where groups and hosts have a mapping.

        Of those Ansible names a class of Python.
        """
        for part in PARTS:
            found = (content or {}).get(part)
            if found is None or isinstance(found, Mapping):
                continue
            written = "a list, whose lines begin with a dash" if isinstance(found, list) else f"{found}"
            example = {"hosts": "kafka1: {...}", "children": "kafka: {...}", "vars": "rack: a"}[part]
            raise AnsibleParserError(f"{path}: {part} of {group}: {written}; write lines as {example}")
        for key in sorted({str(key) for key in content or ()} - {*PARTS}):
            near = nearest(key, PARTS)
            advice = f"did you mean {near}?" if near else "a host stands below hosts, a group below children"
            raise AnsibleParserError(
                f"{path}: {key} of {group}: nobody reads it: a group has hosts, children and vars; {advice}"
            )
        for name, child in ((content or {}).get("children") or {}).items():
            if child is None or isinstance(child, Mapping):
                cls._well_formed(path, name, child)

    @staticmethod
    def _shared(path: str, folder: str) -> list[Path]:
        """Return the files of a shared folder, that of all first."""
        name = folder.replace(HERE, os.path.dirname(os.path.abspath(path)))
        if "{{" in name:
            raise AnsibleParserError(f"{path}: shared = {folder}: no other template than {HERE} is known there")
        place = Path(os.path.normpath(Path(path).parent / name))
        if not place.is_dir():
            raise AnsibleParserError(f"{path}: shared = {folder}: no folder {place}")
        unread = [file.name for file in place.iterdir() if file.suffix in (".yaml", ".json") or file.is_dir()]
        if unread:
            raise AnsibleParserError(f"{place}: nobody would read {', '.join(sorted(unread))}; name it <group>.yml")
        return sorted(place.glob("*.yml"), key=lambda file: (file.stem != "all", file.stem))

    def _unrivalled(self, file: Path, values: Mapping[str, Any], written: Mapping[str, set[str]]) -> None:
        """Refuse what would go before the words of another group of the site that has hosts of the same."""
        groups = self.inventory.groups
        there = groups.get(file.stem)
        below = {there, groups["all"], *there.get_ancestors()} if there else set(groups.values())
        for other in weakest_first(set(groups.values()) - below):
            if weakest_first([there, other])[0] is other and set(other.get_hosts()) & set(there.get_hosts()):
                for name in sorted(written[other.name] & values.keys()):
                    wrong = (
                        f"{name} would go before what the site says of the group {other.name}, which has hosts of it"
                    )
                    raise AnsibleParserError(f"{file}: {wrong}; write that into group_vars/{other.name}.yml")

    def _lay(self, group: str, values: Mapping[str, Any], written: Mapping[str, set[str]]) -> None:
        """Set variables of a group, those left out that a source set there."""
        there = self.inventory.groups[group]
        above = {group, "all", *(parent.name for parent in there.get_ancestors())}
        said = {name for place in above for name in written.get(place, ())}
        for name, value in values.items():
            if name not in said:
                self.inventory.set_variable(group, name, value)
                setattr(there, LAID, {**getattr(there, LAID, {}), name: there.get_vars()[name]})
