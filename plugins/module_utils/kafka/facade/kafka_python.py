"""Connects with kafka-python, the second Kafka library, for requests that confluent-kafka cannot make."""

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
"""Codes after which a request may have been carried out: unknown, timed out, network (org.apache.kafka Errors)."""
NAMES = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
}


_LOADING = threading.Lock()


def load() -> None:
    """Import kafka-python, one thread at a time. Raises ImportError if it is not installed.

    Its modules import each other: if two threads import them at once, one thread may see an incomplete module.
    """
    with _LOADING:
        import kafka.admin
        import kafka.errors
        import kafka.protocol.admin
        import kafka.protocol.metadata  # noqa: F401


def bounded(seconds: float, function: Callable[[], Answer], what: str) -> Answer:
    """Return the result of `function`, which calls kafka-python; `what` names the request in messages.

    Raises Unanswered if `function` takes longer than `seconds`: the library would wait forever for a server that sends
    nothing. The thread of `function` is then abandoned. Raises AdminError if `function` fails; its attribute `unsure`
    is set if the request may have been carried out.
    """
    from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError, RequestTimedOutError

    results: list[Answer] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if results:
        return results[0]
    if failed and (isinstance(failed[0], ImportError) or not isinstance(failed[0], Exception)):
        raise failed[0]
    if failed and not isinstance(failed[0], KafkaError | OSError):
        why = f"{type(failed[0]).__name__}: {failed[0]}"
        error = AdminError(f"{what}: kafka-python cannot write the request, or read the answer ({why})")
        error.unsure = True
        raise error from failed[0]
    if failed and not isinstance(failed[0], KafkaTimeoutError | RequestTimedOutError | TimeoutError):
        error = refused(str(failed[0]) or type(failed[0]).__name__)
        error.unsure = isinstance(failed[0], KafkaConnectionError | OSError)
        raise error
    # RequestTimedOutError is the library's own timeout of the same length: its text does not matter.
    other_reason = failed and not isinstance(failed[0], RequestTimedOutError)
    raise Unanswered(str(failed[0]) if other_reason else f"no answer within {seconds:.0f} s")


class KafkaPython:
    """A client of one cluster with kafka-python, through one listener, with the rights of a super user."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        """Connect to the first server in `properties` (librdkafka's) that completes a handshake.

        Raises AdminError if no server completes a handshake, ImportError without kafka-python.
        """
        load()
        from kafka.admin import KafkaAdminClient

        options = {ours: properties[theirs] for theirs, ours in NAMES.items() if theirs in properties}
        failures: list[str] = []
        reachable = []
        for host, port in ladder.servers(properties):
            step, text = ladder.of_one(host, port, properties)
            if step:
                failures.append(f"{step}: {text}")
            else:
                reachable.append(f"{host}:{port}")
                break
        if not reachable:
            raise AdminError("; ".join(failures) or "bootstrap.servers has no address; set one")
        if str(options.get("security_protocol", "")).endswith("SSL"):
            options["ssl_context"] = ladder.tls_context(properties)
        bounds = {"request_timeout_ms": int(ASK * 1000), "bootstrap_timeout_ms": int(ASK * 1000)}
        self.client: Any = bounded(
            ASK, lambda: KafkaAdminClient(bootstrap_servers=reachable, **bounds, **options), "a connection"
        )

    def ask(self, request: Any, seconds: float, broker: int | None = None) -> Any:
        """Send one request to `broker` (None: to any broker), and return its answer within `seconds`.

        Raises AdminError if the request is rejected or not answered.
        """
        manager = self.client._manager
        send = (manager.send, request, broker, int(seconds * 1000))
        return bounded(seconds, lambda: manager.run(*send), type(request).__name__)

    def close(self) -> None:
        """Close the connections. Raises AdminError if that fails or takes longer than ASK seconds."""
        bounded(ASK, self.client.close, "the end of a connection")


def of(admin: Admin) -> KafkaPython:
    """Return the kafka-python client that belongs to `admin`; the first call creates it, and `admin.close` closes it.

    Raises AdminError if no server answers, ImportError without kafka-python.
    """
    if admin.other is None:
        admin.other = KafkaPython(admin.properties)
    library: KafkaPython = admin.other
    return library


@contextmanager
def at(properties: Mapping[str, Any], place: str) -> Iterator[KafkaPython]:
    """Context manager: yield a kafka-python client connected to one broker, at its address `place` (host:port).

    Raises AdminError if the broker does not answer, ImportError without kafka-python.
    """
    library = KafkaPython({**properties, "bootstrap.servers": place})
    try:
        yield library
    finally:
        with suppress(AdminError):
            library.close()


def metadata_of(properties: Mapping[str, Any], place: str, broker: int) -> Metadata:
    """Return the metadata that this broker itself has; `place` is its address (host:port).

    confluent-kafka might ask any other broker that the first answer names. Raises AdminError if the broker does not
    answer, ImportError without kafka-python.
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
    """Return the log dirs that this broker itself has taken offline; `place` is its address (host:port).

    Raises AdminError if the broker does not answer, ImportError without kafka-python.
    """
    load()
    from kafka.protocol.admin import DescribeLogDirsRequest

    with at(properties, place) as library:
        found = library.ask(DescribeLogDirsRequest(topics=[]), ASK, broker)
    return [one.log_dir for one in found.results if one.error_code]


def error_text(entry: Any) -> str:
    """Return the error of an answer of kafka-python, or of an entry in an answer, as `TEXT (NAME)`.

    If the request may have been carried out, the text is an Unsure (a kind of str).
    """
    from kafka.errors import for_code

    text = f"{entry.error_message or ''} ({for_code(entry.error_code).__name__})".strip()
    return Unsure(text) if entry.error_code in UNSURE else text
