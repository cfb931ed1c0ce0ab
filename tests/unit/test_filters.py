"""The filters of wiring and templates."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.filter import (
    client,
    firewall,
    host,
    kafka,
    monitoring,
    pattern,
    properties,
    spark_job,
    tls,
    zookeeper,
)

general = {
    name: function
    for file in (client, firewall, host, kafka, monitoring, pattern, properties, tls, zookeeper)
    for name, function in file.FilterModule().filters().items()
}
jobs = spark_job.FilterModule().filters()


def test_properties() -> None:
    """Sorted, lists joined, booleans as Java spells them, null left out, an empty value kept."""
    settings = {
        "b": [1, "x", True],
        "a": False,
        "c": None,
        "e.f": "",
        "d": 0,
        "g": "with = and, comma",
        "h": 1.5,
        "i": [],
        "j": ("x", "y"),
    }
    assert general["properties"](settings) == [
        "a=false",
        "b=1,x,true",
        "d=0",
        "e.f=",
        "g=with = and, comma",
        "h=1.5",
        "i=",
        "j=x,y",
    ]


def test_address_book() -> None:
    """The plain name is the address in the client network; a host without a second network has no second line."""
    assert general["address_book"](["a", "b", "c"], ["10.0.1.1", "10.0.1.2", ""], ["10.0.2.1", "", "10.0.2.3"]) == [
        {"address": "10.0.1.1", "names": ["a", "a.client"]},
        {"address": "10.0.2.1", "names": ["a.replication"]},
        {"address": "10.0.1.2", "names": ["b", "b.client"]},
        {"address": "10.0.2.3", "names": ["c.replication"]},
    ]


def test_address_book_of_one_network() -> None:
    """A host whose addresses are equal has one line, and no name of a second network."""
    addresses = ["10.0.1.1", "10.0.1.2"]
    assert general["address_book"](["a", "b"], addresses, addresses) == [
        {"address": "10.0.1.1", "names": ["a", "a.client"]},
        {"address": "10.0.1.2", "names": ["b", "b.client"]},
    ]


def test_address_book_of_lists_of_different_length() -> None:
    """Addresses are never given to the wrong host."""
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        general["address_book"](["a", "b"], ["10.0.1.1"], ["", ""])


def test_nftables() -> None:
    """Malformed rules are named by the variable that holds them."""
    assert general["nftables"]([{"port": 9092, "from": ["10.0.1.1"]}]) == [
        "tcp dport 9092 ip saddr { 10.0.1.1 } accept",
        "tcp dport { 9092 } drop",
    ]
    with pytest.raises(AnsibleFilterError, match=r"base_firewall_rules: .*10\.0\.1\.300"):
        general["nftables"]([{"port": 9092, "from": ["10.0.1.300"]}])


def test_ensemble_lines() -> None:
    """One address or several; an observer is named so at each of its addresses."""
    lines = general["zookeeper_ensemble_lines"]({1: "10.0.2.1", 2: ["10.0.2.2", "10.0.1.2"]}, {1: [1, 2]}, {2: 0}, [2])
    assert lines == {
        "server.1": "10.0.2.1:2888:3888",
        "server.2": "10.0.2.2:2888:3888:observer|10.0.1.2:2888:3888:observer",
        "group.1": "1:2",
        "weight.2": "0",
    }


LISTENERS: list[dict[str, Any]] = [
    {
        "name": "CLIENT",
        "address": "10.0.1.1",
        "port": 9092,
        "advertised_address": "192.0.2.1",
        "advertised_port": 19092,
        "protocol": "SASL_SSL",
    },
    {"name": "REPLICATION", "address": "10.0.2.1", "port": 9093, "protocol": "SSL"},
]


def test_endpoints() -> None:
    assert general["kafka_endpoints"](LISTENERS) == ["CLIENT://10.0.1.1:9092", "REPLICATION://10.0.2.1:9093"]


def test_advertised_endpoints() -> None:
    """What a listener binds is advertised where nothing else is said."""
    assert general["kafka_endpoints"](LISTENERS, advertised=True) == [
        "CLIENT://192.0.2.1:19092",
        "REPLICATION://10.0.2.1:9093",
    ]


def test_directory_of_a_service() -> None:
    assert general["service_directory"]("/d1", "kafka") == {
        "path": "/d1",
        "owner": "kafka",
        "group": "kafka",
        "mode": "0750",
    }
    assert general["service_directory"]("/d1", "kafka", True)["mount"] is True


@pytest.mark.parametrize(
    ("path", "unit"),  # as systemd-escape --path --suffix=mount says
    [
        ("/data/kafka1", "data-kafka1.mount"),
        ("/data//kafka1/", "data-kafka1.mount"),
        ("/srv/a-b c/.d", r"srv-a\x2db\x20c-.d.mount"),
        ("/.data/é", r".data-\xc3\xa9.mount".replace(".data", r"\x2edata")),
        ("/", "-.mount"),
    ],
)
def test_unit_of_a_mount_point(path: str, unit: str) -> None:
    assert general["mount_unit"](path) == unit


def test_what_is_above_disks() -> None:
    """A unit may write there; never everywhere."""
    assert general["above_disks"](["/data/kafka1", "/data/kafka2/", "/srv/a/b"]) == ["/data", "/srv/a"]
    assert general["above_disks"](["/data", "/kafka2"]) == ["/data", "/kafka2"]


def test_archive_digest(tmp_path: Path) -> None:
    """From a checksum file; a mistake is an error of the filter, in the words of people."""
    (tmp_path / "a.sha512").write_text(f"{'ab' * 64}  a\n")
    assert general["archive_digest"](f"sha512:{tmp_path / 'a.sha512'}") == "ab" * 64
    with pytest.raises(AnsibleFilterError, match="not of the form sha512:HEX"):
        general["archive_digest"]("md5:abc")


def job(**more: Any) -> dict[str, Any]:
    """Return a job as it is declared."""
    return {"name": "count_words", "config": {"checkpoint": "/c", "kafka": {"bootstrap.servers": "h:9092"}}, **more}


def files(
    *declared: dict[str, Any], release: str = "r1", jars: str = "/jars", unit: str = "unit"
) -> dict[str, dict[str, Any]]:
    """Return the files of jobs by path."""
    return {file["path"]: file for file in jobs["spark_job_files"](declared, release, jars, unit)}


def digest(*declared: dict[str, Any], **more: str) -> str:
    """Return the digest of the first job."""
    return str(
        jobs["spark_job_units"](
            declared, more.get("release", "r1"), more.get("jars", "/jars"), more.get("unit", "unit")
        )[0]["digest"]
    )


def test_frozen_configuration() -> None:
    """Sorted, and with the folder of this release's jars, which a job may name itself."""
    content = files(job())["/etc/spark-job/count_words.json"]["content"]
    assert content == (
        '{\n  "checkpoint": "/c",\n  "jars_directory": "/jars",\n'
        '  "kafka": {\n    "bootstrap.servers": "h:9092"\n  }\n}\n'
    )
    own = files(job(config={"jars_directory": "/own"}))["/etc/spark-job/count_words.json"]["content"]
    assert json.loads(own) == {"jars_directory": "/own"}


def test_environment() -> None:
    """Which job runs under which digest; an instance may be named otherwise."""
    env = files(job(name="words-a", job="count_words"))["/etc/spark-job/words-a.env"]
    first, second, rest = env["content"].split("\n")
    assert (first, rest) == ("JOB=count_words", "")
    assert second == f"CONFIG_DIGEST={digest(job(name='words-a', job='count_words'))}"
    assert (env["owner"], env["group"], env["mode"]) == ("root", "spark", "0640")


@pytest.mark.parametrize(
    ("kafka", "secret"),
    [
        ({}, False),
        ({"bootstrap.servers": "h:9092"}, False),
        ({"sasl.jaas.config": "x"}, True),
        ({"sasl.jaas.config": "x.OAuthBearerLoginModule required;"}, False),
        ({"sasl.jaas.config": 'x.ScramLoginModule required username="u" password="p";'}, True),
        ({"ssl.keystore.password": "x"}, True),
        ({"ssl.keystore.key": "x"}, True),
    ],
)
def test_passwords_are_in_no_diff(kafka: dict[str, str], secret: bool) -> None:
    found = files(job(config={"kafka": kafka}))
    config = found["/etc/spark-job/count_words.json"]
    assert config["secret"] is secret
    assert ("content" in config, "secret_base64" in config) == (not secret, secret)
    if secret:
        assert json.loads(base64.b64decode(config["secret_base64"]))["kafka"] == kafka
    assert "secret" not in found["/etc/spark-job/count_words.env"]


def test_digest_covers_what_a_process_is_started_with() -> None:
    """Any of these is a restart; the same again is none."""
    plain = digest(job())
    assert digest(job()) == plain
    assert digest(job(state="started")) == plain
    changed = [
        digest(job(), release="r2"),
        digest(job(), jars="/other"),
        digest(job(), unit="changed"),
        digest(job(job="publish_lines")),
        digest(job(config={"checkpoint": "/d"})),
    ]
    assert len({plain, *changed}) == 6


def test_directories() -> None:
    """Those that the job writes or waits for, and no other path of its configuration."""
    declared = job(
        config={"checkpoint": "/c", "input_directory": "/in", "output_directory": None, "jars_directory": "/jars"}
    )
    assert [directory["path"] for directory in jobs["spark_job_directories"]([declared])] == [
        "/etc/spark-job",
        "/var/lib/spark-job",
        "/var/lib/spark-job/count_words",
        "/c",
        "/in",
    ]
    owners = {directory["path"]: directory["owner"] for directory in jobs["spark_job_directories"]([declared])}
    assert owners == {
        "/etc/spark-job": "root",
        "/var/lib/spark-job": "spark",
        "/var/lib/spark-job/count_words": "spark",
        "/c": "spark",
        "/in": "spark",
    }


@pytest.mark.parametrize(
    ("state", "enabled", "unit_state"),
    [(None, True, "converged"), ("started", True, "converged"), ("stopped", False, "stopped")],
)
def test_units(state: str | None, enabled: bool, unit_state: str) -> None:
    declared = job(state=state) if state else job()
    (unit,) = jobs["spark_job_units"]([declared], "r1", "/jars", "unit")
    assert (unit["name"], unit["enabled"], unit["state"]) == ("spark-job@count_words.service", enabled, unit_state)
    assert len(unit["digest"]) == 64


def test_no_jobs() -> None:
    """A node without jobs has the two common directories, no files and no units."""
    assert jobs["spark_job_files"]([], "r1", "/jars", "unit") == []
    assert jobs["spark_job_units"]([], "r1", "/jars", "unit") == []
    assert len(jobs["spark_job_directories"]([])) == 2


def test_host_file(tmp_path: Path) -> None:
    """A secret file of the control node is read, whatever its bytes; one that is not there yet has a word instead."""
    (tmp_path / "store.p12").write_bytes(b"\xff\x00\r\n")
    file = {"path": "/t/store.p12", "group": "kafka", "mode": "0640"}
    assert general["host_file"]({**file, "source": str(tmp_path / "store.p12")}) == {
        **file,
        "secret": True,
        "secret_base64": "/wANCg==",
    }
    absent = general["host_file"]({**file, "source": str(tmp_path / "absent")})
    assert absent == {**file, "secret": True, "secret_base64": "KG1hZGUgYnkgYSByZWFsIHJ1bikK"}
    assert general["host_file"]({**file, "content": "text"}) == {**file, "content": "text"}


def test_groups_of_datacenters() -> None:
    """By the names of datacenters and by ids, whatever the order of lines; observers are in none."""
    places = {"c": ("dc2", 3), "a": ("dc1", 10), "b": ("dc1", 2), "d": ("dc2", 4), "o": ("dc1", 9)}
    hostvars = {host: {"datacenter": place, "zookeeper_id": number} for host, (place, number) in places.items()}
    for hosts in (list(places), list(reversed(places))):
        assert general["zookeeper_groups"](hosts, hostvars, [9]) == {1: [2, 10], 2: [3, 4]}


def test_metrics_targets() -> None:
    """One entry for each exporter of each host, sorted by exporter; labels without a value are left out."""
    found = general["metrics_targets"](
        ["k1", "m1"],
        ["192.0.2.1:9990", "192.0.2.2:9990"],
        [{"node": 9100, "kafka": 7071}, {"node": 9100}],
        [{"datacenter": "dc1", "rack": "a"}, {"datacenter": "dc1", "rack": ""}],
    )
    first = {"instance": "k1", "datacenter": "dc1", "rack": "a"}
    assert found == [
        {"module": "kafka", "target": "192.0.2.1:9990", "labels": first},
        {"module": "node", "target": "192.0.2.1:9990", "labels": first},
        {"module": "node", "target": "192.0.2.2:9990", "labels": {"instance": "m1", "datacenter": "dc1"}},
    ]
