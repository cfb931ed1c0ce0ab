"""A cluster on loopback that both libraries believe: its state is plain dicts; no JVM, no disk.

It judges what it is asked as a broker of 3.9 with ZooKeeper does, as far as the tests need it.
"""

from __future__ import annotations

import threading
from typing import Any

from unit.fake_moves import FakeMoves
from unit.fake_settings import (
    BROKER,
    LOGIN,
    NO_MECHANISM,
    POLICY,
    TIMED_OUT,
    TOPIC_EXISTS,
    Answer,
    unknown,
)


class FakeCluster(FakeMoves):
    """What the brokers know, and what they were asked to write (`written`)."""

    def __init__(self, brokers: int = 3) -> None:
        """Brokers 1, 2, ... in racks a, b, c; the first is the controller."""
        self.racks = {number: "abc"[(number - 1) % 3] for number in range(1, brokers + 1)}
        self.ports: dict[int, int] = {}
        self.dead_ports: set[int] = set()
        """Ports at which no broker answers."""
        self.id, self.controller = "cluster-of-a-test", 1
        self.topics: dict[str, list[list[int]]] = {}
        self.configs: dict[str, dict[str, str]] = {}
        self.acls: list[tuple[int, str, int, str, str, int, int]] = []
        self.scram: dict[str, dict[int, int]] = {}
        self.mechanisms = ["SCRAM-SHA-512"]
        self.quotas: dict[tuple[tuple[str, str | None], ...], dict[str, float]] = {}
        self.written: list[str] = []
        self.refused: dict[str, str] = {}
        """By name of a resource, why writing it fails although it was found valid."""
        self.brokers, self.dynamic = dict(BROKER), dict[str, str]()
        """What each broker has in its file, and what of topics was set on brokers while they ran."""
        self.told, self.begun = dict[str, dict[str, str]](), dict[int, dict[str, str]]()
        """What was set on brokers while they ran, by the id of one, or '' for all; by id what its file said besides."""
        self.fatal: set[str] = set()
        """Settings that end a broker."""
        self.deaf = False
        """Brokers take no setting that they said they would."""
        self.denied: set[str] = set()
        """What the one who asks may not, by the names of methods."""
        self.silent: set[str] = set()
        """What brokers never answer, by the names of methods: they would have to ask ZooKeeper."""
        self.late, self.lost, self.last = set[str](), set[str](), set[str]()
        """Writes, by the names of methods, that are done and not answered, that are neither, and that are neither
        while nothing is answered any more."""
        self.withheld = threading.Semaphore(0)
        """Released once for each request whose answer is withheld."""
        self.cut: dict[str, bool] = {}
        """By scope of settings that are taken while the connection breaks (a broker, or '' for all), whether the broker
        that was told ends with it."""
        self.unclear: set[str] = set()
        """Names of resources whose write is done, and answered as if nobody knew."""
        self.moving: dict[str, list[int]] = {}
        """By topic the partitions whose replicas somebody else is moving."""
        self.arriving: dict[tuple[str, int], list[int]] = {}
        """By partition of these the replicas that it gets."""
        self.under_way: dict[tuple[str, int], list[int]] = {}
        """By partition that is on the move the replicas that it is to have."""
        self.asks, self.stuck = 1, set[str]()
        """How often who asks is told of a move before it is done, and topics of which none ever is."""
        self.mute: set[int] = set()
        """Brokers that are there, and do not say what is set for them."""
        self.ungrown: set[str] = set()
        """Topics that get no more partitions, although that was found valid."""
        self.down: set[int] = set()
        """Brokers that nobody sees."""
        self.stale: set[int] = set()
        """Brokers that have not heard that another one is the controller now."""
        self.says: dict[int, Answer] = {}
        """By broker, in what its metadata differs from what is."""
        self.have_disks()
        self.lingering: dict[str, int] = {}
        """By name of a topic, how often it is still there after a delete that was answered with a timeout."""

    def withhold(self) -> None:
        """Leave a request without an answer."""
        self.withheld.release()
        threading.Event().wait(60)

    def metadata(self, request: Any, broker: int) -> Answer:
        names = [topic.name for topic in request.topics] if request.topics else list(self.topics)
        for name in names if request.allow_auto_topic_creation else []:
            if name not in self.topics:
                self.topics[name] = [[self.controller]]
                self.written.append(f"create {name} by itself")
        return {
            "cluster_id": self.id,
            "controller_id": self.controller,
            "brokers": [
                {"node_id": number, "host": "127.0.0.1", "port": port, "rack": self.racks[number]}
                for number, port in self.ports.items()
                if number not in self.down
            ],
            "topics": [
                {
                    "error_code": 0,
                    "name": name,
                    "is_internal": False,
                    "partitions": [
                        {
                            "error_code": 0,
                            "partition_index": number,
                            "leader_id": self.leader((name, number)),
                            "replica_nodes": self.full((name, number)),
                            "isr_nodes": [*self.isr((name, number))],
                        }
                        for number, _ in enumerate(self.topics[name])
                    ],
                }
                for name in names
                if name in self.topics
            ],
            **self.says.get(broker, {}),
        }

    def sasl_handshake(self, request: Any, broker: int) -> Answer:
        known = request.mechanism in self.mechanisms
        return {"error_code": 0 if known else NO_MECHANISM, "mechanisms": self.mechanisms}

    def sasl_authenticate(self, request: Any, broker: int) -> Answer:
        """Nobody's password is right."""
        return {"error_code": LOGIN, "error_message": "no", "auth_bytes": b"", "session_lifetime_ms": 0}

    def create_topics(self, request: Any, broker: int) -> Answer:
        results = []
        for topic in request.topics:
            replicas = [list(one.broker_ids) for one in sorted(topic.assignments, key=lambda one: one.partition_index)]
            config = {one.name: one.value for one in topic.configs}
            code = self.judged(broker)
            wrong = (code, "not the controller") if code else unknown(config)
            if topic.name in self.topics and not request.validate_only and topic.name in self.lingering:
                self.lingering[topic.name] -= 1
                if self.lingering[topic.name] < 0:
                    del self.topics[topic.name]
            if topic.name in self.topics:
                wrong = (TOPIC_EXISTS, f"Topic '{topic.name}' already exists.")

            def write(name: str = topic.name, r: Any = replicas, c: Any = config) -> None:
                self.topics[name], self.configs[name] = r, c

            results.append({"name": topic.name, **self.outcome("create", topic.name, request, wrong, write)})
        return {"topics": results}

    def create_partitions(self, request: Any, broker: int) -> Answer:
        results = []
        for topic in request.topics:
            more = [list(one.broker_ids) for one in topic.assignments]

            def write(name: str = topic.name, r: Any = more) -> None:
                self.topics[name] += r

            wrong = (self.judged(broker), "")
            if topic.name in self.ungrown and not request.validate_only:
                wrong = (POLICY, "no more")
            results.append({"name": topic.name, **self.outcome("grow", topic.name, request, wrong, write)})
        return {"results": results}

    def delete_topics(self, request: Any, broker: int) -> Answer:
        names = list(request.topic_names or []) or [topic.name for topic in request.topics]
        responses = []
        for name in names:
            code = POLICY if name in self.refused else TIMED_OUT if name in self.lingering else 0
            if not code:
                del self.topics[name]
            self.written += [f"delete {name}"] if code != POLICY else []
            responses.append({"name": name, "error_code": code, "error_message": self.refused.get(name)})
        return {"responses": responses}

    def describe_acls(self, request: Any, broker: int) -> Answer:
        return {
            "error_code": 0,
            "error_message": None,
            "resources": [
                {
                    "resource_type": kind,
                    "resource_name": name,
                    "pattern_type": pattern,
                    "acls": [{"principal": who, "host": host, "operation": operation, "permission_type": permission}],
                }
                for kind, name, pattern, who, host, operation, permission in self.acls
            ],
        }

    def create_acls(self, request: Any, broker: int) -> Answer:
        for one in request.creations:
            place = (one.resource_type, one.resource_name, one.resource_pattern_type)
            self.acls.append((*place, one.principal, one.host, one.operation, one.permission_type))
            self.written.append(f"grant {one.principal}")
        return {"results": [{"error_code": 0, "error_message": None} for _ in request.creations]}

    def delete_acls(self, request: Any, broker: int) -> Answer:
        for one in request.filters:
            place = (one.resource_type_filter, one.resource_name_filter, one.pattern_type_filter)
            self.acls.remove((*place, one.principal_filter, one.host_filter, one.operation, one.permission_type))
            self.written.append(f"revoke {one.principal_filter}")
        answers: list[Answer] = [{"error_code": 0, "error_message": None, "matching_acls": []} for _ in request.filters]
        return {"filter_results": answers}

    def describe_user_scram_credentials(self, request: Any, broker: int) -> Answer:
        return {
            "error_code": self.judged(broker),
            "error_message": None,
            "results": [
                {
                    "user": user,
                    "error_code": 0,
                    "error_message": None,
                    "credential_infos": [{"mechanism": kind, "iterations": rounds} for kind, rounds in kept.items()],
                }
                for user, kept in self.scram.items()
            ],
        }

    def alter_user_scram_credentials(self, request: Any, broker: int) -> Answer:
        users = list(dict.fromkeys(one.name for one in [*request.deletions, *request.upsertions]))
        for one in request.upsertions:
            self.scram.setdefault(one.name, {})[one.mechanism] = one.iterations
        for one in request.deletions:
            del self.scram[one.name][one.mechanism]
        self.written += [f"credential {user}" for user in users]
        return {"results": [{"user": user, "error_code": 0, "error_message": None} for user in users]}

    def describe_client_quotas(self, request: Any, broker: int) -> Answer:
        return {
            "error_code": 0,
            "error_message": None,
            "entries": [
                {
                    "entity": [{"entity_type": kind, "entity_name": name} for kind, name in who],
                    "values": [{"key": key, "value": value} for key, value in values.items()],
                }
                for who, values in self.quotas.items()
            ],
        }

    def alter_client_quotas(self, request: Any, broker: int) -> Answer:
        entries = []
        for one in request.entries:
            who = tuple((part.entity_type, part.entity_name) for part in one.entity)

            def write(who: Any = who, ops: Any = one.ops) -> None:
                kept = self.quotas.setdefault(who, {})
                kept.update({op.key: op.value for op in ops if not op.remove})
                for op in ops:
                    if op.remove:
                        del kept[op.key]

            name = ", ".join(f"{kind}={name}" for kind, name in who)
            entity = [{"entity_type": kind, "entity_name": name} for kind, name in who]
            entries.append({**self.outcome("quota", name, request, (0, ""), write), "entity": entity})
        return {"entries": entries}
