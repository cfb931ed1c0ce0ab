"""What the page of check.yml says of log dirs and racks: what they hold, what evens them out, what was left in them."""

import json
from typing import Any

import pytest
from unit.healthy import broker, cluster, declared, log_dir, probes

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.page import as_json, page

GIB = 2**30
NEW = ("log_dirs", "silent", "strays", "copies_throttled")


def told(*dirs: dict[str, Any], **more: Any) -> tuple[str, list[str]]:
    """Return the page of a cluster with these log dirs, and what is wrong."""
    return page(declared(), probes(), cluster() | {"log_dirs": list(dirs)} | more)


def line(text: str, begin: str) -> str:
    """Return the one line of a page that begins so."""
    (found,) = [one.strip() for one in text.splitlines() if one.strip().startswith(begin)]
    return found


def test_an_answer_without_log_dirs() -> None:
    """As an older kafka_cluster gives it: bytes are not known, and all else is as it is."""
    found = {key: value for key, value in cluster().items() if key not in NEW}
    text, problems = page(declared(), probes(), found)
    assert problems == []
    assert "Log dirs" not in text and "\n  dc1-a  1        6      10     ?\n" in text
    said = json.loads(as_json(declared(), probes(), found))
    assert (said["healthy"], said["kafka"]["log_dirs"], said["kafka"]["strays"]) == (True, None, None)


def test_log_dirs_of_one_broker_that_are_skewed() -> None:
    """No problem, and told with the run that evens them out; all brokers that want it in one run."""
    dirs = [log_dir(1, "/d1", 40, 40 * GIB), log_dir(1, "/d2", 2, 2 * GIB)]
    text, problems = told(*dirs, log_dir(2, "/d1", 42, 42 * GIB))
    assert problems == []
    assert line(text, "bytes skew 1.90") == (
        "bytes skew 1.90 over the log dirs of broker 1 (kafka1): run reassign.yml -e disks=1 -e rate=50MB "
        "to balance them"
    )
    text, _ = told(*dirs, log_dir(2, "/d1", 30, 30 * GIB), log_dir(2, "/d2", 2, 2 * GIB))
    assert "reassign.yml -e disks=1,2 -e rate=50MB" in text


@pytest.mark.parametrize(
    "dirs",
    [
        [log_dir(1, "/d1", 40, GIB), log_dir(1, "/d2", 2, GIB // 4)],
        [log_dir(1, "/d1", 1, 40 * GIB), log_dir(1, "/d2", 0, 0)],
        [log_dir(1, "/d1", 40, 40 * GIB, size=400 * GIB), log_dir(1, "/d2", 2, 2 * GIB)],
        [log_dir(1, "/d1", 40, 40 * GIB, free=GIB), log_dir(1, "/d2", 2, 2 * GIB, free=GIB)],
        [log_dir(1, "/d1", 40, 40 * GIB), log_dir(1, "/d2", 0, 0, given_up=True)],
    ],
    ids=["a trifle", "one replica", "disks of two sizes", "one disk", "one that is given up"],
)
def test_what_no_run_would_even_out_is_not_proposed(dirs: list[dict[str, Any]]) -> None:
    assert "-e disks=" not in told(*dirs)[0]


def on_devices(**devices: int) -> dict[str, dict[str, Any]]:
    """Return what hosts answer, the first broker's with the devices of its log dirs."""
    mounts = {
        f"/{name}": {"mounted": True, "size": 100 * GIB, "free": GIB, "device": one} for name, one in devices.items()
    }
    return {**probes(), "kafka1": {"mounts": mounts}}


def test_log_dirs_on_one_file_system_that_is_written_to() -> None:
    """Its free bytes differ from one look to the next: whoever moves something there copies it for nothing."""
    busy = [log_dir(1, "/d1", 40, 40 * GIB, free=GIB), log_dir(1, "/d2", 2, 2 * GIB, free=GIB - 4096)]
    assert "over the log dirs" not in told(*busy)[0], "of a host that did not answer, too"
    found = cluster() | {"log_dirs": busy}
    assert "over the log dirs" not in page(declared(), on_devices(d1=7, d2=7), found)[0]
    assert "-e disks=1 " in page(declared(), on_devices(d1=7, d2=8), found)[0], "two disks that are as full"


def test_a_device_is_known_where_a_broker_does_not_tell_its_file_system() -> None:
    """Also where the inventory writes the log dir otherwise."""
    unknown: dict[str, Any] = {"size": None, "free": None}
    dirs = [log_dir(1, "/d1", 40, 40 * GIB, **unknown), log_dir(1, "/d2", 2, 2 * GIB, **unknown)]
    answers = on_devices(d1=7, **{"d2/": 7})
    assert "over the log dirs" not in page(declared(), answers, cluster() | {"log_dirs": dirs})[0]


def test_log_dirs_whose_file_system_is_not_told_are_compared() -> None:
    """Brokers before 3.3 do not tell it."""
    unknown: dict[str, Any] = {"size": None, "free": None}
    text, _ = told(log_dir(1, "/d1", 40, 40 * GIB, **unknown), log_dir(1, "/d2", 2, 2 * GIB, **unknown))
    assert "-e disks=1 " in text


def test_brokers_that_are_skewed() -> None:
    """Replicas are evened out by number: where the fullest has no more of them, that is of no use."""
    dirs = [log_dir(1, "/d1", 90, 90 * GIB), log_dir(2, "/d1", 10, 10 * GIB)]
    text, problems = told(*dirs, replicas={"1": 90, "2": 10})
    assert problems == []
    assert line(text, "bytes skew 1.80") == (
        "bytes skew 1.80 over brokers (1.00 is balanced), most on broker 1 (kafka1): run reassign.yml "
        "-e rebalance=true -e rate=50MB to balance them, as far as racks permit"
    )
    text, _ = told(*dirs, replicas={"1": 50, "2": 50})
    assert line(text, "bytes skew 1.80").endswith(
        "most on broker 1 (kafka1): its partitions are larger, not more: run reassign.yml -e topic=<the largest> "
        "-e rebalance=true -e rate=50MB to balance one topic"
    )


def test_a_rack_that_leads_too_much() -> None:
    """Though no broker does: its brokers add up."""
    facts, found = declared(), cluster()
    for number, rack in ((3, "dc1-a"), (4, "dc1-b")):
        facts[f"kafka{number}"] = broker(number, rack)
        found["brokers"][str(number)] = {"rack": rack}
    found |= {"leaders": {"1": 28, "2": 12, "3": 28, "4": 12}, "partitions": 80}
    text = page(facts, probes(), found)[0]
    assert line(text, "leader skew 1.40 in").startswith(
        "leader skew 1.40 in rack dc1-a: run reassign.yml -e leaders=true"
    )
    assert "\n  dc1-a  2        56     10     ?\n" in text, "broker 3 told nothing"
    found["leaders"] = {"1": 24, "2": 16, "3": 24, "4": 16}
    assert "in rack" not in page(facts, probes(), found)[0]


def test_without_racks_there_is_no_table_of_them() -> None:
    found = cluster()
    for one in found["brokers"].values():
        one["rack"] = None
    assert "Racks" not in page(declared(), probes(), found)[0]
    found["brokers"]["1"]["rack"] = "dc1-a"
    assert "Racks" not in page(declared(), probes(), found)[0]


def test_a_log_dir_that_is_given_up_and_a_broker_that_does_not_tell() -> None:
    text, problems = told(log_dir(1, "/d1", 0, 0, given_up=True), silent={"2": "no answer within 7 s"})
    assert problems == ["broker 2 (kafka2) does not list its log dirs: no answer within 7 s"]
    assert "\n  1   kafka1  /d1      0         offline\n" in text
    assert "\n  2   kafka2  ?        ?         ?\n" in text


def test_of_hosts_that_are_not_checked_nothing_is_shown() -> None:
    """With --limit; a broker that is not in the inventory is."""
    facts = {host: declared()[host] for host in ("kafka1",)}
    more = {"log_dirs": [*cluster()["log_dirs"], log_dir(7, "/d9", 3, 5)], "undeclared": {"7": 3}}
    text = page(facts, probes(), cluster() | more)[0]
    assert "  7   -       /d9      3         5 B\n" in text
    assert "  2   " not in text.partition("Log dirs")[2]


def test_stray_replicas_are_named_with_how_to_get_rid_of_them() -> None:
    """Those of a broker that is not in the inventory, too."""
    strays = [
        {"broker": 2, "path": "/d1", "bytes": 3 * GIB, "partitions": ["gone-0", "gone-1", "old-7", "t-1", "t-2"]},
        {"broker": 7, "path": "/d9", "bytes": 12, "partitions": ["gone-0"]},
    ]
    assert told(*cluster()["log_dirs"], strays=strays)[1] == [
        "broker 2 (kafka2) holds 5 stray replicas in /d1 (gone-0, gone-1, old-7 and 2 more, all in -e "
        "check_output=json), 3.0 GiB: their topic was deleted or reassigned while the broker or its disk was down, "
        "and Kafka keeps them. To remove them: stop.yml -l kafka2, move these folders out of /d1, start.yml -l "
        "kafka2",
        "broker 7 holds 1 stray replica in /d9 (gone-0), 12 B: their topic was deleted or reassigned while the "
        "broker or its disk was down, and Kafka keeps them. To remove them: stop its kafka.service, move these "
        "folders out of /d9, start its kafka.service",
    ]
    said = json.loads(as_json(declared(), probes(), cluster() | {"strays": strays}))
    assert [(one["host"], len(one["partitions"])) for one in said["kafka"]["strays"]] == [("kafka2", 5), (None, 1)]


def test_whose_replicas_are_nobody_could_say() -> None:
    assert told(*cluster()["log_dirs"], strays=None)[1] == []
