"""A page that lost the place of a generated part: its generator names the page and the line, and writes nothing."""

import re
from collections.abc import Callable
from pathlib import Path

import generate_resources
import pages
import pytest
from docs_site.dialect import for_mkdocs


def test_a_marker_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = "<!-- grants: end -->"
    page = tmp_path / generate_resources.PAGE.name
    text = generate_resources.PAGE.read_text(encoding="utf-8")
    assert text.count(marker) == 1
    page.write_text(text.replace(marker, ""), encoding="utf-8")
    monkeypatch.setattr(generate_resources, "PAGE", page)
    with pytest.raises(ValueError) as refused:
        generate_resources.page()
    assert str(page) in str(refused.value) and marker in str(refused.value)


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


@pytest.mark.parametrize(
    ("git_host", "mkdocs"),
    [
        ("text:\n- a\n  b\n- c\n", "text:\n\n- a\n    b\n- c\n"),
        (
            "1. a:\n\n   ```yaml\n   x:\n     y: 1\n   ```\n2. b\n",
            "1. a:\n\n    ```yaml\n    x:\n      y: 1\n    ```\n\n2. b\n",
        ),
        ("- a\n  - b\n    c\n\n  d\n", "- a\n    - b\n        c\n\n    d\n"),
        ("10. a\n    - b\n      - c\n", "10. a\n    - b\n        - c\n"),
        ("- a:\n\n  | x |\n  |---|\n  | 1 |\n", "- a:\n\n    | x |\n    |---|\n    | 1 |\n"),
        ("text\n\n| x |\n|---|\n| 1 |\n", "text\n\n| x |\n|---|\n| 1 |\n"),
        ("```\n- a\n  - b\n```\n", "```\n- a\n  - b\n```\n"),
    ],
)
def test_a_list_means_the_same_on_the_site(git_host: str, mkdocs: str) -> None:
    """Git hosts count a list's blanks from its marker, MkDocs in fours, and only after an empty line."""
    assert for_mkdocs(git_host) == mkdocs


def test_the_site_names_pages_that_exist() -> None:
    root = Path(__file__).parents[2]
    named = re.findall(
        r"^ *- (?:\S+: )?([\w/.-]+\.md)$", (root / "packaging/docs_site/mkdocs.yml").read_text(), re.MULTILINE
    )
    assert len(named) > 15
    assert [name for name in named if not (root / name).is_file()] == []
