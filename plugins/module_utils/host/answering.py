"""Finds out whether a Kafka broker that was just started answers requests."""

from __future__ import annotations

import socket
import ssl
import struct

PATIENCE = 1.0  # seconds for each step of a connection
_API_VERSIONS = struct.pack(">hhih", 18, 0, 1, -1)  # version 0, without a client id
QUESTION = struct.pack(">i", len(_API_VERSIONS)) + _API_VERSIONS
"""A request that a broker answers on any listener, without a login."""


def answers(at: str, tls: bool) -> bool:
    """Tell whether a Kafka broker answers requests at `at` (host:port).

    A broker opens its port long before it answers, so an open port is not enough. With `tls`, any answer of the broker
    in the TLS handshake counts, also a rejection of this client's certificate. The broker's certificate is not
    verified, since no data is sent.
    """
    host, _, port = at.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            if tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                # Separate from the wrapping, which may silently skip the handshake if the peer has closed.
                with context.wrap_socket(connection, do_handshake_on_connect=False) as wrapped:
                    wrapped.do_handshake()
                    return True
            connection.sendall(QUESTION)
            return bool(connection.recv(1))
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):  # the peer closed; which error depends on Python's version
        return False
    except ssl.SSLError:
        return True
    except OSError:
        return False
