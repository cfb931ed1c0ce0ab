"""The changelog: entries of at most two lines, in known sections; CHANGELOG.md and the version are up to date."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "changelogs"
TWO_LINES = 240
CONFIG = yaml.safe_load((FOLDER / "config.yaml").read_text())
RELEASES = yaml.safe_load((FOLDER / "changelog.yaml").read_text())["releases"]
SUMMARY = CONFIG["prelude_section_name"]


def changes() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the changes of each fragment and release, {section: entries}, with their source."""
    for file in sorted((FOLDER / "fragments").glob("*.y*ml")):
        yield file.name, yaml.safe_load(file.read_text())
    for version, release in RELEASES.items():
        yield version, release["changes"]


def test_entries_are_short_and_have_a_section() -> None:
    sections = {SUMMARY, CONFIG["trivial_section_name"], *(name for name, _ in CONFIG["sections"])}
    for source, found in changes():
        assert found.keys() <= sections, f"{source}: sections are in changelogs/config.yaml"
        long = [
            entry for name, entries in found.items() if name != SUMMARY for entry in entries if len(entry) > TWO_LINES
        ]
        assert long == [], f"{source}: at most {TWO_LINES} characters an entry"


def plain(text: str) -> str:
    """Return an entry without markup of either form: reStructuredText, or Markdown of antsibull-changelog."""
    return re.sub(r"</?(?:code|em|strong)>|``|[\\*]", "", text).replace("&lt;", "<").replace("&gt;", ">")


def test_the_page_has_the_entries_and_no_others() -> None:
    """It is written by antsibull-changelog alone: who edits it by hand loses the change with the next release."""
    releases = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## v")
    texts = [re.split(r"(?m)^### New (?:Plugins|Modules)$", release)[0] for release in releases]
    shown = {plain(entry) for text in texts for entry in re.findall(r"(?m)^\* (.*)$", text)}
    listed = {
        plain(entry)
        for release in RELEASES.values()
        for name, entries in release["changes"].items()
        if name != SUMMARY
        for entry in entries
    }
    assert listed - shown == set(), "run: make changelog"
    assert shown - listed == set(), "write a fragment in changelogs/fragments instead of editing CHANGELOG.md"


def test_the_newest_version_is_everywhere() -> None:
    version = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
    assert max(RELEASES, key=lambda name: [int(part) for part in name.split(".")]) == version
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == version
    assert f"millrace-kafka-{version}.tar.gz" in (ROOT / "docs" / "control_node.md").read_text()
