"""Prints the results of the module kafka_topic as tables for people, or as one line of JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import yaml

from ansible_collections.millrace.kafka.plugins.module_utils.printable import printable
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import readable_size, table
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import count, count_of

KEYS = ("partitions", "config", "disks", "groups", "records", "deleted", "made", "declaration")
"""Keys of the results of kafka_topic that are printed."""
PARTITIONS = ("partition", "leader", "replicas", "ISR", "offline", "first offset", "end offset")
DISKS = ("broker", "log dir", "partitions", "size", "free")
LAG = ("group", "topic", "partition", "current offset", "end offset", "lag", "member")
RECORDS = ("partition", "offset", "time", "key", "headers", "value")


def as_json(topic: str, command: str, answer: Mapping[str, Any]) -> str:
    """Return the result `answer` of kafka_topic as one line of JSON; `command` is its option `do`."""
    found = {key: answer[key] for key in KEYS if key in answer}
    return json.dumps({"topic": topic, "do": command, "changed": bool(answer.get("changed")), **found}, default=str)


def as_text(topic: str, answer: Mapping[str, Any], *, predicted: bool = False) -> str:
    """Return the result `answer` of kafka_topic as text; `predicted` is whether it is from check mode."""
    lines: list[str] = []
    if "partitions" in answer:
        lines += _description(topic, answer)
    if "groups" in answer:
        lines += _lag(topic, answer["groups"])
    if "records" in answer:
        lines += _records(topic, answer["records"])
    if "deleted" in answer:
        lines.append(f"topic {topic}: {count_of(answer['deleted'], 'record')} {_would('deleted', predicted)}")
    if "made" in answer:
        lines.append(f"topic {topic}: {_would('recreated', predicted)} with {answer['made']}")
    elif "declaration" in answer:
        lines += declaration(answer["declaration"])
    return "\n".join(lines)


def _would(done: str, predicted: bool) -> str:
    return f"would be {done}" if predicted else done


def declaration(declared: Mapping[str, Any]) -> list[str]:
    """Return the lines that declare a topic as it is, for kafka_topics; the brokers of its replicas as a comment."""
    entry = {key: value for key, value in declared.items() if key != "replicas"}
    plain = json.loads(json.dumps([entry], default=str))
    replicas = "; ".join(f"{number}: {_ids(ids)}" for number, ids in enumerate(declared.get("replicas", ())))
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=1000)
    return [
        "The topic as it is, before it is deleted:",
        *text.rstrip().split("\n"),
        f"# replicas by partition: {replicas}",
    ]


def _description(topic: str, answer: Mapping[str, Any]) -> list[str]:
    rows = [
        (
            one["partition"],
            "none" if one["leader"] < 0 else one["leader"],
            _ids(one["replicas"]),
            _ids(one["isr"]),
            _ids(one["offline"]),
            _known(one["earliest"]),
            _known(one["latest"]),
        )
        for one in answer["partitions"]
    ]
    disks = [
        (
            one["broker"],
            one["log_dir"],
            one["partitions"],
            readable_size(one["bytes"]),
            readable_size(one["free_bytes"]),
        )
        for one in answer["disks"]
    ]
    config = [f"  {printable(line)}" for line in answer["config"]] or ["  none: the brokers' defaults apply"]
    lines = [f"topic {topic}: {count(rows, 'partition')}", *table(PARTITIONS, rows), "settings:", *config]
    return [*lines, "disks:", *(table(DISKS, disks) if disks else ["  no broker reported its disks"])]


def _lag(topic: str, groups: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [
        (
            printable(group["name"]),
            one["topic"],
            one["partition"],
            _known(one["offset"]),
            _known(one["end"]),
            _known(one["lag"]),
            _member(one.get("member")),
        )
        for group in groups
        for one in group["partitions"]
    ]
    if not rows:
        return [f"topic {topic}: no consumer group reads it or has committed offsets"]
    totals = [f"group {printable(one['name'])}: {one['state'].lower()}, lag {one['lag']}" for one in groups]
    return [*table(LAG, rows), *totals]


def _member(member: Mapping[str, Any] | None) -> str:
    return f"{printable(member['client_id'])} ({printable(member['host'])})" if member else "-"


def _records(topic: str, records: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [
        (
            one["partition"],
            one["offset"],
            _time(one["timestamp"]),
            text_of(one["key"]),
            ", ".join(
                f"{printable(key)}={text_of(value)}" for header in one["headers"] for key, value in header.items()
            )
            or "-",
            text_of(one["value"]),
        )
        for one in records
    ]
    return table(RECORDS, rows) if rows else [f"topic {topic}: no such record"]


def _ids(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids)) or "-"


def _known(number: int | None) -> str:
    return "-" if number is None else str(number)


def _time(milliseconds: int) -> str:
    """Return a timestamp of a record as UTC; `-` if the record has none, or one outside of the calendar."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return "-"
    return "-" if milliseconds < 0 else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def text_of(value: str | None) -> str:
    """Return a key or value of a record for a terminal: `null` if it has none, and "" if it is empty."""
    return "null" if value is None else printable(value) or '""'
