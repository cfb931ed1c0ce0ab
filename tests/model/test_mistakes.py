"""Each mistake is said once, with its code, its place and how to mend it; twelve are said at once; correct inventories are silent."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from generate_errors import PAGE, codes_in_source, page

from millrace.inventory import job_problems, load
from millrace.model import check_model
from millrace.problems import Problem, line, merged
from model.mistakes import INVENTORIES, MISTAKES, SAID_OF_TWELVE, TWELVE, Mistake, spoil
from model.probes import PROBES

LAB = Mistake("", "", "")
EXAMPLES = sorted(path.parent.relative_to(INVENTORIES).as_posix() for path in INVENTORIES.rglob("hosts.yml"))


def check(inventory: Path, extra: Mapping[str, Any] = LAB.extra) -> tuple[list[Problem], list[str]]:
    """Return the problems of an inventory, and their lines."""
    reader = load(inventory, extra)
    model = reader.read()
    problems = merged([*reader.said_of(check_model(model)), *job_problems(model)])
    return problems, [line(problem, {**model.groups, **model.all_groups}) for problem in problems]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.code)
def test_mistake(mistake: Mistake, tmp_path: Path) -> None:
    """The code is said once, of the right place, with its advice; nothing is said besides what follows from it."""
    problems, lines = check(spoil(tmp_path / "inventory", mistake), mistake.extra)
    assert {problem.code for problem in problems} == {mistake.code} | mistake.also, "\n".join(lines)
    said = [text for problem, text in zip(problems, lines, strict=True) if problem.code == mistake.code]
    wanted = [text for text in said if re.match(rf"{mistake.code} {re.escape(mistake.where)}( = .*)?: .", text)]
    assert len(wanted) == 1, "\n".join(said)
    assert mistake.advice in wanted[0].rpartition("; ")[2], wanted[0]


def test_every_code_has_its_mistake() -> None:
    """No code is without a wrong inventory or a wrong host, and there are many."""
    tested = [mistake.code for mistake in MISTAKES] + [probe.code for probe in PROBES]
    assert codes_in_source() == set(tested)
    assert len([mistake.code for mistake in MISTAKES]) == len({mistake.code for mistake in MISTAKES}) >= 60


def test_the_page_of_errors_is_made_from_this() -> None:
    """docs/errors.md is what the table gives."""
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make docs"


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, tmp_path: Path) -> None:
    """No mistake, and no warning whose code the inventory does not explain."""
    problems, lines = check(spoil(tmp_path / "inventory", replace(LAB, inventory=name)))
    texts = "".join(path.read_text(encoding="utf-8") for path in (INVENTORIES / name).rglob("*.yml"))
    assert [text for problem, text in zip(problems, lines, strict=True) if not problem.warning or problem.code not in texts] == []


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        # Two settings, each with a meaning of its own.
        ({"kafka_config": {"log.flush.interval.ms": 5000, "log.flush.scheduler.interval.ms": 1000}}, []),
        # Text that is no number is one mistake, and not the end of the check.
        ({"kafka_config": {"reserved.broker.max.id": "many"}}, ["KAFKA_PROPERTY_VALUE group kafka/kafka_config[reserved.broker.max.id]"]),
        ({"kafka_config": {"reserved.broker.max.id": "2000"}}, []),
        # A key that is removed leaves Kafka's own default, which is 1.
        ({"kafka_config_overrides": {"min.insync.replicas": None}}, ["MIN_ISR_ONE group kafka/kafka_config_overrides[min.insync.replicas]"]),
        ({"kafka_config": {"default.replication.factor": None}}, ["REPLICATION_ONE group kafka/kafka_config[default.replication.factor]"]),
    ],
)
def test_properties_as_kafka_reads_them(variables: dict[str, object], said: list[str], tmp_path: Path) -> None:
    inventory = spoil(tmp_path / "inventory", replace(LAB, variables={"kafka": variables}))
    lines = check(inventory)[1]
    assert [wanted for wanted in said if not any(text.startswith(wanted) for text in lines)] == [], lines
    assert said or lines == []


def test_what_the_inventory_cannot_know_is_a_warning(tmp_path: Path) -> None:
    """Clients may be told of a name that leads to the brokers; only a declared broker's address with another port is a mistake."""
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "BOOTSTRAP_UNKNOWN")
    named = replace(mistake, variables={"spark": {"kafka_client": {"bootstrap.servers": "kafka.example.org:9092"}}})
    assert [(problem.code, problem.warning) for problem in check(spoil(tmp_path / "inventory", named))[0]] == [("BOOTSTRAP_UNKNOWN", True)]


def test_properties_of_the_sites_own_plugins(tmp_path: Path) -> None:
    """A name that the site declares known is not judged."""
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "KAFKA_PROPERTY_UNKNOWN")
    known = {**mistake.variables["kafka"], "known_properties": ["min.insync.replica"]}
    assert check(spoil(tmp_path / "inventory", replace(mistake, variables={"kafka": known})))[1] == []


def test_a_vaulted_secret_is_no_mistake(tmp_path: Path) -> None:
    """The same secret as in SECRET_CLEAR, encrypted."""
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "SECRET_CLEAR")
    inventory = spoil(tmp_path / "inventory", mistake)
    (tmp_path / "password").write_text("of the vault")
    file = inventory / "group_vars" / "kafka" / "z.yml"
    command = [sys.executable, "-m", "ansible", "vault", "encrypt", "--vault-password-file", str(tmp_path / "password"), str(file)]
    subprocess.run(command, check=True, capture_output=True)
    assert "Guoph0Eeshi7" not in file.read_text()
    done = preflight(inventory, "--vault-password-file", str(tmp_path / "password"))
    assert done.returncode == 0, done.stdout
    assert "SECRET_CLEAR" not in done.stdout


def preflight(inventory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the first phase of preflight as a user does."""
    command = [sys.executable, "-m", "ansible", "playbook", "-i", str(inventory), "playbooks/preflight.yml", "--tags", "model", *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=INVENTORIES.parent, env={**os.environ, "ANSIBLE_NOCOLOR": "1"})


def test_twelve_at_once(tmp_path: Path) -> None:
    """All twelve are said in one run, grouped by place, also when it is limited to a host that has none of them."""
    done = preflight(spoil(tmp_path / "inventory", TWELVE), "--limit", "dc1-spark1")
    assert done.returncode == 2
    text, _, rest = done.stdout.partition("12 mistakes; no host was changed:\n")[2].partition("[ERROR]")
    assert sorted(re.findall(r"^    ([A-Z_]+) ", text, re.MULTILINE)) == sorted(SAID_OF_TWELVE), done.stdout
    places = re.findall(r"^  (\S.*)$", text, re.MULTILINE)
    assert places == sorted(places)
    assert "dc1-kafka1, dc1-kafka2" in places
    assert "12 mistakes, listed above; no host was changed" in rest
    assert "KAFKA_ID_DUPLICATE" not in rest


def test_what_a_run_registers_is_no_variable_of_the_inventory(tmp_path: Path) -> None:
    """Preflight in a playbook of one's own, after tasks that registered and set variables that begin like ours."""
    tasks = [{"ansible.builtin.debug": {}, "register": "kafka_answer"}, {"ansible.builtin.set_fact": {"zookeeper_answer": 1}}]
    play = {"hosts": "all", "connection": "local", "gather_facts": False, "tasks": tasks}
    imported = {"ansible.builtin.import_playbook": str(INVENTORIES.parent / "playbooks" / "preflight.yml")}
    (tmp_path / "mine.yml").write_text(json.dumps([play, imported, imported]))
    lab = spoil(tmp_path / "inventory", LAB)
    command = [sys.executable, "-m", "ansible", "playbook", "-i", str(lab), str(tmp_path / "mine.yml"), "--tags", "model,untagged"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=INVENTORIES.parent, env={**os.environ, "ANSIBLE_NOCOLOR": "1"})
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("What this layout (single) survives:") == 2


def test_json(tmp_path: Path) -> None:
    """One line of JSON holds every field of every mistake; the exit code is the same."""
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "ADDRESS_OUTSIDE")
    done = preflight(spoil(tmp_path / "inventory", mistake), "-e", "preflight_output=json")
    assert done.returncode == 2
    (found,) = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
    assert found["errors"] == [
        {"code": "ADDRESS_OUTSIDE", "hosts": ["dc1-kafka2"], "variable": "replication_address", "value": "198.18.3.22",
         "wrong": "outside the replication network 198.18.2.0/24", "advice": "correct the address or replication_network"}
    ]  # fmt: skip
    assert (found["warnings"], found["phase"], found["survival"]) == ([], "model", [])


def test_survival_is_printed(tmp_path: Path) -> None:
    """A model without mistakes is answered with what it survives, as text and as JSON."""
    inventory = spoil(tmp_path / "inventory", replace(LAB, inventory="lab_stretch2"))
    text = preflight(inventory)
    assert text.returncode == 0, text.stdout
    assert "What this layout (stretch2) survives:" in text.stdout
    assert re.search(r"^ +datacenter dc1 +no +no +yes +operator: failover to dc2", text.stdout, re.MULTILINE)
    done = preflight(inventory, "-e", "preflight_output=json")
    (found,) = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    rows = {row["failure"]: row for row in found["survival"]}
    assert rows["datacenter dc1"]["quorum"] is False
    assert rows["dc1-zk1"] == {"failure": "dc1-zk1", "quorum": True, "writable": True, "zero_loss": True, "who": "nobody"}
