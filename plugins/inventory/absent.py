"""Rejects an inventory that does not exist, with a message that names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible import constants as C
from ansible import context
from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest

DOCUMENTATION = """
name: absent
version_added: "1.0.0"
short_description: Reject an inventory that does not exist
description:
  - Rejects a file or folder of C(-i) that does not exist, with a message that names it. Without this plugin, Ansible
    prints the same message as for a file that it cannot parse.
  - C(ansible.cfg) of this project enables this plugin (C(enable_plugins) in the section C(inventory)).
author: [Millrace developers]
"""

EXAMPLES = """
# ansible.cfg:
# [inventory]
# enable_plugins = millrace.kafka.absent, host_list, script, auto, yaml, ini, toml
"""

DEFAULT = "/etc/ansible/hosts"
PARSER_ERROR = 4
"""The exit status with which Ansible ends after an AnsibleParserError."""


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc]
    """Rejects each source that is no list of hosts, and does not exist."""

    NAME = "millrace.kafka.absent"

    def verify_file(self, path: str) -> bool:
        """Tell whether the source does not exist; a source with a comma is a list of hosts.

        Ansible's default does not have to exist.
        """
        return "," not in path and path != DEFAULT and not Path(path).exists()

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Raise AnsibleParserError.

        If Ansible's setting any_unparsed_is_failed is on, the process ends here instead: otherwise Ansible would print
        its own message too.
        """
        error = AnsibleParserError(self._message(Path(path)))
        if not (context.CLIARGS and C.INVENTORY_ANY_UNPARSED_IS_FAILED):
            raise error
        self.display.error(error)
        raise SystemExit(PARSER_ERROR)

    @staticmethod
    def _message(path: Path) -> str:
        if not path.parent.is_dir():
            return f"{path}: the folder {path.parent} does not exist; correct -i, which names an inventory"
        others = sorted(other.name for other in path.parent.iterdir() if other.is_dir() == (not path.suffix))
        near = nearest(path.name, others)
        advice = f"did you mean {path.parent / near}?" if near else "correct -i, which names an inventory"
        return f"{path}: this {'file' if path.suffix else 'folder'} does not exist; {advice}"
