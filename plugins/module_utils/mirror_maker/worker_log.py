"""Reads the log of a worker of MirrorMaker 2: whether it has joined, and with which settings its parts run.

MirrorMaker ignores properties that it does not know, also those with a wrong prefix. What it uses is only in its log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

VALUES = re.compile(r"^[A-Z]+ (?:\[(?P<part>[^\]]*)\] ?)?\S+ (?P<kind>\w+) values: *$")
VALUE = re.compile(r"^\t(?P<name>\S+) = (?P<value>.*)$")
JOINED = re.compile(
    r"clientId=(?P<pair>[^\s,]+),[^\]]*\] Joined group at generation .*?leaderUrl='(?P<leader>[^']*)'.*?"
    r"connectorIds=\[(?P<connectors>[^\]]*)\].*?taskIds=\[(?P<tasks>[^\]]*)\]"
)


@dataclass(frozen=True)
class Block:
    """The settings of one part of a worker, such as the consumer of a task, as it logged them when it started."""

    kind: str
    """The class of the settings, such as ConsumerConfig."""
    client: str
    """The client.id; '' if the part is no client."""
    values: Mapping[str, str]
    part: str = ""
    """The connector and `worker`, or one of its tasks, as MirrorSourceConnector|task-0; '' for the worker itself."""


@dataclass
class WorkerLog:
    """What a worker has logged since its start."""

    blocks: list[Block] = field(default_factory=list)
    leaders: dict[str, str] = field(default_factory=dict)
    """{pair, such as west->east: URL of the worker that leads}; `NOTUSED` without requests between workers."""
    tasks: dict[str, list[str]] = field(default_factory=dict)
    """{pair: tasks that this worker runs}, such as MirrorSourceConnector-0."""
    begun: bool = False
    """Whether the log has the start of the process: a journal that was rotated may lack it."""
    connectors: dict[str, list[str]] = field(default_factory=dict)
    """{pair: connectors that this worker runs}, such as MirrorSourceConnector."""


def read(lines: Iterable[str]) -> WorkerLog:
    """Return what the lines of a worker's log contain."""
    log, values = WorkerLog(), dict[str, str]()
    for line in lines:
        if begin := VALUES.match(line):
            values = {}
            log.blocks.append(Block(begin["kind"], "", values, begin["part"] or ""))
        elif " Kafka MirrorMaker initializing " in line or " Kafka MirrorMaker starting " in line:
            log.begun = True
        elif (value := VALUE.match(line)) and log.blocks:
            values[value["name"]] = value["value"].strip()
        elif " Joined group at generation " in line and (joined := JOINED.search(line)):
            log.leaders[joined["pair"]] = joined["leader"]
            log.tasks[joined["pair"]] = _items(joined["tasks"])
            log.connectors[joined["pair"]] = _items(joined["connectors"])
    log.blocks = [replace(one, client=one.values.get("client.id", "").strip('"')) for one in log.blocks]
    return log


def current(log: WorkerLog) -> list[Block]:
    """Return the settings that the worker uses now.

    A worker that starts first uses the settings that MirrorMaker has stored in a topic, and later those of its file.
    Settings of connectors and tasks that now run elsewhere are left out, and the last ones of each part count. With
    several flows, parts have the same names; those whose flow is not known are all returned.
    """
    runs = {connector for connectors in log.connectors.values() for connector in connectors}
    runs |= {task for tasks in log.tasks.values() for task in tasks}
    found = dict[tuple[object, ...], Block]()
    for number, one in enumerate(log.blocks):
        connector, _, role = one.part.partition("|")
        name = connector if role.startswith("worker") else f"{connector}-{role.removeprefix('task-').partition('|')[0]}"
        if one.part and name not in runs:
            continue
        flow = (one.values.get("source.cluster.alias"), one.client)
        found[one.kind, one.part, flow, number if len(log.leaders) > 1 and not any(flow) else 0] = one
    return list(found.values())


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def not_started(log: WorkerLog) -> list[str]:
    """Return the connectors that this worker is to run and that have not logged their settings, as `pair connector`.

    A connector logs them when it starts, before it asks any cluster. Without the start of the log, none is returned.
    """
    if not log.begun:
        return []
    started = {
        (f"{one.values.get('source.cluster.alias')}->{one.values.get('target.cluster.alias')}", one.kind)
        for one in log.blocks
    }
    return [
        f"{pair} {connector}"
        for pair, connectors in log.connectors.items()
        for connector in connectors
        if (pair, re.sub("Connector$", "Config", connector)) not in started
    ]


def not_joined(log: WorkerLog, pairs: Sequence[str]) -> list[str]:
    """Return those of the `pairs`, such as west->east, whose group of workers the worker has not joined."""
    return [pair for pair in pairs if pair not in log.leaders]
