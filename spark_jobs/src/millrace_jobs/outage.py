"""Says once a minute that the brokers give no answer: Spark's own clients try again without a word."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from threading import Event, Thread

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

_LOG = logging.getLogger(__name__)
_ASK_SECONDS = 20
_ANSWER_SECONDS = 10
_LOG_SECONDS = 60


class KafkaWatch:
    """Asks the brokers for their names now and then, by a thread of its own."""

    def __init__(
        self,
        client: Mapping[str, str],
        topic: str,
        ask_seconds: float = _ASK_SECONDS,
        answer_seconds: float = _ANSWER_SECONDS,
    ) -> None:
        """Start the thread; `client` as librdkafka names its properties, `topic` some topic, for all would be many."""
        self._topic = topic
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
        silent = False
        while not self._closed.wait(self._ask_seconds):
            try:
                admin.list_topics(self._topic, timeout=self._answer_seconds)
            except KafkaException as error:
                silent, now = True, time.monotonic()
                if now >= next_line:
                    why = error.args[0].str()
                    _LOG.warning("kafka: no answer from %s for %d s (%s); trying again", servers, now - since, why)
                    next_line = now + _LOG_SECONDS
            else:
                if silent:
                    _LOG.warning("kafka: %s answers again after %d s", servers, time.monotonic() - since)
                since, next_line, silent = time.monotonic(), 0.0, False
