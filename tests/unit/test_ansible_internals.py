"""What this project uses of Ansible without its promise."""

import subprocess
import sys
from pathlib import Path

import pytest
from ansible import context
from ansible._internal._datatag._tags import VaultedValue
from ansible.inventory.group import Group
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

from ansible_collections.millrace.kafka.plugins.plugin_utils import ansible_internals

ROOT = Path(__file__).parents[2]


@pytest.fixture
def variables(tmp_path: Path) -> VariableManager:
    """Return the variables of an inventory of one host, and of a file beside it that is encrypted as a whole."""
    (tmp_path / "hosts.yml").write_text("all: {hosts: {a: {plain: x}}}")
    (tmp_path / "group_vars").mkdir()
    vault = [("default", VaultSecret(b"of the vault"))]
    text = "secret: {words: ['{{ plain }} and hush-hush']}"
    (tmp_path / "group_vars" / "all.yml").write_bytes(VaultLib(vault).encrypt(text))
    loader = DataLoader()
    loader.set_vault_secrets(vault)
    return VariableManager(
        loader=loader, inventory=InventoryManager(loader=loader, sources=[str(tmp_path / "hosts.yml")])
    )


def test_where_a_text_is_written(variables: VariableManager, tmp_path: Path) -> None:
    host = variables._inventory.get_host("a")
    values = variables.get_vars(host=host)
    assert ansible_internals.written_in(values["plain"]) == str(tmp_path / "hosts.yml")
    assert ansible_internals.written_in("computed") is None
    assert not ansible_internals.was_vaulted(values["plain"])
    assert not ansible_internals.was_vaulted("computed")


def test_what_was_encrypted(variables: VariableManager) -> None:
    """By itself, or in a file that is encrypted as a whole, as README makes one."""
    values = variables.get_vars(host=variables._inventory.get_host("a"))
    assert ansible_internals.was_vaulted(values["secret"]["words"][0])
    assert ansible_internals.was_vaulted(VaultedValue(ciphertext="x").tag("y"))


def test_groups_in_their_order() -> None:
    """By depth, then by priority, then by name."""
    groups = [Group(name) for name in ("b", "a", "c")]
    groups[2].set_priority(0)
    assert [group.name for group in ansible_internals.by_precedence(groups)] == ["c", "a", "b"]


def test_the_inventory_of_a_run(variables: VariableManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A HostVars of another form: the sources of the command line, and the files beside them, are read again."""
    loader, inventory = DataLoader(), variables._inventory
    hostvars = HostVars(inventory, variables, loader)
    assert ansible_internals.inventory_of(hostvars, loader) is inventory
    (tmp_path / "group_vars" / "mine").mkdir()
    (tmp_path / "group_vars" / "mine" / "a.yml").write_text("x: 1")
    (tmp_path / "hosts.yml").write_text("mine: {hosts: {b: {}}}")
    (tmp_path / "group_vars" / "all.yml").unlink()
    monkeypatch.setattr(context, "CLIARGS", {"inventory": [str(tmp_path / "hosts.yml")]})
    again = ansible_internals.inventory_of(object(), loader)
    assert [*again.hosts] == ["b"]
    group = again.groups["mine"]
    assert ansible_internals.file_variables(again, group, loader) == {"x": 1}
    assert ansible_internals.file_variables(object(), group, loader) == {"x": 1}


def test_a_collection_that_python_imported_first() -> None:
    """Templates find its filters nevertheless, and what was imported stays what it is."""
    script = (
        "from ansible_collections.millrace.kafka.plugins.filter import properties as first\n"
        "from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import find_collections\n"
        "find_collections()\n"
        "from ansible.template import Templar, trust_as_template\n"
        "from ansible.parsing.dataloader import DataLoader\n"
        "text = trust_as_template(\"{{ {'b': true} | millrace.kafka.properties }}\")\n"
        "print(Templar(loader=DataLoader(), variables={}).template(text))\n"
        "from ansible_collections.millrace.kafka.plugins.filter import properties as second\n"
        "print(first is second)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": "collections", "PATH": ""},
    )
    assert (done.stdout, done.returncode) == ("['b=true']\nTrue\n", 0), done.stderr
