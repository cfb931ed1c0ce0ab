"""Hooks of MkDocs: the pages of the site are the tracked pages of the repository, and a page for each plugin."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from docs_site.dialect import for_mkdocs
from docs_site.plugin_pages import pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*?\bsrc=["']?(?:https?:)?//[^"'>\s]+"""
    r"""|<link\b(?![^>]*\brel=["']?canonical)[^>]*?\bhref=["']?(?:https?:)?//[^"'>\s]+"""
)


def tracked() -> list[str]:
    """Return the tracked files of the repository."""
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the tracked pages and drawings, and the pages of plugins; replace the stars of `nav`."""
    for name in tracked():
        if name.endswith(".md") or fnmatchcase(name, "docs/*.svg"):
            files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for name, text in pages(ROOT).items():
        files.append(File.generated(config, name, content=text))
    names = sorted(file.src_uri for file in files.documentation_pages())
    config.nav = filled(config.nav or [], names)
    return files


def filled(nav: list[Any], names: Iterable[str]) -> list[Any]:
    """Return `nav` with each star replaced by the pages that it matches and that no other entry names.

    A star that is more specific takes a page first; `*` alone matches only the top folder.
    """
    stars = sorted((each for each in flat(nav) if "*" in each), key=len, reverse=True)
    left = [name for name in names if name not in {*flat(nav)}]
    taken: dict[str, list[str]] = {}
    for star in stars:
        taken[star] = [name for name in left if fnmatchcase(name, star) and (star != "*" or "/" not in name)]
        left = [name for name in left if name not in taken[star]]
    return replaced(nav, taken)


def replaced(nav: list[Any], taken: dict[str, list[str]]) -> list[Any]:
    """Return `nav` with the entries of `taken`, {star: pages}, in place of each star."""
    done: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            done.append(
                {title: replaced(below, taken) if isinstance(below, list) else below for title, below in entry.items()}
            )
        else:
            done += taken.get(entry, [entry])
    return done


def flat(nav: list[Any]) -> list[str]:
    """Return all paths and stars of `nav`."""
    return [
        name
        for entry in nav
        for below in (entry.values() if isinstance(entry, dict) else [entry])
        for name in (flat(below) if isinstance(below, list) else [below])
    ]


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page for Python-Markdown. A link to a file that is no page, as to a playbook, becomes its text."""

    def text_of(link: re.Match[str]) -> str:
        target = normpath(join(dirname(page.file.src_uri), link[2]))
        is_page = files.get_file_from_path(target) is not None or "://" in link[2]
        return link[0] if is_page or not (ROOT / target).exists() else link[1]

    return for_mkdocs(LINK.sub(text_of, markdown))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Fail if a browser would load something from elsewhere for this page."""
    if loaded := LOADED.findall(output):
        raise PluginError(f"{page.file.src_uri}: a browser would load this from elsewhere: {loaded[0]}")
    return output
