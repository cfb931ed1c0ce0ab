"""A cluster's metadata, topics and settings, through confluent-kafka; no Ansible import."""

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
"""Seconds that a question and a write may take: brokers that lost ZooKeeper leave many questions without an answer."""
ELECTION = 10.0
"""Seconds until there has to be a controller."""
REACH = 2.0
"""Seconds until a port has to answer."""
QUORUM = "nothing was written; look at ZooKeeper's quorum (playbooks/check.yml)"
FIRST = 4.0
"""Seconds until the first answer; after that the rungs are tried one by one."""
BROKEN = ("(_TRANSPORT)", "(NETWORK_EXCEPTION)", "(UNKNOWN)")
"""Errors with which a request may have been carried out: a connection that broke, and an end that nobody foresaw."""


class AdminError(Failure):
    """The cluster refused, or did not answer; the text names the rung, or carries the client's own words."""


class Unanswered(AdminError):
    """A request that was not answered in time: it was not refused, either."""

    unsure = True


class NotAllowed(AdminError):
    """Who asks may not; the cluster answered."""


STANDS = "restart a broker on its host (systemctl restart kafka): who starts stands for election"
"""What ends it where nobody is the controller."""


class Uncontrolled(AdminError):
    """There is no controller, or nobody can reach it."""


@dataclass(frozen=True)
class Partition:
    """One partition as the controller sees it."""

    topic: str
    number: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]

    def __str__(self) -> str:
        """Return topic-number, as in the broker's own logs."""
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True)
class Metadata:
    """What one broker says of the cluster."""

    cluster_id: str
    controller: int
    """-1 where there is none."""
    brokers: Mapping[int, tuple[str, int]]
    """By id, the address and port of the listener that was asked."""
    partitions: Sequence[Partition]
    unseen: Sequence[Partition] = ()
    """Those of them whose leader does not have this listener."""
    said_by: int = -1
    """The broker that says it; -1 where that is not known."""

    @cached_property
    def topics(self) -> dict[str, list[tuple[int, ...]]]:
        """Return of each topic the replicas of its partitions, in the order of their numbers."""
        found: dict[str, list[tuple[int, ...]]] = {}
        for partition in self.partitions:
            found.setdefault(partition.topic, []).append(partition.replicas)
        return found


def said(error: BaseException) -> str:
    """Return an error of the library in the broker's words."""
    from confluent_kafka import KafkaException

    if isinstance(error, KafkaException) and error.args:
        return f"{error.args[0].str()} ({error.args[0].name()})"
    return str(error) or "no answer in time"


def failed(error: BaseException) -> AdminError:
    """Return an error of the library as one of ours."""
    text = said(error)
    if "TIMED_OUT" in text or isinstance(error, (TimeoutError, NoAnswer)):
        return Unanswered(text)
    found = refused(text)
    found.unsure = text.endswith(BROKEN)
    return found


def refused(text: str) -> AdminError:
    """Return what a broker said, and that it is a matter of rights where it is one."""
    if re.search(r"AUTHORIZATION_FAILED|AuthorizationFailedError", text):
        return NotAllowed(f"authorization: {text}; who asks has to be a super user, or have the ACL")
    return AdminError(text)


def answer(future: Future[Any], timeout: float) -> Any:
    """Return what was answered. Raises AdminError."""
    from confluent_kafka import KafkaException

    try:
        return future.result(timeout + 1)
    except (KafkaException, NoAnswer) as error:
        raise failed(error) from error


def failures(futures: Iterable[tuple[str, Future[Any]]], timeout: float, judging: bool = False) -> dict[str, str]:
    """Wait for all; return why some failed, by name. Raises Unanswered where they are only `judging`."""
    found = {}
    for name, future in futures:
        try:
            answer(future, timeout)
        except AdminError as error:
            if judging and isinstance(error, Unanswered):
                raise
            found[name] = (Unsure if error.unsure else str)(error)
    return found


class Admin:
    """One cluster, through one listener, as a super user."""

    def __init__(self, properties: Mapping[str, Any], patience: float = WRITE) -> None:
        """`properties` are librdkafka's; a write may take `patience` seconds. Raises ClientError, ImportError."""
        self.properties, self.patience = dict(properties), patience
        self.errors: list[Any] = []
        self.known: Metadata | None = None
        self.other: Any = None
        """The client of the other library, where one was needed (kafka_python.py)."""
        self.client = client.admin({**self.properties, "error_cb": self.errors.append})

    def close(self) -> None:
        """End the other library's connections; those of this one end with the process."""
        other, self.other = self.other, None
        if other:
            other.close()

    def leave_behind(self) -> None:
        """Have the other library connect anew: a connection that waits for an answer gives no other."""
        self.other = None

    def metadata(self) -> Metadata:
        """Ask a broker for all topics. Raises AdminError, which names the rung that failed."""
        try:
            return self.look(FIRST)
        except AdminError as error:
            self.client.poll(0)
            raise AdminError(ladder.climb(self.properties, self.errors) or str(error)) from error

    def look(self, timeout: float) -> Metadata:
        """Ask a broker once. Raises AdminError in the library's own words.

        By metadata alone: librdkafka 2.16.0 ends the whole process (rd_assert in rd_kafka_admin_response_parse) where
        a broker that has just started, and knows no broker yet, answers DescribeCluster.
        """
        from confluent_kafka import KafkaError, KafkaException

        try:
            found = self.client.list_topics(timeout=timeout)
        except (KafkaException, NoAnswer) as error:
            raise AdminError(said(error)) from error
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
        """Return whom to ask what every broker knows: the library would ask the controller, and wait for one."""
        places = self.known.brokers if self.known else {}
        return next(({"broker": one} for one in sorted(places) if connect(*places[one], REACH) == "open"), {})

    def reach_controller(self) -> None:
        """Wait until there is a controller and it can be reached: topics and users are its to write.

        Raises AdminError, which says so.
        """
        deadline, tick = time.monotonic() + ELECTION, threading.Event()
        while why := uncontrolled(self.metadata()):
            if time.monotonic() > deadline:
                raise Uncontrolled(f"{why}, for {ELECTION:.0f} s; {QUORUM}")
            tick.wait(0.5)

    def explain(self, error: AdminError) -> AdminError:
        """Return what is behind a question that was not answered: the controller, an advertised listener, or itself."""
        if isinstance(error, NotAllowed | Uncontrolled):
            return error
        try:  # by connections of its own: a broker answers one after the other of what it is asked by one
            found = Admin(self.properties).metadata()
        except AdminError as other:
            return other
        if why := uncontrolled(found):
            return AdminError(f"{why}; {QUORUM} ({error})")
        places = sorted(found.brokers.items())
        with ThreadPoolExecutor(max(1, len(places))) as pool:
            answers = list(pool.map(lambda place: connect(place[1][0], place[1][1], REACH), places))
        silent = [
            f"broker {broker} is advertised as {host}:{port}, which says {said}"
            for (broker, (host, port)), said in zip(places, answers, strict=True)
            if said != "open"
        ]
        if silent:
            return AdminError(f"advertised listener: {'; '.join(silent)} ({error})")
        if isinstance(error, Unanswered):
            why = "brokers can be reached, and what they ask ZooKeeper for has no answer"
            return AdminError(f"{why}; {QUORUM} ({error})")
        return error

    def elect(self, partitions: Sequence[Partition]) -> Callable[[float], dict[str, str] | None]:
        """Have the preferred leaders of partitions elected; return what waits for the answer, so many seconds at most.

        It returns why some were not, by their names, and None where nothing was answered yet. Raises AdminError;
        Unanswered where nobody knows, or another one is to be asked.
        """
        from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition

        again = (KafkaError.NOT_CONTROLLER, KafkaError.REQUEST_TIMED_OUT)
        asked = [TopicPartition(one.topic, one.number) for one in partitions]
        try:  # a timeout as a keyword is a SystemError in confluent-kafka 2.16.1
            future = self.client.elect_leaders(ElectionType.PREFERRED, asked)
        except KafkaException as error:
            raise AdminError(said(error)) from error

        def answered(seconds: float) -> dict[str, str] | None:
            try:
                found = future.result(seconds)
            except NoAnswer:
                return None
            except KafkaException as error:  # below 0 are the client's own
                unknown = error.args[0].code() < 0 or error.args[0].code() in again
                raise (Unanswered if unknown else AdminError)(said(error)) from error
            failed = {f"{one.topic}-{one.partition}": why for one, why in found.items() if why}
            for why in failed.values():
                if why.code() in again:
                    raise Unanswered(why.str())
            return {name: why.str() for name, why in failed.items() if why.code() != KafkaError.ELECTION_NOT_NEEDED}

        return answered

    def reread(self, broker: int, key: str, path: str, timeout: float) -> None:
        """Set a file's location to what it is, which makes the broker read the file; then unset it, so that files rule.

        Raises AdminError.
        """
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

        for operation in (AlterConfigOpType.SET, AlterConfigOpType.DELETE):
            entry = ConfigEntry(key, path, incremental_operation=operation)
            resource = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=[entry])
            for future in self.client.incremental_alter_configs([resource], request_timeout=timeout).values():
                answer(future, timeout)


def uncontrolled(found: Metadata) -> str:
    """Return why topics and users cannot be written now, '' where a controller can be reached."""
    place = found.brokers.get(found.controller)
    if place is None:
        return f"no controller among the {len(found.brokers)} brokers that are known"
    reached = connect(place[0], place[1], REACH)
    if reached == "open":
        return ""
    return f"no controller: broker {found.controller} was it last, and {place[0]}:{place[1]} says {reached}"
