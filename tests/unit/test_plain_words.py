"""The check of prose finds old sentences, and passes what replaced them."""

from __future__ import annotations

from pathlib import Path

import plain_words
import pytest

# Sentences of this repository as they were, and as they are now.
SENTENCES = {
    "Nothing is left that would go before the files": "No dynamic setting remains that would override the files",
    "An interrupted move can be gone on with or put back": "An interrupted move can be resumed or reverted",
    "A line of yours goes before the project's": "A value you set overrides the project's default",
    "What a topic says goes before its profile": "Precedence: the topic, its profile, the defaults",
    "Whom the leader has, it says": "The leader lists its followers",
    "An inventory of nobody": "An inventory without hosts",
    "What is owed is restarted first": "Hosts with a pending restart are restarted first",
    "The host lacks a java": "The host has no java",
    "Replicas that were called off are told": "Cancelled reassignments are reported",
    "The topic is made anew": "The topic is recreated",
}


def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    """Return what is found in a page with a text."""
    monkeypatch.setattr(plain_words, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text(text)
    return list(plain_words.findings(list(plain_words.of_page("page.md"))))


@pytest.mark.parametrize(("old", "new"), SENTENCES.items())
def test_an_old_sentence_is_found_with_its_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    found = page(tmp_path, monkeypatch, f"# Page\n\n{old}.\n")
    assert found and all(line.startswith("page.md:3: [word] ") for line in found)
    assert page(tmp_path, monkeypatch, f"# Page\n\n{new}.\n") == []


def test_code_is_not_prose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert page(tmp_path, monkeypatch, "Run `said`, as user `nobody`.\n\n    told nobody\n") == []


def test_long_paragraphs_cells_and_sentences_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = "word " * 41
    assert [line.split("]")[0] for line in page(tmp_path, monkeypatch, f"| A |\n| --- |\n| {cell} |\n")] == [
        "page.md:3: [cell"
    ]
    assert page(tmp_path, monkeypatch, "Short line.\n" * 7) == [
        "page.md:1: [paragraph] 7 lines: at most 6; make a list or two paragraphs"
    ]
    assert [line.split("]")[0] for line in page(tmp_path, monkeypatch, "word " * 21 + "end.\n")] == [
        "page.md:1: [sentence"
    ]


def test_docstrings_messages_and_pages_of_modules_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_words, "ROOT", tmp_path)
    (tmp_path / "module.py").write_text(
        '"""Says it."""\nDOCUMENTATION = """\ndescription: [Told anew.]\n"""\n'
        'KIND = ProblemKind("CODE", "the host lacks {java}", "leave it out")\n'
        'CASE = KIND.variant(message=f"{KIND.message}, which is owed")\n'
        'def broken(): """Return what\\ngoes\\nbefore."""\n'
    )
    found = list(plain_words.findings(list(plain_words.of_python("module.py"))))
    assert sorted(line.split('"')[1] for line in found) == [
        "Says",
        "Told",
        "anew",
        "goes before",
        "is owed",
        "lacks",
        "leave it out",
    ]
