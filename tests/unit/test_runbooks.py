"""Runbooks name playbooks, options and pages that exist, and show only what the code prints."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from unit.healthy import broker, cluster, declared, probes

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import Rules, Snapshot, blocks
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.page import Certificates, certificates_section, page
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import site_words

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "runbooks").glob("*.md"))
SECTIONS = ["How to see it", "What to type", "How it ends"]


def texts(playbook: str, seen: set[str] | None = None) -> Iterator[str]:
    """Yield the text of a playbook and of those that it imports."""
    seen = set() if seen is None else seen
    path = (ROOT / "playbooks" / playbook).resolve()
    if str(path) in seen:
        return
    seen.add(str(path))
    text = path.read_text(encoding="utf-8")
    yield text
    for name in re.findall(r"import_playbook: (\S+)", text):
        yield from texts(str(path.parent / name), seen)


@pytest.mark.parametrize("runbook", PAGES, ids=lambda page: page.stem)
def test_commands_of_a_runbook_exist(runbook: Path) -> None:
    """Each playbook is there, and reads each variable that the command sets."""
    text = re.sub(r"\\\n +", "", runbook.read_text(encoding="utf-8"))
    wrong = []
    for command in re.findall(r"([a-z_]+\.yml(?: +-(?:e|l) [^\s`|,;]+| --\w+)*)", text):
        playbook, *options = command.split()
        if not (ROOT / "playbooks" / playbook).exists():
            wrong += [] if playbook == "hosts.yml" else [playbook]
            continue
        code = "\n".join(texts(playbook))
        for option in [word for word in options if "=" in word]:
            name = option.partition("=")[0]
            wrong += [] if re.search(rf"\b{name}\b", code) or name in site_words() else [f"{playbook} -e {name}"]
    assert wrong == []


@pytest.mark.parametrize("runbook", [page for page in PAGES if page.stem != "README"], ids=lambda page: page.stem)
def test_a_runbook_is_complete(runbook: Path) -> None:
    text = runbook.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    assert f"]({runbook.name})" in (runbook.parent / "README.md").read_text(encoding="utf-8")


def site() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return what is declared, what hosts answer and what the cluster answers: three brokers, all healthy."""
    facts, answers, found = declared(), probes(), cluster()
    hosts = {f"dc1-{name}": entry for name, entry in facts.items()} | {"dc1-kafka3": broker(3, "dc1-c")}
    replies = {f"dc1-{name}": entry for name, entry in answers.items()}
    replies["dc1-kafka3"] = {"units": {"kafka.service": "active"}}
    found["brokers"]["3"] = {"rack": "dc1-c", "CLIENT": "10.0.1.23:9092", "REPLICATION": "10.0.2.23:9093"}
    found["replicas"] |= {"3": 10}
    found["leaders"] = {"1": 4, "2": 3, "3": 3}
    return hosts, replies, found


def printed() -> str:
    """Return the problems that the health page and the gate print after the faults of the runbooks."""
    pages = []

    def look(hosts: dict[str, Any], answers: dict[str, Any], found: dict[str, Any]) -> None:
        pages.append(page(hosts, answers, found)[0])

    for number, count in ((2, 34), (3, 12)):
        hosts, answers, found = site()
        state = State({1: {}, 2: {}, 3: {}}, 1, [Partition("orders", n, 1, (1, number), (1,)) for n in range(count)])
        found["problems"] = state.problems([1, 2, 3])
        found["out_of_sync"] = {"3": count}
        look(hosts, answers, found)
    hosts, answers, found = site()
    del found["brokers"]["2"]
    found["problems"] = State({1: {}, 3: {}}, 1, []).problems([1, 2, 3])
    answers["dc1-kafka2"]["units"]["kafka.service"] = "failed"
    look(hosts, answers, found)
    last = "java.io.IOException: No space left on device"
    answers["dc1-kafka2"]["failing"] = {"kafka.service": {"starts": 12, "seconds": 180, "line": last}}
    look(hosts, answers, found)
    del answers["dc1-kafka2"], answers["dc1-zk2"]
    look(hosts, answers, found)

    for free in (9, 0):
        hosts, answers, found = site()
        answers["dc1-kafka1"]["mounts"] = {
            "/data/kafka1": {"size": 100, "free": free},
            "/data/kafka2": {"mounted": True, "error": "Input/output error"},
        }
        answers["dc1-kafka1"]["given_up"] = ["/data/kafka1", "/data/kafka2"]
        answers["dc1-kafka2"]["behind"] = ["kafka.service"]
        answers["dc1-kafka3"]["to_restart"] = ["kafka.service"]
        look(hosts, answers, found)
    hosts, answers, found = site()
    for host, mode in (("dc1-zk1", "not serving"), ("dc1-zk2", "down"), ("dc1-zk3", "down")):
        answers[host] |= {"zookeeper_mode": mode}
    answers["dc1-zk2"]["units"] = {"zookeeper.service": "failed"}
    headless = State({1: {}, 2: {}, 3: {}}, -1, [Partition("orders", 0, 1, (1, 2, 3), (1, 2, 3))])
    found["problems"] = headless.problems([1, 2, 3])
    look(hosts, answers, found)

    (block,) = blocks(Snapshot(headless, min_isr={"orders": 2}), [1], Rules())
    pages.append(f"broker 1 may not stop now: {block}")

    held = {"subject": "CN=dc1-kafka1"}
    for until in ("2026-06-14", "2026-05-29"):
        answer = {"hosts": {"dc1-kafka1": {"held": {"broker": {**held, "until": until}}}}}
        problems = certificates_section(Certificates(answer), datetime(2026, 6, 1, 12, tzinfo=UTC))[1]
        pages += [f"  - {problem}" for problem in problems]
    return "\n".join(pages)


def test_output_in_runbooks_is_what_the_code_prints() -> None:
    known = set(printed().splitlines()) | {"NOT HEALTHY"}
    shown = [
        (runbook.name, line.strip("\n"))
        for runbook in PAGES
        for block in re.findall(r"```\n((?:NOT HEALTHY|  - |broker \d).*?)```", runbook.read_text(), re.DOTALL)
        for line in block.replace("\n    ", " ").splitlines()
    ]
    assert len(shown) > 20
    assert [(name, line) for name, line in shown if line not in known] == []
