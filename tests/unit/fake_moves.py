"""Answers of a fake cluster's brokers on log dirs, reassignments and elections."""

from __future__ import annotations

import threading
from typing import Any

from unit.fake_settings import NOT_ALLOWED, Answer, FakeSettings

NO_MOVE, NOT_ALIVE = 85, 39


class FakeMoves(FakeSettings):
    """The part of FakeCluster that moves replicas; FakeCluster defines its state."""

    topics: dict[str, list[list[int]]]
    moving: dict[str, list[int]]
    arriving: dict[tuple[str, int], list[int]]
    under_way: dict[tuple[str, int], list[int]]
    down: set[int]
    asks: int
    stuck: set[str]

    def have_disks(self) -> None:
        """Start with two empty log dirs on each broker."""
        self.led: dict[tuple[str, int], int] = {}
        """By partition its leader, if that is not the first replica."""
        self.elections: dict[str, list[tuple[int, float]]] = {}
        """By topic the codes of its elections, and the seconds until they are answered; the last one stays."""
        self.sizes: dict[tuple[str, int], int] = {}
        """Bytes by partition."""
        self.come: dict[tuple[int, str, int], int] = {}
        """By broker and partition that is being copied there, the bytes that have arrived."""
        self.disks: dict[int, tuple[int, int]] = {}
        """By broker, total and free bytes of its file systems; a broker without an entry does not report them."""
        self.log_dirs = ("/data/1", "/data/2")
        self.where: dict[tuple[int, str, int], str] = {}
        """By broker and partition the log dir that has the replica, if it is not the first."""
        self.future: dict[tuple[int, str, int], str] = {}
        """By broker and partition the log dir to which a replica is being copied."""
        self.looks = 1
        """How many requests for log dirs report copies before they are complete."""
        self.behind: set[tuple[int, str, int]] = set()
        """Brokers that are not in sync with a partition."""
        self.given_up: dict[int, list[str]] = {}
        """Offline log dirs by broker."""
        self.stray: dict[tuple[int, str], dict[tuple[str, int], int]] = {}
        """By broker and log dir, bytes of replicas that the broker should not hold."""
        self.isrs: dict[tuple[str, int], list[int]] = {}
        """By partition, the in-sync replicas at the last request."""
        self.destroyed: set[tuple[str, int]] = set()
        """Partitions of which all in-sync replicas were deleted by canceling a reassignment."""

    def in_sync(self, broker: int, topic: str, number: int) -> bool:
        """Tell whether a replica may be in sync."""
        place = (broker, topic, number)
        lost = self.where.get(place, self.log_dirs[0]) in self.given_up.get(broker, ())
        return not lost and broker not in self.down and place not in self.behind

    def full(self, place: tuple[str, int]) -> list[int]:
        """Return all replicas of a partition, including those that are being added and removed."""
        target, has = self.under_way.get(place, []), self.topics[place[0]][place[1]]
        return [*target, *(one for one in has if one not in target)]

    def isr(self, place: tuple[str, int]) -> list[int]:
        """Return the in-sync replicas: the last one stays in sync, and none comes in sync while it is down.

        An added replica comes in sync when it has arrived.
        """
        if place in self.destroyed:
            return []
        has, full = self.topics[place[0]][place[1]], self.full(place)
        before = [one for one in self.isrs.get(place, has) if one in full] or has
        still = [one for one in before if self.in_sync(one, *place)]
        still += [one for one in has if still and one not in still and self.in_sync(one, *place)]
        self.isrs[place] = still or before[-1:]
        return self.isrs[place]

    def leader(self, place: tuple[str, int]) -> int:
        """Return the leader: one of the in-sync replicas, added ones included; -1 if they are all down."""
        has, isr = self.topics[place[0]][place[1]], self.isr(place)
        if place in self.led:
            return self.led[place]
        order = [*has, *(one for one in self.full(place) if one not in has)]
        return next((one for one in order if one in isr and self.in_sync(one, *place)), -1)

    def elect_leaders(self, request: Any, broker: int) -> Answer:
        """Elect the first replicas, unless `elections` has another answer for a topic."""
        results, seconds = [], 0.0
        for topic in request.topic_partitions:
            code, late = self.elections.get(topic.topic, [(0, 0.0)])[0]
            if len(self.elections.get(topic.topic, [])) > 1:
                self.elections[topic.topic].pop(0)
            seconds = max(seconds, late)
            answers = [{"partition_id": one, "error_code": code, "error_message": None} for one in topic.partitions]
            results.append({"topic": topic.topic, "partition_result": answers})
            for one in topic.partitions:
                self.written.append(f"elect {topic.topic}-{one}")
                if not code:
                    self.led.pop((topic.topic, one), None)
        threading.Event().wait(seconds)
        return {"throttle_time_ms": 0, "error_code": 0, "replica_election_results": results}

    def describe_log_dirs(self, request: Any, broker: int) -> Answer:
        """Return replicas in their log dir of `where`, else in the first one; copies with their bytes so far."""
        if "describe_log_dirs" in self.denied:
            return {"error_code": NOT_ALLOWED, "results": []}
        only = {(topic.topic, number) for topic in request.topics or () for number in topic.partitions}
        lost = self.given_up.get(broker, [])
        total, free = self.disks.get(broker, (-1, -1))
        results = [
            {
                "error_code": 56 if one in lost else 0,
                "log_dir": one,
                "topics": [] if one in lost else self.held(broker, one, only) + self.left(broker, one, only),
                "total_bytes": total,
                "usable_bytes": free,
            }
            for one in self.log_dirs
        ]
        self.looks -= 1
        if self.looks < 0:
            self.swap()
        return {"error_code": 0, "results": results}

    def held(self, broker: int, path: str, only: set[tuple[str, int]]) -> list[Answer]:
        """Return the replicas in one log dir, by topic."""
        found = []
        for name, partitions in self.topics.items():
            held = []
            for number, replicas in enumerate(partitions):
                place = (broker, name, number)
                size, come = self.sizes.get((name, number), 0), self.come.get(place, 0)
                whole = (*replicas, *self.isrs.get((name, number), ()))
                here = broker in (*replicas, *self.under_way.get((name, number), ()))
                if (only and (name, number) not in only) or not here:
                    continue
                for future, where in ((False, self.where.get(place, self.log_dirs[0])), (True, self.future.get(place))):
                    one = {
                        "partition_index": number,
                        "partition_size": size if broker in whole and not future else come,
                        "offset_lag": 0,
                        "is_future_key": future,
                    }
                    held += [one] if where == path else []
            found.append({"name": name, "partitions": held})
        return found

    def left(self, broker: int, path: str, only: set[tuple[str, int]]) -> list[Answer]:
        """Return replicas in one log dir that the broker should not hold, by topic."""
        return [
            {
                "name": name,
                "partitions": [
                    {"partition_index": number, "partition_size": size, "offset_lag": 0, "is_future_key": False}
                ],
            }
            for (name, number), size in list(self.stray.get((broker, path), {}).items())
            if not only or (name, number) in only
        ]

    def alter_replica_log_dirs(self, request: Any, broker: int) -> Answer:
        """Start copies; a target equal to the present log dir cancels a copy."""
        results = []
        for there in request.dirs:
            for topic in there.topics:
                answers = []
                for number in topic.partitions:
                    place, code = (broker, topic.name, number), 0
                    if there.path in self.given_up.get(broker, []):
                        code = 56
                    elif there.path not in self.log_dirs:
                        code = 57
                    elif self.where.get(place, self.log_dirs[0]) == there.path:
                        self.future.pop(place, None)
                        self.written.append(f"keep {topic.name}-{number} of {broker} in {there.path}")
                    else:
                        self.future[place] = there.path
                        self.written.append(f"put {topic.name}-{number} of {broker} into {there.path}")
                    answers.append({"partition_index": number, "error_code": code})
                results.append({"topic_name": topic.name, "partitions": answers})
        return {"results": results}

    def swap(self) -> None:
        """Complete all copies between log dirs."""
        for place, path in list(self.future.items()):
            if place[1] not in self.stuck:
                self.where[place] = path
                del self.future[place]

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
            how = {
                "partition_index": number,
                "replicas": self.full((name, number)),
                "adding_replicas": [one for one in target if one not in has],
                "removing_replicas": [one for one in has if one not in target],
            }
            topics.append({"name": name, "partitions": [how]})
        if not code:
            self.asks -= 1
            if self.asks < 0:
                self.arrive()
        return {"error_code": code, "error_message": None, "topics": topics}

    def arrive(self) -> None:
        """Complete reassignments whose target replicas are all in sync, or that only change the order of replicas.

        As Kafka does (KafkaController.isReassignmentComplete).
        """
        for place, target in list(self.under_way.items()):
            name, number = place
            if name in self.stuck:
                continue
            led = self.leader(place) >= 0
            isr = self.isr(place)
            if led:
                isr += [one for one in target if one not in isr and self.in_sync(one, *place)]
            if {*target} <= {*isr} or {*target} == {*self.topics[name][number]}:
                self.topics[name][number] = target
                del self.under_way[place]

    def aim(self, place: tuple[str, int], target: list[int] | None) -> None:
        """Reassign a partition, or restore its replicas if target is None; other added replicas are deleted."""
        name, number = place
        has, isr = self.topics[name][number], self.isr(place)
        deleted = {*self.full(place)} - {*has, *(target or ())}
        if isr and {*isr} <= deleted:
            self.destroyed.add(place)
        self.isrs[place] = [one for one in isr if one not in deleted]
        self.topics[name][number] = [one for one in self.full(place) if one in has]
        self.under_way.pop(place, None)
        if target is None:
            return
        self.under_way[place] = target
        for broker in {*target} - {*has}:  # a new replica is placed in an online log dir
            lost = self.given_up.get(broker, [])
            if self.log_dirs[0] in lost:
                self.where[broker, name, number] = next(one for one in self.log_dirs if one not in lost)

    def alter_partition_reassignments(self, request: Any, broker: int) -> Answer:
        code, responses = self.judged(broker), []
        for topic in [] if code else request.topics:
            answers = []
            for one in topic.partitions:
                place, wrong = (topic.name, one.partition_index), 0
                if one.replicas is None:
                    wrong = 0 if place in self.under_way else NO_MOVE
                    self.aim(place, None)
                    self.written.append(f"cancel {topic.name}-{one.partition_index}")
                elif self.down & {*one.replicas} - {*self.topics[topic.name][one.partition_index]}:
                    wrong = NOT_ALIVE
                else:
                    self.aim(place, list(one.replicas))
                    self.written.append(f"move {topic.name}-{one.partition_index} to {list(one.replicas)}")
                answers.append({"partition_index": one.partition_index, "error_code": wrong, "error_message": None})
            responses.append({"name": topic.name, "partitions": answers})
        return {"error_code": code, "error_message": None, "responses": responses}
