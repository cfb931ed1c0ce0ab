"""Modules run here and now, as a task on the control node runs them, without a playbook around them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from faults.inventory import Inventory

Direct = Callable[..., dict[str, Any]]
"""Runs a module with arguments, as the admin; returns what it answers."""


def direct(inventory: Inventory, capsys: pytest.CaptureFixture[str]) -> Direct:
    """Return what runs modules on the cluster of an inventory."""

    def run(module: Any, check_mode: bool = False, **arguments: Any) -> dict[str, Any]:
        capsys.readouterr()
        options = {"admin": inventory.admin_properties, "_ansible_check_mode": check_mode, **arguments}
        with patch_module_args(options), pytest.raises(SystemExit):
            module.main()
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return run
