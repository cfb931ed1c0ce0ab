"""The request `declared`: topics get their declared number of replicas, all in one plan."""

import json
from pathlib import Path
from typing import Any

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run
from unit.reassigning import MIB, Reassign, interrupted, limits, records

from ansible_collections.millrace.kafka.plugins.filter.resources import FilterModule
from ansible_collections.millrace.kafka.plugins.modules import kafka_export, kafka_reassign, kafka_topics

pytest_plugins = ["unit.reassigning"]
Declared = list[dict[str, Any]]


def topics(**factors: int) -> Declared:
    """Return declared topics by their number of replicas."""
    return [{"name": name, "partitions": 1, "replication_factor": factor} for name, factor in factors.items()]


@pytest.fixture
def three(six: FakeCluster) -> FakeCluster:
    """The same six brokers with one more topic, which has its declared number of replicas."""
    six.topics["same"] = [[6, 5]]
    six.sizes["other", 0] = MIB
    return six


BOTH = topics(orders=3, other=1, same=2)


def test_all_that_differ_are_one_plan(three: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """One topic gets a replica, one loses one; a topic with the declared number stays and is not named."""
    planned = reassign(check_mode=True, declared=BOTH)
    assert three.written == [] and records(tmp_path) == []
    assert planned["moved"] == ["orders-0", "orders-1", "other-0"]
    assert planned["plan"][0] == ("declared=true: 3 partitions change; 2 replicas are copied, 8.0 MiB; 1 lose replicas")
    assert planned["plan"][2:4] == ["  1 replica each: other", "  3 replicas each: orders"]
    assert not any("same" in line for line in planned["plan"])
    name = planned["plan"][-1].split()[1]
    assert reassign(declared=BOTH, plan=name)["moved"] == planned["moved"]
    racks = [sorted(three.racks[broker] for broker in replicas) for replicas in three.topics["orders"]]
    assert racks == [["a", "b", "c"], ["a", "b", "c"]]
    assert (three.topics["other"], three.topics["same"]) == ([[5]], [[6, 5]])
    assert (limits(three), records(tmp_path)) == (({}, {}), [])
    again = reassign(declared=BOTH)
    assert (again["changed"], again["plan"]) == (False, ["declared=true: nothing to move"])


def test_nothing_to_do_is_reported_whatever_else_is_wrong(three: FakeCluster, reassign: Reassign) -> None:
    """Although a broker is down, the run reports that all is as declared. An empty list is a request, too."""
    three.down = {2}
    for declared in (topics(orders=2, same=2), []):
        answer = reassign(declared=declared)
        assert (answer["changed"], answer["plan"]) == (False, ["declared=true: nothing to move"])


def test_missing_topics_are_left_to_resources_yml(three: FakeCluster, reassign: Reassign) -> None:
    """It is reported in the only line if nothing moves, otherwise as a note of the plan."""
    note = "2 topics (new, newer) are declared but do not exist: resources.yml creates them"
    planned = reassign(check_mode=True, declared=[*BOTH, *topics(new=3, newer=3)])
    assert f"note: {note}" in planned["plan"] and planned["moved"] == ["orders-0", "orders-1", "other-0"]
    nothing = reassign(declared=topics(same=2, new=3, newer=3))
    assert (nothing["changed"], nothing["plan"]) == (False, [f"declared=true: nothing to move; {note}"])
    alone = reassign(declared=BOTH + topics(new=3), topic=["new"])
    assert alone["plan"] == [
        "declared=true topic=new: nothing to move; 1 topic (new) is declared but does not exist: resources.yml creates "
        "it"
    ]


def test_unmanaged_topics_keep_their_replicas(three: FakeCluster, reassign: Reassign) -> None:
    """The same holds for absent topics, and for topics without a declared number."""
    (orders, other, same) = topics(orders=3, other=1, same=3)
    declared = [{**orders, "manage": False}, {**other, "state": "absent"}, {**same, "replication_factor": None}]
    assert reassign(declared=declared)["plan"] == ["declared=true: nothing to move"]
    refused = reassign(declared=declared, topic=["orders", "nope"])["msg"]
    for name in ("orders", "nope"):
        assert f"topic {name}: no number of replicas is declared (it is not in kafka_topics, not" in refused


def test_some_of_them(three: FakeCluster, reassign: Reassign) -> None:
    assert reassign(declared=BOTH, topic=["other", "same"])["moved"] == ["other-0"]
    assert three.topics["orders"] == [[1, 2], [4, 3]]


def test_partitions_that_differ_among_themselves(three: FakeCluster, reassign: Reassign) -> None:
    """An interrupted run may leave them so: the partition with too few replicas gets one."""
    three.topics["orders"] = [[1, 2, 3], [4, 3]]
    assert reassign(declared=topics(orders=3))["moved"] == ["orders-1"]
    assert three.topics["orders"][0] == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"declared": BOTH, "rate": ""}, ["rate is not set, and moving replicas can use the whole"]),
        ({"declared": BOTH, "drain": [3]}, ["drain and declared are set: set one of"]),
        ({"declared": BOTH, "replication_factor": 3}, ["replication_factor and declared are set: set one of"]),
        ({"declared": BOTH, "topic": [""]}, ["topic: a name is empty"]),
        ({"declared": topics(orders=0)}, ["topic orders: replication_factor 0: not between 1 and 32767"]),
        ({"declared": BOTH + topics(other=2)}, ["topic other: declared 2 times; keep one entry"]),
        (
            {"declared": topics(orders=7, other=8, same=1)},
            ["2 partitions (orders-0, orders-1) would have 7 replicas", "1 partition (other-0) would have 8 replicas"],
        ),
        ({"declared": BOTH, "brokers": [{"id": 9, "rack": "d"}]}, ["all brokers of rack d are down"]),
    ],
)
def test_refused(three: FakeCluster, reassign: Reassign, options: dict[str, Any], words: list[str]) -> None:
    answer = reassign(**options)
    assert answer["failed"]
    assert [text for text in words if text not in answer["msg"]] == []
    assert three.written == []


def test_fewer_replicas_than_a_topic_needs_are_refused(three: FakeCluster, reassign: Reassign) -> None:
    """resources.yml refuses the same topic for its number of replicas, so the message names the order of steps."""
    three.configs = {"other": {"min.insync.replicas": "2"}, "same": {"min.insync.replicas": "5"}}
    assert (
        "topic other: min.insync.replicas 2 with 1 replicas: no record could be written; set min.insync.replicas 1, or "
        "more replicas; resources.yml sets it while the topic is declared with its present number of replicas"
    ) in (refused := reassign(declared=BOTH)["msg"])
    assert "topic same" not in refused and three.written == []


def test_resumed(three: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """It is resumed by the same request; any other request is refused, also `declared` with other topics."""
    interrupted(three, reassign, declared=BOTH)
    assert three.topics["other"] == [[5]] and three.topics["orders"] == [[1, 2], [4, 3]]
    for other in ({"drain": [3]}, {"declared": BOTH, "topic": ["orders"]}):
        refused = reassign(**other)["msg"]
        assert (
            "an earlier run, declared=true, was interrupted or is still running, with 1 of 3 partitions moved"
            in refused
        )
        assert "run it again first (-e declared=true -e rate=50MB), or -e cancel=true" in refused
    planned = reassign(check_mode=True, declared=BOTH)
    assert planned["plan"][0] == "resumes an interrupted run: 1 of 3 partitions are moved"
    assert reassign(declared=BOTH, rate="80MB")["moved"] == ["orders-0", "orders-1", "other-0"]
    assert [len(replicas) for replicas in three.topics["orders"]] == [3, 3]
    assert (limits(three), records(tmp_path)) == (({}, {}), [])


def test_resuming_checks_its_own_topics_alone(three: FakeCluster, reassign: Reassign) -> None:
    interrupted(three, reassign, declared=BOTH)
    three.configs["same"] = {"min.insync.replicas": "5"}
    assert reassign(declared=BOTH)["moved"] == ["orders-0", "orders-1", "other-0"]


def test_reverted(three: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """The topic that had lost a replica gets it back."""
    interrupted(three, reassign, declared=BOTH)
    assert reassign(cancel=True, rate="")["notes"] == []
    assert three.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]], "same": [[6, 5]]}
    assert (limits(three), records(tmp_path)) == (({}, {}), [])


@pytest.mark.parametrize(
    ("declared", "now"),
    [(topics(orders=2, other=1, same=2), "2 are"), (topics(other=1, same=2), "none is")],
)
def test_a_changed_declaration_is_refused(
    declared: Declared, now: str, three: FakeCluster, reassign: Reassign, tmp_path: Path
) -> None:
    """The run would not produce the declared state any more: it is refused, and nothing is written."""
    interrupted(three, reassign, declared=BOTH)
    before = list(three.written)
    for check_mode in (True, False):
        refused = reassign(check_mode, declared=declared)["msg"]
        assert (
            f"topic orders: 3 replicas were declared when the run began, and {now} declared now: declare 3" in refused
        )
        assert "then run the same command again, or revert the run with -e cancel=true" in refused
    assert three.written == before and len(records(tmp_path)) == 1
    assert reassign(declared=BOTH)["moved"] == ["orders-0", "orders-1", "other-0"]


def test_a_declaration_since_the_interruption_is_reported(three: FakeCluster, reassign: Reassign) -> None:
    """Topics that are already moved may have another declaration by then; the interrupted run ends first."""
    interrupted(three, reassign, declared=BOTH)
    now = topics(orders=3, other=2, same=1)
    planned = reassign(check_mode=True, declared=now)["plan"]
    assert "note: 2 topics (other, same) now differ, too: run the same command again after this run" in planned
    assert reassign(declared=now)["moved"] == ["orders-0", "orders-1", "other-0"]
    assert reassign(declared=now)["moved"] == ["other-0", "same-0"]
    assert [len(three.topics[name][0]) for name in ("orders", "other", "same")] == [3, 2, 1]


def test_partitions_that_are_created_meanwhile_are_reported(three: FakeCluster, reassign: Reassign) -> None:
    """They have the topic's former number of replicas."""
    interrupted(three, reassign, declared=BOTH)
    three.topics["orders"].append([3, 4])
    assert reassign(declared=BOTH)["notes"] == [
        "created meanwhile with a number of replicas other than the declared one: 1 partition (orders-2); run the same "
        "command again"
    ]
    assert reassign(declared=BOTH)["moved"] == ["orders-2"]


def test_a_record_of_an_earlier_version(three: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """It has no key for declared topics."""
    interrupted(three, reassign, replication_factor=3, topic=["orders", "other"])
    (path,) = (tmp_path / "state").iterdir()
    path.write_text(json.dumps({key: one for key, one in json.loads(path.read_text()).items() if key != "factors"}))
    assert reassign(replication_factor=3, topic=["orders", "other"])["changed"]
    assert records(tmp_path) == []


def test_an_export_agrees_with_the_cluster(run: Run, cluster: FakeCluster, clock: Clock, tmp_path: Path) -> None:
    """Nothing moves after an export. A higher declared number is copied, and then exported."""
    cluster.topics, cluster.configs = {"orders": [[1, 2], [2, 3]]}, {"orders": {"min.insync.replicas": "1"}}
    resolved = FilterModule().filters()["resolved_topics"]

    def exported() -> Declared:
        said = run(kafka_export)["variables"]
        found: Declared = resolved(said["kafka_topics"], said["kafka_topic_defaults"], 3)
        return found

    asked: dict[str, Any] = {"rate": "50MB", "record_directory": str(tmp_path)}
    declared = exported()
    assert run(kafka_topics, topics=declared)["changed"] is False
    assert run(kafka_reassign, declared=declared, **asked)["plan"] == ["declared=true: nothing to move"]
    more = [{**declared[0], "replication_factor": 3}]
    refused = run(kafka_topics, topics=more)["msg"]
    assert refused.startswith(
        "topics: nothing was written: 1 rejected\n- topic orders: has 2 replicas, 3 are declared; "
    )
    assert "reassign.yml -e declared=true -e rate=50MB" in refused and cluster.written == []
    cluster.stuck = {"orders"}
    begun = run(kafka_reassign, declared=more, pause=1, **asked)
    begun = run(kafka_reassign, declared=more, pause=1, **asked, waited=begun["waiting"]["waited"])
    assert cluster.under_way and exported() == more, "what moves is said as it is to be"
    cluster.stuck = set()
    assert run(kafka_reassign, declared=more, **asked)["moved"] == ["orders-0", "orders-1"]
    assert run(kafka_topics, topics=more)["changed"] is False
    assert exported() == more
