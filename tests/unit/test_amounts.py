"""Parsing of rates and bytes: a unit that may mean bits is refused, in any spelling."""

from collections.abc import Callable, Iterable

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts

RATES = {
    "50MB": 50_000_000,
    "50 MiB/s": 50 << 20,
    "50MIB/S": 50 << 20,
    "64kB": 64_000,
    "64KiB/s": 64 << 10,
    "0.5GB": 500_000_000,
    "52428800": 50 << 20,
    "1000000B": 1_000_000,
    " unlimited ": None,
}
BYTES = {
    "20GB": 20 * 10**9,
    "500 MiB": 500 << 20,
    "20 TB": 20 * 10**12,
    "64kB": 64_000,
    "20000000000": 20 * 10**9,
}
BITS = ["Mb", " Mb", "mb", "Mb/s", "Mb/S", "mb/s", "Mib", "mib/s", "Kib/S", "kb", "gb", "b", "Mbit", "Mbit/s", "mbps"]
BITS_OF_BYTES = ["Gb", "gb", "Gib", "gib", "tb", " Tib", "mb", "kb", "b", "Gbit"]


def refusals(read: Callable[[str], object], texts: Iterable[str]) -> dict[str, str]:
    """Return why each text is refused, "taken" where it is not."""
    found = {}
    for text in texts:
        try:
            read(text)
            found[text] = "taken"
        except ValueError as error:
            found[text] = str(error)
    return found


def test_rates() -> None:
    assert {text: amounts.rate(text) for text in RATES} == RATES


def test_rates_that_may_be_bits() -> None:
    """50mb may mean bits or bytes, a factor of eight."""
    words = "b may mean bits; set bytes a second, for example 50MB"
    found = refusals(amounts.rate, [f"5000000{unit}" for unit in BITS])
    assert {text: said for text, said in found.items() if words not in said} == {}


def test_bytes() -> None:
    assert {text: amounts.bytes_of(text) for text in BYTES} == BYTES


def test_bytes_that_may_be_bits() -> None:
    found = refusals(amounts.bytes_of, [f"20{unit}" for unit in BITS_OF_BYTES])
    words = "b may mean bits; set bytes, for example 20GB"
    assert {text: said for text, said in found.items() if words not in said} == {}


def test_no_bytes() -> None:
    texts = ["", "many", "-1", "1e9", "20GB/s", "blob"]
    assert refusals(amounts.bytes_of, texts) == {text: f"{text}: set bytes, for example 20GB" for text in texts}
