"""What brokers of a fake cluster say of their disks and of replicas on the move."""

from __future__ import annotations

from typing import Any

from unit.fake_settings import Answer, FakeSettings

NO_MOVE = 85


class FakeMoves(FakeSettings):
    """The part of FakeCluster that moves replicas; what it is made of stands there."""

    topics: dict[str, list[list[int]]]
    moving: dict[str, list[int]]
    arriving: dict[tuple[str, int], list[int]]
    under_way: dict[tuple[str, int], list[int]]
    asks: int
    stuck: set[str]
    sizes: dict[tuple[str, int], int]
    disks: dict[int, tuple[int, int]]
    given_up: dict[int, list[str]]
    come: dict[tuple[int, str, int], int]

    def describe_log_dirs(self, request: Any, broker: int) -> Answer:
        """All replicas are in the first directory, those that are on their way as far as they have come."""
        only = {(topic.topic, number) for topic in request.topics or () for number in topic.partitions}
        lost = self.given_up.get(broker, [])
        held = [
            {
                "name": name,
                "partitions": [
                    {
                        "partition_index": number,
                        "partition_size": self.sizes.get((name, number), 0)
                        if broker in replicas
                        else self.come.get((broker, name, number), 0),
                        "offset_lag": 0,
                        "is_future_key": False,
                    }
                    for number, replicas in enumerate(partitions)
                    if broker in (*replicas, *self.under_way.get((name, number), ()))
                    and (not only or (name, number) in only)
                ],
            }
            for name, partitions in self.topics.items()
        ]
        total, free = self.disks.get(broker, (-1, -1))
        results = [
            {
                "error_code": 56 if one in lost else 0,
                "log_dir": one,
                "topics": held if one == "/data/1" else [],
                "total_bytes": total,
                "usable_bytes": free,
            }
            for one in ("/data/1", "/data/2")
        ]
        return {"error_code": 0, "results": results}

    def list_partition_reassignments(self, request: Any, broker: int) -> Answer:
        code, topics = self.judged(broker), []
        for name, numbers in self.moving.items():
            moved = [
                {
                    "partition_index": one,
                    "replicas": [],
                    "adding_replicas": self.arriving.get((name, one), []),
                    "removing_replicas": [],
                }
                for one in numbers
            ]
            topics.append({"name": name, "partitions": moved})
        for (name, number), target in self.under_way.items():
            has = self.topics[name][number]
            before = [one for one in has if one not in target] + [one for one in has if one in target]
            how = {
                "partition_index": number,
                "replicas": [*target, *(one for one in before if one not in target)],
                "adding_replicas": [],
                "removing_replicas": [one for one in before if one not in target],
            }
            topics.append({"name": name, "partitions": [how]})
        if not code:
            self.asks -= 1
            if self.asks < 0:
                self.arrive()
        return {"error_code": code, "error_message": None, "topics": topics}

    def arrive(self) -> None:
        """Bring all that is under way to its end."""
        for (name, number), target in list(self.under_way.items()):
            if name not in self.stuck:
                self.topics[name][number] = target
                del self.under_way[name, number]

    def alter_partition_reassignments(self, request: Any, broker: int) -> Answer:
        code, responses = self.judged(broker), []
        for topic in [] if code else request.topics:
            answers = []
            for one in topic.partitions:
                place, wrong = (topic.name, one.partition_index), 0
                if one.replicas is None:
                    wrong = 0 if self.under_way.pop(place, None) else NO_MOVE
                    self.written.append(f"call off {topic.name}-{one.partition_index}")
                else:
                    self.under_way[place] = list(one.replicas)
                    self.written.append(f"move {topic.name}-{one.partition_index} to {list(one.replicas)}")
                answers.append({"partition_index": one.partition_index, "error_code": wrong, "error_message": None})
            responses.append({"name": topic.name, "partitions": answers})
        return {"error_code": code, "error_message": None, "responses": responses}
