"""The generated tables of docs/layouts.md and inventories/README.md are those of their sources."""

import generate_layouts
import generate_site_docs


def test_layouts() -> None:
    text = generate_layouts.PAGE.read_text(encoding="utf-8")
    assert text == generate_layouts.page(), "run: make docs"
    assert [found.group(2) for found in generate_layouts.TABLE.finditer(text)] == ["lab", "lab_stretch2", "lab_stretch2_5", "lab_stretch3"]


def test_words_of_the_site() -> None:
    text = generate_site_docs.PAGE.read_text(encoding="utf-8")
    assert text == generate_site_docs.page(), "run: make docs"
    assert "| `layout` | str | | `single` |" in text
