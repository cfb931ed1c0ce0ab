"""Says once a minute that the brokers give no answer, and which topic is gone: Spark's own clients try again."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from threading import Event, Thread

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

_LOG = logging.getLogger(__name__)
_ASK_SECONDS = 20
_ANSWER_SECONDS = 10
_LOG_SECONDS = 60
# What no broker that comes back mends.
_GONE = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED)


class KafkaWatch:
    """Asks the brokers for topics now and then, by a thread of its own.

    `gone` says which of them is not there any more, or may not be described, once two answers say so; else it is "".
    """

    def __init__(
        self,
        client: Mapping[str, str],
        topics: Sequence[str],
        ask_seconds: float = _ASK_SECONDS,
        answer_seconds: float = _ANSWER_SECONDS,
    ) -> None:
        """Start the thread; `client` as librdkafka names its properties, `topics` what a job cannot do without."""
        self.gone = ""
        self._topics = list(topics)
        self._client, self._ask_seconds, self._answer_seconds = dict(client), ask_seconds, answer_seconds
        self._closed = Event()
        self._thread = Thread(target=self._run, name="kafka-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End, without a wait for an answer."""
        self._closed.set()

    def _run(self) -> None:
        servers = self._client["bootstrap.servers"]
        admin = AdminClient({**self._client, "log_level": 0})
        since, next_line = time.monotonic(), 0.0
        silent, before = False, list[str]()
        while not self._closed.wait(self._ask_seconds):
            try:
                gone = self._gone(admin)
            except (KafkaException, TimeoutError) as error:
                silent, now = True, time.monotonic()
                if now >= next_line:
                    why = error.args[0].str() if isinstance(error, KafkaException) else "nothing came"
                    _LOG.warning("kafka: no answer from %s for %d s (%s); trying again", servers, now - since, why)
                    next_line = now + _LOG_SECONDS
            else:
                if silent:
                    _LOG.warning("kafka: %s answers again after %d s", servers, time.monotonic() - since)
                since, next_line, silent = time.monotonic(), 0.0, False
                self.gone = "; ".join(text for text in gone if text in before)
                before = gone

    def _gone(self, admin: AdminClient) -> list[str]:
        """What is wrong with each topic; no broker makes one that is described.

        Raises:
            KafkaException, TimeoutError: there is no answer.
        """
        found = []
        asked = admin.describe_topics(TopicCollection(self._topics), request_timeout=self._answer_seconds)
        for name, answer in asked.items():
            try:
                answer.result(2 * self._answer_seconds)
            except KafkaException as error:
                if error.args[0].code() not in _GONE:
                    raise
                found.append(f"topic {name}: {error.args[0].str()}; put it back, or let this user describe it")
        return found
