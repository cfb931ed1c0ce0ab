"""Client quotas of a cluster, through kafka-python, which alone of the two libraries can; no Ansible import."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import ladder
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, WRITE, AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.quotas import Entity, Values

Answer = TypeVar("Answer")
KINDS = {"user": "user", "client_id": "client-id"}
"""Ours and Kafka's words for what an entity is made of."""
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
    from kafka.errors import KafkaError

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
    raise AdminError(str(failed[0]) if failed else f"no answer within {seconds:.0f} s")


class Quotas:
    """One cluster, through one listener, as a super user."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        """`properties` are librdkafka's; only servers that answer a handshake are asked.

        Raises AdminError, ImportError.
        """
        from kafka.admin import KafkaAdminClient

        self.properties = dict(properties)
        options = {ours: self.properties[theirs] for theirs, ours in NAMES.items() if theirs in self.properties}
        stuck: list[str] = []
        there = []
        for host, port in ladder.servers(self.properties):
            rung, words = ladder.of_one(host, port, self.properties)
            if rung:
                stuck.append(f"{rung}: {words}")
            else:
                there.append(f"{host}:{port}")
                break
        if not there:
            raise AdminError("; ".join(stuck) or "bootstrap.servers names nobody")
        if str(options.get("security_protocol", "")).endswith("SSL"):
            options["ssl_context"] = ladder.tls_context(self.properties)
        bounds = {"request_timeout_ms": int(ASK * 1000), "bootstrap_timeout_ms": int(ASK * 1000)}
        self.client: Any = bounded(ASK, lambda: KafkaAdminClient(bootstrap_servers=there, **bounds, **options))

    def found(self) -> dict[Entity, Values]:
        """Return the quotas of every entity of users and client ids. Raises AdminError."""
        from kafka.protocol.admin import DescribeClientQuotasRequest

        said = self.ask(DescribeClientQuotasRequest(components=[], strict=False), ASK)
        if said.error_code:
            raise AdminError(words(said))
        found: dict[Entity, Values] = {}
        for entry in said.entries or []:
            names = {part.entity_type: part.entity_name or "" for part in entry.entity}
            if names.keys() <= set(KINDS.values()):
                found[Entity(names.get("user"), names.get("client-id"))] = {v.key: v.value for v in entry.values}
        return found

    def write(
        self, wanted: Sequence[tuple[Entity, Mapping[str, float | None]]], validate_only: bool = False
    ) -> dict[str, str]:
        """Set quotas, and take away those that are None; return why some failed, by the entity in words."""
        from kafka.protocol.admin import AlterClientQuotasRequest as Request

        if not wanted:
            return {}
        entries = [
            Request.EntryData(
                entity=[
                    Request.EntryData.EntityData(entity_type=KINDS[kind], entity_name=name or None)
                    for kind, name in who._asdict().items()
                    if name is not None
                ],
                ops=[
                    Request.EntryData.OpData(key=key, value=value or 0.0, remove=value is None)
                    for key, value in sorted(values.items())
                ],
            )
            for who, values in wanted
        ]
        said = self.ask(Request(entries=entries, validate_only=validate_only), WRITE)
        # The broker answers entry by entry, in its own order; the library looks at none of their codes.
        failed = {}
        for entry in said.entries:
            if entry.error_code:
                names = {part.entity_type: part.entity_name or "" for part in entry.entity}
                failed[str(Entity(names.get("user"), names.get("client-id")))] = words(entry)
        return failed

    def ask(self, request: Any, seconds: float) -> Any:
        """Send one request to a broker, and return its answer. Raises AdminError."""
        return bounded(seconds, lambda: self.client._manager.run(self.client._manager.send, request))

    def close(self) -> None:
        """End the connections."""
        bounded(ASK, self.client.close)


def words(entry: Any) -> str:
    """Return an error of the broker in its words."""
    from kafka.errors import for_code

    return f"{entry.error_message or ''} ({for_code(entry.error_code).__name__})".strip()
