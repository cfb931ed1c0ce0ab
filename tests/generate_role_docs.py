#!/usr/bin/env python3
"""Write the tables of inputs in roles/*/README.md from meta/argument_specs.yml; --check only reports differences."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pages import between

ROLES = Path(__file__).resolve().parents[1] / "roles"
BEGIN, END = (
    "<!-- inputs: begin, from meta/argument_specs.yml by tests/generate_role_docs.py -->",
    "<!-- inputs: end -->",
)
HEADLINE = ("Name", "Type", "Required", "Default", "Description")


def rows(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, ...]]:
    """Yield one row for each option. The options of a list's elements follow it as `option[].key`."""
    for name, option in options.items():
        kind = f"{option['type']} of {option['elements']}" if "elements" in option else option["type"]
        description = option["description"]
        if "choices" in option:
            description += f" One of: {', '.join(f'`{choice}`' for choice in option['choices'])}."
        yield (
            f"`{prefix}{name}`",
            kind,
            "yes" if option.get("required") else "",
            default(option),
            escaped(description),
        )
        if "options" in option:
            yield from rows(option["options"], f"{prefix}{name}{'[]' if option['type'] == 'list' else ''}.")


def escaped(text: str) -> str:
    """Return a text for a cell of a Markdown table; inside of backticks, `<` stays as it is."""
    parts = text.replace("|", r"\|").split("`")
    return "`".join(part if number % 2 else part.replace("<", "&lt;") for number, part in enumerate(parts))


def default(option: Mapping[str, Any]) -> str:
    """Return a default in YAML, '' if there is none."""
    if "default" not in option:
        return ""
    value = option["default"]
    if isinstance(value, str):
        return f"`{value}`" if value else '`""`'
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000)
    return f"`{text.strip().removesuffix('...').strip()}`"


def table(specs: Mapping[str, Any]) -> str:
    """Return the table of a role's main entry point, as Markdown."""
    options = specs["argument_specs"]["main"]["options"]
    lines = [HEADLINE, ("---",) * len(HEADLINE), *rows(options)]
    return "\n".join("|" + "".join(f" {cell} |" if cell else " |" for cell in cells) for cells in lines)


def generate(role: Path) -> str:
    """Return the README of a role with its current table. Raises ValueError if the README has no markers for it."""
    text = (role / "README.md").read_text(encoding="utf-8")
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    return between(role / "README.md", text, BEGIN, END, f"\n\n{table(specs)}\n\n")


def main() -> int:
    """Return 1 if --check finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a table differs")
    check, differs = parser.parse_args().check, False
    for role in sorted(path.parents[1] for path in ROLES.glob("*/meta/argument_specs.yml")):
        readme, text = role / "README.md", generate(role)
        if readme.read_text(encoding="utf-8") == text:
            continue
        differs = True
        print(
            f"{readme.relative_to(ROLES.parent)}: "
            f"{'differs; run python tests/generate_role_docs.py' if check else 'written'}"
        )
        if not check:
            readme.write_text(text, encoding="utf-8")
    return int(check and differs)


if __name__ == "__main__":
    sys.exit(main())
