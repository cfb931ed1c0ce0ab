"""Preflight accepts the options that the local Java accepts; the lists are those that Java and systemd print."""

import re
import subprocess
from pathlib import Path

import java_options
import pytest
import unit_settings

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.drop_ins import known as settings
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.java_flags import findings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def here() -> tuple[str, java_options.Flags]:
    """The release of the Java here, and its flags."""
    return java_options.flags_of("java")


def test_the_list_has_every_flag_of_this_java(here: tuple[str, java_options.Flags]) -> None:
    """With the same category and type; the file contains what was read from it."""
    release, flags = here
    text = java_options.FILE.read_text(encoding="utf-8")
    known = java_options.read(text)
    assert {name for name, said in flags.items() if known[release].get(name) != said} == set()
    assert java_options.as_text(known) == text


# Two valid options; a number with a unit, a misspelt name, a size with a wrong unit, a removed flag, a flag that
# requires another, a heap that is not a size.
OPTIONS = [
    "-XX:+UseZGC",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "-XX:MaxGCPauseMillis=20ms",
    "-XX:MaxGCPauseMilis=20",
    "-XX:MaxDirectMemorySize=2GB",
    "-XX:+UseConcMarkSweepGC",
    "-XX:+UseEpsilonGC",
    "-Xmx=4g",
]


@pytest.mark.parametrize("option", OPTIONS)
def test_what_java_refuses_is_refused(option: str, here: tuple[str, java_options.Flags]) -> None:
    done = subprocess.run(["java", option, "-version"], capture_output=True, text=True)
    rejected = [kind for kind, _ in findings(option, (here[0],), frozenset()) if not kind.warning]
    assert bool(rejected) == bool(done.returncode), (rejected, done.stderr)


def test_settings_that_our_units_say_are_known() -> None:
    """The list has each setting of our units; a setting that it does not have causes a warning."""
    written = set()
    for file in (ROOT / "roles").glob("*/templates/**/*.service*"):
        for path in [file] if file.is_file() else file.iterdir():
            written |= set(re.findall(r"^([A-Z][A-Za-z]+)=", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert {"ExecStart", "ProtectSystem", "WantedBy"} <= written
    assert written - {key for keys in settings().values() for key in keys} == set()


def test_settings_are_read_of_what_systemd_lists() -> None:
    listed = "[Unit]\nAfter=UNIT [...]\nOld=NOTSUPPORTED\n\n[Socket]\nBacklog=UNSIGNED\n\n[Service]\nType=SERVICETYPE\n"
    assert unit_settings.settings(listed) == {"Unit": ["After"], "Service": ["Type"]}
