"""Does every partition take a record with acks=all? Answered by an acknowledgement, or by a refusal that stays."""

import time
from collections.abc import Collection, Mapping

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from faults.ledger import payload

# Sessions of brokers end after 6 s; then the controller is elected anew, leaders move, ISRs shrink, and the client
# looks again. What is computed to go on has longer, whatever else the machine does.
GOES_ON_SECONDS, STOPPED_SECONDS = 30.0, 20.0
_SMALL_ISR = {KafkaError.NOT_ENOUGH_REPLICAS, KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
REFUSALS = {KafkaError(code).name() for code in _SMALL_ISR}
"""Names of the errors by which a leader refuses a record."""
_ONCE = {"acks": "all", "retries": 0, "message.timeout.ms": 4000, "request.timeout.ms": 3000}
_QUIET = {"log_level": 0, "socket.connection.setup.timeout.ms": 3000, "reconnect.backoff.max.ms": 500}


class Writes:
    """One record for each partition, sent again until it is acknowledged, refused for good, or out of time."""

    def __init__(self, properties: Mapping[str, str], topic: str, key: str, alive: Collection[int]) -> None:
        """Connect; `alive` are the ids of the brokers left, and the keys are `key`-<partition>."""
        self.producer = Producer({**_QUIET, **properties, **_ONCE})
        self.topic, self.key, self.alive = topic, key, set(alive)
        self.errors: dict[int, str] = {}
        self._again, self._settled, self._refused = set[int](), set[int](), set[int]()

    def run(self, partitions: Collection[int], hoped: bool) -> dict[int, str]:
        """Write to each partition; return the last error of each one that acknowledged nothing."""
        deadline = time.monotonic() + (GOES_ON_SECONDS if hoped else STOPPED_SECONDS)
        self.errors = dict.fromkeys(partitions, "no answer")
        for partition in partitions:
            self._send(partition)
        while self.errors.keys() - self._refused and time.monotonic() < deadline:
            self._listen(0.2)
            if self._again:
                self._look()
                while self._again:
                    self._send(self._again.pop())
        return self.errors

    def _listen(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self.errors and (left := end - time.monotonic()) > 0:
            self.producer.poll(left)

    def _send(self, partition: int) -> None:
        name = f"{self.key}-{partition}"
        sure = partition in self._settled  # its ISR had shrunk before this was sent

        def answered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self.errors.pop(partition, None)
                return
            self.errors[partition] = error.name()
            if sure and error.code() in _SMALL_ISR:
                self._refused.add(partition)
            else:
                self._again.add(partition)

        self.producer.produce(self.topic, payload(name, 100), name, partition=partition, on_delivery=answered)

    def _look(self) -> None:
        """Note the partitions whose ISR is all replicas left, as a broker left says."""
        try:
            found = self.producer.list_topics(self.topic, timeout=2).topics[self.topic].partitions
        except KafkaException:
            return
        self._settled = {
            number
            for number, one in found.items()
            if {one.leader, *one.isrs} <= self.alive and {*one.isrs} == {*one.replicas} & self.alive
        }
