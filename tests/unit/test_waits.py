"""A wait prints every 10 s what it waits for; a wait in parts is the same wait. Playbooks print every second here."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.fake_wire import brokers

from ansible_collections.millrace.kafka.plugins.plugin_utils import wait_lines
from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import reported_wait, wait_in_parts

ROOT = Path(__file__).parents[2]
PLAYBOOK = """
import warnings

from ansible.cli.playbook import main
from ansible.plugins import loader

loader.init_plugin_loader()
warnings.filterwarnings("ignore", "AnsibleCollectionFinder has already been configured")
from ansible_collections.millrace.kafka.plugins.plugin_utils import wait_lines

wait_lines.INTERVAL = 1.0
main()
"""
"""ansible-playbook whose parts of a wait take 1 s."""
PLAY = """
- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: Wait for a cluster
      millrace.kafka.kafka_cluster:
        listeners: {CLIENT: {bootstrap.servers: "{{ servers }}"}}
        brokers: [9]
        timeout: 5
      ignore_errors: true
      register: cluster
    - name: Wait for an ensemble
      millrace.kafka.zookeeper_ensemble:
        servers: {zk1: 127.0.0.1}
        port: 9
        timeout: 4
      ignore_errors: true
    - ansible.builtin.debug: {msg: "{{ cluster.msg }}"}
    - name: Wait as a job
      millrace.kafka.kafka_cluster:
        listeners: {CLIENT: {bootstrap.servers: "{{ servers }}"}}
        brokers: [8]
        timeout: 2
      async: 60
      poll: 1
      ignore_errors: true
    - name: Wait for leaders
      millrace.kafka.kafka_leaders: {admin: {bootstrap.servers: "{{ servers }}"}}
      async: 60
      ignore_errors: true
"""


def ran(folder: Path) -> str:
    """Return what ansible-playbook prints."""
    (folder / "play.yml").write_text(PLAY)
    environment = {
        **os.environ,
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        "ANSIBLE_ASYNC_DIR": str(folder),
    }
    with brokers(FakeCluster()) as servers:
        command = [sys.executable, "-c", PLAYBOOK, "-i", "a,", "-e", f"servers={servers}", str(folder / "play.yml")]
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment).stdout


def test_it_is_said_what_is_waited_for(tmp_path: Path) -> None:
    """A wait in parts prints after each part but the last, and returns the answer of the whole wait.

    A job (async) is one part, for a part would look like its success; an action that cannot be a job is refused.
    """
    output = ran(tmp_path)
    for name, words in (
        ("cluster", "[1-9][0-9]* of 5 s: broker 9 is not registered"),
        ("ensemble", r"[1-9][0-9]* of 4 s: zk1 \(127.0.0.1:9\): down; 0 leaders$"),
    ):
        lines = re.findall(f"^a: Wait for an? {name}: (.*)", output, re.MULTILINE)
        assert lines and all(re.match(words, line) for line in lines), output
    assert "Kafka cluster not healthy after 5 s: broker 9 is not registered" in output
    assert "ZooKeeper ensemble not healthy after 4 s: zk1 (127.0.0.1:9): down; 0 leaders. No server" in output
    assert "Kafka cluster not healthy after 2 s: broker 8 is not registered" in output
    assert "This action (millrace.kafka.kafka_leaders) does not support async." in output


def test_parts_end_with_the_last_answer() -> None:
    asked: list[Mapping[str, Any]] = []
    answers: list[dict[str, Any]] = [
        {"waiting": {"what": ["broker 1 is not registered", "no controller"], "timeout": 300, "waited": {"begun": 5}}},
        {"changed": False},
    ]

    def ask(more: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(more)
        return answers[len(asked) - 1]

    told: list[str] = []
    assert wait_in_parts(ask, told.append) == {"changed": False}
    assert wait_in_parts(lambda _: [{"changed": True, **answers[0]}, {"moved": 1}][len(told) - 1], told.append) == {
        "changed": True,
        "moved": 1,
    }
    del told[1:]
    assert asked == [{"pause": 10}, {"pause": 10, "waited": {"begun": 5}}]
    assert told == ["0 of 300 s: broker 1 is not registered; no controller"]


def test_what_a_module_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as it runs, and not when it has ended."""
    monkeypatch.setattr(wait_lines, "INTERVAL", 0.01)
    told, third = list[str](), threading.Event()

    def tell(words: str) -> None:
        told.append(words)
        if len(told) == 3:
            third.set()

    with reported_wait("systemd restarts kafka.service", tell):
        assert third.wait(60)
    assert re.fullmatch("[0-9]+ s: systemd restarts kafka.service", told[0])
    before = len(told)
    assert not threading.Event().wait(0.1) and len(told) == before
