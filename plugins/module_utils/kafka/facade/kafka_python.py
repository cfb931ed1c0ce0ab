"""The second library, kafka-python, for what confluent-kafka cannot ask: connected here alone; no Ansible import."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import ladder
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    ASK,
    Admin,
    AdminError,
    Unanswered,
    refused,
)

Answer = TypeVar("Answer")
NAMES = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
}


def bounded(seconds: float, function: Callable[[], Answer]) -> Answer:
    """Return what a function returns, or raise AdminError after `seconds`; then its thread is left behind.

    The library waits without end for a peer that accepts a connection and says nothing.
    """
    from kafka.errors import KafkaError, KafkaTimeoutError, RequestTimedOutError

    found: list[Answer] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(function())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if found:
        return found[0]
    if failed and not isinstance(failed[0], KafkaError | OSError):
        raise failed[0]
    if failed and not isinstance(failed[0], KafkaTimeoutError | RequestTimedOutError | TimeoutError):
        raise refused(str(failed[0]) or type(failed[0]).__name__)
    raise Unanswered(str(failed[0]) if failed else f"no answer within {seconds:.0f} s")


class KafkaPython:
    """One cluster, through one listener, as a super user."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        """`properties` are librdkafka's; only servers that answer a handshake are asked.

        Raises AdminError, ImportError.
        """
        from kafka.admin import KafkaAdminClient

        options = {ours: properties[theirs] for theirs, ours in NAMES.items() if theirs in properties}
        stuck: list[str] = []
        there = []
        for host, port in ladder.servers(properties):
            rung, text = ladder.of_one(host, port, properties)
            if rung:
                stuck.append(f"{rung}: {text}")
            else:
                there.append(f"{host}:{port}")
                break
        if not there:
            raise AdminError("; ".join(stuck) or "bootstrap.servers names nobody")
        if str(options.get("security_protocol", "")).endswith("SSL"):
            options["ssl_context"] = ladder.tls_context(properties)
        bounds = {"request_timeout_ms": int(ASK * 1000), "bootstrap_timeout_ms": int(ASK * 1000)}
        self.client: Any = bounded(ASK, lambda: KafkaAdminClient(bootstrap_servers=there, **bounds, **options))

    def ask(self, request: Any, seconds: float, broker: int | None = None) -> Any:
        """Send one request to a broker, any where none is named, and return its answer. Raises AdminError."""
        manager = self.client._manager
        return bounded(seconds, lambda: manager.run(manager.send, request, broker))

    def close(self) -> None:
        """End the connections."""
        bounded(ASK, self.client.close)


def of(admin: Admin) -> KafkaPython:
    """Return the library's client of a cluster; it is made once, and ends with `admin`. Raises AdminError."""
    if admin.other is None:
        admin.other = KafkaPython(admin.properties)
    found: KafkaPython = admin.other
    return found


def words(entry: Any) -> str:
    """Return an error of the broker in its words."""
    from kafka.errors import for_code

    return f"{entry.error_message or ''} ({for_code(entry.error_code).__name__})".strip()
