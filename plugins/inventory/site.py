"""Reads the inventory of a site, and adds this project's variables as defaults, which the site overrides."""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import by_precedence
from ansible_collections.millrace.kafka.plugins.plugin_utils.control_node import package_errors
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.group_layers import PLUGIN_VARIABLES
from ansible_collections.millrace.kafka.plugins.plugin_utils.variable_files import faults

DOCUMENTATION = """
name: site
version_added: "1.0.0"
short_description: Read a YAML inventory, and add the variables that derive the inputs of roles from its facts
description:
  - Reads a YAML inventory, and adds the variables of this collection that derive the inputs of roles from the facts of
    the inventory. A file without groups does that for the hosts of other sources (INI, dynamic).
  - The added variables are those of C(functions/*.yml) of this collection. They are set on the group C(all), unless a
    source sets them there. So a value of the site overrides them, in any group, for any host, in any file of
    group_vars and host_vars.
  - C(ansible-inventory --host) shows the resulting variables of a host.
options:
  plugin: {description: The name of this plugin., required: true, choices: [millrace.kafka.site]}
  shared:
    description:
      - Directories of variables that several sites share. They override this project's variables, and the site's own
        override them; a later directory overrides an earlier one. Each contains C(all.yml), and C(GROUP.yml) for
        groups.
      - C({{ inventory_dir }}) is the directory of this file.
      - If other sources set variables of C(all) or of groups, this file has to be read after them, as C(z.yml) is.
    type: list
    elements: path
    default: []
author: [Millrace developers]
"""

EXAMPLES = """
plugin: millrace.kafka.site
all:
  vars: {organization: example, datacenter: dc1, client_network: 198.51.100.0/24}
  children:
    zookeeper:
      hosts:
        dc1-zk1: {zookeeper_id: 1, client_address: 198.51.100.11}
# z.yml beside an INI inventory, with variables that several sites share:
# plugin: millrace.kafka.site
# shared: ["{{ inventory_dir }}/../../shared"]
"""

HERE = "{{ inventory_dir }}"
PARSER_ERROR = 4
"""The exit status with which Ansible ends after an AnsibleParserError."""
# The keys of a group that Ansible reads. It ignores other keys with a warning that is easily overlooked.
PARTS = ("hosts", "children", "vars")
# Variables that this plugin has set are recorded at the group (LAID), so that a second file of the same site does not
# take them for the site's. The inventory object cannot hold them: each file gets another one (a wrapper of Ansible's).
NOTHING = object()
# Contents of functions/*.yml and of shared files, by path and modification time; several inventories of one process use
# the same files, and nothing modifies the contents.
CACHE: dict[tuple[str, int], Any] = {}


class InventoryModule(YamlInventory):  # type: ignore[misc]
    """Reads the inventory file of a site, and adds this project's variables."""

    NAME = "millrace.kafka.site"

    def verify_file(self, path: str) -> bool:
        """Tell whether the file exists; Ansible has already checked that the file names this plugin."""
        return bool(super(YamlInventory, self).verify_file(path))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Read the groups of the inventory file, then add the project's variables that the site does not set.

        Raises AnsibleParserError if the file is invalid. But if Ansible's setting any_unparsed_is_failed is on, the
        process ends here with this error: otherwise Ansible would first try other plugins, and print their errors too.
        """
        try:
            self._parse(inventory, loader, path)
        except AnsibleParserError as error:
            if not (context.CLIARGS and C.INVENTORY_ANY_UNPARSED_IS_FAILED):
                raise
            self.display.error(error)
            raise SystemExit(PARSER_ERROR) from error

    def _parse(self, inventory: Any, loader: Any, path: str) -> None:
        if errors := package_errors():
            raise AnsibleParserError("\n".join(errors))
        super(YamlInventory, self).parse(inventory, loader, path)
        data = dict(loader.load_from_file(path, cache="none", unsafe=True, trusted_as_template=True))
        data.pop("plugin")
        shared = data.pop("shared", None) or []
        if not isinstance(shared, list):
            raise AnsibleParserError(f"{path}: shared = {shared}: is not a list; write a list of directories")
        for group, content in data.items():
            if content is not None and not isinstance(content, Mapping):
                raise AnsibleParserError(
                    f"{path}: {group} = {content}: is not a group; a group has hosts, children and vars"
                )
            if "shared" in ((content or {}).get("vars") or {}):
                raise AnsibleParserError(
                    f"{path}: shared in vars of {group}: is a key of the file, not a variable; "
                    "write it next to plugin, without indentation"
                )
            self._check_group(path, group, content)
            self._parse_group(group, content)
        unreadable = list(faults(Path(path).parent, {*inventory.groups, *inventory.hosts}, loader))
        if unreadable:
            raise AnsibleParserError("\n".join(unreadable))
        written = {
            name: {
                variable
                for variable, value in group.get_vars().items()
                if getattr(group, PLUGIN_VARIABLES, {}).get(variable, NOTHING) is not value
            }
            for name, group in inventory.groups.items()
        }

        def read(file: Path) -> Any:
            key = (str(file), file.stat().st_mtime_ns)
            if key not in CACHE:
                CACHE[key] = loader.load_from_file(str(file), cache="none", unsafe=True, trusted_as_template=True)
            return CACHE[key]

        try:
            project = functions.variables(functions.read(read))
        except ValueError as error:
            raise AnsibleParserError(str(error)) from error
        self._set_defaults("all", project, written)
        # localhost is in the group all, but has no address; tasks delegated to it would show the template.
        here = self.inventory.get_host("localhost")
        if here.implicit:
            here.set_variable("ansible_host", here.name)
        for folder in shared:
            for file in self._shared_files(path, str(folder)):
                values = read(file) or {}
                if not isinstance(values, Mapping):
                    raise AnsibleParserError(f"{file}: contains no variables; write them as name: value")
                self._check_precedence(file, values, written)
                inventory.add_group(file.stem)  # its hosts may be in a source that is read later
                self._set_defaults(file.stem, values, written)

    @classmethod
    def _check_group(cls, path: str, group: str, content: Mapping[str, Any] | None) -> None:
        """Reject unknown keys of a group, which Ansible ignores, and lists and texts in place of mappings.

        For a list or text, Ansible's own message names only a Python class. Raises AnsibleParserError for the first
        mistake.
        """
        for part in PARTS:
            value = (content or {}).get(part)
            if value is None or isinstance(value, Mapping):
                continue
            written = "is a list, whose lines begin with a dash" if isinstance(value, list) else f"is {value}"
            example = {"hosts": "kafka1: {...}", "children": "kafka: {...}", "vars": "rack: a"}[part]
            raise AnsibleParserError(f"{path}: {part} of {group}: {written}; write lines like {example}")
        for key in sorted({str(key) for key in content or ()} - {*PARTS}):
            near = nearest(key, PARTS)
            advice = f"did you mean {near}?" if near else "put a host below hosts, a group below children"
            raise AnsibleParserError(
                f"{path}: {key} of {group}: unknown key, a group has hosts, children and vars; {advice}"
            )
        for name, child in ((content or {}).get("children") or {}).items():
            if child is None or isinstance(child, Mapping):
                cls._check_group(path, name, child)

    @staticmethod
    def _shared_files(path: str, folder: str) -> list[Path]:
        """Return the variable files of a directory that the key `shared` of an inventory file names, all.yml first.

        `path` is the inventory file, `folder` the directory as written there. Raises AnsibleParserError if the
        directory is missing or has files that would be ignored.
        """
        name = folder.replace(HERE, os.path.dirname(os.path.abspath(path)))
        if "{{" in name:
            raise AnsibleParserError(f"{path}: shared = {folder}: unknown template; only {HERE} can be used here")
        place = Path(os.path.normpath(Path(path).parent / name))
        if not place.is_dir():
            raise AnsibleParserError(f"{path}: shared = {folder}: there is no directory {place}; correct the path")
        ignored = [file.name for file in place.iterdir() if file.suffix in (".yaml", ".json") or file.is_dir()]
        if ignored:
            raise AnsibleParserError(
                f"{place}: {', '.join(sorted(ignored))} would be ignored; rename it to GROUP.yml, or remove it"
            )
        return sorted(place.glob("*.yml"), key=lambda file: (file.stem != "all", file.stem))

    def _check_precedence(self, file: Path, values: Mapping[str, Any], written: Mapping[str, set[str]]) -> None:
        """Raise AnsibleParserError if a shared file would override a variable of another group of the site.

        That group has a host in common with the file's group, and a lower precedence. `values` are the variables of the
        file, and `written` is {group: variables that the site sets}.
        """
        groups = self.inventory.groups
        group = groups.get(file.stem)
        below = {group, groups["all"], *group.get_ancestors()} if group else set(groups.values())
        for other in by_precedence(set(groups.values()) - below):
            if by_precedence([group, other])[0] is other and set(other.get_hosts()) & set(group.get_hosts()):
                for name in sorted(written[other.name] & values.keys()):
                    raise AnsibleParserError(
                        f"{file}: {name} would override the site's value in the group {other.name}, which has hosts of "
                        f"{file.stem}; move it to group_vars/{other.name}.yml"
                    )

    def _set_defaults(self, group: str, values: Mapping[str, Any], written: Mapping[str, set[str]]) -> None:
        """Set variables of a group, except those that the site sets for the group or a parent of the group.

        `written` is {group: variables that the site sets}.
        """
        target = self.inventory.groups[group]
        above = {group, "all", *(parent.name for parent in target.get_ancestors())}
        set_by_site = {name for place in above for name in written.get(place, ())}
        for name, value in values.items():
            if name not in set_by_site:
                self.inventory.set_variable(group, name, value)
                setattr(
                    target, PLUGIN_VARIABLES, {**getattr(target, PLUGIN_VARIABLES, {}), name: target.get_vars()[name]}
                )
