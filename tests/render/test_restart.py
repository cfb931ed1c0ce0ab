"""Playbooks that stop and start: who is asked, stopped and started, in which order. No hosts, no cluster."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from render.site import ROOT, control_node, make_archives, run_playbooks

LAB = ROOT / "inventories" / "lab"
WHOLE: dict[str, Any] = {"lacking": {}, "at": 1.0}
ANSWERS: dict[str, Any] = {
    "kafka_gate": {
        "order": {"batches": [[2], [3], [1]], "controller": 1},
        "may_stop": {**WHOLE, "open": True, "answer": "may stop"},
        "back": WHOLE,
        "started": WHOLE,
    },
    "zookeeper_gate": {
        "order": {"order": ["dc1-zk3", "dc1-zk1", "dc1-zk2"]},
        "may_stop": {**WHOLE, "open": True, "answer": "may stop"},
        "started": WHOLE,
    },
    "kafka_cluster": {"may_stop": {**WHOLE, "controller": 2}},
    "kafka_leaders": {"may_stop": {"moved": []}},
    "kafka_controller": {"may_stop": {"answer": "broker 2 is the controller now"}},
}
LOG_DIRS = ["/data/kafka1", "/data/kafka2"]
# The second log dir of each broker is empty.
NEW: dict[str, Any] = {"log_dirs": LOG_DIRS, "given_up": ["/data/kafka2"]}
NEW["meta_properties"] = {"/data/kafka1": {"cluster.id": "x"}, "/data/kafka2": {}}
# Both log dirs of each broker hold a replica of orders-0.
DUPLICATE: dict[str, Any] = {
    "mounts": {path: {"mounted": True, "device": path, "names": ["meta.properties", "orders-0"]} for path in LOG_DIRS},
    "meta_properties": {path: {"cluster.id": "x"} for path in LOG_DIRS},
    "log_dirs": LOG_DIRS,
}
Calls = list[tuple[str, str, dict[str, Any]]]


def only_on_broker_3() -> dict[str, Any]:
    """Return answers of a cluster in which broker 3 alone has a replica of late-0."""
    return {**ANSWERS, "kafka_cluster": {"may_stop": {**WHOLE, "controller": 1, "alone": {"3": ["late-0"]}}}}


class Played:
    """One run of a playbook, and the calls of its modules."""

    def __init__(self, folder: Path, playbook: str, *options: str, answers: Any = None, **more: Any) -> None:
        """Run it."""
        folder.mkdir(exist_ok=True)
        make_archives(folder / "archives")
        calls = folder / "calls"
        calls.touch()
        settings = {
            "run_lock_directory": str(folder),
            "noted_calls": str(calls),
            "noted_answers": answers or ANSWERS,
            **control_node(LAB, folder),
            **more,
        }
        done = run_playbooks(LAB, [f"playbooks/{playbook}.yml"], "-e", json.dumps(settings), *options)
        self.code, self.output = done.returncode, done.stdout
        self.calls: Calls = [tuple(json.loads(line)) for line in calls.read_text().splitlines()]

    def story(self) -> list[str]:
        """Return each call in a few words, without those that only wait at the end."""
        return [words for call in self.calls if (words := told(*call))]

    def units(self) -> list[tuple[str, str]]:
        """Return host and unit of each call of host_state."""
        calls = [(host, options["units"]) for name, host, options in self.calls if name == "host_state"]
        return [(host, unit["name"]) for host, units in calls for unit in units]


def told(name: str, host: str, options: dict[str, Any]) -> str:
    """Return a call in a few words."""
    host = host.removeprefix("dc1-")
    if name == "host_state":
        (unit,) = options["units"]
        verb = unit.get("restart") or {"converged": "restart", "started": "start"}.get(
            unit.get("state", ""), unit.get("state") or "start"
        )
        return f"{verb} {host}"
    if name.endswith("_gate"):
        stop = " ".join(str(one).removeprefix("dc1-") for one in options["stop"])
        return f"{options.get('question', 'may_stop')} {stop}"
    return f"hand over {host}" if name == "kafka_controller" else ""


def test_all_are_marked_and_then_restarted_in_the_order_of_the_gate(tmp_path: Path) -> None:
    run = Played(tmp_path, "restart")
    assert run.code == 0, run.output
    story = run.story()
    hosts = ["kafka1", "kafka2", "kafka3", "zk1", "zk2", "zk3"]
    marks, rest = story[:6], story[6:]
    assert sorted(marks) == [f"mark {host}" for host in hosts]
    assert rest[0].startswith("order zk")
    assert rest[1:10] == [
        words for host in ("zk3", "zk1", "zk2") for words in (f"may_stop {host}", f"restart {host}", f"started {host}")
    ]
    assert rest[10] == "order 1 2 3"
    assert rest[11:22] == [
        *(words for one in (2, 3) for words in (f"may_stop {one}", f"restart kafka{one}", f"back {one}")),
        *("may_stop 1", "hand over kafka1", "may_stop 1", "restart kafka1", "back 1"),
    ]
    assert sorted(rest[22:]) == [f"end {host}" for host in hosts]
    backs = [options["prefer"] for _, _, options in run.calls if options.get("question") == "back"]
    assert backs == [True] * 3, "who was restarted leads nothing, and the next stop moves its share as well"
    digests = {unit.get("digest") for name, _, options in run.calls if name == "host_state"
               for unit in options["units"] if unit.get("state") == "converged"}  # fmt: skip
    assert digests == {""}, "what runs now is restarted, and not what the inventory says"
    racks = [options.get("racks") for name, _, options in run.calls if name == "kafka_gate"]
    assert len(racks) == 8 and all(one and one.keys() == {"1", "2", "3"} for one in racks), f"of another rack: {racks}"


def test_a_rack_together(tmp_path: Path) -> None:
    order = {"batches": [[3, 1], [2]], "controller": 2}
    answers = {**ANSWERS, "kafka_gate": {**ANSWERS["kafka_gate"], "order": order}}
    run = Played(tmp_path, "restart", "--limit", "kafka", "-e", "parallel=rack", answers=answers)
    assert run.code == 0, run.output
    story = run.story()[3:]
    assert story[:2] == ["order 1 2 3", "may_stop 3 1"]
    assert sorted(story[2:4]) == ["restart kafka1", "restart kafka3"]
    assert story[4:10] == ["back 3 1", "may_stop 2", "hand over kafka2", "may_stop 2", "restart kafka2", "back 2"]
    asked = [options for name, _, options in run.calls if name == "kafka_gate" and options.get("question") == "order"]
    assert asked[0]["parallel"] == "rack"
    assert {str(id): rack for id, rack in asked[0]["racks"].items()}.keys() == {"1", "2", "3"}


def test_a_gate_that_is_closed_ends_the_run_and_leaves_the_marks(tmp_path: Path) -> None:
    closed = {"failed": True, "msg": "the gate is closed: broker 2 is down"}
    answers = {**ANSWERS, "kafka_gate": {**ANSWERS["kafka_gate"], "may_stop 3": closed}}
    run = Played(tmp_path, "restart", "--limit", "kafka", answers=answers)
    assert run.code != 0
    assert run.story()[4:] == ["may_stop 2", "restart kafka2", "back 2", "may_stop 3"]


def test_a_run_that_was_cut_off_at_its_end_is_ended_and_restarts_nobody(tmp_path: Path) -> None:
    hosts = {"kafka.service": ["dc1-kafka1", "dc1-kafka2", "dc1-kafka3"]}
    done = {"noted_probe": {"restarted": ["kafka.service"], "restart_hosts": hosts}}
    run = Played(tmp_path, "restart", "--limit", "kafka", **done)
    assert run.code == 0, run.output
    assert sorted(run.story()) == [f"{verb} kafka{number}" for verb in ("end", "keep") for number in (1, 2, 3)]
    assert "This one ends it, and restarts nobody" in re.sub(r"\s+", " ", run.output)
    (tmp_path / "again").mkdir()
    again = Played(tmp_path / "again", "restart", "--limit", "kafka", "-e", "again=true", "--check", **done)
    assert sorted(again.story())[:3] == [f"again kafka{number}" for number in (1, 2, 3)]


def test_check_mode_says_the_order_and_whether_the_first_may_stop(tmp_path: Path) -> None:
    """It asks, also where the gate is closed, and waits for nothing."""
    closed = {"open": False, "answer": "broker 2 may not stop now: partition t-0: broker 3 is down"}
    answers = {**ANSWERS, "kafka_gate": {**ANSWERS["kafka_gate"], "may_stop 2": closed}}
    run = Played(tmp_path, "restart", "--check", answers=answers)
    assert run.code == 0, run.output
    said = re.sub(r"\s+", " ", run.output)
    assert "ZooKeeper servers would be restarted in this order: dc1-zk3, dc1-zk1, dc1-zk2. Now: may stop" in said
    assert f"Brokers would be restarted in this order: 2, 3, 1. Now: {closed['answer']}" in said
    asked = [words for words in run.story() if words.split()[0] in ("order", "may_stop", "back", "started")]
    assert asked == ["order zk1 zk2 zk3", "may_stop zk3", "order 1 2 3", "may_stop 2"]


def test_what_a_run_for_more_hosts_has_left_is_said(tmp_path: Path) -> None:
    """Only the named broker is restarted; partitions whose only replica another broker lost do not prevent that."""
    left = {"restarted": ["kafka.service"], "restart_hosts": {"kafka.service": ["dc1-kafka1", "dc1-kafka3"]}}
    probe = {**NEW, **left}
    run = Played(tmp_path, "restart", "--limit", "dc1-kafka1", "--check", answers=only_on_broker_3(), noted_probe=probe)
    assert run.code == 0 and run.story()[:1] == ["mark kafka1"], run.output
    assert "dc1-kafka3 may still be owed a restart" in re.sub(r"\s+", " ", run.output)


@pytest.mark.parametrize("options", [(), ("--limit", "dc1-kafka1", "-e", "outage=true")])
def test_an_outage_is_said(options: tuple[str, ...], tmp_path: Path) -> None:
    """Nobody stops a whole site since he forgot a word."""
    run = Played(tmp_path, "stop", *options)
    assert run.code != 0 and run.story() == []
    assert "Name the hosts that are to stop with -l" in re.sub(r"\s+", " ", run.output)


def test_hosts_stop_where_the_gate_lets_all_of_them_go(tmp_path: Path) -> None:
    """One by one, the controller and the leader last; the gate is asked again before each.

    stop.yml starts no broker, so it accepts brokers with a replica in two log dirs.
    """
    answers = {
        **ANSWERS,
        "kafka_cluster": {"may_stop": {**WHOLE, "controller": 1}},
        "zookeeper_gate": {**ANSWERS["zookeeper_gate"], "order": {"order": ["dc1-zk2", "dc1-zk1"]}},
    }
    hosts = "dc1-kafka1,dc1-kafka2,dc1-zk1,dc1-zk2"
    run = Played(tmp_path, "stop", "--limit", hosts, answers=answers, noted_probe=DUPLICATE)
    assert run.code == 0, run.output
    brokers = [words for one in (2, 1) for words in ("may_stop 2 1", f"stopped kafka{one}")]
    servers = [words for one in (2, 1) for words in ("may_stop zk2 zk1", f"stopped zk{one}")]
    assert run.story() == ["may_stop 1 2", "may_stop zk1 zk2", "order zk1 zk2", *brokers, *servers]
    again = [options["stopped"] for _, _, options in run.calls if "stopped" in options]
    assert again == [[], [2], [], ["dc1-zk2"]]


def test_a_gate_that_closes_between_two_hosts_ends_the_run(tmp_path: Path) -> None:
    """A broker with an empty log dir may be asked to stop: stop.yml does not start it."""
    closed = {"failed": True, "msg": "closed"}
    answers = {**ANSWERS, "zookeeper_gate": {"may_stop": closed}}
    refused = Played(tmp_path, "stop", "--limit", "dc1-kafka1,dc1-zk1", answers=answers)
    assert refused.code != 0 and refused.story() == ["may_stop 1", "may_stop zk1"]
    (tmp_path / "later").mkdir()
    answers = {**only_on_broker_3(), "kafka_gate": {**ANSWERS["kafka_gate"], "may_stop 3,1": closed}}
    later = Played(tmp_path / "later", "stop", "--limit", "dc1-kafka1,dc1-kafka3", answers=answers, noted_probe=NEW)
    assert later.code != 0 and later.story() == ["may_stop 1 3", "may_stop 3 1"]


def test_a_planned_outage_and_the_way_back(tmp_path: Path) -> None:
    """Also of a function that no playbook names: here the group rack_b, whose hosts are a broker and a server."""
    units = {"kafka": ["kafka.service"], "zookeeper": ["zookeeper.service"], "spark": ["spark-job@one.service"]}
    more = {"function_units": {**units, "rack_b": ["echo.service"]}}
    run = Played(tmp_path, "stop", "-e", "outage=true", **more)
    assert run.code == 0, run.output
    first, *rest = run.story()
    assert first == "order zk1 zk2 zk3" and {words.split()[0] for words in rest} == {"stopped"}
    jobs, others, brokers, servers = run.units()[:2], run.units()[2:4], run.units()[4:7], run.units()[7:]
    assert sorted(jobs) == [(f"dc1-spark{number}", "spark-job@one.service") for number in (1, 2)]
    assert sorted(others) == [("dc1-kafka2", "echo.service"), ("dc1-zk2", "echo.service")]
    assert [*sorted(brokers[:2]), brokers[2]] == [(f"dc1-kafka{number}", "kafka.service") for number in (1, 3, 2)]
    assert servers == [(f"dc1-zk{number}", "zookeeper.service") for number in (3, 1, 2)]
    (tmp_path / "back").mkdir()
    back = Played(tmp_path / "back", "start", "--limit", "dc1-zk2,dc1-kafka1,dc1-spark1", **more)
    assert back.code == 0, back.output
    assert back.story() == ["start zk2", "started zk2", "start kafka1", "started 1", "start zk2", "start spark1"]
    assert [unit for _, unit in back.units()] == [units[name][0] for name in ("zookeeper", "kafka")] + [
        *("echo.service", "spark-job@one.service"),
    ]


def test_an_outage_with_dead_machines_stops_the_rest_and_names_them(tmp_path: Path) -> None:
    """The first broker, which asks the gate otherwise, a server, and a host of a function without an order."""
    run = Played(tmp_path, "stop", "-e", "outage=true", noted_unreachable=["dc1-kafka1", "dc1-spark2", "dc1-zk3"])
    stopped = {words for words in run.story() if words.startswith("stopped")}
    assert {f"stopped {name}" for name in ("kafka2", "kafka3", "zk1", "zk2", "spark1")} <= stopped
    assert run.code != 0
    said = re.sub(r"\s+", " ", run.output)
    assert "All others were stopped. Could not be reached: dc1-kafka1, dc1-spark2, dc1-zk3." in said


@pytest.mark.parametrize("playbook", ["stop", "restart"])
def test_nobody_is_stopped_where_one_that_is_named_cannot_be_reached(playbook: str, tmp_path: Path) -> None:
    """For Ansible, one that cannot be reached is no failed one, and max_fail_percentage does not count it."""
    run = Played(tmp_path, playbook, "--limit", "dc1-kafka1,dc1-kafka2", noted_unreachable=["dc1-kafka1"])
    assert run.code != 0 and run.story() == []
    assert "Could not be reached: dc1-kafka1." in re.sub(r"\s+", " ", run.output)


def test_a_person_asks_for_one_and_for_several(tmp_path: Path) -> None:
    one = Played(tmp_path, "gate", "--limit", "dc1-kafka1")
    assert one.code == 0, one.output
    assert one.story() == ["may_stop 1"]
    closed = {"open": False, "answer": "brokers 1, 2 may not stop now"}
    answers = {**ANSWERS, "kafka_gate": {**ANSWERS["kafka_gate"], "may_stop 1,2": closed}}
    (tmp_path / "two").mkdir()
    two = Played(tmp_path / "two", "gate", "--limit", "dc1-kafka1,dc1-kafka2,dc1-zk1", answers=answers)
    assert two.code != 0 and "brokers 1, 2 may not stop now" in two.output
    assert two.story() == ["may_stop 1", "may_stop 2", "may_stop 1 2", "may_stop zk1"]


@pytest.mark.parametrize("playbook", ["restart", "start"])
def test_nobody_begins_with_nothing_what_it_alone_had(playbook: str, tmp_path: Path) -> None:
    """The broker would lead the partition with an empty log dir. stop.yml and other brokers: see the tests above."""
    run = Played(tmp_path, playbook, "--check", "--limit", "dc1-kafka3", answers=only_on_broker_3(), noted_probe=NEW)
    assert run.code != 0 and "LOG_DIR_EMPTY" in run.output and "late-0" in run.output, run.output
    assert [name for name, _, _ in run.calls] == ["kafka_cluster"]


ANEW: dict[str, Any] = {"meta_properties": {"/data/kafka1": {}, "/data/kafka2": {}}}


@pytest.mark.parametrize(
    ("options", "refused"),
    [((), True), (("-e", "lost=late-0,late-1"), False)],
)
def test_a_host_that_was_installed_anew_is_asked_about_too(
    options: tuple[str, ...], refused: bool, tmp_path: Path
) -> None:
    """Nothing is installed there, and its id is known; none of the others is of this run."""
    answers = {"kafka_cluster": {"may_stop": {"alone": {"3": ["late-0", "late-1"]}}}}
    run = Played(tmp_path, "preflight", "--limit", "dc1-kafka3", *options, answers=answers, noted_probe=ANEW)
    assert [name for name, _, _ in run.calls] == ["kafka_cluster"], run.output
    assert ("LOG_DIR_EMPTY" in run.output) == refused and (run.code != 0) == refused, run.output
