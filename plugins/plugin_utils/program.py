"""Packs a program of the collection into one file that a host runs by itself, with the module_utils that it imports."""

from __future__ import annotations

import ast
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "module_utils"
PACKAGE = "ansible_collections.millrace.kafka.plugins.module_utils"
MAIN = '''\
"""Made by millrace.kafka, of its plugins/module_utils."""

import sys

from {module} import main

sys.exit(main(sys.argv[1:]))
'''
EPOCH = (1980, 1, 1, 0, 0, 0)


@cache
def program(name: str) -> bytes:
    """Return a zip file that Python runs: it calls `main` of a module below module_utils, such as kafka.reassign.timer.

    The same sources make the same bytes on any machine. Raises ValueError if the program would need Ansible.
    """
    module = f"{PACKAGE}.{name}"
    packages = PACKAGE.split(".")
    texts = {f"{'/'.join(packages[:depth])}/__init__.py": "" for depth in range(1, len(packages) + 1)}
    texts |= {"__main__.py": MAIN.format(module=module), **_sources(module)}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:  # zlib's output is not the same everywhere
        for path, text in sorted(texts.items()):
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, text)
    return made.getvalue()


def _sources(module: str) -> dict[str, str]:
    """Return the texts of a module and of everything that it imports of the collection, by path in the archive."""
    found: dict[str, str] = {}
    left, seen = [module], set[str]()
    while left:
        name = left.pop()
        if name in seen or not name.startswith(f"{PACKAGE}."):
            continue
        seen.add(name)
        left.append(name.rpartition(".")[0])
        path = Path(*name.removeprefix(f"{PACKAGE}.").split("."))
        file = next((one for one in (path.with_suffix(".py"), path / "__init__.py") if (FOLDER / one).is_file()), None)
        if file is None:  # a name that a module has
            continue
        text = found[f"{PACKAGE.replace('.', '/')}/{file.as_posix()}"] = (FOLDER / file).read_text(encoding="utf-8")
        for imported in _imports(ast.parse(text)):
            if imported.split(".")[0] == "ansible":
                raise ValueError(f"module_utils/{file}: imports {imported}, which a host without Ansible does not have")
            left.append(imported)
    return found


def _imports(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a module imports, those inside functions included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
