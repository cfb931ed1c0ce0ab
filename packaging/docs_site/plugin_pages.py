"""Writes a page of Markdown for each module, filter and other plugin, from what ansible-doc prints as JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from antsibull_docs_parser.dom import PluginIdentifier
from antsibull_docs_parser.html import to_html_plain
from antsibull_docs_parser.parser import Context, parse

COLLECTION = "millrace.kafka"
KINDS = ("module", "filter", "lookup", "inventory", "callback")


def pages(root: Path) -> dict[str, str]:
    """Return {path of a page: its text} for all plugins of the collection in the checkout `root`.

    Raises CalledProcessError if ansible-doc fails: a plugin without documentation is an error.
    """
    command = [str(root / ".venv" / "bin" / "ansible-doc"), "--metadata-dump", COLLECTION]
    dump = json.loads(subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE).stdout)["all"]
    made: dict[str, str] = {}
    for kind in KINDS:
        for name, plugin in sorted(dump[kind].items()):
            made[f"plugins/{kind}/{name.removeprefix(COLLECTION + '.')}.md"] = page(kind, name, plugin)
    return made


def page(kind: str, name: str, plugin: Mapping[str, Any]) -> str:
    """Return the page of one plugin: description, options, example, returned values."""
    doc = plugin["doc"]
    words = Words(kind, name)
    parts = [
        f"# {name.removeprefix(COLLECTION + '.')}",
        f"`{name}`, {kind}: {words.sentence(doc['short_description'])}",
        *(words.html(text) for text in listed(doc.get("description"))),
    ]
    if requirements := doc.get("requirements"):
        parts.append("Requires " + "; ".join(words.html(each) for each in listed(requirements)) + ".")
    if options := [*words.rows(doc.get("options") or {}, "suboptions")]:
        parts += ["## Options", table(("Option", "Type", "Meaning"), options)]
    if attributes := doc.get("attributes"):
        rows = [(f"`{key}`", each["support"], words.cell(each)) for key, each in attributes.items()]
        parts += ["## Modes", table(("Mode", "Support", "Meaning"), rows)]
    if example := (plugin.get("examples") or "").strip():
        parts += ["## Example", f"```yaml\n{example}\n```"]
    if returned := [*words.rows(plugin.get("return") or {}, "contains")]:
        parts += ["## Returned values", table(("Key", "Type", "Meaning"), returned)]
    parts += [f"- {words.html(note)}" for note in listed(doc.get("notes"))]
    return "\n\n".join(parts) + "\n"


class Words:
    """Turns Ansible's markup in the documentation of one plugin into HTML."""

    def __init__(self, kind: str, name: str) -> None:
        """`kind` is one of KINDS, `name` the full name of the plugin."""
        self.plugin = PluginIdentifier(fqcn=name, type=kind)

    def html(self, text: str) -> str:
        """Return one paragraph; raises ValueError if its markup is wrong."""
        paragraphs = parse([text], Context(current_plugin=self.plugin), errors="exception")
        return str(to_html_plain(paragraphs, par_start="", par_end="", par_sep=" ", current_plugin=self.plugin))

    def sentence(self, text: str) -> str:
        """Return one paragraph that ends with a full stop."""
        return self.html(text).rstrip(".") + "."

    def cell(self, entry: Mapping[str, Any]) -> str:
        """Return the description of an option or value as the text of a table's cell."""
        text = "<br>".join(
            self.html(each) for each in [*listed(entry.get("description")), *listed(entry.get("details"))]
        )
        return text.replace("|", "&#124;").replace("\n", " ")

    def rows(self, entries: Mapping[str, Any], below: str, prefix: str = "") -> Iterator[tuple[str, str, str]]:
        """Yield (name, type, meaning) of options or returned values, and of those below them."""
        for key, entry in entries.items():
            name = f"{prefix}{key}"
            kind = str(entry.get("type", "any"))
            if elements := entry.get("elements"):
                kind += f" of {elements}"
            if entry.get("required"):
                kind += ", required"
            elif (default := entry.get("default")) not in (None, [], {}, ""):
                kind += f", default {code(default)}"
            if choices := entry.get("choices"):
                kind += "; one of " + ", ".join(code(each) for each in choices)
            yield f"`{name}`", kind, self.cell(entry)
            yield from self.rows(entry.get(below) or {}, below, f"{name}.")


def code(value: object) -> str:
    """Return a value as code in a table's cell."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"<code>{text.replace('&', '&amp;').replace('<', '&lt;').replace('|', '&#124;')}</code>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def listed(value: Any) -> list[str]:
    """Return a value that may be missing, one text or several, as a list."""
    return [] if value is None else [value] if isinstance(value, str) else [str(each) for each in value]
