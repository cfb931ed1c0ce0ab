"""Detects that brokers do not answer, and logs that once a minute; detects topics that were recreated."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import TimeoutError as NoAnswer  # which is TimeoutError from Python 3.11 on
from threading import Event, Thread

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from millrace_jobs import status

_LOG = logging.getLogger(__name__)
_ASK_SECONDS = 20
_RETRY_SECONDS = 2  # while no broker answers
_ANSWER_SECONDS = 10
_LOG_SECONDS = 60
_POLL_SECONDS = 0.5


class KafkaWatch:
    """Asks the brokers for the ids of topics every `ask_seconds` in a thread; more often while no broker answers.

    `silent` is true while no broker answers. `recreated` has the names of topics whose id has changed since the watch
    began.
    """

    def __init__(
        self,
        client: Mapping[str, str],
        topics: Sequence[str],
        ask_seconds: float = _ASK_SECONDS,
        answer_seconds: float = _ANSWER_SECONDS,
    ) -> None:
        """Start the thread. `client` has properties of librdkafka; `answer_seconds` is the timeout of a request."""
        self.silent = False
        self.recreated: list[str] = []
        self._ids: dict[str, str] = {}
        self._topics = list(topics)
        self._client, self._ask_seconds, self._answer_seconds = dict(client), ask_seconds, answer_seconds
        self._closed, self._wake = Event(), Event()
        self._wake.set()  # it asks at once: a topic recreated before the first request would not be detected
        self._thread = Thread(target=self._run, name="kafka-watch", daemon=True)
        self._thread.start()

    def await_answer(self, stopping: Event) -> None:
        """Ask the brokers at once; return when a broker answers, or when `stopping` is set."""
        self._set_silent(True)
        self._wake.set()
        while self.silent and not stopping.wait(_POLL_SECONDS):
            pass

    def close(self) -> None:
        """Make the thread end; do not wait for that, nor for an answer of a broker."""
        self._closed.set()
        self._wake.set()

    def _run(self) -> None:
        servers = self._client["bootstrap.servers"]
        admin = AdminClient({**self._client, "log_level": 0})
        silent_since, next_log = time.monotonic(), 0.0
        while True:
            self._wake.wait(min(self._ask_seconds, _RETRY_SECONDS) if self.silent else self._ask_seconds)
            self._wake.clear()
            if self._closed.is_set():
                return
            try:
                self._ask(admin)
            except (KafkaException, NoAnswer) as error:
                self._set_silent(True)
                now = time.monotonic()
                if now >= next_log:
                    reason = error.args[0].str() if isinstance(error, KafkaException) else "no response"
                    _LOG.warning(
                        "kafka: no answer from %s for %d s (%s); retrying", servers, now - silent_since, reason
                    )
                    next_log = now + _LOG_SECONDS
            else:
                if self.silent:
                    _LOG.warning("kafka: %s answers again after %d s", servers, time.monotonic() - silent_since)
                silent_since, next_log = time.monotonic(), 0.0
                self._set_silent(False)

    def _set_silent(self, silent: bool) -> None:
        """Set `silent`, and show it in the status of the job."""
        self.silent = silent
        if silent:
            status.current().wait(status.BROKERS)
        else:
            status.current().end_wait(status.BROKERS)

    def _ask(self, admin: AdminClient) -> None:
        """Ask the brokers for the ids of the topics, and add recreated topics to `recreated`.

        The answer that a topic does not exist counts as an answer. The request does not create topics.

        Raises:
            KafkaException, NoAnswer: no broker answers.
        """
        answers = admin.describe_topics(TopicCollection(self._topics), request_timeout=self._answer_seconds)
        for name, answer in answers.items():
            try:
                topic_id = str(answer.result(2 * self._answer_seconds).topic_id)
                if self._ids.setdefault(name, topic_id) != topic_id and name not in self.recreated:
                    self.recreated.append(name)
            except KafkaException as error:
                if error.args[0].code() < 0:  # an error of librdkafka itself: no broker answered
                    raise
