"""Bytecode of this collection, kept as Python keeps all other: Ansible's finder compiles it at each start.

Uses of Ansible what it does not promise; tests/unit/test_bytecode.py says when that moves.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.machinery import SourceFileLoader
from types import CodeType

from ansible.utils.collection_loader import _collection_finder

COLLECTION = "ansible_collections.millrace.kafka"


def keep() -> None:
    """Have all that is imported of this collection from now on compiled once per version of its file.

    Where that cannot be written, or is broken (a disk was full), it is compiled each time, as before.
    """
    loader = _collection_finder._AnsibleCollectionPkgLoaderBase
    compiled = loader.get_code
    if compiled.__name__ == "kept":
        return

    def kept(self: _collection_finder._AnsibleCollectionPkgLoaderBase, fullname: str) -> CodeType | None:
        source = self._source_code_path
        if source and not self._compiled_code and fullname.startswith(f"{COLLECTION}."):
            with suppress(EOFError, ValueError, TypeError, ImportError):
                self._compiled_code = SourceFileLoader(fullname, source).get_code(fullname)
        code: CodeType | None = compiled(self, fullname)
        return code

    loader.get_code = kept
