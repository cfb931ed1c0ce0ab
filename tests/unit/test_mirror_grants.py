"""What a mirror of two clusters is granted on each of them."""

from typing import Any

from unit.test_resource_filters import acls


def workers(other: str) -> list[tuple[Any, ...]]:
    """Return what the workers of a mirror need on a cluster, by the alias of the other."""
    return [
        ("group", f"{other}-mm2", "literal", ["READ"]),
        ("transactional_id", f"connect-cluster-{other}-mm2", "literal", ["WRITE", "DESCRIBE"]),
        ("transactional_id", f"{other}-mm2-", "prefixed", ["WRITE", "DESCRIBE"]),
    ]


def test_both_sides_of_a_mirror() -> None:
    own = [
        ("topic", name, pattern, ["CREATE", "READ", "WRITE", "DESCRIBE_CONFIGS"])
        for name, pattern in (("mm2-", "prefixed"), ("heartbeats", "literal"))
    ]
    assert acls({"mirror_maker": "source", "topics": ["orders"], "groups": ["a*"]}) == [
        ("topic", "mm2-", "prefixed", ["DESCRIBE"]),
        ("topic", "orders", "literal", ["READ", "DESCRIBE_CONFIGS"]),
        ("group", "a", "prefixed", ["DESCRIBE"]),
        ("cluster", "", "", ["DESCRIBE"]),
    ]
    operations = ["CREATE", "READ", "WRITE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"]
    assert acls({"mirror_maker": "target", "source": "west"}) == [
        *own,
        ("topic", "west.", "prefixed", operations),
        ("group", "*", "literal", ["READ", "DESCRIBE"]),
        *workers("west"),
        ("cluster", "", "", ["DESCRIBE"]),
    ]
    assert acls({"mirror_maker": "source", "source": "east", "topics": ["orders"], "groups": ["a*"]}) == [
        *own,
        ("topic", "orders", "literal", ["READ", "DESCRIBE_CONFIGS"]),
        ("group", "a", "prefixed", ["DESCRIBE"]),
        *workers("east"),
        ("cluster", "", "", ["DESCRIBE"]),
    ]
