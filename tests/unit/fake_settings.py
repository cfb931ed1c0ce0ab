"""What brokers of a fake cluster say of settings, and what they take while they run."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property, partial
from typing import Any

INVALID_CONFIG, TOPIC_EXISTS, POLICY, NOT_CONTROLLER, TIMED_OUT, LOGIN, NOT_ALLOWED, INVALID_REQUEST, NO_MECHANISM = (
    40,
    36,
    44,
    41,
    7,
    58,
    31,
    42,
    33,
)
UNCLEAR = -1
KNOWN = {"retention.ms", "cleanup.policy", "min.insync.replicas", "segment.bytes"}
KNOWN |= {f"{side}.replication.throttled.replicas" for side in ("leader", "follower")}
BROKER = {
    "log.retention.hours": "168",
    "log.retention.bytes": "-1",
    "log.cleanup.policy": "delete",
    "min.insync.replicas": "2",
    "num.partitions": "1",
    "default.replication.factor": "3",
}
DEFAULT = {"num.io.threads": "8", "log.retention.hours": "168", "log.retention.ms": "", "sasl.jaas.config": ""}
HOURS = ("log.retention.ms", "log.retention.hours")
THROTTLED = (".replication.throttled.", "replica.alter.log.dirs.io.max.bytes.per.second")
Answer = dict[str, Any]


def unknown(config: dict[str, str]) -> tuple[int, str]:
    """Return why a broker refuses settings."""
    wrong = [name for name in config if name not in KNOWN]
    return (INVALID_CONFIG, f"Unknown topic config name: {wrong[0]}") if wrong else (0, "")


class FakeSettings:
    """The part of FakeCluster that has settings; what it is made of stands there."""

    racks: dict[int, str]
    brokers: dict[str, str]
    configs: dict[str, dict[str, str]]
    dynamic: dict[str, str]
    told: dict[str, dict[str, str]]
    begun: dict[int, dict[str, str]]
    fatal: set[str]
    deaf: bool
    cut: dict[str, bool]
    unclear: set[str]
    denied: set[str]
    mute: set[int]
    down: set[int]
    stale: set[int]
    refused: dict[str, str]
    written: list[str]
    controller: int

    @cached_property
    def loggers(self) -> dict[int, dict[str, str]]:
        """Levels of loggers by broker."""
        return {broker: {"root": "INFO", "kafka.request.logger": "WARN"} for broker in self.racks}

    def log(self, broker: int, sets: dict[str, str], removes: list[str]) -> None:
        """Set levels of a broker's loggers, and remove some."""
        self.loggers[broker].update(sets)
        for name in removes:
            del self.loggers[broker][name]

    def describe_configs(self, request: Any, broker: int) -> Answer:
        results = []
        for one in request.resources:
            if one.resource_type == 8:
                levels = [{"name": name, "value": level} for name, level in self.loggers[broker].items()]
                same = {"read_only": False, "config_source": 6, "is_sensitive": False}
                about = {"resource_type": 8, "resource_name": one.resource_name}
                results.append({"error_code": 0, **about, "configs": [{**level, **same} for level in levels]})
                continue
            if one.resource_type == 4:
                about = {"resource_type": 4, "resource_name": one.resource_name}
                if "describe_configs" in self.denied:
                    results.append({"error_code": NOT_ALLOWED, **about})
                elif broker in self.mute:
                    results.append({"error_code": TIMED_OUT, **about})
                else:
                    results.append(self.of_brokers(one.resource_name, broker))
                continue
            own = self.configs.get(one.resource_name, {})
            entries = [(name, value, 1) for name, value in own.items()]
            entries += [(name, value, 2) for name, value in self.dynamic.items() if name not in own]
            entries += [(name, "", 5) for name in sorted(KNOWN - own.keys() - self.dynamic.keys())]
            results.append(
                {
                    "error_code": 0,
                    "resource_type": one.resource_type,
                    "resource_name": one.resource_name,
                    "configs": [
                        {"name": n, "value": v, "read_only": False, "config_source": s, "is_sensitive": False}
                        for n, v, s in entries
                    ],
                }
            )
        return {"results": results}

    def of_brokers(self, name: str, broker: int) -> Answer:
        """Return the settings of a broker, or of all, each value with those that it goes before."""
        code, entries = (0 if name in ("", str(broker)) else INVALID_REQUEST), []
        file = self.file(broker)
        levels = [(3, self.told.get("", {}))]
        if name:
            levels = [(2, self.told.get(name, {})), *levels, (4, file), (5, DEFAULT)]
        for key in sorted({key for _, level in levels for key in level}):
            values: list[tuple[str | None, int]] = [(level[key], source) for source, level in levels if key in level]
            limit = any(name in key for name in THROTTLED)
            strange = not (key in file or key in DEFAULT or limit or key == "sasl.jaas.config")
            if hidden := strange or key == "sasl.jaas.config":
                values = [(None, source) for _, source in values]
            synonyms = [
                {"name": one, "value": level[one] or None, "source": source}
                for source, level in levels
                for one in (HOURS if key in HOURS else (key,))
                if one in level
            ]
            begin = next((at for at, one in enumerate(synonyms) if one["name"] == key), len(synonyms))
            synonyms = synonyms[begin:]  # as ConfigHelper.configSynonyms does
            if hidden:
                synonyms = [{**one, "value": None} for one in synonyms]
            kinds = {"read_only": key == "broker.id", "is_sensitive": hidden, "config_type": 0 if strange else 2}
            value, source = values[0]
            entries.append({"name": key, "value": value, "config_source": source, "synonyms": synonyms, **kinds})
        return {"error_code": code, "resource_type": 4, "resource_name": name, "configs": entries}

    def file(self, broker: int) -> dict[str, str]:
        """Return what a broker was started with."""
        file = {**self.brokers, "num.io.threads": "8", "log.cleaner.threads": "1", "broker.id": str(broker)}
        return {**file, "broker.rack": self.racks[broker], **self.begun.get(broker, {})}

    def threads(self, broker: int, sets: dict[str, str] | None = None, removes: Collection[str] = ()) -> int:
        """Return the I/O threads of a broker, or those that it would have."""
        own = {key: value for key, value in self.told.get(str(broker), {}).items() if key not in removes}
        levels = ({**own, **(sets or {})}, self.told.get("", {}), self.file(broker))
        return int(next(level["num.io.threads"] for level in levels if "num.io.threads" in level))

    def tell(self, name: str, request: Any, broker: int, sets: dict[str, str], removes: list[str]) -> Answer:
        """Take settings of one broker, or of all: a broker takes up to twice the threads that it has."""
        wrong = (0, "")
        if not name and int(sets.get("num.io.threads", 8)) > 2 * int(
            self.told.get(str(broker), {}).get("num.io.threads", 8)
        ):
            wrong = (INVALID_REQUEST, "Dynamic thread count update validation failed")
        if name and not self.threads(broker) // 2 <= self.threads(broker, sets, removes) <= 2 * self.threads(broker):
            wrong = (INVALID_REQUEST, "Dynamic thread count update validation failed")

        def write() -> None:
            if self.deaf:
                return
            kept = self.told.setdefault(name, {})
            kept.update(sets)
            for key in removes:
                kept.pop(key, None)
            if self.fatal & sets.keys() or self.cut.get(name):
                self.down.add(broker)

        fared = self.outcome("tell", name or "all", request, wrong, write)
        if name in self.cut and not request.validate_only:
            raise ConnectionError
        return fared

    def judged(self, broker: int) -> int:
        return 0 if broker in (self.controller, *self.stale) else NOT_CONTROLLER

    def outcome(self, verb: str, name: str, request: Any, wrong: tuple[int, str], write: Callable[[], None]) -> Answer:
        """Return how one resource fared; it is written where nothing is wrong and it is not only to be judged."""
        code, text = wrong
        if not code and not request.validate_only and name in self.refused:
            code, text = POLICY, self.refused[name]
        if not code and not request.validate_only:
            write()
            self.written.append(f"{verb} {name}")
            code = UNCLEAR if name in self.unclear else 0
        return {"error_code": code, "error_message": text or None}

    def incremental_alter_configs(self, request: Any, broker: int) -> Answer:
        results = []
        for one in request.resources:
            sets = {entry.name: entry.value for entry in one.configs if entry.config_operation == 0}
            removes = [entry.name for entry in one.configs if entry.config_operation == 1]

            def write(name: str = one.resource_name, s: Any = sets, r: Any = removes) -> None:
                kept = self.configs.setdefault(name, {})
                kept.update(s)
                for key in r:
                    del kept[key]

            name = one.resource_name
            if one.resource_type == 8:
                fared = self.outcome("log", name, request, (0, ""), partial(self.log, broker, sets, removes))
            elif one.resource_type == 4:
                fared = self.tell(name, request, broker, sets, removes)
            else:
                fared = self.outcome("configure", name, request, unknown(sets), write)
            results.append({**fared, "resource_type": one.resource_type, "resource_name": name})
        return {"responses": results}
