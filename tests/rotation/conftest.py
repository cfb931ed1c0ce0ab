"""An operator, as in tests/operations."""

from operations.conftest import operator

__all__ = ["operator"]
