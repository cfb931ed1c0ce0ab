"""Topics that are wanted and topics that are found: what would be done, how it is shown, and what is refused."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.topics import Cluster, Found, diff

RACKS = {1: "a", 2: "b", 3: "c"}
DEFAULTS = {
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    "cleanup.policy": "delete",
    "min.insync.replicas": "2",
    "num.partitions": "1",
    "default.replication.factor": "3",
}
FOUND = Found([(1, 2, 3), (2, 3, 1)], {"retention.ms": "604800000"})


def cluster(**topics: Found) -> Cluster:
    return Cluster(RACKS, {name.replace("__", "."): found for name, found in topics.items()}, DEFAULTS)


def wanted(name: str = "orders", **more: Any) -> dict[str, Any]:
    return {"name": name, "partitions": 2, "replication_factor": 3, "config": {"retention.ms": "604800000"}, **more}


def refused(topic: dict[str, Any], found: Found = FOUND) -> list[str]:
    plan = diff([topic], cluster(orders=found))
    assert not plan.changes, "refused, and planned all the same"
    return list(plan.refusals)


def test_a_new_topic() -> None:
    (change,) = diff([wanted(partitions=3)], cluster()).changes
    assert (change.verb, change.before) == ("create", ())
    assert change.after == ("partitions: 3", "replication_factor: 3", "retention.ms: 604800000 (7 d)")
    assert change.work["replicas"] == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]


def test_a_topic_that_is_as_wanted() -> None:
    plan = diff([wanted()], cluster(orders=FOUND, other=FOUND))
    assert (plan.changes, plan.unchanged, plan.unmanaged, plan.refusals) == ([], ["orders"], ["other"], [])


def test_nothing_said_is_as_it_is() -> None:
    plan = diff([{"name": "orders", "config": {"retention.ms": "604800000"}}], cluster(orders=FOUND))
    assert plan.unchanged == ["orders"]


def test_what_is_shown_with_diff() -> None:
    """In the same order each time, human units beside raw, what is no longer declared with what then holds."""
    found = Found(FOUND.replicas, {"segment.bytes": "1073741824", "min.insync.replicas": "1"})
    topic = wanted(partitions=4, allow_more_partitions=True, config={"segment.bytes": "536870912"})
    assert diff([topic], cluster(orders=found)).diff("topics") == {
        "before_header": "topics",
        "after_header": "topics",
        "before": "topic orders\n  partitions: 2\n  min.insync.replicas: 1\n  segment.bytes: 1073741824 (1 GiB)\n",
        "after": (
            "topic orders\n  partitions: 4\n  min.insync.replicas: 2, by default\n"
            "  segment.bytes: 536870912 (512 MiB)\n"
        ),
    }


def test_throttles_are_no_drift_and_are_kept() -> None:
    moving = Found(FOUND.replicas, {**FOUND.dynamic, "leader.replication.throttled.replicas": "0:1"})
    assert diff([wanted()], cluster(orders=moving)).unchanged == ["orders"]


@pytest.mark.parametrize(("one", "other"), [("0.5", "0.50"), ("compact,delete", "delete, compact"), ("true", "True")])
def test_two_ways_to_write_one_value(one: str, other: str) -> None:
    key = "cleanup.policy" if "," in one else "x"
    found = Found(FOUND.replicas, {key: one})
    assert diff([wanted(config={key: other}, allow_data_loss=True)], cluster(orders=found)).unchanged == ["orders"]


REFUSALS = {
    "fewer partitions": (
        wanted(partitions=1),
        "has 2 partitions, 1 are declared, and Kafka cannot remove partitions",
    ),
    "more partitions": (wanted(partitions=3), "has 2 partitions, 3 are declared: records with a key would go to other"),
    "more of a compacted one": (
        wanted(partitions=3, config={"cleanup.policy": "compact"}, allow_data_loss=True),
        "it is compacted, and a key in two partitions would keep two values; set allow_more_partitions: true",
    ),
    "another number of replicas": (
        wanted(replication_factor=2, config={**FOUND.dynamic, "min.insync.replicas": "1"}, allow_data_loss=True),
        "has 3 replicas, 2 are declared; run reassign.yml -e declared=true -e rate=50MB, which copies replicas "
        "(--check only prints its plan), or declare the number that it has",
    ),
    "a cut": (wanted(config={"retention.ms": "3600000"}), "retention.ms: 604800000 (7 d) would become 3600000 (1 h)"),
    "a cut of bytes": (
        wanted(config={**FOUND.dynamic, "retention.bytes": "1024"}),
        "retention.bytes: -1 (no limit) would become 1024 (1 KiB), and older records would be deleted",
    ),
    "no number": (wanted(config={"retention.ms": "7d"}), "retention.ms: 7d is not an integer"),
    "more than Java has": (
        wanted(config={"retention.bytes": str(2**63)}),
        f"retention.bytes: {2**63} is too large; write at most {2**63 - 1}",
    ),
    "compaction": (wanted(config={**FOUND.dynamic, "cleanup.policy": "compact"}), "delete would become compact"),
    "fewer in sync": (
        wanted(config={**FOUND.dynamic, "min.insync.replicas": "1"}),
        "min.insync.replicas: 2 would become 1, and records that are on that few brokers could be lost; "
        "set allow_data_loss: true",
    ),
    "leaders that lack records": (
        wanted(config={**FOUND.dynamic, "unclean.leader.election.enable": "True"}),
        "unclean.leader.election.enable: false would become true, and a leader without all records could be elected; "
        "set allow_data_loss: true",
    ),
    "deletion": (wanted(state="absent"), "would be deleted with all its records; set allow_delete: true"),
    "min ISR of all": (
        wanted(config={**FOUND.dynamic, "min.insync.replicas": "3"}),
        "min.insync.replicas 3 with 3 replicas: a restart of one broker would stop writes; set min.insync.replicas 2",
    ),
    "min ISR of more": (
        wanted(config={**FOUND.dynamic, "min.insync.replicas": "4"}),
        "min.insync.replicas 4 with 3 replicas: no record could be written",
    ),
}


@pytest.mark.parametrize(("topic", "words"), REFUSALS.values(), ids=REFUSALS)
def test_refused(topic: dict[str, Any], words: str) -> None:
    (text,) = refused(topic)
    assert text.startswith("topic orders: ") and words in text


def test_a_default_that_is_shorter_is_a_cut_too() -> None:
    """The setting is no longer declared, so the brokers' would hold."""
    (text,) = refused(wanted(config={}), Found(FOUND.replicas, {"retention.ms": "1209600000"}))
    assert "retention.ms: 1209600000 (14 d) would become 604800000 (7 d)" in text


@pytest.mark.parametrize(
    ("defaults", "own", "words"),
    [
        ({"min.insync.replicas": "1"}, {"min.insync.replicas": "2"}, "min.insync.replicas: 2 would become 1"),
        (
            {"unclean.leader.election.enable": "true"},
            {"unclean.leader.election.enable": "false"},
            "unclean.leader.election.enable: false would become true",
        ),
        ({"retention.ms": "1"}, {"retention.ms": "-2"}, "retention.ms: -2 would become 1"),
    ],
)
def test_what_is_taken_back_can_lose_records(defaults: dict[str, str], own: dict[str, str], words: str) -> None:
    there = Cluster(RACKS, {"orders": Found(FOUND.replicas, own)}, {**DEFAULTS, **defaults})
    (text,) = diff([wanted(config={})], there).refusals
    assert words in text
    assert diff([wanted(config={}, allow_data_loss=True)], there).refusals == []


def test_more_in_sync_and_no_limit_lose_nothing() -> None:
    own = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true", "retention.ms": "5"}
    config = {"min.insync.replicas": "2", "unclean.leader.election.enable": "false", "retention.ms": "-1"}
    assert diff([wanted(config=config)], cluster(orders=Found(FOUND.replicas, own))).refusals == []


@pytest.mark.parametrize("key", ["retention.ms", "retention.bytes"])
def test_for_ever_as_the_largest_number(key: str) -> None:
    """As ksqlDB writes it: no cut of -1, and another one than a number that a float cannot tell from it."""
    longest = str(2**63 - 1)
    unlimited = Found(FOUND.replicas, {**FOUND.dynamic, key: "-1"})
    topic = wanted(config={**FOUND.dynamic, key: longest})
    assert not diff([topic], cluster(orders=unlimited)).refusals
    there = Found(FOUND.replicas, {**FOUND.dynamic, key: longest})
    assert diff([topic], cluster(orders=there)).unchanged == ["orders"]
    near = Found(FOUND.replicas, {**FOUND.dynamic, key: str(2**63 - 2)})
    assert diff([topic], cluster(orders=near)).unchanged == []


def test_what_is_acknowledged() -> None:
    topic = wanted(config={"retention.ms": "3600000"}, allow_data_loss=True)
    (done,) = diff([topic], cluster(orders=FOUND)).changes
    assert done.work["set"] == {"retention.ms": "3600000"}


def test_a_topic_that_goes() -> None:
    (change,) = diff([wanted(state="absent", allow_delete=True)], cluster(orders=FOUND)).changes
    assert (change.verb, change.after) == ("delete", ())
    assert diff([wanted(state="absent")], cluster()).refusals == []


def test_more_replicas_than_brokers() -> None:
    plan = diff([wanted(replication_factor=4)], cluster())
    assert plan.refusals == [
        "topic orders: 4 replicas, but 3 brokers are running; start the others, or set fewer replicas"
    ]


def test_partitions_that_cannot_be_placed() -> None:
    """New topics and more partitions wait, other changes do not; it is said once."""
    topics = {"orders": FOUND, "returns": FOUND, "same": FOUND}
    lame = Cluster(RACKS, topics, DEFAULTS, unplaceable=["no broker of rack c is there"])
    longer = wanted("returns", config={"retention.ms": "864000000"})
    more = wanted(partitions=4, allow_more_partitions=True)
    plan = diff([more, longer, wanted("new"), wanted("same")], lame)
    assert plan.refusals == ["topics new, orders: no broker of rack c is there"]
    assert [change.name for change in plan.changes] == ["returns"]
    assert diff([longer, wanted("same")], lame).refusals == []


def test_all_topics_with_another_number_of_replicas_are_one_refusal() -> None:
    """One command copies for all of them; those that are to go, or are not managed, or have as many, are not named."""
    two = Found([(1, 2), (2, 3)], FOUND.dynamic)
    names = {name: two for name in ("a", "b", "c", "d", "e", "f", "gone", "foreign")}
    mixed = Found([(1, 2), (1, 2, 3)], FOUND.dynamic)
    more = [wanted("gone", state="absent", allow_delete=True), wanted("foreign", manage=False), wanted()]
    plan = diff([*(wanted(name) for name in ("mixed", *"abcdef")), *more], cluster(**names, mixed=mixed, orders=FOUND))
    (text,) = plan.refusals
    told = "topics a, b, c, d, e, ...: have 2 replicas, 3 are declared; topic mixed: has 2 and 3 replicas, 3 are "
    assert text.startswith(f"{told}declared; run ") and text.endswith("or declare the number that they have")
    assert text.count("reassign.yml -e declared=true -e rate=50MB") == 1
    assert plan.unchanged == ["orders"] and [change.name for change in plan.changes] == ["gone"]


@pytest.mark.parametrize("moved", [[(1, 2, 3), (1, 2, 3, 4, 5, 6)], [(1, 2, 3, 4), (1, 2, 3, 4)]])
def test_a_topic_whose_replicas_move(moved: list[tuple[int, ...]]) -> None:
    """It is left alone, and keeps nothing else from being done."""
    there = Cluster(RACKS, {"orders": Found(moved)}, DEFAULTS, moving={"orders"})
    plan = diff([wanted(config={}), wanted("new")], there)
    assert ([change.name for change in plan.changes], plan.refusals, plan.unmanaged) == (["new"], [], ["orders"])


def test_names_of_the_cluster_itself() -> None:
    plan = diff([wanted("__consumer_offsets", state="absent", allow_delete=True), wanted("_mine")], cluster())
    assert [text.partition(": ")[0] for text in plan.refusals] == ["topic __consumer_offsets", "topic _mine"]


def test_names_that_differ_by_dots_alone() -> None:
    plan = diff([wanted("a_b"), wanted("c.d"), wanted("c_d")], cluster(a__b=FOUND))
    assert [text.partition(", so")[0] for text in plan.refusals] == [
        "topic a_b: a.b differs from it only in . and _",
        "topic c.d: c_d differs from it only in . and _",
        "topic c_d: c.d differs from it only in . and _",
    ]


def test_all_refusals_at_once() -> None:
    topics = [wanted(partitions=1), wanted("new", replication_factor=9), wanted("_x")]
    assert len(diff(topics, cluster(orders=FOUND)).refusals) == 3


def test_what_is_not_managed_is_not_touched() -> None:
    plan = diff([wanted(partitions=1, manage=False)], cluster(orders=FOUND))
    assert (plan.changes, plan.refusals, plan.unmanaged) == ([], [], ["orders"])


def test_prune() -> None:
    """Within its scope; what is known or the cluster's own stays."""
    found = cluster(orders=FOUND, orders__old=FOUND, orders__foreign=FOUND, other=FOUND, _orders=FOUND)
    declared = [wanted(), {"name": "orders.foreign", "manage": False}]
    plan = diff(declared, found, {"topics": ["orders*", "_*"], "max_deletes": 1})
    assert [(change.verb, change.name) for change in plan.changes] == [("delete", "orders.old")]
    assert plan.unmanaged == ["other", "orders.foreign"] and plan.refusals == []


def test_prune_of_too_much() -> None:
    plan = diff([wanted()], cluster(orders=FOUND, a=FOUND, b=FOUND), {"topics": ["*"], "max_deletes": 1})
    assert plan.refusals == [
        "prune: 2 topics would be deleted (a, b), but max_deletes is 1; declare those that must stay, reduce the "
        "scope, or raise kafka_prune.max_deletes"
    ]
