"""The page of check.yml as one HTML file."""

import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from unit.healthy import cluster, declared, probes

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.html import (
    MAKER,
    down,
    html,
    refusal,
    replace,
    unknown,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.page import as_json
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival_now
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout, Server

NOW = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
LAYOUT = Layout(
    (
        *(Server(f"zk{number}", "zookeeper", "dc1", rack) for number, rack in enumerate("abc", 1)),
        *(Server(f"kafka{number}", "kafka", "dc1", rack, f"dc1-{rack}") for number, rack in enumerate("ab", 1)),
    ),
    2,
    1,
)


class Tags(HTMLParser):
    """The tags of a page, its targets, and its text outside of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open, self.ids, self.links, self.texts = list[str](), set[str](), list[str](), list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Remember a tag."""
        if tag not in ("meta", "br"):
            self.open.append(tag)
        found = dict(attributes)
        self.ids |= {str(found["id"])} if "id" in found else set()
        self.links += [str(found[name]) for name in ("href", "src") if name in found]

    def handle_endtag(self, tag: str) -> None:
        """Fail at a tag that does not end the last one."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Remember what is read."""
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data.strip())


def facts(answers: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the page as JSON."""
    found: dict[str, Any] = json.loads(as_json(declared(), answers or probes(), cluster()))
    return found


def page(found: dict[str, Any], earlier: str = "") -> str:
    rows = [] if unknown(found) else survival_now(LAYOUT, down(found))
    return html(found, "mine", "<svg></svg>", rows, NOW, earlier)


def without(host: str) -> dict[str, Any]:
    answers = probes()
    del answers[host]
    return facts(answers)


def test_a_healthy_site() -> None:
    """It is whole, needs no other file, and its links lead to something."""
    tags = Tags(page(facts()))
    assert tags.open == [] and "✓ HEALTHY" in tags.texts
    assert tags.links and all(link[0] == "#" and link[1:] in tags.ids for link in tags.links)


def test_a_server_is_down() -> None:
    """The state, the problem, and what the loss of one more server would mean."""
    text = page(without("zk1"))
    assert "✗ NOT HEALTHY" in text and "zk1 does not answer" in text
    rows = [re.findall(r"<td>(.*?)</td>", row)[:4] for row in re.findall(r"<tr>(<td>.*?)</tr>", text)]
    assert ["nothing more", "yes", "yes", "yes"] in rows
    assert next(row for row in rows if row[0] == "zk2" and len(row) == 4)[1] == "✗ no", "two of three are no quorum"
    assert next(row for row in rows if row[0] == "kafka1" and len(row) == 4)[1:3] == ["yes", "yes"]


def test_what_is_not_known_is_not_called_lost() -> None:
    """If the admin host does not answer, or the run was limited, the page has no table of what the site survives."""
    silent: dict[str, Any] = json.loads(as_json(declared(), probes(), {}))
    text = page(silent)
    assert "Not known: the brokers were not asked" in text and "nothing more" not in text
    assert "DOWN" not in text
    assert "nothing more" not in page({**facts(), "not_checked": {"kafka": 1}})
    assert "nothing more" not in page({**facts(), "zookeeper": {"zk1": "not queried"}})


def test_replicas_that_are_not_in_sync_limit_the_table() -> None:
    found = facts()
    assert "is not in sync" not in page(found)
    found["kafka"] |= {"under_replicated": 12}
    assert "12 partitions have no leader or a replica that is not in sync" in page(found)


def test_an_earlier_page_that_is_damaged() -> None:
    """It is replaced."""
    damaged = page(facts()).replace('{"healthy"', '{"healthy')
    assert "Since the page of" not in page(facts(), damaged)
    assert "Since the page of" not in page(facts(), page(facts()).replace('"problems"', '"others"'))


def test_a_mirror_whose_source_does_not_answer() -> None:
    flow = {"source": "west", "behind": 0, "seconds": 0.0, "silent": "timed out"}
    assert "<td>west</td><td>?</td><td>timed out</td>" in page({**facts(), "mirrors": [flow]})


def test_what_has_changed() -> None:
    first = page(without("zk1"))
    assert "Since the page of" not in first
    after = page(without("zk3"), first)
    assert "<strong>new:</strong> zk3 does not answer" in after and "<strong>gone:</strong> zk1 does not" in after
    assert "The problems are the same." in page(without("zk3"), after)


def test_text_of_hosts_is_not_markup() -> None:
    answers = probes()
    answers["kafka1"]["mounts"] = {"/d1": {"mounted": True, "error": "</script><script>alert(1)</script>"}}
    text = page(facts(answers))
    assert "<script>alert" not in text
    embedded = re.search(r'id="facts">(.*?)</script>', text, re.DOTALL)
    assert embedded and "</script><script>alert(1)</script>" in str(json.loads(embedded[1]))


@pytest.mark.parametrize(
    ("name", "why"),
    [(" ", "name a file"), ("{folder}", "a folder"), ("{folder}/none/x.html", "does not exist"), ("\0", "cannot be")],
)
def test_files_that_cannot_be_written(tmp_path: Path, name: str, why: str) -> None:
    assert why in refusal(name.format(folder=tmp_path))


def test_only_pages_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / "site.html"
    file.write_text("mine")
    assert "check.yml did not write it" in refusal(str(file))
    file.unlink()
    assert refusal(str(file)) == "" and replace(str(file), lambda earlier: page(facts(), earlier)) == file
    assert refusal(str(file)) == "" and MAKER in file.read_text()
