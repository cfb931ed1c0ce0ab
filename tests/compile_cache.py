"""Compiles each template once in a process of tests, by Jinja's public method.

Tests read thousands of inventories, and each of them has the same 280 templates of functions/*.yml: to compile them
takes more CPU than to compute them. The code of a template depends on its text and the syntax of its environment only.
The product does not do this: a run reads one inventory.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import jinja2

SYNTAX = (
    "block_start_string", "block_end_string", "variable_start_string", "variable_end_string", "comment_start_string",
    "comment_end_string", "line_statement_prefix", "line_comment_prefix", "trim_blocks", "lstrip_blocks",
    "newline_sequence", "keep_trailing_newline", "optimized", "autoescape", "is_async", "sandboxed",
)  # fmt: skip


def compile_once() -> None:
    """Make `jinja2.Environment.compile` keep the code of each template; a template with an error is compiled again."""
    plain: Any = jinja2.Environment.compile
    if hasattr(plain, "__wrapped__"):
        return
    known = dict[tuple[Any, ...], Any]()

    @wraps(plain)
    def kept(self: jinja2.Environment, source: Any, *more: Any, **named: Any) -> Any:
        if not isinstance(source, str):
            return plain(self, source, *more, **named)
        syntax = tuple(getattr(self, name, None) for name in SYNTAX)
        key = (type(self), str(source), more, tuple(sorted(named.items())), syntax)
        if key not in known:
            known[key] = plain(self, source, *more, **named)
        return known[key]

    jinja2.Environment.compile = kept  # type: ignore[method-assign]
