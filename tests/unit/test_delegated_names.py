"""What tasks that run on the control node are called in the output, whatever kind of inventory names the hosts."""

import subprocess
import sys
from pathlib import Path

import pytest
from ansible.release import __version__

ANSIBLE = tuple(int(number) for number in __version__.split(".")[:2])
ROOT = Path(__file__).parents[2]
PLUGIN = "plugin: millrace.kafka.site\n"
HOSTS = "all: {children: {kafka: {hosts: {a: {client_address: 192.0.2.1}}}}}\n"
PLAY = """
- hosts: a
  gather_facts: false
  tasks:
    - ansible.builtin.debug: {msg: "{{ ansible_host }}"}
    - ansible.builtin.command: {argv: ["true"]}
      delegate_to: localhost
"""


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        ({"hosts.yml": PLUGIN + HOSTS}, "localhost"),
        ({"hosts": "[kafka]\na client_address=192.0.2.1\n", "z.yml": PLUGIN}, "localhost"),
        ({"a.yml": PLUGIN, "hosts": "[kafka]\na client_address=192.0.2.1\n"}, "localhost"),
        ({"hosts.yml": PLUGIN + HOSTS, "more.yml": PLUGIN}, "localhost"),
        (
            {"hosts": "localhost ansible_connection=local ansible_host=here\n", "z.yml": PLUGIN + HOSTS},
            "localhost(here)",
        ),
        (
            {"a.yml": PLUGIN + HOSTS, "z.yml": "all: {hosts: {localhost: {ansible_connection: local}}}\n"},
            "localhost({{ client_address | default(inventory_hostname) }})",
        ),
    ],
    ids=["site's file", "INI before", "INI after", "twice", "declared", "declared after"],
)
def test_the_control_node(files: dict[str, str], shown: str, tmp_path: Path) -> None:
    """Plain `localhost`, unless the site declares a host of that name, which is then as it says."""
    (tmp_path / "site").mkdir()
    for name, text in files.items():
        (tmp_path / "site" / name).write_text(text)
    (tmp_path / "play.yml").write_text(PLAY)
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", "-i", str(tmp_path / "site"), str(tmp_path / "play.yml")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if ANSIBLE >= (2, 21):
        shown = "localhost"  # the address behind the name is shown no more
    assert f"changed: [a -> {shown}]" in done.stdout, done.stdout
    assert "msg: 192.0.2.1" in done.stdout
