"""Why nobody answered: the first rung that fails of DNS, TCP, TLS, SASL, advertised listener; no Ansible import."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswer  # which is TimeoutError from Python 3.11 on
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.answering import QUESTION
from ansible_collections.millrace.kafka.plugins.module_utils.host.network import connect
from ansible_collections.millrace.kafka.plugins.module_utils.tls.client import trusting

RUNG = 2.0
"""Seconds for one rung of one server; all servers are tried at once."""
REFUSES = 0.3
"""Seconds in which a server refuses the client's certificate after a handshake."""


def servers(properties: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return bootstrap.servers as addresses and ports."""
    found = []
    for place in str(properties.get("bootstrap.servers", "")).split(","):
        host, _, port = place.strip().rpartition("://")[2].rpartition(":")
        if port.isdigit():
            found.append((host.strip("[]"), int(port)))
    return found


def resolved(host: str) -> str:
    """Return '' where a name has an address, else what the resolver says."""
    try:
        socket.getaddrinfo(host, None)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def in_time(function: Any, *arguments: Any) -> str:
    """Return what a function says, or that it did not within RUNG seconds; its thread is left behind."""
    pool = ThreadPoolExecutor(1)
    try:
        return str(pool.submit(function, *arguments).result(RUNG))
    except NoAnswer:
        return f"no answer within {RUNG:.0f} s"
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def tls_context(properties: Mapping[str, Any]) -> ssl.SSLContext:
    """Return a context of librdkafka's properties. Raises OSError."""
    context = trusting(properties.get("ssl.ca.location") or None)
    if properties.get("ssl.certificate.location"):
        context.load_cert_chain(
            properties["ssl.certificate.location"],
            properties.get("ssl.key.location"),
            properties.get("ssl.key.password"),
        )
    if str(properties.get("ssl.endpoint.identification.algorithm", "https")) == "none":
        context.check_hostname = False
    if str(properties.get("enable.ssl.certificate.verification", "true")).lower() == "false":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def handshake(host: str, port: int, properties: Mapping[str, Any]) -> str:
    """Return '' where a TLS handshake succeeds, else why not."""
    try:
        context = tls_context(properties)
        with (
            socket.create_connection((host, port), timeout=RUNG) as plain,
            context.wrap_socket(plain, server_hostname=host) as connection,
        ):
            # With TLS 1.3 a server says after the handshake that it does not take the client's certificate; one that
            # does, answers.
            connection.settimeout(REFUSES)
            with contextlib.suppress(OSError):  # what it said before it hung up is still to be read
                connection.sendall(QUESTION)
            with contextlib.suppress(TimeoutError):
                connection.recv(1)
    except ssl.SSLCertVerificationError as error:
        return f"the server's certificate is refused: {error.verify_message}"
    except TimeoutError:
        return f"no answer to the handshake within {RUNG:.0f} s"
    except OSError as error:
        return error.strerror or str(error)
    return ""


def of_one(host: str, port: int, properties: Mapping[str, Any]) -> tuple[str, str]:
    """Return the rung of one server that fails, and what it says; two empty texts where it stands."""
    if text := in_time(resolved, host):
        return "DNS", f"{host}: {text}"
    answer = connect(host, port, RUNG)
    if answer != "open":
        return "TCP", f"{host}:{port}: {answer}"
    if str(properties.get("security.protocol", "")).upper().endswith("SSL"):
        text = handshake(host, port, properties)
        if text:
            return "TLS", f"{host}:{port}: {text}"
    return "", ""


def climb(properties: Mapping[str, Any], errors: Sequence[Any]) -> str:
    """Return which rung failed at which server, in one text.

    `errors` are what the library said meanwhile (KafkaError).
    """
    from confluent_kafka import KafkaError

    asked = servers(properties)
    for error in errors:
        if error.code() in (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED):
            return f"SASL: {error.str()}"
        if error.code() == KafkaError.LISTENER_NOT_FOUND:
            return f"advertised listener: {error.str()}"
    with ThreadPoolExecutor(max(1, len(asked))) as pool:
        found = list(pool.map(lambda one: of_one(one[0], one[1], properties), asked))
    stuck = [f"{rung}: {text}" for rung, text in found if rung]
    if asked and len(stuck) == len(asked):
        return "; ".join(stuck)
    words = list(dict.fromkeys(error.str() for error in errors)) or ["within 4 s"]
    standing = [f"{host}:{port}" for (host, port), (rung, _) in zip(asked, found, strict=True) if not rung]
    told = f"Kafka: {', '.join(standing) or 'nobody'} can be reached and gave no answer ({'; '.join(words)})"
    told += "; brokers that lost ZooKeeper's quorum may answer nobody (playbooks/check.yml)"
    return "; ".join([told, *stuck])
