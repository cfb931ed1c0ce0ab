"""The second library, kafka-python, for what confluent-kafka cannot ask: connected here alone; no Ansible import."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Unsure
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import ladder
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    ASK,
    Admin,
    AdminError,
    Metadata,
    Partition,
    Unanswered,
    refused,
)

Answer = TypeVar("Answer")
UNSURE = (-1, 7, 13)
"""Codes with which a request may have been carried out: unknown, timed out, network (org.apache.kafka Errors)."""
NAMES = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
}


_LOADING = threading.Lock()


def load() -> None:
    """Import the library, one thread at a time. Raises ImportError.

    Its modules import one another: of two threads that begin at once one may see half a module.
    """
    with _LOADING:
        import kafka.admin
        import kafka.errors
        import kafka.protocol.admin
        import kafka.protocol.metadata  # noqa: F401


def bounded(seconds: float, function: Callable[[], Answer], what: str) -> Answer:
    """Return what a function returns, or raise AdminError after `seconds`; then its thread is left behind.

    The library waits without end for a peer that accepts a connection and says nothing. Where it cannot write a
    request, or read its answer, nobody knows whether that was carried out; `what` names it.
    """
    from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError, RequestTimedOutError

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
    if failed and (isinstance(failed[0], ImportError) or not isinstance(failed[0], Exception)):
        raise failed[0]
    if failed and not isinstance(failed[0], KafkaError | OSError):
        said = f"{type(failed[0]).__name__}: {failed[0]}"
        error = AdminError(f"{what}: what is asked, or answered, is not what kafka-python expects ({said})")
        error.unsure = True
        raise error from failed[0]
    if failed and not isinstance(failed[0], KafkaTimeoutError | RequestTimedOutError | TimeoutError):
        error = refused(str(failed[0]) or type(failed[0]).__name__)
        error.unsure = isinstance(failed[0], KafkaConnectionError | OSError)
        raise error
    told = failed and not isinstance(failed[0], RequestTimedOutError)  # that says the same, whoever counted faster
    raise Unanswered(str(failed[0]) if told else f"no answer within {seconds:.0f} s")


class KafkaPython:
    """One cluster, through one listener, as a super user."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        """`properties` are librdkafka's; only servers that answer a handshake are asked.

        Raises AdminError, ImportError.
        """
        load()
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
        self.client: Any = bounded(
            ASK, lambda: KafkaAdminClient(bootstrap_servers=there, **bounds, **options), "a connection"
        )

    def ask(self, request: Any, seconds: float, broker: int | None = None) -> Any:
        """Send one request to a broker, any where none is named, and return its answer. Raises AdminError."""
        manager = self.client._manager
        send = (manager.send, request, broker, int(seconds * 1000))
        return bounded(seconds, lambda: manager.run(*send), type(request).__name__)

    def close(self) -> None:
        """End the connections."""
        bounded(ASK, self.client.close, "the end of a connection")


def of(admin: Admin) -> KafkaPython:
    """Return the library's client of a cluster; it is made once, and ends with `admin`. Raises AdminError."""
    if admin.other is None:
        admin.other = KafkaPython(admin.properties)
    found: KafkaPython = admin.other
    return found


@contextmanager
def at(properties: Mapping[str, Any], place: str) -> Iterator[KafkaPython]:
    """Yield the library's client of one broker, for questions to that very one. Raises AdminError, ImportError."""
    library = KafkaPython({**properties, "bootstrap.servers": place})
    try:
        yield library
    finally:
        with suppress(AdminError):
            library.close()


def metadata_of(properties: Mapping[str, Any], place: str, broker: int) -> Metadata:
    """Ask this very broker, at its address, for all topics. Raises AdminError, ImportError.

    The other library asks any that the first answer names.
    """
    load()
    from kafka.errors import for_code
    from kafka.protocol.metadata import MetadataRequest

    with at(properties, place) as library:
        found = library.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False), ASK, broker)
    partitions, unseen = [], []
    for topic in found.topics:
        for one in sorted(topic.partitions, key=lambda partition: int(partition.partition_index)):
            held = (tuple(one.replica_nodes), tuple(one.isr_nodes))
            partitions.append(Partition(topic.name, one.partition_index, one.leader_id, *held))
            if for_code(one.error_code).__name__ == "ListenerNotFoundError":
                unseen.append(partitions[-1])
    brokers = {node.node_id: (node.host, node.port) for node in found.brokers}
    return Metadata(found.cluster_id or "", found.controller_id, brokers, partitions, unseen, broker)


def failed_dirs(properties: Mapping[str, Any], place: str, broker: int) -> list[str]:
    """Return the log dirs that this very broker has given up. Raises AdminError, ImportError."""
    load()
    from kafka.protocol.admin import DescribeLogDirsRequest

    with at(properties, place) as library:
        found = library.ask(DescribeLogDirsRequest(topics=[]), ASK, broker)
    return [one.log_dir for one in found.results if one.error_code]


def words(entry: Any) -> str:
    """Return an error of the broker in its words."""
    from kafka.errors import for_code

    text = f"{entry.error_message or ''} ({for_code(entry.error_code).__name__})".strip()
    return Unsure(text) if entry.error_code in UNSURE else text
