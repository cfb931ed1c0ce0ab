"""Waits for the topics of a job, reads their ids, and converts client properties from Java to librdkafka."""

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import TimeoutError as NoAnswer  # which is TimeoutError from Python 3.11 on
from threading import Event

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from millrace_jobs import status
from millrace_jobs.checks import jaas_options
from millrace_jobs.ends import Topic
from millrace_jobs.errors import JobError

_LOG = logging.getLogger(__name__)
_ANSWER_SECONDS = 2  # also the longest time that a stop waits for an answer
_DESCRIBE_SECONDS = 30
_POLL_SECONDS = 1
_LOG_SECONDS = 10
_NOT_FOUND = "not found"
_NOT_YET = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.LEADER_NOT_AVAILABLE)

# Java client -> librdkafka. A PEM key store holds key and certificates in one file.
_NAMES = {
    "bootstrap.servers": ["bootstrap.servers"],
    "security.protocol": ["security.protocol"],
    "sasl.mechanism": ["sasl.mechanism"],
    "ssl.truststore.location": ["ssl.ca.location"],
    "ssl.truststore.certificates": ["ssl.ca.pem"],
    "ssl.keystore.location": ["ssl.certificate.location", "ssl.key.location"],
    "ssl.keystore.certificate.chain": ["ssl.certificate.pem"],
    "ssl.keystore.key": ["ssl.key.pem"],
    "ssl.key.password": ["ssl.key.password"],
}


def wait_for_topics(topics: Sequence[Topic], seconds: int, stopping: Event) -> None:
    """Return when all `topics` exist on the brokers, or when `stopping` is set.

    Each request asks for the list of all topics, because a request for a topic by name could create that topic.

    Raises:
        JobError: a topic does not exist, or no broker answers, after `seconds`; or the client's properties are invalid.
    """
    if not topics:
        return
    servers = topics[0].client["bootstrap.servers"]
    client = _admin_client(topics[0].client)
    deadline = time.monotonic() + seconds
    next_log = time.monotonic()
    while not stopping.is_set():
        missing, reason = _missing(client, [topic.name for topic in topics])
        waits = [] if not missing else [status.TOPICS] if reason == _NOT_FOUND else [status.BROKERS]
        status.current().end_wait(*({status.BROKERS, status.TOPICS} - {*waits}))
        if not missing:
            return
        status.current().wait(*waits)
        names = ", ".join(missing)
        now = time.monotonic()
        if now >= deadline:
            raise JobError(
                f"topic {names}: {reason} on {servers} after {seconds} s; create it, grant this user DESCRIBE on it, "
                "correct kafka.bootstrap.servers, or raise topic_wait_seconds"
            )
        if now >= next_log:
            _LOG.info("waiting for topic %s on %s: %s", names, servers, reason)
            next_log = now + _LOG_SECONDS
        stopping.wait(min(_POLL_SECONDS, deadline - now))


def topic_id(topic: Topic) -> str:
    """Return the id of a topic (KIP-516). A topic that was deleted and recreated has another id.

    A broker may not know a new topic yet, so the request is repeated for up to 30 seconds.

    Raises:
        JobError: no broker reports the id.
    """
    client = _admin_client(topic.client)  # kept in a variable: its futures end with it
    deadline = time.monotonic() + _DESCRIBE_SECONDS
    while True:
        described = client.describe_topics(TopicCollection([topic.name]))
        try:
            return str(described[topic.name].result(_DESCRIBE_SECONDS).topic_id)
        except (KafkaException, NoAnswer) as error:
            unknown_yet = isinstance(error, KafkaException) and error.args[0].code() in _NOT_YET
            if not unknown_yet or time.monotonic() >= deadline:
                reason = f"its id cannot be read ({error}); grant this user DESCRIBE on it"
                raise JobError(f"topic {topic.name}: {reason}") from None
        time.sleep(_POLL_SECONDS)


def admin_properties(client: Mapping[str, str]) -> dict[str, str]:
    """Return properties of a Java client as properties of librdkafka; leave out those without a counterpart."""
    properties = {name: client[java] for java, names in _NAMES.items() if java in client for name in names}
    login = jaas_options(client.get("sasl.jaas.config", ""))
    properties.update({f"sasl.{name}": login[name] for name in ("username", "password") if name in login})
    if client.get("ssl.endpoint.identification.algorithm") == "":
        properties["ssl.endpoint.identification.algorithm"] = "none"
    return properties


def retries(client: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that set how long a producer waits before it retries.

    They are retry.backoff.ms and retry.backoff.max.ms of `client`; if neither is set, at most 100 ms. That was the
    pause of Java clients before Kafka 3.7. Newer clients double the pause up to a second, and a write that fails just
    before its partition has a new leader would wait that long.
    """
    names = ("retry.backoff.ms", "retry.backoff.max.ms")
    # Java's clients also accept 0 and larger values. librdkafka reports values that neither accepts.
    converted = {name: max(1, min(int(client[name]), 300_000)) for name in names if client.get(name, "").isdecimal()}
    settings = {name: str(converted.get(name, client[name])) for name in names if name in client}
    return settings or {"retry.backoff.max.ms": "100"}


def _admin_client(client: Mapping[str, str]) -> AdminClient:
    try:
        # Without log_level its lines on stderr would repeat what the wait reports.
        return AdminClient({**admin_properties(client), "log_level": 0})
    except KafkaException as error:
        raise JobError(f"kafka: {error.args[0].str()}; correct the properties under kafka") from None


def _missing(client: AdminClient, names: list[str]) -> tuple[list[str], str]:
    try:
        existing = client.list_topics(timeout=_ANSWER_SECONDS).topics
    except KafkaException as error:
        return names, f"no answer ({error.args[0].str()})"
    return [name for name in names if name not in existing], _NOT_FOUND
