"""Converts the names in certificates to text and back, so that equal names always have equal texts."""

from __future__ import annotations

from cryptography import x509
from cryptography.x509.oid import NameOID

# openssl's names of attributes without a name in RFC 4514, section 3.
WORDS = {NameOID.EMAIL_ADDRESS: "emailAddress", NameOID.SERIAL_NUMBER: "serialNumber"}


def text(name: x509.Name) -> str:
    """Return a certificate's name as a text of RFC 4514, as `CN=kafka,O=lab`; equal names give equal texts.

    Names are equal if their attributes and values are (RFC 5280, section 7.1). The type of a string does not matter,
    nor the order of attributes within one part, as in `CN=a+OU=b`.
    """
    parts = [sorted(part, key=order) for part in name.rdns]
    return x509.Name([x509.RelativeDistinguishedName(part) for part in parts]).rfc4514_string(WORDS)


def name(written: str) -> x509.Name:
    """Parse a text of RFC 4514, with attributes as words or numbers. Raises ValueError if the text is no such name."""
    return x509.Name.from_rfc4514_string(written, {word: number for number, word in WORDS.items()})


def order(attribute: x509.NameAttribute[str | bytes]) -> tuple[list[int], str]:
    """Return the sort key of an attribute within one part of a name: (numbers of its OID, value)."""
    return [int(part) for part in attribute.oid.dotted_string.split(".")], str(attribute.value)
