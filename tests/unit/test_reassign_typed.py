"""The printed command that resumes a run works as printed: the same request, with a rate if needed."""

import re
from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.reassigning import Reassign, interrupted

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import parse

pytest_plugins = ["unit.reassigning"]
NOTHING: dict[str, Any] = {
    **{key: [] for key in ("add", "drain", "disks", "replace", "topic", "disk", "empty")},
    **dict.fromkeys(("rebalance", "leaders", "cancel", "fewer_racks"), False),
    "replication_factor": None,
    "declared": None,
    "rate": "",
}
IDS = ("add", "drain", "disks")


def typed(text: str) -> dict[str, Any]:
    """Return the options of a command line, as reassign.yml makes them of it."""
    found: dict[str, Any] = {}
    for name, _, value in (one.partition("=") for one in re.findall(r"-e (\S+)", text)):
        several = [int(one) if name in IDS else one for one in value.split(",")]
        found[name] = several if NOTHING[name] == [] else True if value == "true" else value
    return found


def numbered(said: dict[str, Any]) -> dict[str, Any]:
    """Return options as the module takes them."""
    factor = {"replication_factor": int(said["replication_factor"])} if "replication_factor" in said else {}
    return {**said, **factor}


@pytest.mark.parametrize(
    "said",
    [
        {"drain": [10, 3], "rate": "50MB"},
        {"replace": ["5:2", " 3:6"], "rate": "unlimited"},
        {"replace": ["05:2 "], "topic": [" orders", "other "], "rate": "1500KB"},
        {"empty": [" 3:/data/1/", "2:/data/1"], "rate": "50MiB"},
        {"replication_factor": "3", "topic": ["orders", "other"], "rate": "1.5MB"},
        {"disk": ["3:/data/1:/data/2/ "], "topic": ["orders"], "rate": "52428801"},
        {"drain": [3], "rate": "1MB", "fewer_racks": True},
        {"leaders": True},
        {"cancel": True},
        {"cancel": True, "rate": "50MB"},
    ],
)
def test_what_is_printed_is_the_same_request(said: dict[str, Any]) -> None:
    first, mistakes = parse({**NOTHING, **numbered(said)})
    assert mistakes == []
    made = Record(first.words, (), first.rate, (), back=first.cancel, fewer_racks=first.wish.fewer_racks)
    second, mistakes = parse({**NOTHING, **numbered(typed(made.typed))})
    assert mistakes == [] and (second.words, second.wish, second.topics) == (first.words, first.wish, first.topics)
    assert second.rate == (None if said.get("cancel") else first.rate)


@pytest.mark.parametrize("rate", [1024, 50_000_000, 50 << 20, 1_500_000, 3_000_000_000, 2**63 - 1, None])
def test_rates_are_read_as_they_are_printed(rate: int | None) -> None:
    assert amounts.rate(amounts.typed(rate)) == rate


def test_a_refused_request_names_one_that_is_taken(six: FakeCluster, reassign: Reassign) -> None:
    """With its rate. A space behind a comma does not change the request."""
    interrupted(six, reassign, replace=["5:2", " 3:6"])
    refused = reassign(drain=[3])["msg"]
    assert "run it again first (-e replace=3:6,5:2 -e rate=50MB), or -e cancel=true, which" in refused
    again = typed(refused.partition("run it again first (")[2].partition(")")[0])
    assert reassign(check_mode=True, **again)["moved"] == ["orders-1"]
    assert reassign(**again)["moved"] == ["orders-1", "other-0"]
