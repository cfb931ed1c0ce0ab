"""Writes the health page of check.yml as one HTML file, which needs no server and no other file."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts
from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing.file import place, write
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.jobs import HEADLINE as JOBS
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.jobs import rows
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.tables import HEADLINE

MAKER = "written by check.yml of millrace.kafka, which replaces this file"
"""The comment by which check.yml recognises a file that it may replace."""
TEMPLATE = Path(__file__).with_name("page.html.j2")
FACTS = re.compile(r'<script type="application/json" id="facts">(.*?)</script>', re.DOTALL)
Table = tuple[str, Sequence[str], Sequence[Sequence[Any]]]
"""Title, headline and rows of a table."""
SERVING = ("leader", "follower", "observer", "standalone")


def refusal(name: str) -> str:
    """Return why no page may be written to the file `name`, as an error text; '' if it may.

    A file that exists is replaced only if check.yml has written it.
    """
    if not name.strip():
        return "page is empty: name a file, like -e page=site.html, or remove it. Nothing was checked"
    try:
        path = place(name)
        if path.is_dir():
            return f"page = {name}: a folder, not a file: name a file in it, like {Path(name) / 'site.html'}"
        if not path.parent.is_dir():
            return f"page = {name}: the folder {path.parent} does not exist: create it, or name a file in another one"
        if path.exists() and not (path.is_file() and is_page(path)):
            return f"page = {name}: this file exists, and check.yml did not write it: name another file"
        with tempfile.TemporaryFile(dir=path.parent):  # a folder may be writable and its file system read-only
            return ""
    except (OSError, ValueError, RuntimeError) as error:  # a NUL in the path; ~ of an unknown user
        reason = getattr(error, "strerror", None) or error
        return f"page = {name}: cannot be written: {reason}: name a file in a folder in which you may create files"


def is_page(path: Path) -> bool:
    """Tell whether a file is a page that check.yml wrote, by the comment at its beginning."""
    with path.open("rb") as file:
        return f"<!-- {MAKER} -->".encode() in file.read(200)


def replace(name: str, text: Callable[[str], str]) -> Path:
    """Write the page `text(earlier page)` to a file, as a whole or not at all; return its path. Raises OSError."""
    path = place(name)
    return write(name, text(path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""))


def down(facts: Mapping[str, Any]) -> frozenset[str]:
    """Return the hosts of which a ZooKeeper server or broker does not serve; `facts` is the page as JSON."""
    modes, kafka = facts["zookeeper"], facts["kafka"] or {"registered": {}}
    return frozenset(
        [
            *(host for host, mode in modes.items() if mode not in SERVING),
            *(host for host, registered in kafka["registered"].items() if not registered),
        ]
    )


def unknown(facts: Mapping[str, Any]) -> str:
    """Return why the present state is not known, and so not what the site survives; '' if it is known."""
    kafka = facts["kafka"]
    if facts["not_checked"]:
        return "this run did not ask all hosts"
    if kafka and kafka["partitions"] is None:
        return "the brokers were not asked, or did not answer"
    if "not queried" in facts["zookeeper"].values():
        return "the ZooKeeper servers were not asked"
    return ""


def out_of_sync(facts: Mapping[str, Any]) -> int:
    """Return the number of partitions that have no leader or a replica that is not in sync."""
    kafka = facts["kafka"] or {}
    return int(kafka.get("offline") or 0) + int(kafka.get("under_replicated") or 0)


def html(
    facts: Mapping[str, Any], site: str, drawing: str, rows: Sequence[Row], now: datetime, earlier: str = ""
) -> str:
    """Return the file.

    `facts` is the page as JSON (page.as_json), `site` the name of the inventory, `drawing` an SVG file, `rows` the
    result of survival_now ([] if the state is unknown), and `earlier` the text of the page that this one replaces.
    """
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        maker=MAKER,
        site=site,
        at=now.strftime("%Y-%m-%d %H:%M UTC"),
        facts=facts,
        embedded=json.dumps({**facts, "at": now.isoformat()}).replace("<", "\\u003c"),
        drawing=re.sub(r"^.*?(?=<svg)", "", drawing, flags=re.DOTALL),
        survival={"head": HEADLINE, "rows": [(row.failure, *row.cells) for row in rows], "unknown": unknown(facts)},
        out_of_sync=out_of_sync(facts),
        tables=list(tables(facts)),
        changes=changes(earlier, facts),
    )


def changes(earlier: str, facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return {at, new, gone}: the problems since an earlier page; None if its text holds no facts, or damaged ones."""
    found = FACTS.search(earlier)
    try:
        before = json.loads(found[1]) if found else {}
    except ValueError:
        return None
    if not isinstance(before, Mapping) or not isinstance(before.get("problems"), list):
        return None
    return {
        "at": str(before.get("at", ""))[:16].replace("T", " "),
        "new": [text for text in facts["problems"] if text not in before["problems"]],
        "gone": [text for text in before["problems"] if text not in facts["problems"]],
    }


def tables(facts: Mapping[str, Any]) -> Iterator[Table]:
    """Yield (title, headline, rows) for each table of the page; a table without rows is left out."""
    found: Sequence[Table] = (
        ("ZooKeeper", ("server", "mode"), list(facts["zookeeper"].items())),
        ("Brokers", ("host", "state", "leads partitions"), list(_brokers(facts["kafka"]))),
        ("Racks", ("rack", "brokers", "leads partitions", "replicas", "size"), list(_racks(facts["kafka"]))),
        ("Disks", ("host", "path", "used", "size"), list(_disks(facts["disks"]))),
        ("Services and jobs", ("host", "unit", "state"), [(u["host"], u["unit"], u["state"]) for u in facts["units"]]),
        ("Spark jobs", JOBS, list(_jobs(facts["jobs"]))),
        (
            "Mirrors",
            ("from", "records behind", "seconds behind"),
            [
                (flow["source"], "?", flow["silent"])
                if flow["silent"]
                else (flow["source"], flow["behind"], round(flow["seconds"], 1))
                for flow in facts["mirrors"]
            ],
        ),
        (
            "Certificates",
            ("host", "name", "valid until"),
            [(one["host"], one["name"], one["until"]) for one in facts["certificates"]],
        ),
    )
    yield from (one for one in found if one[2])


def _brokers(kafka: Mapping[str, Any] | None) -> Iterator[tuple[str, str, Any]]:
    for host, registered in (kafka or {"registered": {}})["registered"].items():
        if kafka and kafka["partitions"] is None:
            yield host, "not known: brokers were not asked, or did not answer", "?"
        else:
            yield host, "serves" if registered else "DOWN: not registered", kafka["leaders"][host] if kafka else ""


def _racks(kafka: Mapping[str, Any] | None) -> Iterator[Sequence[Any]]:
    for rack, one in ((kafka or {}).get("racks") or {}).items():
        size = amounts.size(one["bytes"]) if one.get("bytes") is not None else "?"
        yield rack, one["brokers"], one["leaders"], one["replicas"], size


def _jobs(jobs: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Any]]:
    for job in jobs:
        yield from rows((job["host"],), {job["host"]: {"jobs": [job]}})


def _disks(disks: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Any]]:
    for one in disks:
        if one["error"] or one["size"] is None:
            yield one["host"], one["path"], "-", f"FAILS: {one['error'] or 'does not exist'}"
        else:
            yield one["host"], one["path"], f"{1 - one['free'] / one['size']:.0%}", amounts.size(one["size"])
