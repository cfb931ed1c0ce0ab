"""Finds the first step at which a connection fails: DNS, TCP, TLS, SASL, advertised listener."""

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
"""Maximum seconds of one step of the connection to one server; all servers are tried in parallel."""
REFUSES = 0.3
"""Seconds after a handshake within which a server that does not accept the client's certificate rejects it."""


def servers(properties: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the property bootstrap.servers as (host, port) pairs."""
    places = []
    for place in str(properties.get("bootstrap.servers", "")).split(","):
        host, _, port = place.strip().rpartition("://")[2].rpartition(":")
        if port.isdigit():
            places.append((host.strip("[]"), int(port)))
    return places


def resolved(host: str) -> str:
    """Return '' if a host's name resolves to an address, else the resolver's error."""
    try:
        socket.getaddrinfo(host, None)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def in_time(function: Any, *arguments: Any) -> str:
    """Return the result of `function(*arguments)`; return `no answer within 2 s` if it takes longer than RUNG seconds.

    In that case, the thread of the function is abandoned.
    """
    pool = ThreadPoolExecutor(1)
    try:
        return str(pool.submit(function, *arguments).result(RUNG))
    except NoAnswer:
        return f"no answer within {RUNG:.0f} s"
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def tls_context(properties: Mapping[str, Any]) -> ssl.SSLContext:
    """Return the TLS context that librdkafka's properties describe. Raises OSError if a file cannot be read or used."""
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
    """Return '' if a TLS handshake succeeds and the server accepts the client's certificate, else why it fails.

    `properties` are librdkafka's.
    """
    try:
        context = tls_context(properties)
        with (
            socket.create_connection((host, port), timeout=RUNG) as plain,
            context.wrap_socket(plain, server_hostname=host) as connection,
        ):
            # With TLS 1.3 a server rejects the client's certificate only after the handshake; if it accepts the
            # certificate, it answers the request.
            connection.settimeout(REFUSES)
            with contextlib.suppress(OSError):  # its alert can still be read after it has closed the connection
                connection.sendall(QUESTION)
            with contextlib.suppress(TimeoutError):
                connection.recv(1)
    except ssl.SSLCertVerificationError as error:
        return f"the server's certificate is rejected: {error.verify_message}"
    except TimeoutError:
        return f"no answer to the handshake within {RUNG:.0f} s"
    except OSError as error:
        return error.strerror or str(error)
    return ""


def of_one(host: str, port: int, properties: Mapping[str, Any]) -> tuple[str, str]:
    """Return (step, error) of the first step that fails at a server: DNS, TCP or TLS; ('', '') if no step fails.

    `properties` are librdkafka's.
    """
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
    """Return one text about why no server could be used: the step of the connection that failed, for each server.

    `properties` are librdkafka's. `errors` (KafkaError) are the errors that the library reported before. Only `errors`
    show a failed login, or an advertised listener that cannot be reached.
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
    failures = [f"{step}: {text}" for step, text in found if step]
    if asked and len(failures) == len(asked):
        return "; ".join(failures)
    texts = list(dict.fromkeys(error.str() for error in errors)) or ["within 4 s"]
    reachable = [f"{host}:{port}" for (host, port), (step, _) in zip(asked, found, strict=True) if not step]
    text = f"Kafka: {', '.join(reachable) or 'no server'} can be reached but did not answer ({'; '.join(texts)})"
    text += "; brokers without a ZooKeeper quorum may not answer (playbooks/check.yml)"
    return "; ".join([text, *failures])
