"""Imports PySpark at its first use, so that a control node without PySpark can read the declarations of jobs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any


class _Later:
    """A placeholder for a module. The module is imported when one of its attributes is read for the first time."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


if TYPE_CHECKING:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T
else:
    F = _Later("pyspark.sql.functions")
    T = _Later("pyspark.sql.types")

__all__ = ["F", "T"]
