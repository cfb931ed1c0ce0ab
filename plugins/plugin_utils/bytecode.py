"""Makes Python store the bytecode of this collection's files; Ansible's importer compiles them at each start.

Uses private API of Ansible; tests/unit/test_bytecode.py fails if Ansible changes that API.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.machinery import SourceFileLoader
from types import CodeType

from ansible.utils.collection_loader import _collection_finder

COLLECTION = "ansible_collections.millrace.kafka"


def keep_bytecode() -> None:
    """Make Python store and reuse the bytecode of all files of this collection that it imports after this call.

    If bytecode cannot be stored or is damaged, for example because the disk was full, Python compiles the file at each
    start.
    """
    loader = _collection_finder._AnsibleCollectionPkgLoaderBase
    original = loader.get_code
    if original.__name__ == "get_code_once":
        return

    def get_code_once(self: _collection_finder._AnsibleCollectionPkgLoaderBase, fullname: str) -> CodeType | None:
        source = self._source_code_path
        if source and not self._compiled_code and fullname.startswith(f"{COLLECTION}."):
            with suppress(EOFError, ValueError, TypeError, ImportError):
                self._compiled_code = SourceFileLoader(fullname, source).get_code(fullname)
        code: CodeType | None = original(self, fullname)
        return code

    loader.get_code = get_code_once
