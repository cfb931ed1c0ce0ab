"""What a wait waits for is said while it waits, each 10 s, and a wait in parts is the same wait."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.waits import in_parts, said

ROOT = Path(__file__).parents[2]
PLAY = """
- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: Wait for a cluster
      millrace.kafka.kafka_cluster:
        listeners: {CLIENT: {bootstrap.servers: "127.0.0.1:9"}}
        brokers: [1]
        timeout: 13
      ignore_errors: true
      register: cluster
    - name: Wait for an ensemble
      millrace.kafka.zookeeper_ensemble:
        servers: {zk1: 127.0.0.1}
        port: 9
        timeout: 11
      ignore_errors: true
    - ansible.builtin.debug: {msg: "{{ cluster.msg }}"}
"""


def test_it_is_said_what_is_waited_for(tmp_path: Path) -> None:
    """By ansible-playbook as it is, once within 13 s; the answer is that of one wait."""
    (tmp_path / "play.yml").write_text(PLAY)
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", "-i", "a,", str(tmp_path / "play.yml")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_PYTHON_INTERPRETER": sys.executable},
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("a: Wait for")]
    assert len(lines) == 2, done.stdout
    assert re.match(r"a: Wait for a cluster: 1[0-9] of 13 s: listener CLIENT: ", lines[0])
    assert re.match(r"a: Wait for an ensemble: 1[0-9] of 11 s: zk1 \(127.0.0.1:9\): down; 0 leaders$", lines[1])
    assert "Kafka cluster not whole after 13 s: listener CLIENT: " in done.stdout
    assert "ZooKeeper ensemble not whole after 11 s: zk1 (127.0.0.1:9): down; 0 leaders. No server" in done.stdout
    assert 24 < time.monotonic() - begun < 60


AS_A_JOB = """
- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: Wait for a cluster
      millrace.kafka.kafka_cluster:
        listeners: {CLIENT: {bootstrap.servers: "127.0.0.1:9"}}
        brokers: [1]
        timeout: 11
      async: 60
      poll: 1
      ignore_errors: true
    - name: Wait for leaders
      millrace.kafka.kafka_leaders: {admin: {bootstrap.servers: "127.0.0.1:9"}}
      async: 60
      ignore_errors: true
"""


def test_a_wait_as_a_job_is_the_whole_wait(tmp_path: Path) -> None:
    """A part of it would look like its success; an action that cannot be a job says so."""
    (tmp_path / "play.yml").write_text(AS_A_JOB)
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", "-i", "a,", str(tmp_path / "play.yml")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={
            **os.environ,
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
            "ANSIBLE_ASYNC_DIR": str(tmp_path),
        },
    )
    assert "Kafka cluster not whole after 11 s: listener CLIENT: " in done.stdout, done.stdout
    assert "This action (millrace.kafka.kafka_leaders) does not support async." in done.stdout, done.stdout


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
    assert in_parts(ask, told.append) == {"changed": False}
    assert in_parts(lambda _: [{"changed": True, **answers[0]}, {"moved": 1}][len(told) - 1], told.append) == {
        "changed": True,
        "moved": 1,
    }
    del told[1:]
    assert asked == [{"pause": 10}, {"pause": 10, "waited": {"begun": 5}}]
    assert told == ["0 of 300 s: broker 1 is not registered; no controller"]


def test_what_a_module_does_not_say() -> None:
    """As long as it runs, and not when it has ended."""
    told: list[str] = []
    with said("systemd restarts kafka.service", told.append, every=0.2):
        time.sleep(0.5)
    assert told == ["0 s: systemd restarts kafka.service"] * 2
    time.sleep(0.3)
    assert len(told) == 2
