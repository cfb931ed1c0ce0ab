"""Drawings: texts never overlap, every host, address and port is there, marks are those of the survival table."""

import os
import re
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from generate_drawings import DRAWINGS, FOLDER
from model.mistakes.base import VAULT

from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing.file import problems, write
from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing.site import MAKER, draw
from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing.svg import Svg, width_of, wrapped
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import model_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import layout_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival

ROOT = Path(__file__).parents[2]
NAMES = ["lab", "lab_stretch2", "lab_orders", "dc1"]
SVG = "{http://www.w3.org/2000/svg}"
DRAWING = f"<?xml version='1.0'?>\n<!-- {MAKER} -->\n<svg/>"


def drawn(inventory: Path, **extra: Any) -> str:
    model = load(inventory, {"vault": VAULT, **extra}).read()
    return draw(model, survival(layout_of(model)) if model.cluster else [], inventory.name)


def texts(svg: str) -> list[tuple[str, float, float, float, float]]:
    """Return (text, left, top, right, bottom) of each text of a drawing."""
    found = []
    for element in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        text, size = element.text or "", float(element.get("font-size", 0))
        width = width_of(text, size, element.get("font-weight") == "bold")
        x, y = float(element.get("x", 0)), float(element.get("y", 0))
        left = x - {"middle": width / 2, "end": width}.get(element.get("text-anchor", ""), 0)
        found.append((text, left, y - 0.75 * size, left + width, y + 0.2 * size))
    return found


def overlaps(svg: str) -> list[tuple[str, str]]:
    """Return each pair of texts that overlap, and each text that leaves the drawing."""
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    boxes = texts(svg)
    outside = [(box[0], "outside") for box in boxes if box[1] < 0 or box[2] < 0 or box[3] > width or box[4] > height]
    return outside + [
        (a[0], b[0]) for a, b in combinations(boxes, 2) if a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]
    ]


def site(folder: Path, brokers: int, name: str = "kafka{}", **more: Any) -> Path:
    """Write an inventory of three ZooKeeper servers and this many brokers, in three racks of one datacenter."""
    hosts = {
        name.format(number): {
            "kafka_broker_id": number,
            "client_address": f"198.19.1.{20 + number}",
            "replication_address": f"198.19.2.{20 + number}",
            "datacenter": "a & <b>",
            "rack": "abc"[number % 3],
            **more,
        }
        for number in range(1, brokers + 1)
    }
    servers = {
        f"zk{number}": {
            "zookeeper_id": number,
            "client_address": f"2001:db8:aaaa:bbbb:cccc:dddd:eeee:{number}",
            "replication_address": f"198.19.2.{number}",
            "datacenter": "a & <b>",
            "rack": "abc"[number % 3],
        }
        for number in (1, 2, 3)
    }
    content = {
        "plugin": "millrace.kafka.site",
        "all": {
            "vars": {
                "organization": "example",
                "archives": "/srv",
                "client_network": "198.19.1.0/24",
                "replication_network": "198.19.2.0/24",
                "kafka_log_dirs": ["/data"],
            },
            "children": {
                "kafka": {"hosts": hosts},
                "zookeeper": {"hosts": servers},
                "admin": {"hosts": {"ops1": {}}},
            },
        },
    }
    folder.mkdir()
    (folder / "hosts.yml").write_text(yaml.safe_dump(content))
    return folder


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_of_the_pages(name: str) -> None:
    """It is up to date, readable, and linked with a text for readers who do not see it."""
    svg = DRAWINGS[name]()
    assert (FOLDER / name).read_text(encoding="utf-8") == svg, "run: make docs"
    assert overlaps(svg) == []
    pages = "\n".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    assert re.search(rf"!\[[^\]]{{30,}}\]\((docs/)?drawings/{re.escape(name)}\)", pages)


def test_no_drawing_is_left_over() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(DRAWINGS)


@pytest.mark.parametrize("name", NAMES)
def test_a_site_of_the_project(name: str) -> None:
    svg = drawn(ROOT / "inventories" / name)
    assert overlaps(svg) == []
    said = " ".join(text for text, *_ in texts(svg))
    model = load(ROOT / "inventories" / name, {"vault": VAULT}).read()
    missing = [host for host in model.hosts if host not in said]
    missing += [
        str(address) for one in model.machines.values() for address in one.addresses if str(address) not in said
    ]
    assert missing == []
    assert {":9092 CLIENT", ":9093 REPLICATION"} <= set(re.findall(r":[\d :]+[A-Z]*(?<! )", said))
    assert ":2281 :2888 :3888" in said
    assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', svg)) <= {"none", "#000000", "#ffffff", "#eeeeee"}
    assert ElementTree.fromstring(svg).get("width") == "1280"


@pytest.mark.parametrize(
    ("brokers", "name"),
    [
        (27, "kafka{}"),
        (27, "kafka{}.very-long-name.frankfurt.internal.example.org"),
        (3, "k{}" + "x" * 60),
        (60, "k{}"),
    ],
)
def test_many_hosts_and_long_names(brokers: int, name: str, tmp_path: Path) -> None:
    svg = drawn(site(tmp_path / "site", brokers, name))
    assert overlaps(svg) == []
    assert sum(text.startswith("broker ") for text, *_ in texts(svg)) == brokers


def test_marks_are_those_of_the_survival_table(tmp_path: Path) -> None:
    """A datacenter of stretch2 stops quorum and writes; a server with a replication factor of 1 stops writes."""
    marks = [text for text, *_ in texts(drawn(ROOT / "inventories" / "stretch2"))]
    # Once in the legend; datacenters; of writes also the networks.
    assert [marks.count(text) for text in ("no quorum", "no writes", "records lost")] == [3, 5, 1]
    single = drawn(site(tmp_path / "site", 3, kafka_replication_factor=1, kafka_min_insync_replicas=1))
    assert overlaps(single) == []
    marks = [text for text, *_ in texts(single)]
    # Each broker, racks with one, and the datacenter.
    assert marks.count("records lost") == 1 + 3 + 3 + 1, marks


def test_a_site_with_one_network() -> None:
    """Its failure is marked; nothing is drawn or named of a second network."""
    svg = drawn(ROOT / "inventories" / "lab_one_network")
    said = [text for text, *_ in texts(svg)]
    assert overlaps(svg) == [] and "the only network" in said and "network 198.18.7.0/24" in said
    assert not any("replication network" in text for text in said)
    assert said[said.index("the only network") + 1 :][:3] == ["if it fails:", "no quorum", "no writes"]


@pytest.mark.parametrize(
    ("extra", "allowed"),
    [
        ({}, {"clients", "brokers"}),
        ({"firewall_extra_sources": {"admin": ["192.0.2.7"]}}, {"clients, admins", "brokers, admins"}),
        ({"site_firewall_rules": [{"port": 9092, "from": ["192.0.2.9"]}]}, {"clients, 192.0.2.9"}),
        ({"site_firewall_rules": [{"port": 9092, "from": ["192.0.2.9"], "action": "reject"}]}, {"clients", "brokers"}),
        ({"base_firewall_rules": [{"port": 9092, "from": ["198.19.1.21"]}]}, {"198.19.1.21", "all hosts"}),
        ({"base_firewall": False}, {"all hosts"}),
    ],
)
def test_who_may_connect(extra: dict[str, Any], allowed: set[str], tmp_path: Path) -> None:
    """What the firewall admits, not only what functions declare."""
    assert allowed <= {text for text, *_ in texts(drawn(site(tmp_path / "site", 3), **extra))}


def test_a_site_without_hosts() -> None:
    assert overlaps(draw(model_of({}, {}, {"all": []}, {}, {}, frozenset(), {}), [], "empty")) == []


def test_lines() -> None:
    """A name is broken after a dot if it has one; what XML cannot contain is replaced."""
    assert wrapped("a" * 9, 3 * width_of("a")) == ["aaa"] * 3
    assert wrapped("to kafka1.example.org", width_of("kafka1.exam")) == ["to", "kafka1.", "example.org"]
    svg = Svg(100, "a\0b", "--")
    svg.text(0, 20, "\x1b<&\ud800")
    assert [text for text, *_ in texts(svg.text_of_file(30))] == ["?<&?"]


@pytest.mark.parametrize(
    ("name", "content", "overwrite", "reason"),
    [
        ("site.svg", None, False, ""),
        ("site.svg", DRAWING, False, ""),
        ("site.svg", "<svg/>", True, ""),
        (
            "site.svg",
            "<svg/>",
            False,
            "exists, and preflight did not draw it; name another file, or add -e drawing_ove",
        ),
        ("", None, False, "empty, so the drawing has no file"),
        (".", None, False, "a folder, not a file; name a file in it, like {}/./site.svg"),
        ("absent/site.svg", None, True, "the folder {}/absent does not exist; create the folder"),
        ("file/site.svg", None, False, "the folder {}/file does not exist; create the folder"),
        ("fifo", None, True, "not a regular file; name another file"),
        ("a\0b", None, False, "the drawing cannot be written: "),
        ("~nobody-of-this-name/site.svg", None, False, "the drawing cannot be written: "),
    ],
)
def test_where_a_drawing_is_written(
    name: str, content: str | None, overwrite: bool, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "fifo")
    path = name if not name or name.startswith("~") else f"{tmp_path}/{name}"
    if content:
        Path(path).write_text(content)
    found = problems(path, overwrite)
    assert [one.code for one in found] == ["DRAWING_FILE"] * bool(reason)
    text = "; ".join(f"{one.message}; {one.advice}" for one in found)
    assert reason.format(tmp_path).replace("/./", "/") in text.replace("/./", "/"), text
    if not reason:
        write(path, DRAWING)
        assert Path(path).read_text() == DRAWING and problems(path, False) == []
    assert sorted(one.name for one in tmp_path.iterdir() if one.name.startswith(".")) == []
