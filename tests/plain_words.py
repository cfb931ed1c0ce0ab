#!/usr/bin/env python3
"""Check that prose is plain: no words of our own where a term exists, short sentences, paragraphs and table cells.

Reads pages (Markdown), docstrings, the templates of ProblemKind, pages of `ansible-doc` and descriptions in argument
specs. Prints `file:line: [rule] what is wrong: what to do` for each finding; exits with 1 if there is one.
`--figures` prints words, mean sentence length and the number of findings instead.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
# Phrases that readers had to read twice, and what to write instead.
PHRASES = {
    r"told": "reports, sets or passes; or name who reads it",
    r"said|says?": "sets, reports, prints, requires, means",
    r"whom": "name the thing again",
    r"nobody": "no host, no user, no process: name it",
    r"anew": "again; recreates, regenerates",
    r"go(?:es)? before": "overrides; or: is restarted first",
    r"go(?:es|ne)? on with": "resumes, continues",
    r"puts? back": "reverts, restores",
    r"call(?:s|ed)? off": "cancels",
    r"lets? in": "allows, admits",
    r"slips?": "typo",
    r"lacks?|lacking": "has no, does not have, is missing",
    r"evenness": "balance",
    r"stands? (?:in|on|for|at|there|where|below|beside|before)": "is in, depends on, represents",
    r"(?:is|are|was|were) meant": "is intended; or ask: did you mean",
    r"leave (?:it|them) out": "remove it",
    r"wants|wanted": "requires, expects",
    r"is owed|owed": "pending",
    r"as it was to be": "as planned",
    r"comes? to its end": "completes, finishes",
}
PHRASE = re.compile(r"(?<![\w`./-])(?:" + "|".join(f"({text})" for text in PHRASES) + r")(?![\w`/-])", re.IGNORECASE)
HINTS = list(PHRASES.values())
MEAN_SENTENCE, LINES, CELL = 20, 6, 200
GENERATED = ("docs/errors.md",)
"""Pages whose rows are printed by tests: their cells are as long as the messages are."""
RULES = ("word", "paragraph", "cell", "sentence")


@dataclass(frozen=True)
class Text:
    """A piece of prose: file, line, words without code, and what it is (paragraph, cell, docstring, message)."""

    file: str
    line: int
    words: str
    kind: str
    lines: int = 1


def tracked(*patterns: str) -> list[str]:
    """Return the files of the repository that match."""
    return subprocess.check_output(["git", "ls-files", "-z", *patterns], cwd=ROOT, text=True).split("\0")[:-1]


def plain(inline: Token) -> str:
    """Return the words of a piece of Markdown, without code, addresses and markup."""
    pieces = []
    for child in inline.children or ():
        if child.type in ("text", "softbreak", "hardbreak"):
            pieces.append(child.content or " ")
        elif child.type == "code_inline":
            pieces.append("`code`")
    return "".join(pieces)


def of_page(file: str) -> Iterator[Text]:
    """Yield the paragraphs, list items and table cells of a page."""
    tokens = MarkdownIt("commonmark").enable("table").parse((ROOT / file).read_text(encoding="utf-8"))
    row, kind = (0, 1), "paragraph"
    for token in tokens:
        if token.type in ("td_open", "th_open"):
            kind = "cell"
        elif token.type in ("paragraph_open", "heading_open", "tr_open"):
            kind = "paragraph" if token.type != "heading_open" else "heading"
        row = (token.map[0], token.map[1]) if token.map else row
        if token.type == "inline":
            yield Text(file, row[0] + 1, plain(token), kind, row[1] - row[0])


def of_python(file: str) -> Iterator[Text]:
    """Yield the docstrings of a module, the templates of its ProblemKinds, and its page of ansible-doc."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if text := ast.get_docstring(node):
                yield Text(file, node.body[0].lineno, without_code(text), "docstring")
        elif isinstance(node, ast.Call) and called(node) in ("ProblemKind", "variant"):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                if words := literal(argument):
                    yield Text(file, argument.lineno, without_code(words), "message")
        elif isinstance(node, ast.Assign) and documents(node.targets[0]) and isinstance(node.value, ast.Constant):
            yield from descriptions(file, node.lineno, yaml.safe_load(str(node.value.value)))


def literal(argument: ast.expr) -> str:
    """Return the text of a string or an f-string, with `code` for each computed part; '' for anything else."""
    if isinstance(argument, ast.JoinedStr):
        return "".join(literal(part) or "`code`" for part in argument.values)
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else ""


def documents(target: ast.expr) -> bool:
    """Tell whether a variable holds a page of ansible-doc."""
    return isinstance(target, ast.Name) and target.id in ("DOCUMENTATION", "RETURN")


def called(node: ast.Call) -> str:
    """Return the name of what is called, without what is before its last dot."""
    return ast.unparse(node.func).rpartition(".")[2]


def without_code(text: str) -> str:
    """Return a text on one line, without what is between backticks, in C(), V(), RV(), or braces of a template."""
    return " ".join(re.sub(r"``[^`]*``|`[^`]*`|\b[A-Z]{1,2}\([^)]*\)|\{[^}]*\}", "`code`", text).split())


def descriptions(file: str, line: int, page: Any) -> Iterator[Text]:
    """Yield the descriptions of a page of ansible-doc, or of an argument spec."""
    if isinstance(page, dict):
        for key, value in page.items():
            if key in ("description", "short_description"):
                for text in value if isinstance(value, list) else [value]:
                    yield Text(file, line, without_code(str(text)), "description")
            else:
                yield from descriptions(file, line, value)
    elif isinstance(page, list):
        for item in page:
            yield from descriptions(file, line, item)


def of_specs(file: str) -> Iterator[Text]:
    """Yield the descriptions in a file of YAML."""
    yield from descriptions(file, 1, yaml.safe_load((ROOT / file).read_text(encoding="utf-8")))


def texts() -> Iterator[Text]:
    """Yield all prose of the repository that is checked."""
    for file in tracked("*.md"):
        yield from of_page(file)
    for file in tracked("plugins/*.py", "spark_jobs/src/*.py"):
        yield from of_python(file)
    for file in tracked("roles/*/meta/argument_specs.yml", "plugins/filter/*.yml", "plugins/definitions/site.yml"):
        yield from of_specs(file)


def sentences(text: str) -> list[int]:
    """Return the number of words of each sentence."""
    parts = re.split(r"(?<=[.!?])\s+", text)
    return [len(part.split()) for part in parts if len(part.split()) > 1]


def findings(found: Sequence[Text]) -> Iterator[str]:
    """Yield a line for each thing that is to be rewritten."""
    for text in found:
        place = f"{text.file}:{text.line}"
        for match in PHRASE.finditer(text.words):
            if text.kind == "cell" and match[0] == text.words.strip():
                continue  # a cell that is this one word, as under "who acts"
            hint = HINTS[next(number for number, group in enumerate(match.groups()) if group)]
            yield f'{place}: [word] "{match[0]}" in a {text.kind}: {hint}'
        if text.kind == "paragraph" and text.lines > LINES:
            yield f"{place}: [paragraph] {text.lines} lines: at most {LINES}; make a list or two paragraphs"
        if text.kind == "cell" and len(text.words) > CELL and text.file not in GENERATED:
            yield f"{place}: [cell] {len(text.words)} characters: at most {CELL}; move text below the table"
    for file in dict.fromkeys(text.file for text in found if text.file.endswith(".md")):
        lengths = of_sentences(text for text in found if text.file == file)
        if lengths and mean(lengths) > MEAN_SENTENCE and file not in GENERATED:
            yield f"{file}:1: [sentence] {mean(lengths):.1f} words on average: at most {MEAN_SENTENCE}; split sentences"


def of_sentences(found: Iterator[Text]) -> list[int]:
    """Return the lengths of the sentences of paragraphs."""
    return [length for text in found if text.kind == "paragraph" for length in sentences(text.words)]


def figures(found: Sequence[Text]) -> str:
    """Return the size of the prose, its mean sentence, and how many findings there are."""
    pages = [text for text in found if text.file.endswith(".md") and text.file not in GENERATED]
    lines = list(findings(found))
    kinds = ", ".join(f"{sum(f'[{kind}]' in line for line in lines)} {kind}" for kind in RULES)
    words = sum(len(text.words.split()) for text in pages)
    return f"{words} words of prose, {mean(of_sentences(iter(pages))):.1f} words a sentence; findings: {kinds}"


def main(arguments: Sequence[str]) -> int:
    """Print what is to be rewritten, in all files or in those that are named."""
    names = [argument for argument in arguments if not argument.startswith("-")]
    found = [text for text in texts() if not names or any(text.file.startswith(name) for name in names)]
    if "--figures" in arguments:
        print(figures(found))
        return 0
    lines = list(findings(found))
    print(*lines, sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
