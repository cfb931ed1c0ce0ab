"""What -vvv shows of tasks that the control node runs: errors, options and warnings, without their secrets."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLAY = """
- hosts: a
  vars:
    secret: {sasl.password: "hush1\\\\'", ssl.key.pem: "-----BEGIN\\nhush2\\n"}
    client: "{{ {'bootstrap.servers': '127.0.0.1:1'} | combine(secret) }}"
    users: [{name: a, password: "hush\\\\4"}]
  gather_facts: false
  # Errors show the lines around their tasks.
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
"""


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text(PLAY)
    command = [sys.executable, "-m", "ansible", "playbook", "-vvv", "-i", "a,", str(tmp_path / "play.yml")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    shown = done.stdout + done.stderr
    assert "ignored=4" in shown and shown.count("127.0.0.1:1: refused") >= 2, shown
    assert '"invocation"' in shown or "invocation:" in shown, "the options are shown"
    assert "hush" not in shown
