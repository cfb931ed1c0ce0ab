"""A marked part of a file, between lines of others."""

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.host.files import block


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "# BEGIN m\nnew\n# END m\n"),
        ("one\n", "one\n# BEGIN m\nnew\n# END m\n"),
        ("no end of line", "no end of line\n# BEGIN m\nnew\n# END m\n"),
        ("one\n# BEGIN m\nold\nolder\n# END m\ntwo\n", "one\n# BEGIN m\nnew\n# END m\ntwo\n"),
        ("one\n# BEGIN m\nold\n# END m", "one\n# BEGIN m\nnew\n# END m\n"),
        ("# BEGIN other\nx\n# END other\n", "# BEGIN other\nx\n# END other\n# BEGIN m\nnew\n# END m\n"),
        ("# BEGIN m\n# END m\n", "# BEGIN m\nnew\n# END m\n"),
    ],
)
def test_block(before: str, after: str) -> None:
    """The marked part is put in, replaced in its place, and stays the same when it is put in again."""
    assert block(before, "m", "new\n\n") == after
    assert block(after, "m", "new") == after
