"""How a client that shows a certificate connects; no Ansible import."""

from __future__ import annotations

import ssl
from collections.abc import Mapping


class OwnFileError(OSError):
    """A file of the client itself, which says nothing of whom it would have asked."""


def trusting(ca: str | None) -> ssl.SSLContext:
    """Return the context of a client that trusts `ca`, a PEM file; without one, whom this machine trusts.

    It takes what librdkafka takes, whatever the Python: from 3.13 on that would refuse certificates without all that
    RFC 5280 asks for, as the identifiers of keys that many outside CAs leave out, and trust an intermediate CA without
    its root. Raises OSError.
    """
    context = ssl.create_default_context(cafile=ca)
    context.verify_flags &= ~(ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN)
    return context


def tls_context(tls: Mapping[str, str]) -> ssl.SSLContext:
    """Return the context of a client that shows `certificate` (a PEM file with its key) and trusts `ca`.

    Names are compared. Raises OwnFileError, which names the file.
    """
    path = tls["ca"]
    try:
        context = trusting(path)
        path = tls["certificate"]
        context.load_cert_chain(path)
    except OSError as error:
        words = f"cannot be read here ({error.strerror or error}), so nobody was asked"
        raise OwnFileError(f"{path}: {words}; correct admin_tls, or put the file on this host") from error
    return context
