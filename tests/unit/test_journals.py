"""Journals of several hosts in one order."""

from ansible_collections.millrace.kafka.plugins.filter.journals import journal_lines, merged_journals

KAFKA1 = [
    "2026-11-29T12:00:01.000000+0000 k1 kafka[1]: first",
    "    java.lang.IllegalStateException: orders-3",
    "        at Class.java",
    "2026-11-29T12:00:03.500000+0000 k1 kafka[1]: third",
]
KAFKA2 = [
    "        at the rest of an entry that is not there",
    "2026-11-29T12:00:02.000000+00:00 k2 systemd[1]: second",
]


def test_entries_in_order_of_time() -> None:
    """Each with its further lines, and the host's name in the inventory; what continues nothing is left out."""
    assert merged_journals({"dc1-kafka1": KAFKA1, "dc1-kafka2": KAFKA2, "dc1-kafka3": []}) == [
        "2026-11-29T12:00:01.000000Z dc1-kafka1 kafka[1]: first",
        "    java.lang.IllegalStateException: orders-3",
        "        at Class.java",
        "2026-11-29T12:00:02.000000Z dc1-kafka2 systemd[1]: second",
        "2026-11-29T12:00:03.500000Z dc1-kafka1 kafka[1]: third",
    ]


def test_entries_about_something() -> None:
    """All lines of an entry are searched."""
    assert merged_journals({"dc1-kafka1": KAFKA1, "dc1-kafka2": KAFKA2}, "orders-3") == [
        "2026-11-29T12:00:01.000000Z dc1-kafka1 kafka[1]: first",
        *KAFKA1[1:3],
    ]


def test_what_is_missing_is_said() -> None:
    """An entry may have many lines."""
    assert journal_lines({"a": KAFKA1, "b": KAFKA1[2:] + KAFKA2, "c": []}, 3) == [
        "a: 2 entries",
        "b: 2 entries",
        "c: no entries, or no answer",
    ]
    assert journal_lines({"a": KAFKA1}, 2) == ["a: the newest 2 entries; older ones are missing (-e most=20)"]
