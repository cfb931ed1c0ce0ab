"""Converts names of certificates to text and back; equal names have equal texts."""

from __future__ import annotations

from cryptography import x509
from cryptography.x509.oid import NameOID

# openssl's names of attributes without a name in RFC 4514, section 3.
WORDS = {NameOID.EMAIL_ADDRESS: "emailAddress", NameOID.SERIAL_NUMBER: "serialNumber"}


def text(name: x509.Name) -> str:
    """Return a name in the form of RFC 4514, `CN=kafka,OU=zkclients,O=lab`; equal names give equal text.

    Names are equal if their attributes and values are (RFC 5280, section 7.1): neither the type of a string nor the
    order within a part with several attributes (`CN=a+OU=b`) matters.
    """
    parts = [sorted(part, key=order) for part in name.rdns]
    return x509.Name([x509.RelativeDistinguishedName(part) for part in parts]).rfc4514_string(WORDS)


def name(written: str) -> x509.Name:
    """Return the name for a text of RFC 4514, with attributes by name or number. Raises ValueError."""
    return x509.Name.from_rfc4514_string(written, {word: number for number, word in WORDS.items()})


def order(attribute: x509.NameAttribute[str | bytes]) -> tuple[list[int], str]:
    """Return the sort key of the attributes of one part: their numbers."""
    return [int(part) for part in attribute.oid.dotted_string.split(".")], str(attribute.value)
