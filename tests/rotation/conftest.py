"""An operator, as in tests/operations."""

from operations.conftest import jobs_have_topics, operator

__all__ = ["jobs_have_topics", "operator"]
