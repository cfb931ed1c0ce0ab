"""Writes under load, and keeps the ledger of it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from confluent_kafka import KafkaError, Message, Producer

from .background import Background
from .ledger import CLIENT, payload, text_of


class Writer(Background):
    """Sends records from a thread of its own and keeps the ledger of them in files below `directory`.

    Bounded: at most `limit` records, at most `rate` a second, each given up after `delivery_timeout` seconds. It
    waits 100 ms for more records of a partition, for brokers compute by the request; who holds a gap or the time of an
    acknowledgement to less than seconds, or wants many requests under way, says another `linger.ms` in `properties`.
    With acks=all the producer is idempotent, and has one request at a time with each broker: with several, librdkafka
    begins another epoch where one fails and the next is refused as out of order, and what is sent again then may be
    there twice (confluentinc/librdkafka#4953). So its records keep their order with any acks, too. Use as a context
    manager: it ends when everything sent is answered.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        topic: str,
        directory: Path,
        *,
        run: str,
        name: str = "w1",
        acks: str = "all",
        limit: int = 100_000,
        rate: int = 500,
        size: int = 200,
        delivery_timeout: int = 90,
    ) -> None:
        """Make the files; nothing is sent before `start`."""
        self.topic, self.prefix, self.limit, self.rate, self.size = topic, f"{run}-{name}", limit, rate, size
        self.acked = 0
        self._delivery_timeout = delivery_timeout
        self._producer = Producer(
            {
                **CLIENT,
                "request.timeout.ms": 5000,
                "socket.timeout.ms": 7000,  # so long it waits for a broker that takes connections and answers nothing
                "linger.ms": 100,
                "max.in.flight.requests.per.connection": 1,
                **properties,
                "acks": acks,
                "enable.idempotence": acks == "all",
                "message.timeout.ms": delivery_timeout * 1000,
            }
        )
        directory.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, TextIO] = {
            kind: (directory / f"{self.prefix}.{kind}").open("a") for kind in ("intents", "acks", "unknown")
        }
        super().__init__(f"writer {self.prefix}")

    def longest(self) -> float:
        """Return the seconds until `limit` records were sent, and every one of them is answered."""
        return self.limit / self.rate + 2 * self._delivery_timeout

    def close(self) -> None:
        """Close the files of the ledger."""
        for file in self._files.values():
            file.close()

    def work(self) -> None:
        """Send until the limit, or until stopped, and wait for all answers."""
        start = time.monotonic()
        for number in range(self.limit):
            pause = start + number / self.rate - time.monotonic()
            if self.stopping.wait(pause) if pause > 0 else self.stopping.is_set():
                break
            key = f"{self.prefix}-{number}"
            self._note("intents", key, self.topic)
            self._produce(key)
        left = self._producer.flush(self._delivery_timeout + 10)
        if left:
            raise TimeoutError(f"{left} records of {self.prefix} were neither acknowledged nor given up")

    def _produce(self, key: str) -> None:
        value = payload(key, self.size)
        while True:
            try:
                self._producer.produce(self.topic, value, key, on_delivery=self._answered)
                self._producer.poll(0)
                return
            except BufferError:  # the queue is full: answers make room
                self._producer.poll(0.1)

    def _answered(self, error: KafkaError | None, message: Message) -> None:
        key = text_of(message.key())
        if error is not None:
            self._note("unknown", key, error.name())
        else:
            took = message.latency() or 0.0  # from produce() to here
            place = text_of(message.topic())
            self._note("acks", key, str(message.partition()), f"{time.monotonic():.6f}", f"{took:.6f}", place)
            self.acked += 1

    def _note(self, kind: str, *fields: str) -> None:
        self._files[kind].write("\t".join(fields) + "\n")
        self._files[kind].flush()
