"""What this project uses of Ansible without its promise."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible import constants as C
from ansible._internal._datatag._tags import Origin, VaultedValue
from ansible._internal._templating._jinja_bits import AnsibleEnvironment
from ansible.errors import AnsibleError
from ansible.inventory.group import Group
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible.template import trust_as_template
from ansible.vars.manager import VariableManager

from ansible_collections.millrace.kafka.plugins.plugin_utils import ansible_internals
from ansible_collections.millrace.kafka.plugins.plugin_utils.forked import forked

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


def test_what_a_run_made(variables: VariableManager) -> None:
    """Registered results and set_fact are told from the inventory's variables."""
    assert ansible_internals.runtime_variables(variables, "a") == set()
    variables.set_host_variable("a", "registered", {"rc": 0})
    variables.set_nonpersistent_facts("a", {"set": 1})
    assert ansible_internals.runtime_variables(variables, "a") == {"registered", "set"}


def test_groups_in_their_order() -> None:
    """By depth, then by priority, then by name."""
    groups = [Group(name) for name in ("b", "a", "c")]
    groups[2].set_priority(0)
    assert [group.name for group in ansible_internals.by_precedence(groups)] == ["c", "a", "b"]


def test_extra_variables_go_before_all_others(variables: VariableManager) -> None:
    ansible_internals.set_extra_variables(variables, {"plain": "y"})
    assert variables.get_vars(host=variables._inventory.get_host("a"))["plain"] == "y"


def test_processes_of_a_run_share_what_is_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variables: VariableManager
) -> None:
    """Ansible forks one for each host; what is or may be secret is in no file; a folder that is gone is no error."""
    folder = tmp_path / "of the run"
    folder.mkdir()
    monkeypatch.setattr(C, "DEFAULT_LOCAL_TMP", str(folder))
    host = variables.get_vars(host=variables._inventory.get_host("a"))

    def in_another(text: str, compiles: bool) -> str:
        def rendered() -> None:
            if not compiles:
                monkeypatch.setattr(AnsibleEnvironment, "_generate", None)
            print(ansible_internals.templar_of(DataLoader(), {"name": "a", "plain": "x"}).template(text))

        return forked(rendered)[1].strip()

    here = Origin(path=str(tmp_path / "hosts.yml"))
    text = here.tag(trust_as_template("{{ name }} of two processes"))
    assert in_another(text, compiles=True) == in_another(text, compiles=False) == "a of two processes"
    kept = list(folder.iterdir())
    assert len(kept) == 1
    secret = VaultedValue(ciphertext="x").tag(here.tag(trust_as_template("{{ name }} of a vault")))
    assert in_another(secret, compiles=True) == "a of a vault" and list(folder.iterdir()) == kept
    assert in_another(host["secret"]["words"][0], compiles=True) == "x and hush-hush"
    assert list(folder.iterdir()) == kept
    unknown = trust_as_template("{{ name }} of nobody knows where")
    assert in_another(unknown, compiles=True) == "a of nobody knows where" and list(folder.iterdir()) == kept
    monkeypatch.setattr(C, "DEFAULT_LOCAL_TMP", str(tmp_path / "gone"))
    assert in_another(text, compiles=True) == "a of two processes"


def test_hosts_share_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each host has its own values; a text is compiled once; its own delimiters, and its mistakes, stay its own."""
    compiled: list[str] = []
    generate = AnsibleEnvironment._generate

    def counted(self: Any, source: Any, *args: Any, **kwargs: Any) -> Any:
        compiled.append("once")
        return generate(self, source, *args, **kwargs)

    monkeypatch.setattr(AnsibleEnvironment, "_generate", counted)
    templars = [ansible_internals.templar_of(DataLoader(), {"name": name}) for name in ("a", "b")]

    def rendered(text: str) -> list[Any]:
        return [templar.template(trust_as_template(text)) for templar in templars]

    assert rendered("{{ name }} of this test") == ["a of this test", "b of this test"]
    assert len(compiled) == 1
    assert rendered("#jinja2: variable_start_string: '[%', variable_end_string: '%]'\n[% name %] of this test") == [
        "a of this test",
        "b of this test",
    ]
    assert rendered("[% name %] of this test") == ["[% name %] of this test"] * 2
    for templar in templars:
        with pytest.raises(AnsibleError):
            templar.template(trust_as_template("{{ name | nobody_has_this_filter }}"))


ONCE = """
- hosts: localhost
  gather_facts: false
  vars:
    number: "{{ 1000000000 | random }}"
    twice: "{{ number }}-{{ number }}"
    text: "{{ lookup('millrace.kafka.rendered', 'text.j2', template_vars={'mine': 'm'}) }}"
  tasks:
    - millrace.kafka.host_state:
        sysctl: "{{ {} if number else {'a': 1} }}"
        files: [{path: /nowhere/a, content: "{{ text }}"}]
        links: [{path: /nowhere/b, target: "{{ twice }}"}]
      loop: [1, 2]
"""


def test_a_variable_is_computed_once_for_a_task(tmp_path: Path) -> None:
    """In all options and templates; the next item of a loop is another task. Variables of a template are its own."""
    (tmp_path / "play.yml").write_text(ONCE)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "text.j2").write_text("{{ mine }} {{ number }} {{ item }}")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ansible", "playbook", "-i", "localhost,", "-c", "local", "--check", "--diff"),
            *("-e", f"ansible_python_interpreter={sys.executable}", str(tmp_path / "play.yml")),
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    items = re.findall(r"^\+m (\d+) (\d)$.*?^\+(\d+)-(\d+)$", done.stdout, re.MULTILINE | re.DOTALL)
    assert [item for _, item, *_ in items] == ["1", "2"], done.stdout
    numbers = [{number, one, other} for number, _, one, other in items]
    assert [len(found) for found in numbers] == [1, 1]
    assert numbers[0] != numbers[1]


def test_a_collection_that_python_imported_first() -> None:
    """Templates find its filters nevertheless, and what was imported stays what it is."""
    script = (
        "from ansible_collections.millrace.kafka.plugins.filter import properties as first\n"
        "from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import find_collections\n"
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
