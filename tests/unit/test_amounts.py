"""Rates and bytes as people write them: what may mean bits is refused, however it is written."""

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50MB", 50_000_000),
        ("50 MiB/s", 50 << 20),
        ("50MIB/S", 50 << 20),
        ("64kB", 64_000),
        ("64KiB/s", 64 << 10),
        ("0.5GB", 500_000_000),
        ("52428800", 50 << 20),
        ("1000000B", 1_000_000),
        (" unlimited ", None),
    ],
)
def test_rates(text: str, expected: int | None) -> None:
    assert amounts.rate(text) == expected


@pytest.mark.parametrize(
    "unit",
    ["Mb", " Mb", "mb", "Mb/s", "Mb/S", "mb/s", "Mib", "mib/s", "Kib/S", "kb", "gb", "b", "Mbit", "Mbit/s", "mbps"],
)
def test_a_rate_that_may_be_bits(unit: str) -> None:
    """Who writes 50mb may mean either, an eighth or eight times as much."""
    with pytest.raises(ValueError, match="b is read as bits by some; say bytes a second, as 50MB"):
        amounts.rate(f"5000000{unit}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20GB", 20 * 10**9),
        ("500 MiB", 500 << 20),
        ("20 TB", 20 * 10**12),
        ("64kB", 64_000),
        ("20000000000", 20 * 10**9),
    ],
)
def test_bytes(text: str, expected: int) -> None:
    assert amounts.bytes_of(text) == expected


@pytest.mark.parametrize("unit", ["Gb", "gb", "Gib", "gib", "tb", " Tib", "mb", "kb", "b", "Gbit"])
def test_bytes_that_may_be_bits(unit: str) -> None:
    with pytest.raises(ValueError, match="b is read as bits by some; say bytes, as 20GB"):
        amounts.bytes_of(f"20{unit}")


@pytest.mark.parametrize("text", ["", "many", "-1", "1e9", "20GB/s", "blob"])
def test_no_bytes(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}: say bytes, as 20GB$"):
        amounts.bytes_of(text)
