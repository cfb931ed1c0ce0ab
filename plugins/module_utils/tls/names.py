"""Names of certificates as text, one text for each name; no Ansible import."""

from __future__ import annotations

from cryptography import x509
from cryptography.x509.oid import NameOID

# Words of openssl for what RFC 4514, section 3, gives no word.
WORDS = {NameOID.EMAIL_ADDRESS: "emailAddress", NameOID.SERIAL_NUMBER: "serialNumber"}


def text(name: x509.Name) -> str:
    """Return a name as RFC 4514 writes it, `CN=kafka,OU=zkclients,O=lab`; equal names give equal text.

        Names are equal by their attributes and values (RFC 5280, section 7.1): neither the type of a string nor the
    order within a part of
        several attributes (`CN=a+OU=b`) matters.
    """
    parts = [sorted(part, key=order) for part in name.rdns]
    return x509.Name([x509.RelativeDistinguishedName(part) for part in parts]).rfc4514_string(WORDS)


def name(written: str) -> x509.Name:
    """Return the name that a text of RFC 4514 means; attributes by their words or numbers. Raises ValueError."""
    return x509.Name.from_rfc4514_string(written, {word: number for number, word in WORDS.items()})


def order(attribute: x509.NameAttribute[str | bytes]) -> tuple[list[int], str]:
    """Return what the attributes of one part are sorted by: their numbers."""
    return [int(part) for part in attribute.oid.dotted_string.split(".")], str(attribute.value)
