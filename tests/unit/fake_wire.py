"""Brokers on loopback that answer for a FakeCluster, in Kafka's own protocol, by kafka-python's classes."""

from __future__ import annotations

import io
import json
import re
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from kafka.protocol import admin as wire
from kafka.protocol import sasl
from kafka.protocol.api_header import RequestHeader
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse
from unit.fake_cluster import FakeCluster
from unit.fake_settings import Answer

Run = Callable[..., dict[str, Any]]
"""Runs a module with arguments; returns what it answers."""
HIGHEST = {"Metadata": 12, "ApiVersions": 3}
"""What brokers of 3.9 speak, where the library speaks more."""


def kinds() -> dict[int, tuple[str, Any, Any]]:
    """Return by API key the method of FakeCluster, and the classes of request and answer."""
    found = {
        MetadataRequest.API_KEY: ("metadata", MetadataRequest, MetadataResponse),
        sasl.SaslHandshakeRequest.API_KEY: ("sasl_handshake", sasl.SaslHandshakeRequest, sasl.SaslHandshakeResponse),
        sasl.SaslAuthenticateRequest.API_KEY: (
            "sasl_authenticate",
            sasl.SaslAuthenticateRequest,
            sasl.SaslAuthenticateResponse,
        ),
    }
    for name in dir(wire):
        method = re.sub("(?<!^)(?=[A-Z])", "_", name.removesuffix("Request")).lower()
        if name.endswith("Request") and hasattr(FakeCluster, method):
            request = getattr(wire, name)
            found[request.API_KEY] = (method, request, getattr(wire, name.replace("Request", "Response")))
    return found


KINDS = kinds()


def made(kind: Any, values: Answer, version: int) -> Any:
    """Return a message of nested dicts and lists."""
    found = {}
    for name, value in values.items():
        field = kind._struct.fields[name]
        if isinstance(value, list) and value and isinstance(value[0], dict):
            value = [made(field.data_class, item, version) for item in value]
        found[name] = value
    return kind(version=version, **found)


def versions() -> list[dict[str, int]]:
    """Return which messages are understood."""
    spoken = [(ApiVersionsRequest.API_KEY, 3)]
    spoken += [
        (key, min(request.max_version, HIGHEST.get(request.name[:-7], 99))) for key, (_, request, _) in KINDS.items()
    ]
    return [{"api_key": key, "min_version": 0, "max_version": most} for key, most in spoken]


def answered(cluster: FakeCluster, broker: int, frame: bytes) -> bytes:
    """Return the answer to one request, with its length."""
    key, version = struct.unpack(">hh", frame[:4])
    if key == ApiVersionsRequest.API_KEY:
        kind: Any = ApiVersionsResponse
        header, version = RequestHeader.decode(io.BytesIO(frame), flexible=False), min(version, 3)
        values: Answer = {"error_code": 0, "api_keys": versions()}
    else:
        method, request, kind = KINDS[key]
        flexible = request.flexible_version_q(version)
        stream = io.BytesIO(frame)
        header = RequestHeader.decode(stream, flexible=flexible)
        asked = request.decode(frame[stream.tell() :], version=version)
        if method in cluster.silent:
            cluster.withhold()
        if broker in cluster.down and method != "metadata":
            raise ConnectionError
        writes = not getattr(asked, "validate_only", False)
        if method in cluster.lost and writes:
            cluster.withhold()
        if method in cluster.last and writes:
            cluster.silent = {name for name, _, _ in KINDS.values()}
            cluster.withhold()
        values = getattr(cluster, method)(asked, broker)
        if method in cluster.late and writes:
            cluster.withhold()
    message = made(kind, values, version)
    message.with_header(header.correlation_id)
    found: bytes = message.encode(header=True, framed=True)
    return found


@contextmanager
def brokers(cluster: FakeCluster) -> Iterator[str]:
    """Serve until the end of the block; yield bootstrap.servers."""

    def handler(broker: int) -> Any:
        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while len(size := self.rfile.read(4)) == 4:
                    self.wfile.write(answered(cluster, broker, self.rfile.read(struct.unpack(">i", size)[0])))

        return Handler

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, block_on_close = True, False

    with ExitStack() as stack:
        for broker in cluster.racks:
            server = stack.enter_context(Server(("127.0.0.1", 0), handler(broker)))
            stack.callback(server.shutdown)
            cluster.ports[broker] = server.server_address[1]
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield ",".join(f"127.0.0.1:{port}" for port in cluster.ports.values())


class Said(dict[str, Any]):
    """What a module answered; where it lacks what a test looks at, the test says all of it."""

    def __missing__(self, name: str) -> Any:
        raise AssertionError(f"no {name} in {dict(self)}")


@contextmanager
def modules(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Serve until the end of the block; yield what runs a module on the cluster."""
    with brokers(cluster) as servers:

        def run(kind: Any, check_mode: bool = False, **arguments: Any) -> dict[str, Any]:
            capsys.readouterr()
            options = {"admin": {"bootstrap.servers": servers}, "_ansible_check_mode": check_mode, **arguments}
            with patch_module_args(options), pytest.raises(SystemExit):
                kind.main()
            return Said(json.loads(capsys.readouterr().out))

        yield run
