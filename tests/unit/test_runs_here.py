"""Modules that the control node itself runs: in a fork of Ansible's process, and answering as ever."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import run_module
from ansible_collections.millrace.kafka.plugins.plugin_utils.forked import forked

ROOT = Path(__file__).parents[2]
PLAY = """
- hosts: a
  vars:
    secret: {sasl.password: "hush1\\\\'", ssl.key.pem: "-----BEGIN\\nhush2\\n"}
    client: "{{ {'bootstrap.servers': '127.0.0.1:1'} | combine(secret) }}"
    users: [{name: a, password: "hush\\\\4"}]
  gather_facts: false
  # Errors show the lines around theirs.
  tasks:
    - millrace.kafka.kafka_access: {admin: "{{ client }}", login: "{{ client }}", users: "{{ users }}"}
      delegate_to: localhost
      ignore_errors: true
    - millrace.kafka.kafka_quotas: {admin: "{{ client }}", nonsense: 1}
      delegate_to: localhost
      ignore_errors: true
    - millrace.kafka.kafka_topics: {admin: "{{ client }}"}
      delegate_to: localhost
      check_mode: true
      ignore_errors: true
    - millrace.kafka.kafka_cluster: {listeners: {CLIENT: "{{ client }}"}, brokers: [1], timeout: 1}
      delegate_to: localhost
      ignore_errors: true
    - millrace.kafka.zookeeper_ensemble: {servers: {zk1: 127.0.0.1}, port: 1, timeout: 1}
      delegate_to: localhost
      ignore_errors: true
    - millrace.kafka.zookeeper_gate: {servers: {zk1: 127.0.0.1}, ids: {zk1: 1}, port: 1, stop: [zk1], timeout: 1}
      delegate_to: localhost
      ignore_errors: true
"""
ORDINARY = r"Using module file .*\n|Pipelining is enabled\.\n|<localhost.*\n"


def said(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "ansible", "playbook", "-vvv", "-i", "a,", *options, str(folder / "play.yml")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert "ignored=6" in done.stdout, done.stdout + done.stderr
    return re.sub(r"(at: )[0-9.]+", r"\1<when>", done.stdout + done.stderr)


def test_what_is_said_is_the_same_as_of_a_module_in_a_python_of_its_own(tmp_path: Path) -> None:
    """Refusals, options without their secrets, and all else that -vvv shows; by another name, Python is another."""
    (tmp_path / "play.yml").write_text(PLAY)
    another = f"ansible_python_interpreter={Path(sys.executable).parent}/../bin/python3"
    with ThreadPoolExecutor() as pool:  # most of both runs is waiting for brokers that refuse
        here, apart = pool.map(lambda options: said(tmp_path, *options), ([], ["-e", another]))
    assert ("EXEC" in here, "EXEC" in apart) == (False, True)
    assert "hush" not in here + apart
    assert here == re.sub(ORDINARY, "", apart)
    assert here.count("127.0.0.1:1: refused") >= 4


def ran(**options: Any) -> tuple[int, str, str]:
    return forked(lambda: run_module("unit.warns", options))


def test_a_module_answers_and_leaves_nothing() -> None:
    """Its warning is in its answer, a secret is not; folder, umask, environment and open files stay as they were."""
    before = (os.getcwd(), os.umask(0o022), len(os.listdir("/proc/self/fd")))
    code, output, errors = ran(secret="hush", _ansible_check_mode=True)
    answer = json.loads(output)
    assert (code, errors) == (0, "")
    assert (answer["changed"], answer["said"], answer["read"]) == (True, "it is ********", "")
    assert "of the module" in json.dumps(answer["warnings"])
    assert "hush" not in output
    assert (os.getcwd(), os.umask(before[1]), len(os.listdir("/proc/self/fd"))) == (before[0], 0o022, before[2])
    assert "OF_A_MODULE" not in os.environ


@pytest.mark.parametrize(("end", "code", "text"), [("raise", 1, "as it should not"), ("exit", 3, "")])
def test_a_module_that_ends_as_it_should_not(end: str, code: int, text: str) -> None:
    found, output, _ = ran(end=end)
    assert found == code
    assert text in output


def test_a_task_whose_time_is_over_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ansible raises in the middle of it."""
    children = []
    fork = os.fork

    def noted() -> int:
        children.append(fork())
        return children[-1]

    def over(fd: int, size: int) -> bytes:
        raise TimeoutError

    monkeypatch.setattr(os, "fork", noted)
    monkeypatch.setattr(os, "read", over)
    with pytest.raises(TimeoutError):
        forked(lambda: print("x", flush=True))
    with pytest.raises(ProcessLookupError):
        os.kill(children[0], 0)


@pytest.mark.parametrize("whom", ["child", "parent"])
def test_a_signal_while_there_are_two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whom: str) -> None:
    """It ends the child; here it is as if it came a moment later, and the child is gone."""
    here, fork, children, alive = os.getpid(), os.fork, list[int](), tmp_path / "alive"

    def over(*_: Any) -> None:
        raise TimeoutError

    def signalled() -> int:
        child = fork()
        children.append(child)
        if bool(child) == (whom == "parent"):
            signal.raise_signal(signal.SIGALRM)  # to this thread: those of pytest's own do not wait
        return child

    def run() -> None:
        time.sleep(60)
        alive.touch()

    before = signal.signal(signal.SIGALRM, over)
    monkeypatch.setattr(os, "fork", signalled)
    try:
        status: int | None = forked(run)[0]
    except TimeoutError:
        if os.getpid() != here:
            alive.touch()
            os._exit(77)
        status = None
    finally:
        signal.signal(signal.SIGALRM, before)
    assert status == {"child": -signal.SIGALRM, "parent": None}[whom]
    with pytest.raises(ProcessLookupError):
        os.kill(children[0], 0)
    assert not alive.exists()
    assert signal.SIGALRM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
