"""The client of a cluster: reads metadata, elects leaders, and finds out why a request got no answer.

Uses confluent-kafka.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswer  # which is TimeoutError from Python 3.11 on
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.network import connect
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Failure, Unsure
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import client, ladder

ASK, WRITE = 7.0, 60.0
"""Limits in seconds of a read and a write request: brokers without ZooKeeper leave many requests unanswered."""
ELECTION = 10.0
"""Seconds within which there has to be a controller."""
REACH = 2.0
"""Seconds within which a port has to answer."""
QUORUM = "nothing was written; look at ZooKeeper's quorum (playbooks/check.yml)"
FIRST = 4.0
"""Seconds within which the first answer has to come; after that the steps of the connection are tried one by one."""
BROKEN = ("(_TRANSPORT)", "(NETWORK_EXCEPTION)", "(UNKNOWN)")
"""Errors after which a request may have been carried out: a broken connection, and an unexpected error."""


class AdminError(Failure):
    """The cluster rejected a request, or did not answer it.

    The text names the step of the connection that failed, or is the error of the client library.
    """


class Unanswered(AdminError):
    """A request was neither answered in time nor rejected; it may have been carried out."""

    unsure = True


class NotAllowed(AdminError):
    """The cluster rejected a request because the user has no right to make it."""


STANDS = "restart a broker on its host (systemctl restart kafka): a broker that starts takes part in the election"
"""The remedy if no controller is elected."""


class Uncontrolled(AdminError):
    """The cluster has no controller, or the controller cannot be reached, so nothing can be written."""


@dataclass(frozen=True)
class Partition:
    """One partition, as metadata describe it; leader, replicas and in-sync replicas are ids of brokers."""

    topic: str
    number: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]

    def __str__(self) -> str:
        """Return TOPIC-NUMBER, as brokers name a partition in their logs."""
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True)
class Metadata:
    """The metadata that one broker returned: the cluster's id, controller, brokers and partitions."""

    cluster_id: str
    controller: int
    """The id of the controller, -1 if there is none."""
    brokers: Mapping[int, tuple[str, int]]
    """By id, the address and port of the listener that was used."""
    partitions: Sequence[Partition]
    unseen: Sequence[Partition] = ()
    """Those of `partitions` whose leader does not have the listener that was used."""
    said_by: int = -1
    """The id of the broker that returned this metadata; -1 if it is not known."""

    @cached_property
    def topics(self) -> dict[str, list[tuple[int, ...]]]:
        """Return {topic: [brokers with a replica, for each partition in the order of partition numbers]}."""
        by_topic: dict[str, list[tuple[int, ...]]] = {}
        for partition in self.partitions:
            by_topic.setdefault(partition.topic, []).append(partition.replicas)
        return by_topic


def text_of(error: BaseException) -> str:
    """Return the text of an exception of confluent-kafka, with the name of its code: `TEXT (NAME)`."""
    from confluent_kafka import KafkaException

    if isinstance(error, KafkaException) and error.args:
        return f"{error.args[0].str()} ({error.args[0].name()})"
    return str(error) or "no answer in time"


def failed(error: BaseException) -> AdminError:
    """Return the AdminError for an exception of confluent-kafka, with `unsure` set; Unanswered after a timeout."""
    text = text_of(error)
    if "TIMED_OUT" in text or isinstance(error, (TimeoutError, NoAnswer)):
        return Unanswered(text)
    converted = refused(text)
    converted.unsure = text.endswith(BROKEN)
    return converted


def refused(text: str) -> AdminError:
    """Return the AdminError for the text of a broker's error; a NotAllowed if the user has no right."""
    if re.search(r"AUTHORIZATION_FAILED|AuthorizationFailedError", text):
        return NotAllowed(f"authorization: {text}; use a super user, or a user with the ACL")
    return AdminError(text)


def answer(future: Future[Any], timeout: float) -> Any:
    """Return the result of a request; wait for it at most `timeout` seconds, and 1 s more for the library.

    Raises AdminError if the request is rejected or not answered.
    """
    from confluent_kafka import KafkaException

    try:
        return future.result(timeout + 1)
    except (KafkaException, NoAnswer) as error:
        raise failed(error) from error


def failures(futures: Iterable[tuple[str, Future[Any]]], timeout: float, judging: bool = False) -> dict[str, str]:
    """Wait for requests, each (name, future); return {name of a failed request: reason}.

    With `judging`, the requests only validate; then Unanswered is raised if a request gets no answer.
    """
    reasons = {}
    for name, future in futures:
        try:
            answer(future, timeout)
        except AdminError as error:
            if judging and isinstance(error, Unanswered):
                raise
            reasons[name] = (Unsure if error.unsure else str)(error)
    return reasons


class Admin:
    """A client of one cluster, through one listener, with the rights of a super user."""

    def __init__(self, properties: Mapping[str, Any], patience: float = WRITE) -> None:
        """`properties` are librdkafka's; a write may take `patience` seconds.

        Raises ClientError for properties with which no client can be created, ImportError without confluent-kafka.
        """
        self.properties, self.patience = dict(properties), patience
        self.errors: list[Any] = []
        self.known: Metadata | None = None
        self.other: Any = None
        """The client of kafka-python, if one was needed (kafka_python.py)."""
        self.client = client.admin({**self.properties, "error_cb": self.errors.append})

    def close(self) -> None:
        """Close the connections of kafka-python; connections of confluent-kafka are closed when the process ends."""
        other, self.other = self.other, None
        if other:
            other.close()

    def leave_behind(self) -> None:
        """Make kafka-python use a new connection for the next request.

        A connection on which a request still waits for its answer cannot be used for another request.
        """
        self.other = None

    def metadata(self) -> Metadata:
        """Return the metadata of all topics, within FIRST seconds.

        Raises AdminError, which names the step of the connection that failed, as DNS or TLS.
        """
        try:
            return self.look(FIRST)
        except AdminError as error:
            self.client.poll(0)
            raise AdminError(ladder.climb(self.properties, self.errors) or str(error)) from error

    def look(self, timeout: float) -> Metadata:
        """Read the metadata once, within `timeout` seconds. Raises AdminError with the library's error.

        Only a metadata request is used, and no DescribeCluster. A broker that has just started may answer
        DescribeCluster without any broker; then librdkafka 2.16.0 ends the whole process (rd_assert in
        rd_kafka_admin_response_parse).
        """
        from confluent_kafka import KafkaError, KafkaException

        try:
            found = self.client.list_topics(timeout=timeout)
        except (KafkaException, NoAnswer) as error:
            raise AdminError(text_of(error)) from error
        partitions, unseen = [], []
        for name, topic in found.topics.items():
            for number in sorted(topic.partitions):
                one = topic.partitions[number]
                partitions.append(Partition(name, number, one.leader, tuple(one.replicas), tuple(one.isrs)))
                if one.error and one.error.code() == KafkaError.LISTENER_NOT_FOUND:
                    unseen.append(partitions[-1])
        brokers = {node.id: (node.host, node.port) for node in found.brokers.values()}
        said_by, cluster = found.orig_broker_id, found.cluster_id or ""
        self.known = Metadata(cluster, found.controller_id, brokers, partitions, unseen, said_by)
        return self.known

    def anybody(self) -> dict[str, int]:
        """Return {'broker': id of a reachable broker}, the option with which a request goes to this broker.

        Without this option, the library waits for the controller. Return {} if no broker is reachable.
        """
        places = self.known.brokers if self.known else {}
        return next(({"broker": one} for one in sorted(places) if connect(*places[one], REACH) == "open"), {})

    def reach_controller(self) -> None:
        """Wait until the cluster has a controller that can be reached: only the controller writes topics and users.

        Raises Uncontrolled if there is no such controller after ELECTION seconds, AdminError if no broker answers.
        """
        deadline, tick = time.monotonic() + ELECTION, threading.Event()
        while why := uncontrolled(self.metadata()):
            if time.monotonic() > deadline:
                raise Uncontrolled(f"{why}, for {ELECTION:.0f} s; {QUORUM}")
            tick.wait(0.5)

    def explain(self, error: AdminError) -> AdminError:
        """Return an error with the cause of `error`, the failure of a request; `error` itself if no cause is found.

        Causes are a cluster that no longer answers, a missing controller, an advertised listener that cannot be
        reached, and a ZooKeeper that does not answer the brokers.
        """
        if isinstance(error, NotAllowed | Uncontrolled):
            return error
        try:  # with new connections: a broker answers the requests of one connection one after the other
            found = Admin(self.properties).metadata()
        except AdminError as other:
            return other
        if why := uncontrolled(found):
            return AdminError(f"{why}; {QUORUM} ({error})")
        places = sorted(found.brokers.items())
        with ThreadPoolExecutor(max(1, len(places))) as pool:
            answers = list(pool.map(lambda place: connect(place[1][0], place[1][1], REACH), places))
        silent = [
            f"broker {broker} is advertised as {host}:{port}, which is not reachable ({state})"
            for (broker, (host, port)), state in zip(places, answers, strict=True)
            if state != "open"
        ]
        if silent:
            return AdminError(f"advertised listener: {'; '.join(silent)} ({error})")
        if isinstance(error, Unanswered):
            why = "brokers can be reached, but ZooKeeper does not answer them"
            return AdminError(f"{why}; {QUORUM} ({error})")
        return error

    def elect(self, partitions: Sequence[Partition]) -> Callable[[float], dict[str, str] | None]:
        """Start an election of preferred leaders; return a function that waits for the answer for a number of seconds.

        The function returns {TOPIC-NUMBER: why its leader was not elected}, or None if there is no answer in time. It
        raises Unanswered if the result is unknown or the request has to be repeated, and AdminError if the election is
        rejected. An election that cannot be started raises AdminError at once.
        """
        from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition

        again = (KafkaError.NOT_CONTROLLER, KafkaError.REQUEST_TIMED_OUT)
        asked = [TopicPartition(one.topic, one.number) for one in partitions]
        try:  # a timeout as a keyword is a SystemError in confluent-kafka 2.16.1
            future = self.client.elect_leaders(ElectionType.PREFERRED, asked)
        except KafkaException as error:
            raise AdminError(text_of(error)) from error

        def answered(seconds: float) -> dict[str, str] | None:
            try:
                found = future.result(seconds)
            except NoAnswer:
                return None
            except KafkaException as error:  # negative codes are errors of the client
                unknown = error.args[0].code() < 0 or error.args[0].code() in again
                raise (Unanswered if unknown else AdminError)(text_of(error)) from error
            failed = {f"{one.topic}-{one.partition}": why for one, why in found.items() if why}
            for why in failed.values():
                if why.code() in again:
                    raise Unanswered(why.str())
            return {name: why.str() for name, why in failed.items() if why.code() != KafkaError.ELECTION_NOT_NEEDED}

        return answered

    def reread(self, broker: int, key: str, path: str, timeout: float) -> None:
        """Make a broker read a file again, by setting the setting `key` to `path`, the present path of the file.

        The setting is removed afterwards, since it would override the broker's file. Raises AdminError if the broker
        rejects a request, or does not answer within `timeout` seconds.
        """
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

        for operation in (AlterConfigOpType.SET, AlterConfigOpType.DELETE):
            entry = ConfigEntry(key, path, incremental_operation=operation)
            resource = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=[entry])
            for future in self.client.incremental_alter_configs([resource], request_timeout=timeout).values():
                answer(future, timeout)


def uncontrolled(found: Metadata) -> str:
    """Return why topics and users cannot be written now, '' if the cluster has a controller that can be reached."""
    place = found.brokers.get(found.controller)
    if place is None:
        return f"no controller among the {len(found.brokers)} known brokers"
    reached = connect(place[0], place[1], REACH)
    if reached == "open":
        return ""
    where = f"{place[0]}:{place[1]}"
    return f"no controller: the last one, broker {found.controller}, is not reachable at {where} ({reached})"
