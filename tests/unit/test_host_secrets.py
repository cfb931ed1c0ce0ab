"""Secrets that host_state writes: any bytes, in no diff, and not in the host's journal."""

import base64
from pathlib import Path

import pytest
from ansible.module_utils import basic
from ansible.module_utils.testing import patch_module_args
from unit.test_host_state import file, run, wanted

from ansible_collections.millrace.kafka.plugins.modules.host_state import SPEC


def test_secret_of_any_bytes(tmp_path: Path) -> None:
    """Bytes that are no text are written as they are, compared as they are, and shown in no diff."""
    store = bytes(range(256)) + b"\r\n\r\r\n"
    options = wanted(files=[file(tmp_path / "store", None, secret_base64=base64.b64encode(store).decode())])
    host = run(options)
    assert (tmp_path / "store").read_bytes() == store
    assert host.diffs[0]["after"] == "(secret, changed)\n"
    assert run(options).changes == []


@pytest.mark.parametrize("old", ["ssl.key.password=hush\n", '{"ssl.key.password": "hush"}\n', "client.secret=hush\n"])
def test_a_secret_that_a_file_loses_is_not_shown(tmp_path: Path, old: str) -> None:
    (tmp_path / "server.properties").write_text(old)
    host = run(wanted(files=[file(tmp_path / "server.properties", "broker.id=1\n")]))
    assert next((diff["before"], diff["after"]) for diff in host.diffs if "before" in diff) == (
        "(secret)\n",
        "(secret, changed)\n",
    )
    assert (tmp_path / "server.properties").read_text() == "broker.id=1\n"


@pytest.mark.parametrize("old", ["", "[Service]\n"])
def test_a_secret_that_a_file_gets_is_not_shown(tmp_path: Path, old: str) -> None:
    """Nor in a file that is new."""
    if old:
        (tmp_path / "overrides.conf").write_text(old)
    host = run(wanted(files=[file(tmp_path / "overrides.conf", "[Service]\nEnvironment=A_SECRET=hush\n")]))
    assert [diff["after"] for diff in host.diffs if "before" in diff] == ["(secret, changed)\n"]
    assert "hush" not in str(host.diffs)


@pytest.mark.parametrize("option", ["content", "secret_base64"])
def test_journal_of_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    """What Ansible notes in the host's journal holds a secret's text of content, and never secret_base64."""
    noted: list[str] = []
    monkeypatch.setattr(basic.AnsibleModule, "log", lambda self, message, log_args=None: noted.append(message))
    secret = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n"
    value = secret if option == "content" else base64.b64encode(secret.encode()).decode()
    with patch_module_args({"files": [{"path": str(tmp_path / "key"), option: value, "secret": True}]}):
        basic.AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    shown = value.replace("\n", "\\n") in noted[0]
    assert shown is (option == "content")
    assert str(tmp_path / "key") in noted[0]
