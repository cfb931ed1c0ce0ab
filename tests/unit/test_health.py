"""The page of check.yml and its verdict."""

import json
from datetime import UTC, datetime

import pytest
from unit.healthy import broker, cluster, declared, probes

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import UNKNOWN
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.page import (
    Certificates,
    as_json,
    certificates_section,
    page,
)

PAGE = """\
ZooKeeper
  server  mode
  zk1     follower
  zk2     leader
  zk3     follower

Kafka
  id  broker  rack   listeners                                             leads  holds
  1   kafka1  dc1-a  CLIENT://10.0.1.21:9092 REPLICATION://10.0.2.21:9093  6      10
  2   kafka2  dc1-b  CLIENT://10.0.1.22:9092 REPLICATION://10.0.2.22:9093  4      10
  controller 2, 10 partitions: 0 offline, 0 under-replicated; leader skew 1.20 (1.00 is balanced)

Racks
  rack   brokers  leads  holds  bytes
  dc1-a  1        6      10     3.0 GiB
  dc1-b  1        4      10     3.0 GiB

Log dirs
  id  broker  log dir  replicas  bytes
  1   kafka1  /d1      6         2.0 GiB
  1   kafka1  /d2      4         1.0 GiB
  2   kafka2  /d1      10        3.0 GiB
  bytes skew 1.00 over brokers (1.00 is balanced)
  bytes skew 1.33 over the log dirs of broker 1 (kafka1)

Disks
  host    path  used  size
  zk1     /wal   10%  10.0 GiB
  kafka1  /d1    50%  100.0 GiB
  kafka2  /d1    50%  100.0 GiB

Units
  host    unit                           state
  zk1     zookeeper.service              active
  zk2     zookeeper.service              active
  zk3     zookeeper.service              active
  kafka1  kafka.service                  active
  kafka2  kafka.service                  active
  spark1  spark-job@count_words.service  active

HEALTHY"""


def test_a_healthy_page() -> None:
    text, found = page(declared(), probes(), cluster())
    assert found == []
    assert text == PAGE


def test_what_is_not_in_the_inventory_is_left_out() -> None:
    """A datacenter of Spark nodes alone asks for no leader and no broker."""
    text, found = page({"spark1": declared()["spark1"]}, {"spark1": probes()["spark1"]}, {})
    assert found == []
    assert "ZooKeeper" not in text
    assert "Kafka" not in text
    assert "Disks" not in text


def test_a_host_that_does_not_answer() -> None:
    """It is named once as that; its server is unreachable, and nothing else is said of it."""
    answers = probes()
    del answers["zk1"], answers["spark1"]
    text, found = page(declared(), answers, cluster())
    assert found == ["zk1 does not answer", "spark1 does not answer", "ZooKeeper on zk1: unreachable"]
    assert text.endswith(
        "NOT HEALTHY\n  - zk1 does not answer\n  - spark1 does not answer\n  - ZooKeeper on zk1: unreachable"
    )


@pytest.mark.parametrize(
    ("modes", "problems"),
    [
        (("follower", "down", "leader"), ["ZooKeeper on zk2: down"]),
        (
            ("not serving", "down", "down"),
            [
                "ZooKeeper on zk1: not serving",
                "ZooKeeper on zk2: down",
                "ZooKeeper on zk3: down",
                "ZooKeeper ensemble has 0 leaders",
            ],
        ),
        (("leader", "leader", "follower"), ["ZooKeeper ensemble has 2 leaders"]),
        (("observer", "leader", "follower"), []),
    ],
)
def test_zookeeper(modes: tuple[str, str, str], problems: list[str]) -> None:
    answers = probes()
    for host, mode in zip(("zk1", "zk2", "zk3"), modes, strict=True):
        answers[host]["zookeeper_mode"] = mode
    assert page(declared(), answers, cluster())[1] == problems


def test_a_broker_is_not_registered() -> None:
    answer = cluster()
    del answer["brokers"]["2"]
    answer["problems"] = ["broker 2 is not registered"]
    text, found = page(declared(), probes(), answer)
    assert found == ["broker 2 is not registered"]
    assert "  2   kafka2  -      not registered" in text


def test_a_broker_is_registered_and_does_not_answer() -> None:
    """Its rack is unknown, which is no difference from the inventory."""
    answer = cluster()
    answer["brokers"]["2"]["rack"] = UNKNOWN
    text, found = page(declared(), probes(), answer)
    assert found == ["broker 2 (kafka2) is registered, but does not report its rack"]
    assert "  2   kafka2  ?  " in text


def test_a_broker_is_registered_as_something_else() -> None:
    """Another rack and another address than declared: it runs with an older configuration."""
    answer = cluster()
    answer["brokers"]["1"] |= {"rack": "dc1-z", "REPLICATION": "10.0.1.21:9093"}
    del answer["brokers"]["2"]["CLIENT"]
    assert page(declared(), probes(), answer)[1] == [
        "broker 1 (kafka1) is registered with rack dc1-z; the inventory sets dc1-a",
        "broker 1 (kafka1) advertises REPLICATION as 10.0.1.21:9093, but the inventory sets 10.0.2.21:9093",
        "broker 2 (kafka2) advertises CLIENT as None, but the inventory sets 10.0.1.22:9092",
    ]


def test_a_listener_that_nobody_asked_is_not_compared() -> None:
    """The admin connects to REPLICATION alone; what one broker says of it is asked of all."""
    answer = cluster()
    for one in answer["brokers"].values():
        del one["CLIENT"]
    text, found = page(declared(), probes(), answer)
    assert found == []
    assert "dc1-a  REPLICATION://10.0.2.21:9093  6" in text
    del answer["brokers"]["2"]["REPLICATION"]
    assert page(declared(), probes(), answer)[1] == [
        "broker 2 (kafka2) advertises REPLICATION as None, but the inventory sets 10.0.2.22:9093"
    ]


def test_partitions_are_reported_in_the_words_of_the_cluster() -> None:
    answer = cluster() | {"problems": ["3 offline partitions (a-0, a-1, a-2)"], "offline": 3, "under_replicated": 4}
    text, found = page(declared(), probes(), answer)
    assert found == ["3 offline partitions (a-0, a-1, a-2)"]
    assert "10 partitions: 3 offline, 4 under-replicated" in text


def test_no_answer_of_the_cluster() -> None:
    text, found = page(declared(), probes(), {})
    assert found == ["Kafka: no answer"]
    assert "controller -1, 0 partitions: ? offline, ? under-replicated; leader skew - (1.00 is balanced)" in text


@pytest.mark.parametrize(
    ("leaders", "partitions", "skewed"),
    [
        ({"1": 6, "2": 4}, 10, False),
        ({"1": 10, "2": 0}, 10, True),
        ({"1": 2, "2": 0}, 2, False),
        ({"1": 30, "2": 10}, 40, False),
        ({"1": 31, "2": 9}, 40, True),
    ],
)
def test_leader_skew(leaders: dict[str, int], partitions: int, skewed: bool) -> None:
    """More than one and a half of a fair share, where that is no rounding matter."""
    found = page(declared(), probes(), cluster() | {"leaders": leaders, "partitions": partitions})[1]
    text = (
        f"leaders are skewed: one broker leads {leaders['1']} of {partitions} partitions. Kafka corrects "
        "this in a few minutes, kafka-leader-election.sh at once; if neither does, run reassign.yml -e leaders=true"
    )
    assert found == ([text] if skewed else [])


@pytest.mark.parametrize(
    ("free", "problems"), [(16, []), (14, ["kafka1:/d1 is 86% full"]), (0, ["kafka1:/d1 is 100% full"])]
)
def test_full_disks(free: int, problems: list[str]) -> None:
    answers = probes()
    answers["kafka1"]["mounts"]["/d1"] = {"size": 100, "free": free}
    assert page(declared(), answers, cluster())[1] == problems


def test_a_disk_that_is_not_there() -> None:
    answers = probes()
    answers["kafka1"]["mounts"]["/d2"] = {"mounted": False}
    assert page(declared(), answers, cluster())[1] == ["kafka1:/d2 does not exist"]


def test_a_disk_that_fails_and_a_directory_that_the_broker_left() -> None:
    """Each is said for itself: a disk that is mended again is of no use to a broker that gave it up before."""
    answers = probes()
    answers["kafka1"]["mounts"]["/d2"] = {"mounted": True, "error": "Input/output error"}
    answers["kafka2"]["given_up"] = ["/d1"]
    text, found = page(declared(), answers, cluster())
    assert found == [
        "kafka1:/d2 fails: Input/output error",
        "the broker on kafka2 has taken log dir /d1 offline: if it is full, free space on it and restart "
        "kafka.service; if it is broken, mount a new disk and run replace_disk.yml",
    ]
    assert "  kafka1  /d2   -     Input/output error\n" in text


@pytest.mark.parametrize("state", ["failed", "activating", "inactive", "unknown"])
def test_a_unit_that_does_not_run(state: str) -> None:
    answers = probes()
    answers["spark1"]["units"]["spark-job@count_words.service"] = state
    assert page(declared(), answers, cluster())[1] == [f"spark-job@count_words.service on spark1 is {state}"]


def test_a_unit_that_systemd_starts_again_and_again() -> None:
    """It is active at most times; whatever its state is now, it is reported once."""
    name, line = "spark-job@count_words.service", "ERROR millrace: count_words: topic lines: not found"
    for state in ("active", "activating"):
        answers = probes()
        answers["spark1"] |= {"units": {name: state}, "failing": {name: {"starts": 7, "seconds": 160, "line": line}}}
        assert page(declared(), answers, cluster())[1] == [
            f"{name} on spark1 ends again and again: systemd started it 7 times in the last 3 min. Its last line was: "
            f"{line}. See `journalctl -u spark-job@count_words` on that host, and correct the cause"
        ]
        assert json.loads(as_json(declared(), answers, cluster()))["units"][-1]["starts"] == 7


def test_days_left_of_certificates() -> None:
    """Fewer than the limit is a problem, and so is a port that serves another certificate than the one on its disk."""
    now = datetime(2026, 6, 1, 12, tzinfo=UTC)
    held = {
        "broker": {"subject": "CN=kafka1", "until": "2026-06-16"},
        "zookeeper": {"subject": "CN=kafka", "until": "2026-06-14"},
    }
    served = [
        {
            "host": "kafka1",
            "address": "10.0.1.21",
            "port": 9092,
            "differs": "serves the certificate 1, on its disk is 2",
        },
        {"host": "kafka1", "address": "10.0.2.21", "port": 9093, "differs": ""},
    ]
    lines, problems = certificates_section(
        Certificates({"hosts": {"kafka1": {"held": held}}, "problems": ["CERTIFICATE_X"]}, served, 14), now
    )
    assert lines == [
        "Certificates",
        "  host    name       subject    until       days",
        "  kafka1  broker     CN=kafka1  2026-06-16  14",
        "  kafka1  zookeeper  CN=kafka   2026-06-14  12",
    ]
    assert problems == [
        "CERTIFICATE_X",
        "certificate zookeeper of kafka1 expires on 2026-06-14, in 12 days (at least 14 required)",
        "kafka1 10.0.1.21:9092: serves the certificate 1, on its disk is 2",
    ]


def test_a_host_of_two_functions_is_looked_at_as_both() -> None:
    """Its broker is missing, though its ZooKeeper server is well."""
    facts = {**declared(), "zk1": {**broker(3, "dc1-a"), "functions": ["zookeeper", "kafka"]}}
    text, problems = page(facts, probes(), {**cluster(), "problems": ["broker 3 is not registered"]})
    assert problems == ["broker 3 is not registered"]
    assert "  3   zk1     -" in text
    assert "  zk1     follower" in text


def test_a_disk_that_is_not_mounted() -> None:
    """The directory below the mount point is there, and has room: that is no disk."""
    facts, answers = declared(), probes()
    facts["kafka1"] = {**facts["kafka1"], "disks": ["/d1", "/d2"]}
    size = {"size": 100, "free": 50}
    answers["kafka1"]["mounts"] = {"/d1": {**size, "mounted": True}, "/d2": {**size, "mounted": False}}
    text, found = page(facts, answers, cluster())
    assert found == ["kafka1:/d2: no file system is mounted there"]
    assert "  kafka1  /d2   -     not mounted\n" in text


def test_a_restart_is_owed() -> None:
    answers = probes()
    answers["kafka2"]["behind"] = ["kafka.service"]
    assert page(declared(), answers, cluster())[1] == [
        "kafka.service on kafka2 runs with an older configuration than its files: run site.yml to restart it"
    ]


def test_settings_are_still_to_be_told() -> None:
    answers = probes()
    answers["kafka2"]["untold"] = ["kafka.service"]
    assert page(declared(), answers, cluster())[1] == [
        "kafka.service on kafka2 does not use all settings in its files: run site.yml, which applies them or reports "
        "what prevents it"
    ]


def test_a_restart_that_was_interrupted() -> None:
    answers = probes()
    answers["kafka2"]["to_restart"] = ["kafka.service"]
    assert page(declared(), answers, cluster())[1] == [
        "kafka.service on kafka2 has a pending restart: restart.yml was interrupted; run it again to resume"
    ]


def test_some_hosts_of_many() -> None:
    """With --limit: who leads may be elsewhere, the cluster is judged as a whole, and what was not seen is said."""
    facts = {host: declared()[host] for host in ("zk1", "kafka1")}
    others = {"zookeeper": 2, "kafka": 1, "spark": 0}
    text, found = page(facts, probes(), cluster() | {"leaders": {"1": 10, "2": 10}, "partitions": 20}, None, others)
    assert found == []
    assert text.endswith("\nHEALTHY, as far as these hosts show; not checked: 2 of zookeeper, 1 of kafka")
    assert "leader skew 1.00" in text
    offline = cluster() | {"problems": ["1 offline partition (a-0)"], "offline": 1}
    assert page(facts, probes(), offline, None, others)[1] == ["1 offline partition (a-0)"]
    both = {**probes(), "zk1": {**probes()["zk1"], "zookeeper_mode": "leader"}}
    assert page({**facts, "zk2": declared()["zk2"]}, both, cluster(), None, others)[1] == [
        "ZooKeeper ensemble has 2 leaders"
    ]
