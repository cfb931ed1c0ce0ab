"""Options and values in systemd units are what systemd reads; systemd itself is asked if it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.unit_values import unreadable_values
from ansible_collections.millrace.kafka.plugins.plugin_utils.unit_text import is_one_line, option_words, unit_option

SYSTEMD = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="without systemd")


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("-Dx=a b", "-Dx=a b", ["-Dx=a", "b"]),
        ("-Dhome=${HOME}/%p", "-Dhome=$${HOME}/%%p", ["-Dhome=${HOME}/%p"]),
        (r"-Dsite.pattern=\s+", r"-Dsite.pattern=\\s+", [r"-Dsite.pattern=\s+"]),
        ('-Dx="a b"', '-Dx="a b"', ["-Dx=a b"]),
        (r"-Dx=a\"b", r"-Dx=a\"b", ['-Dx=a"b']),
        ("-Da=b\n-Dc=d\n", "-Da=b -Dc=d", ["-Da=b", "-Dc=d"]),
        ("-Dx='a", "-Dx='a", []),
        ("-Dx='a\"'", "-Dx='a\"'", ['-Dx=a"']),
    ],
)
def test_options_in_commands_of_units(option: str, text: str, words: list[str]) -> None:
    """Java gets them as they are written: systemd replaces nothing in them."""
    assert unit_option(option) == text
    assert option_words(option) == words


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("A=1", True), ("A=1\n", True), ("A=1\nNice=5", False), ("a \\\n b", True), ("A=1\\", False), ("A=1\rB=2", False)],
)
def test_lines_of_units(text: str, is_one: bool) -> None:
    assert is_one_line(text) is is_one


@SYSTEMD
@pytest.mark.parametrize(
    ("key", "value", "is_read"),
    [
        ("ExecStartPost", "/bin/sh -c 'a", False),
        ("ExecStartPost", "/bin/sh -c 'a b' \"c\"", True),
        ("ExecStartPost", r"/bin/echo it\'s", True),
        ("ExecStartPost", f"/bin/echo {unit_option(chr(92) + 's+ ${HOME} %d')}", True),
        ("Environment", 'A="b c', False),
        ("Environment", '"A=b c" D=e', True),
        ("ReadWritePaths", "'/srv", False),
        ("PassEnvironment", "'A", False),
        ("LogExtraFields", "'A=b", False),
        ("SetCredential", "a:it's", True),
        ("Description", "it's", True),
    ],
)
def test_quotation_marks_that_systemd_reads(key: str, value: str, is_read: bool, tmp_path: Path) -> None:
    """As preflight judges them."""
    unit, section = tmp_path / "a.service", "Unit" if key == "Description" else "Service"
    command = "" if section == "Service" else "[Service]\n"
    unit.write_text(f"[{section}]\n{key}={value}\n{command}ExecStart=/bin/true\n")
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert ("a.service:2:" not in done.stderr) is is_read, done.stderr
    assert (not list(unreadable_values(key, value))) is is_read
