#!/usr/bin/env python3
"""Write docs/drawings: networks and ports, what a run does, certificates, and sites in inventories/.

Sites, ports and certificates are those that the model computes from an inventory.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml
from model.mistakes.base import VAULT
from pages import write

from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing.site import (
    MAKER,
    MARGIN,
    PORTS,
    SOURCES,
    WIDTH,
    draw,
    listeners_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing.svg import LINE, PALE, WHITE, Mark, Svg, wrapped
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.ports import Port, of_services
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import layout_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "drawings"
SITES = ("dc1", "stretch2", "lab_stretch2_5", "stretch3")
EXAMPLE = "dc1"
SERVICES = (("kafka", "Brokers"), ("zookeeper", "ZooKeeper servers"), ("database", "PostgreSQL"))
NARROW = 760
"""Width of a drawing that a page shows at its full size."""
PIN = 168
"""Width of the text beside an arrow to a port."""


@cache
def model_of(name: str) -> Model:
    """Return the model of an inventory of the project."""
    return load(ROOT / "inventories" / name, {"vault": VAULT}).read()


def site(name: str) -> str:
    """Return the drawing of an inventory, as preflight draws it."""
    return draw(model_of(name), survival(layout_of(model_of(name))), name)


def begin(title: str, description: str) -> Svg:
    """Return a drawing with its headline."""
    svg = Svg(WIDTH, title, description, MAKER)
    svg.text(MARGIN, 34, title, size=20, bold=True)
    return svg


def labelled(
    svg: Svg,
    x: float,
    y: float,
    width: float,
    title: str,
    texts: Sequence[str] = (),
    *,
    fill: str = WHITE,
    high: float = 0,
) -> float:
    """Draw a box with a bold title and lines of text; return the y of its lower end. `high` is its least height."""
    titles = wrapped(title, width - 16, 13, bold=True)
    lines = [line for text in texts for line in wrapped(text, width - 16)]
    height = max(len(titles) * 17 + len(lines) * LINE + 10, high)
    svg.box(x, y, width, height, fill=fill)
    svg.lines(x + 8, svg.lines(x + 8, y + 17, titles, size=13, bold=True), lines)
    return y + height


# -- Networks, listeners and ports ------------------------------------------------------------------------------------


def networks() -> str:
    """Return the drawing of the networks, with the ports of each function and the sources that the firewall admits."""
    model = model_of(EXAMPLE)
    svg = begin("Networks, listeners, ports and the firewall", "Which host may connect to which port on which network.")
    svg.text(MARGIN, 58, f"Ports of the example inventories/{EXAMPLE}. An arrow is a port; beside it, who may connect.")
    columns = [(SOURCES[name], text) for name, text in OUTSIDE.items()]
    width = (WIDTH - 2 * MARGIN - 40) / 3
    client, replication = 196.0, 620.0
    for number, (title, text) in enumerate(columns):
        x = MARGIN + number * (width + 20)
        bottom = labelled(svg, x, 76, width, title[0].upper() + title[1:], [text], fill=PALE, high=76)
        svg.line((x + 60, bottom), (x + 60, client), weight=2)
        svg.dot(x + 60, client, filled=True)
    svg.line((MARGIN, client), (WIDTH - MARGIN, client), weight=4)
    svg.text(WIDTH - MARGIN - 30, client - 8, "client network", bold=True, anchor="end")
    svg.line((MARGIN, replication), (WIDTH - MARGIN, replication), weight=4, dashes="10 5")
    svg.line((WIDTH - MARGIN - 20, 152), (WIDTH - MARGIN - 20, replication), weight=2)
    svg.dot(WIDTH - MARGIN - 20, replication, filled=False)
    svg.text(WIDTH - MARGIN, replication + 18, "replication network", bold=True, anchor="end")
    x, top, bottom = float(MARGIN), 330.0, 486.0
    for function, title in SERVICES:
        machine = model.machines[model.groups[function][0]]
        ports = [port for port in of_services(machine, model) if "monitoring" not in port.sources]
        here = {
            network: [port for port in ports if port.address in ("", str(machine.address(network)))]
            for network in ("client", "replication")
            if machine.address(network)
        }
        wide = max(1.5, *map(len, here.values())) * PIN
        svg.box(x, top - 34, wide, bottom - top + 68, dashes="6 4")
        svg.text(x + 6, top - 20, "firewall (nftables)")
        labelled(svg, x + 14, top, wide - 28, title, TEXTS[function], high=bottom - top)
        for network, bus, edge in (("client", client, top - 34), ("replication", replication, bottom + 34)):
            for number, port in enumerate(here.get(network, ())):
                at = x + number * PIN + 14
                down = edge > bus
                svg.line((at, bus), (at, edge), weight=1.5, arrow=True)
                svg.dot(at, bus, filled=down)
                first, *more = words(port, listeners_of(model, machine))
                y = (bus + 20) if down else edge + 20
                svg.text(at + 8, y, first, bold=True)
                svg.lines(at + 8, y + 15, [line for text in more for line in wrapped(text, PIN - 14, 11)], size=11)
        x += wide + 14
    notes = (
        "The firewall of a host drops connections to these ports from all other sources. Ports without a rule "
        "stay open "
        "on hosts with services; a host that serves no client, such as a Spark host, keeps only SSH open.",
        "ZooKeeper servers also answer TCP port 7 to each other, with a reset: so a server finds out which "
        "network works.",
        "Each host in the group metrics also listens on port 9990 of the client network, for the monitoring hosts.",
        "Admins are the admin host or the control node; firewall_extra_sources adds their addresses.",
    )
    y = replication + 46
    for note in notes:
        y = svg.lines(MARGIN, y, wrapped(note, WIDTH - 2 * MARGIN)) + 4
    return svg.text_of_file(y)


OUTSIDE = {
    "client": "applications: addresses of the client network, and further subnets of firewall_extra_sources",
    "spark": "producers and consumers; they have an address in the client network only",
    "admin": "playbooks and Kafka's tools; they need an address in both networks, or a route to them",
}
TEXTS = {
    "kafka": ["Clients connect on the client network only. Brokers copy records on the replication network only."],
    "zookeeper": [
        "Brokers know both addresses of each server. The servers use the replication network among themselves, and "
        "the client network if it fails.",
    ],
    "database": ["It binds to the client address only."],
}


def words(port: Port, listeners: Mapping[str, Any]) -> list[str]:
    """Return a port as texts: its number, what it is, its protocol, and its sources."""
    name = port.what.removeprefix("listener ")
    what = PORTS.get(port.what, port.what).replace(" of ZooKeeper", "").removeprefix("the ")
    listener = listeners.get(name)
    protocol = [", ".join([listener.protocol, *listener.mechanisms[:1]])] if listener else []
    return [str(port.number), what, *protocol, "from " + ", ".join(SOURCES.get(one, one) for one in port.sources)]


# -- What a run does --------------------------------------------------------------------------------------------------

STEPS: tuple[tuple[str, str], ...] = (
    ("1  Check the inventory", "Preflight checks all hosts of the inventory at once, even with --limit. No host "
     "is contacted."),
    ("2  Lock the hosts", "A second run that changes one of the hosts ends here. Its message names the first run."),
    ("3  Read the hosts", "Preflight compares disks, ports, Java, certificates and running versions with the "
     "inventory."),
)  # fmt: skip
LAYERS = {
    "ZooKeeper": "through a gate: followers first, the leader last",
    "Kafka": "through the gate: one broker at a time, or the brokers of one rack",
    "Topics, users, ACLs and quotas": "by requests to the brokers",
    "Databases": "users, rights, tables",
    "Spark cluster": "workers restart one at a time",
    "Spark jobs": "restarted if changed",
    "MirrorMaker": "one worker at a time",
    "Metrics": "restarted if changed",
    "Monitoring": "restarted if changed",
    "Rebalance timer": "on the admin host, if declared",
}
CIRCLE: tuple[tuple[str, str], ...] = (
    ("Order", "Brokers that are not healthy are first, the controller is last."),
    ("Gate: may it stop?", "All other replicas of its partitions are in sync, min.insync.replicas is met without "
     "it, and no reassignment is under way."),
    ("Restart", "If it is the controller, another broker takes over first. The broker stops, and starts with its "
     "new files."),
    ("Wait", "until the broker is in the ISR of all its partitions; then it leads its preferred partitions again."),
)  # fmt: skip


def run() -> str:
    """Return the drawing of a run of site.yml."""
    svg = begin("What a run of site.yml does", "Preflight, layers, and the restart of brokers through the gate.")
    inner = WIDTH - 2 * MARGIN
    svg.text(MARGIN, 70, "Before anything is changed", size=15, bold=True)
    width, gap = 300.0, 30.0
    y = _row(svg, 82, STEPS, width, gap)
    error = MARGIN + 3 * (width + gap)
    svg.line((error - gap, 122), (error, 122), arrow=True)
    text = "The run ends. All errors are listed at once; no host was changed."
    labelled(svg, error, 82, inner + MARGIN - error, "An error in 1, 2 or 3", [text], fill=PALE, high=75)
    third = MARGIN + 2 * (width + gap) + width / 2
    svg.line((third, y), (third, y + 26), (MARGIN + 60, y + 26), (MARGIN + 60, y + 66), arrow=True, weight=2)
    svg.text(third + 10, y + 24, "no error; with --check, the rest is only predicted")
    y += 54
    svg.text(MARGIN + 74, y, "Layers, one after the other", size=15, bold=True)
    y += 12
    plays = yaml.safe_load((ROOT / "playbooks" / "site.yml").read_text(encoding="utf-8"))
    layers = [str(play["name"]) for play in plays if "layers/" in play["ansible.builtin.import_playbook"]]
    space = 8.0
    width = (inner - (len(layers) - 1) * space) / len(layers)
    svg_y = _row(svg, y, [(name, LAYERS[name]) for name in layers], width, space)
    text = (
        "In each layer: certificates are made on the control node; files, units and archives are compared with the "
        "hosts; only what differs is written. A broker or server whose files changed gets a pending restart. If "
        "nothing "
        "differs, nothing is restarted."
    )
    y = svg.lines(MARGIN, svg_y + 24, wrapped(text, inner)) + 20
    svg.text(MARGIN, y, "Brokers with a pending restart", size=15, bold=True)
    y += 14
    width, gap = 270.0, 53.0
    bottom = _row(svg, y, CIRCLE, width, gap)
    svg.text(MARGIN + 2 * width + gap + 8, y + 34, "yes", bold=True)
    first, last = MARGIN + width + gap, MARGIN + 3 * (width + gap)
    svg.line((last + 60, bottom), (last + 60, bottom + 34), (first + 60, bottom + 34), (first + 60, bottom), arrow=True)
    svg.text(
        first + 72, bottom + 28, "the next broker; after the last one, the run waits until the whole cluster is in sync"
    )
    below = bottom + 54
    svg.line((first + 30, bottom), (first + 30, below + 14), arrow=True)
    svg.text(first + 22, below - 4, "no", bold=True, anchor="end")
    texts = [
        "The run waits and asks again. After kafka_restart_timeout it ends, with the partitions and the reason. The "
        "restart stays pending: the next run resumes it."
    ]
    end = labelled(svg, first - 60, below + 14, 560, "Not now", texts, fill=PALE)
    return svg.text_of_file(end + MARGIN)


def _row(svg: Svg, y: float, boxes: Sequence[tuple[str, str]], width: float, gap: float) -> float:
    """Draw boxes of one height side by side, with arrows between; return the y of their lower ends."""
    high = max(len(wrapped(text, width - 16)) for _, text in boxes) * LINE + 27.0
    high += 17 if any(len(wrapped(title, width - 16, 13, bold=True)) > 1 for title, _ in boxes) else 0
    for number, (title, text) in enumerate(boxes):
        x = MARGIN + number * (width + gap)
        labelled(svg, x, y, width, title, [text], high=high)
        if number:
            svg.line((x - gap, y + 40), (x, y + 40), weight=2, arrow=True)
    return y + high


# -- CAs and certificates ---------------------------------------------------------------------------------------------

HOLDERS = {
    "zookeeper": ("ZooKeeper servers", "ports for clients and between servers"),
    "broker": ("Brokers", "all listeners with TLS; REPLICATION also as a client"),
    "zookeeper_client": (
        "Brokers, as clients of ZooKeeper",
        "owner of Kafka's znodes: one subject, a key for each broker",
    ),
    "database": ("Database hosts", "PostgreSQL"),
    "metrics": ("Hosts that serve metrics", "port 9990"),
    "prometheus": ("Prometheus", "reads the metrics of hosts"),
    "admin": ("Control node, as admin", "super user on the listener REPLICATION"),
    "kafka": ("Control node, as owner of znodes", "writes Kafka's root znode"),
}  # fmt: skip
TRUSTERS = {
    "/etc/zookeeper/tls/ca.pem": "ZooKeeper servers",
    "/etc/kafka/tls/ca.pem": "Brokers",
    "/etc/millrace/tls/ca.pem": "Spark hosts",
    "/etc/lag-exporter/tls/ca.pem": "Monitoring hosts",
    "/etc/prometheus/tls/ca.pem": "Hosts that serve metrics, and Prometheus",
}


OTHERS = (
    ("Control node", "certificates/<admin_keeper>/ca.pem in pki_directory"),
    ("Applications", "you give them this file"),
)
LISTENER = ("A listener for certificates", "site_truststores, for example /etc/kafka/tls/clients.pem")


def certificates() -> str:
    """Return the drawing of the CAs, the certificates that they sign, and the files that trust them."""
    model = model_of(EXAMPLE)
    machines = [*model.functional]
    svg = begin("CAs and certificates", "Which CA signs which certificate, and which file trusts which CA.")
    svg.text(MARGIN, 58, "With pki_source: own, the default. All keys are in pki_directory on the control node.")
    signed: dict[str, dict[str, Mapping[str, Any]]] = {}
    trusted: dict[str, dict[str, None]] = {}
    for machine in machines:
        for entry in machine.certificates:
            signed.setdefault(str(entry["authority"]), {}).setdefault(
                str(entry["name"]), {**entry, "subject": str(entry["subject"]).replace(machine.name, "<host>")}
            )
        for store in machine.truststores:
            for authority in store["authorities"]:
                trusted.setdefault(str(authority), {})[str(store["path"])] = None
    left, middle, right = float(MARGIN), 330.0, 960.0
    svg.text(left, 92, "CA", size=15, bold=True)
    svg.text(middle, 92, "signs", size=15, bold=True)
    svg.text(right, 92, "is trusted by", size=15, bold=True)
    y = 106.0
    for authority in machines[0].inputs.entries("pki_authorities"):
        name = str(authority["name"])
        bottom = ca = labelled(
            svg, left, y, 230, f"CA {name}", [str(authority["subject"]), CAS.get(name, "")], fill=PALE
        )
        top = y
        for key, entry in signed.get(name, {}).items() or [("", FOREIGN)]:
            title, use = HOLDERS.get(key, ("Applications", "a listener of your own, in site_listeners"))
            usage = "as " + " and ".join(entry.get("usage") or ["server", "client"])
            place = entry.get("path") or "on the control node"
            bottom = labelled(svg, middle, top, 540, title, [f"{entry['subject']}, {usage}", f"{place}: {use}"])
            _joint(svg, left + 230, y + 30, middle, top + 18)
            top = bottom + 12
        high, bar = y, middle + 580
        stores = [(TRUSTERS[path], path) for path in trusted.get(name, {})]
        for title, text in [*stores, *OTHERS] if stores else [LISTENER]:
            svg.line((bar, high + 18), (right, high + 18), arrow=True)
            high = labelled(svg, right, high, WIDTH - MARGIN - right, title, [text]) + 12
        svg.line((middle + 560, y), (bar, y), (bar, max(bottom, high - 12)), (middle + 560, max(bottom, high - 12)))
        y = max(bottom, ca, high - 12) + 40
    notes = (
        "The listener REPLICATION and ZooKeeper do not trust the CA of clients: its certificates open only a "
        "listener that "
        "trusts this CA.",
        "A private key is made on the control node and copied to its host with mode 0640. The keys of CAs are "
        "encrypted "
        "with pki_passphrase, and never leave the control node.",
    )
    for note in notes:
        y = svg.lines(MARGIN, y, wrapped(note, WIDTH - 2 * MARGIN)) + 4
    return svg.text_of_file(y)


CAS = {"infra": "for hosts and admins", "clients": "for applications that log in with certificates"}
FOREIGN = {"subject": "CN=<application>,OU=clients,O=<organization>", "usage": ["client"], "path": "issued by you"}


# -- A datacenter is lost ---------------------------------------------------------------------------------------------

STAGES: tuple[tuple[str, str, str, bool], ...] = (
    ("Before", "Both datacenters serve.", "min ISR {before}", True),
    ("dc1 is lost", "ZooKeeper has no quorum, writes wait. No acknowledged record is lost. Run disaster.yml.",
     "min ISR {before}", False),
    ("failover.yml -e survivor=dc2", "A firewall separates dc2 from dc1. The ZooKeeper servers of dc2 are an "
     "ensemble of their own. Writes continue.", "min ISR {during}", True),
    ("dc1 has returned: failback.yml", "The ZooKeeper data of dc1 is moved aside, and copied anew from dc2. The "
     "brokers of dc1 copy what they missed.", "min ISR {before}, restored at the end", True),
)  # fmt: skip


def disaster() -> str:
    """Return the drawing of a failover: both datacenters before, during and after."""
    model = model_of("lab_stretch2")
    servers, brokers = (len(model.groups[name]) // 2 for name in ("zookeeper", "kafka"))
    factor = int(model.hosts[model.groups["kafka"][0]]["kafka_replication_factor"])
    numbers = {"before": factor - 1, "during": factor // 2}
    svg = Svg(NARROW, "A datacenter is lost, and returns", "Both datacenters before, during and after.", MAKER)
    width = (NARROW - 3 * MARGIN) / 2
    site_width = (width - 44) / 2
    for number, (title, text, least, writes) in enumerate(STAGES):
        x, y = MARGIN + number % 2 * (width + MARGIN), 30 + number // 2 * 240.0
        svg.text(x, y, f"{number + 1}  {title}", size=15, bold=True)
        lost = number in (1, 2)
        for place, name in enumerate(("dc1", "dc2")):
            left, gone = x + place * (site_width + 44), lost and not place
            svg.box(left, y + 12, site_width, 76, fill=PALE if gone else WHITE, dashes="6 4" if gone else "")
            svg.text(left + 8, y + 32, name, size=14, bold=True)
            here = f"{servers} ZooKeeper servers", f"{brokers} brokers"
            svg.lines(left + 8, y + 52, ["lost" if number == 1 else "fenced off"] if gone else here)
        middle = x + site_width
        if lost:
            svg.line((middle + 14, y + 36), (middle + 30, y + 64), weight=2)
            svg.line((middle + 30, y + 36), (middle + 14, y + 64), weight=2)
        else:
            svg.line((middle, y + 50), (middle + 44, y + 50), weight=2)
        svg.marks(x, y + 112, [Mark("writes" if writes else "no writes")])
        svg.text(x + 84, y + 112, least.format(**numbers), size=13)
        svg.lines(x, y + 136, wrapped(text, width, 13), size=13)
    return svg.text_of_file(480)


def _joint(svg: Svg, x: float, y: float, to_x: float, to_y: float) -> None:
    """Draw an arrow from a box to another one, with a corner in the middle."""
    half = (x + to_x) / 2
    svg.line((x, y), (half, y), (half, to_y), (to_x, to_y), arrow=True)


DRAWINGS: dict[str, Callable[[], str]] = {
    "networks.svg": networks,
    "run.svg": run,
    "certificates.svg": certificates,
    "disaster.svg": disaster,
    **{f"{name}.svg": partial(site, name) for name in SITES},
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, make in DRAWINGS.items():
        write(FOLDER / name, make)
