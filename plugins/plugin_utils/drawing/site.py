"""Draws the hosts, racks, datacenters, networks and ports of an inventory, and which failure stops what."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing.svg import (
    LINE,
    PALE,
    WHITE,
    Cell,
    Mark,
    Svg,
    marks_width,
    table,
    wrapped,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.firewall import left_alone, rules_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import NETWORKS, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.ports import Port, of_jvms, of_services
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import WILDCARDS, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import sources
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import count
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.tables import lines as survival_lines
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.tables import totals

WIDTH, MARGIN = 1280, 20
INNER = WIDTH - 2 * MARGIN
MAKER = "drawn by millrace.kafka, which replaces this file"
"""The comment by which preflight recognises a file that it may replace."""
COLUMNS = 4
"""Columns of hosts side by side."""
HOSTS_IN_COLUMN = 10
WIDEST = 480
"""Widest column of hosts in pixels."""
GUTTER, PAD = 30, 8
"""Space left of a rack for the lines of the two networks, and between a box and its content."""
BUSES = {"client": (6.0, ""), "replication": (16.0, "5 3")}
"""By network: where its line is in the gutter, and the dashes of the line."""
FUNCTIONS = {"zookeeper": "ZooKeeper server", "kafka": "broker", "database": "PostgreSQL", "spark": "Spark jobs"}
FUNCTIONS |= {"spark_masters": "Spark master", "spark_workers": "Spark worker"}
SOURCES = {
    "client": "clients",
    "replication": "replication network",
    "admin": "admins",
    "kafka": "brokers",
    "zookeeper": "ZooKeeper servers",
    "spark": "Spark hosts",
}
SOURCES |= {"spark_masters": "Spark masters", "spark_workers": "Spark workers"}
PORTS = {
    "zookeeper_secure_client_port": "client port of ZooKeeper, TLS",
    "zookeeper_client_port": "client port of ZooKeeper, unencrypted",
    "postgresql_port": "port of PostgreSQL",
}
"""Ports that have the name of a variable only."""


def draw(model: Model, rows: Sequence[Row], name: str, down: Collection[str] = ()) -> str:
    """Return the SVG file of a site.

    `model` has no errors, `rows` is the result of `survival` ([] without a cluster), and `name` the inventory's name.
    Hosts in `down` are marked, because a server of theirs does not serve.
    """
    hosts = [*model.function_hosts, *(host for host in model.hosts if host not in model.function_hosts)]
    title = f"Site {name}: layout {model.layout}, {count(hosts, 'host')}" if model.cluster else f"Site {name}"
    svg = Svg(WIDTH, title, "Hosts, networks, services and ports, and what each failure stops.", MAKER)
    y = svg.lines(MARGIN, 34, wrapped(title, INNER, 20, bold=True), size=20, bold=True)
    y = svg.lines(MARGIN, y, [line for text in facts(model) for line in wrapped(text, INNER)])
    y = _legend(svg, y, model, rows)
    losses = {row.lost: row for row in rows if row.kind in ("server", "rack", "datacenter", "witness")}
    rows_of_places = shelves(places(model, hosts))
    width = min(INNER / max((sum(place.columns for place in row) for row in rows_of_places), default=1), WIDEST)
    for shelf in rows_of_places:
        boxes = [_Box(model, place, width, losses, down) for place in shelf]
        height, x = max(box.height for box in boxes), float(MARGIN)
        for box in boxes:
            box.draw(svg, x, y, height)
            x += box.width
        y += height + 16
    y = _ports(svg, model, hosts, y)
    if rows:
        y = _survival(svg, rows, y)
    return svg.text_of_file(y + MARGIN)


def facts(model: Model) -> Iterator[str]:
    """Yield what is true of the whole cluster."""
    if model.brokers:
        first = model.brokers[0]
        factor, min_isr = first.replication_factor, first.inputs.get("kafka_min_insync_replicas")
        yield (
            f"{count(model.brokers, 'broker')}: replication factor {factor}, min.insync.replicas {min_isr}, "
            f"broker.rack {', '.join(dict.fromkeys(str(one.kafka_rack or 'none') for one in model.brokers))}"
        )
    if model.servers:
        groups = model.servers[0].groups
        quorum = f"quorum groups {'; '.join(f'{key}: {_numbers(ids)}' for key, ids in groups.items())}"
        yield f"{count(model.servers, 'ZooKeeper server')}: {quorum if groups else 'a majority is a quorum'}"


def _numbers(ids: Sequence[int | None]) -> str:
    return ", ".join(map(str, ids))


def used_networks(model: Model) -> list[str]:
    """Return the networks in which hosts have an address."""
    return [name for name in NETWORKS if any(one.address(name) is not None for one in model.machines.values())]


def _legend(svg: Svg, y: float, model: Model, rows: Sequence[Row]) -> float:
    """Draw the lines of the networks and the meaning of marks; return the y below."""
    failures, networks = [row for row in rows if row.kind == "network"], used_networks(model)
    for network in networks:
        dashes, only = BUSES[network][1], len(networks) == 1
        svg.line((MARGIN, y - 4), (MARGIN + 60, y - 4), weight=2, dashes=dashes)
        svg.dot(MARGIN + 60, y - 4, filled=network == "client")
        svg.text(MARGIN + 72, y, "the only network" if only else f"{network} network")
        if row := next((row for row in failures if only or row.failure == f"{network} network"), None):
            svg.text(MARGIN + 220, y, "if it fails:")
            svg.marks(MARGIN + 300, y, marks_of(row))
            if not marks_of(row):
                svg.text(MARGIN + 300, y, "nothing stops")
        y += LINE + 4
    if rows:
        marks = [Mark("no quorum"), Mark("no writes"), Mark("records lost")]
        svg.marks(MARGIN, y, marks)
        text = (
            "what the failure of a host, rack or datacenter means if its servers never return; no mark: ZooKeeper "
            "keeps its quorum, all partitions stay writable, no acknowledged record is lost"
        )
        x = MARGIN + marks_width(marks) + 6
        y = svg.lines(x, y, wrapped(text, WIDTH - MARGIN - x))
    return y + 6


def marks_of(row: Row | None) -> list[Mark]:
    """Return the marks of a failure: what is lost with it."""
    if row is None:
        return []
    kept = {"no quorum": row.quorum, "no writes": row.writable, "records lost": row.zero_loss}
    return [Mark(text) for text, is_kept in kept.items() if not is_kept]


@dataclass(frozen=True)
class Rack:
    """Hosts of one rack, or of none; a part of them if they need several columns."""

    name: str | None
    hosts: tuple[str, ...]
    whole: frozenset[str]
    """All hosts of the rack."""


@dataclass(frozen=True)
class Place:
    """A datacenter with its racks, each one column."""

    name: str | None
    racks: tuple[Rack, ...]
    hosts: frozenset[str]

    @property
    def columns(self) -> int:
        """The number of columns side by side."""
        return min(len(self.racks), COLUMNS)


def places(model: Model, hosts: Sequence[str]) -> list[Place]:
    """Return the datacenters of the hosts, with as few columns as fit side by side."""
    by_place: dict[str | None, dict[str | None, list[str]]] = {}
    for host in hosts:
        machine = model.machines[host]
        by_place.setdefault(machine.datacenter, {}).setdefault(machine.rack, []).append(host)
    found: list[Place] = []
    for most in range(3, HOSTS_IN_COLUMN + 1):
        found = [_place(name, racks, most) for name, racks in _last(by_place)]
        if sum(len(place.racks) for place in found) <= COLUMNS:
            break
    return found


def _last(named: Mapping[str | None, Any]) -> list[tuple[str | None, Any]]:
    """Return the items sorted by name, and the item without a name last."""
    return sorted(named.items(), key=lambda item: (item[0] is None, item[0] or ""))


def _place(name: str | None, racks: Mapping[str | None, Sequence[str]], most: int) -> Place:
    columns = []
    for rack, members in _last(racks):
        parts = -(-len(members) // most)
        each = -(-len(members) // parts)
        columns += [
            Rack(rack, tuple(members[first : first + each]), frozenset(members))
            for first in range(0, len(members), each)
        ]
    return Place(name, tuple(columns), frozenset(host for members in racks.values() for host in members))


def shelves(found: Sequence[Place]) -> list[list[Place]]:
    """Return the datacenters in rows: as many side by side as have room."""
    rows: list[list[Place]] = []
    for place in found:
        if not rows or sum(one.columns for one in (*rows[-1], place)) > COLUMNS:
            rows.append([])
        rows[-1].append(place)
    return rows


class _Box:
    """The box of a datacenter."""

    def __init__(
        self,
        model: Model,
        place: Place,
        column: float,
        losses: Mapping[frozenset[str], Row],
        down: Collection[str] = (),
    ) -> None:
        """Compute its size; `column` is the width of a column, `losses` are failures by lost hosts of the cluster.

        Hosts in `down` are marked.
        """
        self.model, self.place, self.column = model, place, column
        self.losses, self.cluster = losses, frozenset(machine.name for machine in model.cluster)
        self.width = column * place.columns
        self.hosts = {
            host: _Host(
                model,
                host,
                column - GUTTER - 4 * PAD,
                [*([Mark("down")] if host in down else ()), *marks_of(losses.get(frozenset({host})))],
            )
            for host in place.hosts
        }
        racks = place.racks
        self.rows = [racks[first : first + place.columns] for first in range(0, len(racks), place.columns)]
        self.titles = wrapped(f"datacenter {place.name}" if place.name else "no datacenter", self.width - 3 * PAD, 15)
        self.marks = self._marks(place.hosts)
        self.subnets = {network: self._subnets(network) for network in NETWORKS}

    def _marks(self, hosts: frozenset[str]) -> list[Mark]:
        """Return the marks for losing all hosts of a rack or datacenter: the failure of its hosts of the cluster."""
        return marks_of(self.losses.get(hosts & self.cluster)) if len(hosts) > 1 or hosts == self.place.hosts else []

    def _subnets(self, network: str) -> list[str]:
        machines = [self.model.machines[host] for host in sorted(self.place.hosts)]
        named = [machine for machine in machines if machine.address(network) is not None]
        subnets = dict.fromkeys(str(machine.network(network)) for machine in named if machine.network(network))
        kind = "" if len(used_networks(self.model)) == 1 else f"{network} "
        text = f"{kind}network {', '.join(subnets)}".strip()
        return wrapped(text, self.width - 5 * PAD) if named else []

    @property
    def head(self) -> float:
        """The height above the networks' lines."""
        return len(self.titles) * 19 + (20 if self.marks else 0) + 12

    @property
    def buses(self) -> float:
        """The height of the networks' lines with their names."""
        return sum(len(lines) * LINE + 8 for lines in self.subnets.values()) + 6

    def _rack_height(self, rack: Rack) -> float:
        hosts = sum(self.hosts[host].height + PAD for host in rack.hosts)
        return self._rack_head(rack) + hosts

    def _rack_head(self, rack: Rack) -> float:
        if rack.name is None:
            return float(PAD)
        marks = self._marks(rack.whole)
        return len(self._rack_title(rack)) * LINE + (20 if marks else 0) + PAD

    def _rack_title(self, rack: Rack) -> list[str]:
        return wrapped(f"rack {rack.name}", self.column - GUTTER - 4 * PAD, bold=True)

    @property
    def height(self) -> float:
        """The height that the content needs."""
        return self.head + sum(self.buses + max(map(self._rack_height, row)) + PAD for row in self.rows)

    def draw(self, svg: Svg, x: float, y: float, height: float) -> None:
        """Draw the box with its upper left corner at (x, y)."""
        svg.box(x + 2, y, self.width - 4, height, weight=2)
        below = svg.lines(x + PAD + 2, y + 20, self.titles, size=15, bold=True)
        svg.marks(x + PAD + 2, below - 2, self.marks)
        top = y + self.head
        for row in self.rows:
            lines = self._networks(svg, x, top)
            for number, rack in enumerate(row):
                self._rack(svg, x + PAD + number * self.column, top + self.buses, rack, lines)
            top += self.buses + max(map(self._rack_height, row)) + PAD

    def _networks(self, svg: Svg, x: float, y: float) -> dict[str, float]:
        """Draw the lines of the networks with their names; return {network: y of its line}."""
        lines = {}
        for network, texts in self.subnets.items():
            if not texts:
                y += 8
                continue
            below = svg.lines(x + PAD + 26, y + 12, texts)
            lines[network] = below - 10
            svg.line((x + PAD, lines[network]), (x + self.width - PAD, lines[network]), weight=2,
                     dashes=BUSES[network][1])  # fmt: skip
            y = below - 4
        return lines

    def _rack(self, svg: Svg, x: float, y: float, rack: Rack, buses: Mapping[str, float]) -> None:
        left, width = x + GUTTER, self.column - GUTTER - 2 * PAD
        if rack.name is not None:
            svg.box(left, y, width, self._rack_height(rack), fill=PALE, dashes="2 2")
            below = svg.lines(left + PAD, y + 14, self._rack_title(rack), bold=True)
            svg.marks(left + PAD, below, self._marks(rack.whole))
        top, ends = y + self._rack_head(rack), dict[str, float]()
        for name in rack.hosts:
            host = self.hosts[name]
            host.draw(svg, left + PAD, top, width - 2 * PAD)
            for network, at in host.joints().items():
                bus, dashes = x + BUSES[network][0], BUSES[network][1]
                svg.line((bus, top + at), (left + PAD, top + at), dashes=dashes)
                svg.dot(bus, top + at, filled=network == "client")
                ends[network] = top + at
            top += host.height + PAD
        for network, end in ends.items():
            bus, dashes = x + BUSES[network][0], BUSES[network][1]
            svg.line((bus, buses[network]), (bus, end), weight=2, dashes=dashes)
            svg.dot(bus, buses[network], filled=network == "client")
            svg.dot(bus, end, filled=network == "client")


class _Host:
    """The box of a host."""

    def __init__(self, model: Model, name: str, width: float, marks: Sequence[Mark]) -> None:
        """Compute its lines for a box of `width` pixels."""
        self.titles, self.marks = wrapped(name, width - 2 * PAD, 13, bold=True), marks
        self.does = [line for text in does(model, name) for line in wrapped(text, width - 2 * PAD)]
        self.addresses = [
            (network, [line for text in texts for line in wrapped(text, width - 2 * PAD)])
            for network, texts in addresses(model, model.machines[name])
        ]

    @property
    def height(self) -> float:
        """The height of the box."""
        return self._first + sum(len(texts) for _, texts in self.addresses) * LINE + 2

    @property
    def _first(self) -> float:
        """The height above the addresses."""
        return len(self.titles) * 17 + len(self.does) * LINE + (20 if self.marks else 0) + 6

    def joints(self) -> dict[str, float]:
        """Return {network: where its line meets the box, in pixels below its top}."""
        found, at = dict[str, float](), self._first
        for network, texts in self.addresses:
            if network in NETWORKS:
                found[network] = at + LINE / 2
            at += len(texts) * LINE
        return found

    def draw(self, svg: Svg, x: float, y: float, width: float) -> None:
        """Draw the box with its upper left corner at (x, y)."""
        svg.box(x, y, width, self.height, fill=WHITE)
        below = svg.lines(x + PAD, y + 16, self.titles, size=13, bold=True)
        if self.marks:
            svg.marks(x + PAD, below, self.marks)
            below += 20
        svg.lines(x + PAD, below, self.does)
        at = y + self._first
        for _, texts in self.addresses:
            svg.lines(x + PAD, at + 12, texts)
            at += len(texts) * LINE


def does(model: Model, name: str) -> Iterator[str]:
    """Yield the functions of a host, each with its number or its jobs."""
    numbers = {("zookeeper", one.name): one.number for one in model.servers}
    numbers |= {("kafka", one.name): one.number for one in model.brokers}
    jobs = {one.name: [job.name for job in one.jobs] for one in model.spark_nodes}
    functions = [function.name for function in model.functions_of(model.machines[name])]
    observers = {one.name for one in model.servers if not one.votes}
    for function in functions:
        noun = FUNCTIONS.get(function, function)
        if function == "zookeeper" and name in observers:
            noun = "ZooKeeper observer"
        if function == "spark":
            yield f"{noun}: {', '.join(jobs[name])}" if jobs[name] else "no Spark job"
        else:
            yield f"{noun} {numbers[function, name]}" if (function, name) in numbers else noun
    if name in model.all_groups.get("admin", ()):
        yield "admin host"
    elif not functions:
        yield "no function"


def addresses(model: Model, machine: Machine) -> list[tuple[str, list[str]]]:
    """Return [(network, lines)]: each address of a host with the ports that are open at it; "" for other addresses."""
    ports, found = ports_of(model, machine), list[tuple[str, list[str]]]()
    own = {network: str(machine.address(network)) for network in NETWORKS if machine.address(network) is not None}
    for network, address in own.items():
        at = [port for port in ports if port.address in ("", *WILDCARDS, address)]
        found.append((network, [" ".join([address, *dict.fromkeys(map(_short, at))])]))
    others = dict.fromkeys(port.address for port in ports if port.address not in ("", *WILDCARDS, *own.values()))
    for address in others:
        at = [port for port in ports if port.address == address]
        found.append(("", [" ".join([address, *dict.fromkeys(map(_short, at))])]))
    advertised = [
        f"{one.name} advertised as {one.advertised_address}:{one.advertised_port}"
        for one in listeners_of(model, machine).values()
        if (one.advertised_address, one.advertised_port) != (one.address, one.port)
    ]
    return [*found, ("", advertised)] if advertised else found


def ports_of(model: Model, machine: Machine) -> list[Port]:
    """Return the open ports of a host: of its services, and of their JVMs."""
    return [*of_services(machine, model), *of_jvms(machine, model)] if machine.name in model.function_hosts else []


def listeners_of(model: Model, machine: Machine) -> dict[str, Listener]:
    """Return {name: listener} of a host."""
    return {one.name: one for broker in model.brokers if broker.name == machine.name for one in broker.listeners}


def _short(port: Port) -> str:
    name = port.what.removeprefix("listener ") if port.what.startswith("listener ") else ""
    return f":{port.number} {name}".strip()


def _ports(svg: Svg, model: Model, hosts: Sequence[str], y: float) -> float:
    """Draw the table of ports: who listens, and who may connect."""
    found: dict[tuple[str, ...], list[str]] = {}
    for host in hosts:
        machine = model.machines[host]
        listeners = listeners_of(model, machine)
        for port in ports_of(model, machine):
            networks = [network for network in NETWORKS if port.address == str(machine.address(network))]
            where = (
                networks[0] if networks else port.address if port.address not in ("", *WILDCARDS) else "all addresses"
            )
            listener = listeners.get(port.what.removeprefix("listener "))
            uses = [listener.protocol, *listener.mechanisms] if listener else []
            key = (
                str(port.number),
                port.product,
                PORTS.get(port.what, port.what),
                ", ".join(uses),
                where,
                admitted(model, machine, port),
            )
            found.setdefault(key, []).append(host)
    if not found:
        return y
    svg.text(MARGIN, y + 14, "Ports, and who may connect", size=15, bold=True)
    rows = [[*key, _hosts(names)] for key, names in sorted(found.items(), key=lambda item: (item[0][1], item[0]))]
    columns = [("port", 60), ("service", 100), ("what", 260), ("protocol", 260), ("network", 110)]
    return table(svg, MARGIN, y + 18, [*columns, ("who may connect", 250), ("hosts", 200)], rows) + 20


def admitted(model: Model, machine: Machine, port: Port) -> str:
    """Return who may connect to a port of a host: by its firewall rules, with names for the sources that have one."""
    rules = [rule for rule in rules_of(machine) if whole(rule.get("port")) == whole(port.number)]
    if not rules:
        return "no host" if port.number not in (left_alone(machine) or [port.number]) else "all hosts"
    given = dict.fromkeys(
        str(source) for rule in rules if rule.get("action") != "reject" for source in rule.get("from") or ()
    )
    known = sources({"all": [*model.hosts], **model.all_groups}, model.hosts,
                    machine.inputs.mapping("firewall_extra_sources"))  # fmt: skip
    named = [name for name in port.sources if known.get(name) and given.keys() >= set(known[name])]
    others = [source for source in given if not any(source in known[name] for name in named)]
    return ", ".join([*(SOURCES.get(name, name) for name in named), *others]) or "no host"


def _hosts(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} hosts"


def _survival(svg: Svg, rows: Sequence[Row], y: float) -> float:
    """Draw the table of failures."""
    svg.text(MARGIN, y + 14, "What still works after a failure", size=15, bold=True)
    columns = [("what fails", 340), ("quorum", 90), ("writable", 90), ("zero loss", 90), ("who acts", 630)]
    harmless = [row for row in rows if row.kind == "server" and not marks_of(row)]
    cells: list[Sequence[Cell]] = []
    for (name, *_), members in survival_lines([row for row in rows if row not in harmless[1:]]):
        first = members[0]
        if first in harmless and len(harmless) > 1:
            others = any(row.kind == "server" and marks_of(row) for row in rows)
            name = f"any {'other ' if others else ''}single server ({len(harmless)})"
        cells.append([name, first.quorum, first.writable, first.zero_loss, first.who])
    y = table(svg, MARGIN, y + 18, columns, cells) + 4
    return svg.lines(MARGIN, y + LINE, [line for text in totals(rows) for line in wrapped(f"{text}.", INNER)])
