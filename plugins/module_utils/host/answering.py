"""Whether a service that was started answers; no Ansible import."""

from __future__ import annotations

import socket
import ssl
import struct

PATIENCE = 1.0  # seconds for each step of a connection
_API_VERSIONS = struct.pack(">hhih", 18, 0, 1, -1)  # version 0, of nobody
QUESTION = struct.pack(">i", len(_API_VERSIONS)) + _API_VERSIONS
"""What a broker answers on any listener, before anybody logs in."""


def answers(at: str, tls: bool) -> bool:
    """Return whether a Kafka broker processes what comes to a listener; its port alone is open long before.

    `at` is host:port. With TLS, its part of a handshake is an answer, and so is a refusal of ours. Nobody is verified,
    for nothing is said.
    """
    host, _, port = at.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            if tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                # Apart from the wrapping, which may skip it for a peer that is gone, and says nothing then.
                with context.wrap_socket(connection, do_handshake_on_connect=False) as wrapped:
                    wrapped.do_handshake()
                    return True
            connection.sendall(QUESTION)
            return bool(connection.recv(1))
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):  # the peer closed; which of them, hangs on Python's version
        return False
    except ssl.SSLError:
        return True
    except OSError:
        return False
