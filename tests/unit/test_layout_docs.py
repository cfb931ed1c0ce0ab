"""The tables of docs/layouts.md are those of the inventories."""

from generate_layouts import PAGE, TABLE, page


def test_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(), "run: make docs"
    assert [found.group(2) for found in TABLE.finditer(text)] == ["lab", "lab_stretch2", "lab_stretch2_5", "lab_stretch3"]
