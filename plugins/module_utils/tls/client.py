"""Creates TLS contexts of clients, with or without a certificate."""

from __future__ import annotations

import ssl
from collections.abc import Mapping


class OwnFileError(OSError):
    """A file of the client itself cannot be read; the server was not asked."""


def trusting(ca: str | None) -> ssl.SSLContext:
    """Return the context of a client that trusts `ca`, a PEM file; without it, the CAs of this machine.

    It accepts the same certificates as librdkafka, with any Python. From 3.13 on, Python would reject certificates
    without everything that RFC 5280 requires, as key identifiers, which many outside CAs omit, and trust an
    intermediate CA without its root. Raises OSError.
    """
    context = ssl.create_default_context(cafile=ca)
    context.verify_flags &= ~(ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN)
    return context


def tls_context(tls: Mapping[str, str]) -> ssl.SSLContext:
    """Return the context of a client with `certificate` (a PEM file with its key) that trusts `ca`.

    Names in certificates are compared. Raises OwnFileError, which names the file.
    """
    path = tls["ca"]
    try:
        context = trusting(path)
        path = tls["certificate"]
        context.load_cert_chain(path)
    except OSError as error:
        why = f"cannot be read here ({error.strerror or error}), so no server was asked"
        raise OwnFileError(f"{path}: {why}; correct admin_tls, or put the file on this host") from error
    return context
