"""Each mistake is said once, with its code, its place and how to mend it.

Twelve are said at once; correct inventories are silent.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from generate_errors import PAGE, certificate_codes_in_source, codes_in_source, page, written
from unit.run_lock_mistakes import RUNS

from model.batches import Batches, Row, batched, judge, variables
from model.mistakes import MISTAKES
from model.mistakes.base import INVENTORIES, LAB, Mistake, spoil
from model.mistakes.twelve import SAID_OF_TWELVE, TWELVE
from model.preflight import preflight, started
from model.probes import PROBES
from model.said import check, shown

IN_BATCH = ("code", "where", "advice", "variables", "also", "inventory")
WARNED_OF = {name: [("RACK_UNEVEN", True)] for name in ("dc1", "dc2")}
EXAMPLES = sorted(path.parent.relative_to(INVENTORIES).as_posix() for path in INVENTORIES.rglob("hosts.yml"))


def batches() -> Iterator[Any]:
    """Yield the mistakes that variables make, batched by inventory, and each other mistake alone."""
    variable = defaultdict(list)
    for mistake in MISTAKES:
        row = (mistake.variables, mistake)
        if mistake == replace(LAB, **{name: getattr(mistake, name) for name in IN_BATCH}):
            variable[mistake.inventory].append(row)
        else:
            yield pytest.param([[row]], id=mistake.code)
    for rows in variable.values():
        yield from batched(rows, name=lambda row: str(row[1].code))


def as_documented(rows: Sequence[Row], folder: Path) -> None:
    """Make all mistakes in one inventory, and compare what is reported with docs/errors.md."""
    first: Mistake = rows[0][1]
    problems, lines = check(spoil(folder / "inventory", replace(first, variables=variables(rows))), first.extra)
    wanted = {code for _, mistake in rows for code in (mistake.code, *mistake.also)}
    assert {problem.code for problem in problems} == wanted, problems
    for _, mistake in rows:
        assert written()[mistake.code] == shown(mistake, problems, lines, folder), "run: make docs"


@pytest.mark.parametrize("batches", batches())
def test_mistake(batches: Batches, tmp_path: Path) -> None:
    """The code is reported once, of the right place, with its advice, as docs/errors.md shows it.

    Nothing is reported besides what follows from it.
    """
    judge(batches, as_documented, tmp_path)


def test_every_code_has_its_mistake() -> None:
    """No code is without a wrong inventory or a wrong host, and none has two."""
    tested = [mistake.code for mistake in MISTAKES] + [probe.code for probe in PROBES]
    assert codes_in_source() == set(tested)
    assert len(tested) == len(set(tested))


def test_the_page_of_errors_is_made_from_this() -> None:
    """docs/errors.md has a row for each code, compared where the code is tested, and no other."""
    rows = written()
    assert PAGE.read_text(encoding="utf-8") == page(rows), "run: make docs"
    codes = codes_in_source() | certificate_codes_in_source() | set(RUNS)
    assert set(rows) == codes


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, tmp_path: Path) -> None:
    """No mistake, and no warning but those that hosts.yml explains."""
    problems, lines = check(spoil(tmp_path / "inventory", replace(LAB, inventory=name)))
    assert [(problem.code, problem.warning) for problem in problems] == WARNED_OF.get(name, []), lines
    text = (INVENTORIES / name / "hosts.yml").read_text(encoding="utf-8")
    assert all(f"preflight warns ({code})" in text for code, _ in WARNED_OF.get(name, []))


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        # Two settings, each with a meaning of its own.
        ({"kafka_config": {"log.flush.interval.ms": 5000, "log.flush.scheduler.interval.ms": 1000}}, []),
        # Text that is no number is one mistake, and not the end of the check.
        (
            {"kafka_config": {"reserved.broker.max.id": "many"}},
            ["KAFKA_PROPERTY_VALUE group kafka/kafka_config[reserved.broker.max.id]"],
        ),
        ({"kafka_config": {"reserved.broker.max.id": "2000"}}, []),
        # A key that is removed leaves Kafka's own default, which is 1.
        (
            {"kafka_config_overrides": {"min.insync.replicas": None}},
            ["MIN_ISR_ONE group kafka/kafka_config_overrides[min.insync.replicas]"],
        ),
        (
            {"kafka_config": {"default.replication.factor": None}},
            ["REPLICATION_ONE group kafka/kafka_config[default.replication.factor]"],
        ),
    ],
)
def test_properties_as_kafka_reads_them(variables: dict[str, object], said: list[str], tmp_path: Path) -> None:
    inventory = spoil(tmp_path / "inventory", replace(LAB, variables={"kafka": variables}))
    lines = check(inventory)[1]
    assert [wanted for wanted in said if not any(text.startswith(wanted) for text in lines)] == [], lines
    assert said or lines == []


def test_what_the_inventory_cannot_know_is_a_warning(tmp_path: Path) -> None:
    """Clients may be told of a name that leads to the brokers; a mistake is a broker's address with another port."""
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "BOOTSTRAP_UNKNOWN")
    client = {"bootstrap.servers": "kafka.example.org:9092", "security.protocol": "SASL_SSL"}
    named = replace(mistake, variables={"spark": {"kafka_client": client}})
    assert [(problem.code, problem.warning) for problem in check(spoil(tmp_path / "inventory", named))[0]] == [
        ("BOOTSTRAP_UNKNOWN", True)
    ]


def test_properties_of_the_sites_own_plugins(tmp_path: Path) -> None:
    """A name that the site declares known is not judged."""
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "KAFKA_PROPERTY_UNKNOWN")
    known = {**mistake.variables["kafka"], "known_properties": ["min.insync.replica"]}
    assert check(spoil(tmp_path / "inventory", replace(mistake, variables={"kafka": known})))[1] == []


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
    tasks = [
        {"ansible.builtin.debug": {}, "register": "kafka_answer"},
        {"ansible.builtin.set_fact": {"zookeeper_answer": 1}},
    ]
    play = {"hosts": "all", "connection": "local", "gather_facts": False, "tasks": tasks}
    imported = {"ansible.builtin.import_playbook": str(INVENTORIES.parent / "playbooks" / "preflight.yml")}
    (tmp_path / "mine.yml").write_text(json.dumps([play, imported, imported]))
    lab = spoil(tmp_path / "inventory", LAB)
    done = started().run("-i", str(lab), str(tmp_path / "mine.yml"), "--tags", "model,untagged")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("What this layout (single) survives:") == 2


def test_json(tmp_path: Path) -> None:
    """One line of JSON holds every field of every mistake; the exit code is the same."""
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "ADDRESS_OUTSIDE")
    done = preflight(spoil(tmp_path / "inventory", mistake), "-e", "preflight_output=json")
    assert done.returncode == 2
    (found,) = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
    assert found["errors"] == [
        {
            "code": "ADDRESS_OUTSIDE",
            "hosts": ["dc1-kafka2"],
            "group": "",
            "variable": "replication_address",
            "value": "198.18.3.22",
            "message": "outside the replication network 198.18.2.0/24",
            "advice": "correct the address or replication_network",
        }
    ]
    assert (found["warnings"], found["phase"], found["survival"]) == ([], "model", [])


def test_survival_is_printed(tmp_path: Path) -> None:
    """A model without mistakes is answered with what it survives, as text and as JSON."""
    inventory = spoil(tmp_path / "inventory", replace(LAB, inventory="lab_stretch2"))
    text = preflight(inventory)
    assert text.returncode == 0, text.stdout
    assert "What this layout (stretch2) survives:" in text.stdout
    assert re.search(r"^ +datacenter dc1 +no +no +yes +operator: failover.yml", text.stdout, re.MULTILINE)
    done = preflight(inventory, "-e", "preflight_output=json")
    (found,) = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    rows = {row["failure"]: row for row in found["survival"]}
    assert rows["datacenter dc1"]["quorum"] is False
    assert rows["dc1-zk1"] == {
        "failure": "dc1-zk1",
        "quorum": True,
        "writable": True,
        "zero_loss": True,
        "who": "nobody",
    }


def test_a_drawing(tmp_path: Path) -> None:
    """It is written in check mode as well, and only of a model without mistakes."""
    file = tmp_path / "site.svg"
    inventory = spoil(tmp_path / "inventory", replace(LAB, inventory="lab_stretch2"))
    done = preflight(inventory, "--check", "-e", f"drawing={file}")
    assert done.returncode == 0 and f"\ndrawing written: {file}\n" in done.stdout, done.stdout
    assert "<title>Site inventory: layout stretch2, 12 hosts</title>" in file.read_text()
    file.write_text("mine")
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "ADDRESS_OUTSIDE")
    done = preflight(spoil(tmp_path / "wrong", mistake), "-e", f"drawing={file}", "-e", "preflight_output=json")
    (found,) = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
    assert [error["code"] for error in found["errors"]] == ["DRAWING_FILE", "ADDRESS_OUTSIDE"]
    assert file.read_text() == "mine"


def test_a_job_whose_configuration_is_empty(tmp_path: Path) -> None:
    """All that it lacks is said, as of any configuration that lacks something."""
    variables = {"spark_consumer": {"spark_job_jobs": [{"name": "count_words", "config": {}}]}}
    problems, lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)))
    assert {problem.code for problem in problems} == {"JOB_CONFIG"}, lines
    assert any("checkpoint: is missing" in text for text in lines), lines


@pytest.mark.parametrize(
    ("path", "fine"),
    [("/etc", False), ("logs", False), ("/data/kafka1/gc", False), ("/data/zookeeper-log", True), ("/srv/gc", True)],
)
def test_where_the_log_of_the_garbage_collector_may_be(path: str, fine: bool, tmp_path: Path) -> None:
    """In no directory of the system, and in none that holds this broker's data."""
    variables = {"kafka": {"kafka_gc_log_dir": path}}
    problems = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)))[0]
    assert [problem.code for problem in problems] == ([] if fine else ["GC_LOG_DIR"])


def test_words_of_the_wiring_written_wrongly(tmp_path: Path) -> None:
    """That every host has the right word anyway does not hide the wrong one; a name that is no text ends nothing."""
    variables: dict[str, Any] = {"all": {"layot": "stretch2", "secuirty_profile": "plaintext", 1: "6g"}}
    lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)))[1]
    assert [text.partition(" = ")[0].partition(":")[0] for text in sorted(lines)] == [
        "VARIABLE_SUSPECT group all/layot",
        "VARIABLE_SUSPECT group all/secuirty_profile",
    ]
