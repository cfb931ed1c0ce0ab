"""Creates TLS contexts for clients, with or without a client certificate."""

from __future__ import annotations

import ssl
from collections.abc import Mapping


class OwnFileError(OSError):
    """A TLS file of this client cannot be read, so the server was not asked."""


def trusting(ca: str | None) -> ssl.SSLContext:
    """Return a TLS context for a client that trusts the CAs in the PEM file `ca`; None: the CAs of this machine.

    Like librdkafka, the context accepts certificates that do not have every extension of RFC 5280. It trusts no
    intermediate CA without its root. Python's defaults do the opposite from 3.13 on. Raises OSError if the file cannot
    be read.
    """
    context = ssl.create_default_context(cafile=ca)
    context.verify_flags &= ~(ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN)
    return context


def tls_context(tls: Mapping[str, str]) -> ssl.SSLContext:
    """Return a TLS context for a client: `tls` has the PEM files `ca` and `certificate` (with the private key).

    The context verifies host names. Raises OwnFileError with the path of the file that cannot be read.
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
