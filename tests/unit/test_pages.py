"""A page that lost the place of a generated part: its generator says which page and which line, and writes nothing."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import generate_layouts
import generate_reliability
import generate_resources
import generate_security
import generate_site_docs
import pages
import pytest

LAYOUTS = ("lab", "lab_stretch2", "lab_stretch2_5", "lab_stretch3")
MARKERS: dict[ModuleType, tuple[str, ...]] = {
    generate_layouts: (
        *(f"<!-- survival of {name}: begin, made by make docs -->" for name in LAYOUTS),
        *(f"<!-- survival of {name}: end -->" for name in LAYOUTS),
    ),
    generate_reliability: ("<!-- fault matrix: begin, made by make docs -->", "<!-- fault matrix: end -->"),
    generate_resources: (
        "<!-- profiles: begin, by make docs -->",
        "<!-- profiles: end -->",
        "<!-- grants: begin, by make docs -->",
        "<!-- grants: end -->",
    ),
    generate_security: ("| Who talks to whom |", "| Step |", "| Mistake |"),
    generate_site_docs: (
        "<!-- words: begin, from plugins/definitions/site.yml by make docs -->",
        "<!-- words: end -->",
    ),
}
CASES = [(generator, marker) for generator, markers in MARKERS.items() for marker in markers]


@pytest.mark.parametrize(("generator", "marker"), CASES, ids=[f"{each.__name__}: {marker}" for each, marker in CASES])
def test_a_marker_that_is_gone_is_named(
    generator: ModuleType, marker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / generator.PAGE.name
    text = generator.PAGE.read_text(encoding="utf-8")
    assert text.count(marker) == 1
    page.write_text(text.replace(marker, "| Other |" if marker.startswith("|") else ""), encoding="utf-8")
    monkeypatch.setattr(generator, "PAGE", page)
    if generator is generate_layouts:
        monkeypatch.setattr(generator, "table", lambda _: "takes long")
    with pytest.raises(ValueError) as refused:
        generator.page()
    assert str(page) in str(refused.value) and marker.strip("| ") in str(refused.value)


@pytest.mark.parametrize("text", ["", "a\n<<\n", ">>\n", ">>\n<<\n", "<<\n<<\n>>\n", "<<\n>>\n>>\n"])
def test_a_part_has_one_place(text: str) -> None:
    with pytest.raises(ValueError, match=r"^here/x\.md: no single place for what is generated, .*'<<' .*'>>'"):
        pages.between(Path("here/x.md"), text, "<<", ">>", "made")


def test_what_stands_around_a_part_stays() -> None:
    assert pages.between(Path("x.md"), "a\n<<\nold\n>>\nb\n", "<<", ">>", "\nmade\n") == "a\n<<\nmade\n>>\nb\n"


def refuses() -> str:
    raise ValueError("x.md: no place")


@pytest.mark.parametrize(("make", "written"), [(lambda: "new", "new"), (refuses, "old")])
def test_a_page_is_written_or_named(
    make: Callable[[], str], written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which ends `make docs` with a line, and no trace."""
    page = tmp_path / "x.md"
    page.write_text("old")
    if written == "new":
        pages.write(page, make)
        assert capsys.readouterr().out == f"{page}: written\n"
    else:
        with pytest.raises(SystemExit, match=r"^x\.md: no place$"):
            pages.write(page, make)
    assert page.read_text() == written
