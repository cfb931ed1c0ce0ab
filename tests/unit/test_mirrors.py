"""Properties of MirrorMaker that follow from flows, and what crosses a border."""

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.mirrors import (
    Worker,
    buffers,
    identity_refusals,
    properties,
    selected,
    topics_of,
)

FLOW: dict[str, Any] = {
    "source": "west",
    "bootstrap": "198.18.57.21:9092",
    "user": "mirror_east",
    "password": 'gu"ess\\ed',
    "topics": ["orders", "payments-.*"],
}
WORKER = Worker(
    "east",
    {"bootstrap.servers": "198.18.59.21:9092", "security.protocol": "SASL_SSL", "sasl.jaas.config": "of east"},
    "/etc/ca.pem",
    "/etc/secrets",
    {"exactly.once.source.support": "enabled"},
)


def test_secrets_are_not_among_the_properties() -> None:
    """MirrorMaker writes its properties into a topic, and sends them to other workers."""
    found = properties([FLOW], WORKER)
    assert "gu" not in str(found["properties"]) and "of east" not in str(found["properties"])
    assert found["properties"]["west.sasl.jaas.config"] == "${secrets:/etc/secrets:west.sasl.jaas.config}"
    assert found["secrets"]["east.sasl.jaas.config"] == "of east"
    assert found["secrets"]["west.sasl.jaas.config"].endswith(r'password="gu\"ess\\ed";')


def test_a_flow_has_one_direction() -> None:
    """Workers are told to read one cluster and to write to the other one alone, also what they keep for themselves."""
    found = properties([FLOW], WORKER)["properties"]
    assert (found["west->east.enabled"], found["east->west.enabled"]) == (True, False)
    assert found["east->west.emit.heartbeats.enabled"] is False
    assert found["west->east.offset-syncs.topic.location"] == "target"
    assert found["west->east.sync.topic.acls.enabled"] is False


def test_settings_of_workers_have_the_prefix_of_the_target() -> None:
    """With that of the pair, MirrorMaker 3.9.2 ignores them."""
    found = properties([FLOW], WORKER)["properties"]
    assert found["east.exactly.once.source.support"] == "enabled"
    assert not [key for key in found if key.startswith("west->east.exactly")]


@pytest.mark.parametrize(
    "name", ["totals-store-changelog", "totals-sum-repartition", "__consumer_offsets", "mm2-offsets.west.internal"]
)
def test_what_is_never_copied(name: str) -> None:
    assert selected({"topics": [".*"]}, [name, "orders"]) == ["orders"]


def test_a_pattern_is_for_whole_names() -> None:
    assert selected(FLOW, ["orders", "orders-eu", "payments-a", "old-payments-a"]) == ["orders", "payments-a"]


@pytest.mark.parametrize(
    ("source", "target", "carried"),
    [
        (["eu", "us"], ["us"], ["us-orders"]),
        (["eu"], ["eu", "us"], ["eu-orders"]),
        (["eu"], [], ["eu-orders"]),
        ([], ["us"], ["us-orders"]),
        (["eu"], ["us"], []),
    ],
)
def test_what_crosses_a_border(source: list[str], target: list[str], carried: list[str]) -> None:
    """Workers get names, so that no topic crosses that matches the pattern and is created later."""
    topics = [{"name": "eu-orders", "residency": "eu"}, {"name": "us-orders", "residency": "us"}, {"name": "orders"}]
    flow = {**FLOW, "topics": [".*orders"], "residency": source, "source_topics": topics}
    assert topics_of(flow, target) == [name.replace("-", r"\-") for name in carried]


def test_without_a_border_patterns_stay() -> None:
    assert topics_of(FLOW, []) == ["orders", "payments-.*"]
    assert topics_of({**FLOW, "residency": ["eu"]}, ["eu"]) == ["orders", "payments-.*"]


@pytest.mark.parametrize(
    ("distance", "fetch"),
    [
        ({}, 4 * 2**20),
        ({"round_trip_ms": 100, "bandwidth": "100MB"}, 10_000_000),
        ({"round_trip_ms": 300, "bandwidth": "1GB"}, 32 * 2**20),
    ],
)
def test_a_fetch_fills_the_link_for_a_round_trip(distance: dict[str, Any], fetch: int) -> None:
    assert buffers({**FLOW, **distance})["source.consumer.max.partition.fetch.bytes"] == fetch


def asked(source: str, *topics: str, **answers: Any) -> dict[str, Any]:
    """A flow, as the module kafka_mirrors returns it."""
    empty = {"copies_from": [], "itself": False, "silent": ""}
    return {"source": source, "topics": [{"topic": name} for name in topics], **empty, **answers}


def test_flows_that_keep_names() -> None:
    """Nothing is copied in a circle, and records of two sources are not mixed."""
    flows = [{"source": "west"}, {"source": "north"}]
    assert not identity_refusals([asked("west", "orders"), asked("north", "bills")], flows, "east")
    (mixed,) = identity_refusals([asked("west", "orders", "bills"), asked("north", "bills")], flows, "east")
    assert "bills is a topic of west and north" in mixed and "topics_exclude" in mixed
    circle, silent = identity_refusals(
        [asked("west", "orders", copies_from=["east"]), asked("north", silent="timed out")], flows, "east"
    )
    assert "west copies from east, too" in circle and "mm2-configs.east.internal" in circle
    assert "north cannot be asked" in silent and "timed out" in silent
    (renamed,) = identity_refusals([asked("west", "orders", copies_from=["dc2"])], flows, "east")
    assert "west copies from dc2. If that is another name of east" in renamed
    assert not identity_refusals(
        [asked("west", "orders", copies_from=["north"]), asked("north", "bills")], flows, "east"
    )


def test_a_flow_that_is_said_to_have_one_direction() -> None:
    """Only the operator knows that a flow of the source keeps no names; what is mixed is seen anyway."""
    flows = [{"source": "west", "one_way": True}, {"source": "north", "one_way": True}]
    answers = [asked("west", "orders", copies_from=["east"]), asked("north", "orders", silent="timed out")]
    (mixed,) = identity_refusals(answers, flows, "east")
    assert "orders is a topic of west and north" in mixed


def test_a_flow_from_the_cluster_itself_is_refused_whatever_is_said() -> None:
    answer = asked("west", "orders", itself=True)
    (found,) = identity_refusals([answer], [{"source": "west", "one_way": True}], "east")
    assert "the brokers of west are those of east" in found


def test_passwords_of_mirror_maker_config_are_not_among_the_properties() -> None:
    """Those of the REST server stay."""
    own = {"west.ssl.key.password": "hush", "east->west.x.password": "hush", "ssl.key.password": "hush"}
    own["listeners.https.ssl.key.password"] = "rest"
    found = properties([FLOW], replace(WORKER, config={**own, "west.sasl.jaas.config": "${file:/x:y}"}))
    assert "hush" not in str(found["properties"]) and found["secrets"]["west.ssl.key.password"] == "hush"
    assert found["properties"]["listeners.https.ssl.key.password"] == "rest"
    assert found["properties"]["west.sasl.jaas.config"] == "${file:/x:y}"
