"""Tables of nft in the class behind host_state, against a made-up `nft` and `unshare` on PATH."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from unit.host import host as a_host

from ansible_collections.millrace.kafka.plugins.module_utils.host.files import Files
from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import StateError
from ansible_collections.millrace.kafka.plugins.module_utils.host.state import Host

# `list` prints in other words than it was given, as the real one does; text with "bad" is refused. The kernel's table
# is a
# file; FOLDER/commands notes what changed it.
NFT = """#!{python}
import pathlib, sys
kernel, commands = pathlib.Path({folder!r}) / {kernel}, pathlib.Path({folder!r}) / "commands"
verb, *rest = sys.argv[1:]
if verb == "list":
    sys.stdout.write(kernel.read_text() if kernel.exists() else "")
    sys.exit(not kernel.exists())
with commands.open("a") as stream:
    stream.write(" ".join(sys.argv[1:]) + "\\n")
if verb == "delete":
    kernel.unlink()
if verb == "-f":
    text = sys.stdin.read() if rest == ["-"] else pathlib.Path(rest[0]).read_text()
    if "bad" in text:
        sys.exit("syntax error, unexpected bad")
    kernel.write_text(text.upper())
"""
UNSHARE = """#!/bin/sh
export APART=yes
shift
exec "$@"
"""


class Kernel:
    """What the made-up nft knows."""

    def __init__(self, folder: Path) -> None:
        """Nothing is loaded."""
        self.table, self._commands = folder / "kernel", folder / "commands"

    @property
    def text(self) -> str:
        """The table, '' where there is none."""
        return self.table.read_text() if self.table.exists() else ""

    @property
    def commands(self) -> list[str]:
        """What was run, questions and rehearsals left out."""
        return [
            line
            for line in (self._commands.read_text().splitlines() if self._commands.exists() else [])
            if line != "-f -"
        ]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Put the made-up programs first on PATH; files belong to whoever runs the tests."""
    programs, folder = tmp_path / "bin", tmp_path / "state"
    programs.mkdir()
    folder.mkdir()
    place = "('apart' if __import__('os').environ.get('APART') else 'kernel')"
    for name, text in (
        ("nft", NFT.format(python=sys.executable, folder=str(folder), kernel=place)),
        ("unshare", UNSHARE),
    ):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(Files, "attributes", lambda *_, **__: None)
    return Kernel(folder)


def converge(path: Path, content: str | None, state: str = "present", check_mode: bool = False) -> Host:
    """Converge one table alone."""
    empty: dict[str, Any] = {
        "users": [],
        "directories": [],
        "files": [],
        "blocks": [],
        "links": [],
        "sysctl": {},
        "units": [],
    }
    host = a_host(check_mode)
    host.converge({**empty, "nftables": [{"table": "millrace", "path": str(path), "content": content, "state": state}]})
    return host


def short(host: Host, folder: Path) -> list[str]:
    """Return the changes without the folder of the test."""
    return [change.replace(f"{folder}/", "") for change in host.changes]


def test_first_run_and_second(kernel: Kernel, tmp_path: Path) -> None:
    """The file and its folder are made, the table is loaded in one go; the next run does nothing."""
    path = tmp_path / "nftables.d" / "a.nft"
    host = converge(path, "rules\n")
    assert short(host, tmp_path) == ["directory nftables.d", "file nftables.d/a.nft", "load table millrace"]
    assert (host.diffs[-1]["before_header"], host.diffs[-1]["before"], host.diffs[-1]["after"]) == (
        "table inet millrace",
        "",
        "RULES\n",
    )
    assert (path.read_text(), kernel.text, kernel.commands) == ("rules\n", "RULES\n", [f"-f {path}"])
    again = converge(path, "rules\n")
    assert (again.changes, again.diffs, kernel.commands) == ([], [], [f"-f {path}"])


@pytest.mark.parametrize("drift", [None, "RULES\nand one by hand\n"])
def test_a_table_that_is_not_what_the_file_makes_is_loaded_anew(
    drift: str | None, kernel: Kernel, tmp_path: Path
) -> None:
    path = tmp_path / "a.nft"
    converge(path, "rules\n")
    kernel.table.unlink()
    if drift:
        kernel.table.write_text(drift)
    assert converge(path, "rules\n").changes == ["load table millrace"]
    assert kernel.text == "RULES\n"


def test_changed_rules(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "a.nft"
    converge(path, "rules\n")
    assert short(converge(path, "others\n"), tmp_path) == ["file a.nft", "load table millrace"]
    assert kernel.text == "OTHERS\n"


def test_rules_that_nft_refuses_change_nothing(kernel: Kernel, tmp_path: Path) -> None:
    """Neither the table nor the file that the next boot would load; the error is nft's own text."""
    path = tmp_path / "a.nft"
    converge(path, "rules\n")
    with pytest.raises(StateError, match="syntax error, unexpected bad"):
        converge(path, "bad\n")
    assert (path.read_text(), kernel.text) == ("rules\n", "RULES\n")


def test_absent(kernel: Kernel, tmp_path: Path) -> None:
    """Table, file and a folder that is empty then go; a second run has nothing to do."""
    path = tmp_path / "nftables.d" / "a.nft"
    converge(path, "rules\n")
    assert short(converge(path, None, "absent"), tmp_path) == ["remove nftables.d/a.nft", "remove table millrace"]
    assert (path.parent.exists(), kernel.text, kernel.commands[-1]) == (False, "", "delete table inet millrace")
    assert converge(path, None, "absent").changes == []


def test_absent_leaves_a_folder_that_others_use_and_one_that_was_empty(kernel: Kernel, tmp_path: Path) -> None:
    for others in ("b.nft", None):
        path = tmp_path / f"folder-{others}" / "a.nft"
        path.parent.mkdir()
        if others:
            (path.parent / others).touch()
            converge(path, "rules\n")
        converge(path, None, "absent")
        assert path.parent.is_dir() and not path.exists()


def test_absent_where_there_is_no_nft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert converge(tmp_path / "none" / "a.nft", None, "absent").changes == []


@pytest.mark.parametrize("state", ["present", "absent"])
def test_check_mode_says_the_same_and_changes_nothing(state: str, kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "nftables.d" / "a.nft"
    if state == "absent":
        converge(path, "rules\n")
    before = (path.exists(), kernel.text, kernel.commands)
    checked = converge(path, "others\n", state, check_mode=True)
    assert (path.exists(), kernel.text, kernel.commands) == before
    real = converge(path, "others\n", state)
    assert (checked.changes, checked.diffs) == (real.changes, real.diffs)
    assert len(real.changes) > 1
