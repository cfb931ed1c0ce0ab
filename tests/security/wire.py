"""What a port says to whom: in the clear, to openssl, to a client of Kafka."""

import logging
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

# What a server that speaks in the clear would answer: ApiVersions v0 of Kafka, a four-letter word of ZooKeeper.
KAFKA_REQUEST = struct.pack(">ihhih", 10, 18, 0, 1, -1)
ZOOKEEPER_REQUEST = b"srvr\n\n\n\n"  # longer than the head of a TLS record, for which the server would wait
TLS_ALERT = b"\x15\x03"
QUIET = {
    "log_level": 0,
    "socket.connection.setup.timeout.ms": 3000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 200,
}


def in_the_clear(address: str, port: int, request: bytes) -> str:
    """Send a request without TLS; return "alert" or "closed" where TLS is asked for, else what was answered."""
    answer = b""
    try:
        with socket.create_connection((address, port), timeout=3) as connection:
            connection.sendall(request)
            while chunk := connection.recv(4096):
                answer += chunk
    except ConnectionResetError:
        pass
    except TimeoutError:
        return f"open, and {answer!r}"
    if not answer:
        return "closed"
    return "alert" if answer.startswith(TLS_ALERT) and len(answer) == 7 else repr(answer)


def openssl(address: str, port: int, *options: str) -> str:
    """Return what `openssl s_client` says of a handshake."""
    command = ["openssl", "s_client", "-connect", f"{address}:{port}", "-verify_return_error", *options]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=10)
    return done.stdout + done.stderr


class Lines(logging.Handler):
    """Keeps what librdkafka logs."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        super().__init__()
        self.lines: list[str] = []
        self.logger = logging.Logger("librdkafka")
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self.lines.append(record.getMessage())


def kafka_says(properties: Mapping[str, str], fragments: Sequence[str], seconds: float = 10) -> str:
    """Ask for the topics until they come, all fragments were said, if there are any, or `seconds` are over.

    Return what was said, "connected" where nothing was wrong.
    """
    errors: list[KafkaError] = []
    log = Lines()
    client = Producer({**QUIET, **properties, "log_level": 6, "error_cb": errors.append}, logger=log.logger)
    deadline = time.monotonic() + seconds
    while True:
        try:
            client.list_topics(timeout=0.3)
            return "connected"
        except KafkaException:
            client.poll(0)
        said = "\n".join([*(f"{error.name()}: {error.str()}" for error in errors), *log.lines])
        if (fragments and all(fragment in said for fragment in fragments)) or time.monotonic() > deadline:
            return said


def produced(properties: Mapping[str, Any], topic: str, **settings: str) -> str:
    """Send one record; return the error's name, "" where it was acknowledged, "no answer" where nothing was said."""
    errors: list[str] = []
    producer = Producer({**QUIET, **properties, "message.timeout.ms": 8000, **settings})
    try:
        producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error.name() if error else ""))
    except KafkaException as error:  # brokers' word on the topic may be there before the record is
        return str(error.args[0].name())
    producer.flush(10)
    return errors[0] if errors else "no answer"


@contextmanager
def alias(address: str, port: int) -> Iterator[int]:
    """Serve a port of 127.0.0.1 that leads to another place: the same server, by an address not in its certificate."""

    def pass_on(source: socket.socket, target: socket.socket) -> None:
        try:
            while chunk := source.recv(65536):
                target.sendall(chunk)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection((address, port), timeout=10)
            for pair in ((client, server), (server, client)):
                threading.Thread(target=pass_on, args=pair, daemon=True).start()

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
