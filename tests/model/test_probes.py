"""What healthy hosts answer is silent; each wrong answer is said once, with its code, its place and how to mend it."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from generate_errors import written

from ansible_collections.millrace.kafka.plugins.plugin_utils import nft_rules
from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import check_hosts, disks
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import check_model
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import line, merged
from model.probes import (
    DATABASE,
    KAFKA,
    LOG,
    PROBES,
    ZOOKEEPER,
    Probe,
    answer,
    archive,
    lab,
    model,
    mount,
    of_release,
    peer,
    probed,
)
from model.said import row


def test_healthy_hosts() -> None:
    """Nothing is said of fresh hosts."""
    probe = Probe("", "", "")
    assert check_hosts(model(probe), probed(probe)) == []


@pytest.mark.parametrize(
    ("release", "said", "names", "refused"),
    [
        ("debian 12", "", [], False),
        ("debian 12", "", ["15", "lost+found"], False),
        ("debian 13", "", ["15"], True),
        ("debian 13", "", ["15", "17"], False),  # moved: the old data stays until somebody removes it
        ("debian 13", "15", ["15"], False),
        ("debian 12", "16", ["15"], True),
        ("debian 13", "", ["17.new", "backup"], False),
        ("debian 99", "", ["15"], False),  # the role says that it knows no version
    ],
)
def test_data_of_another_version(release: str, said: str, names: list[str], refused: bool) -> None:
    """A new release of the system begins no empty server beside the data of the old one."""
    declared = {"postgresql_version": said}
    probe = Probe("", "", "", of_release(release, names), DATABASE, declared, inventory="lab_orders")
    codes = [problem.code for problem in check_hosts(model(probe), probed(probe))]
    assert codes == ["DATABASE_DATA_VERSION"] * refused


OF_JOBS = "spark_job_unit_overrides"
OWN = {"Service": {"Environment": ["A=1", "JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=/var/lib/spark-job"]}}


@pytest.mark.parametrize(
    ("host", "declared", "noexec", "place", "advice", "warning"),
    [
        ("dc1-kafka1", {"kafka_java_options": ["-Djava.io.tmpdir=/var/lib/kafka"]}, ["/tmp"], "", "", False),
        ("dc1-kafka1", {"kafka_unit_overrides": {"Service": {"ExecPaths": "/tmp"}}}, ["/tmp"], "", "", False),
        ("dc1-kafka1", {"kafka_unit_overrides": {"Service": {"TemporaryFileSystem": "/tmp:mode=1777"}}}, ["/tmp"], "",
         "", False),
        ("dc1-kafka1", {}, ["/tmp", "/var/lib/kafka"], "kafka_java_options", "mount /tmp without noexec", False),
        ("dc1-kafka1", {"kafka_java_options": ["-Djava.io.tmpdir=/srv/x"]}, ["/srv/x"], "kafka_java_options",
         "write -Djava.io.tmpdir=/var/lib/kafka there, or mount /srv/x without noexec", False),
        ("dc1-spark1", {}, ["/tmp"], OF_JOBS, "set spark_job_unit_overrides: {Service: {Environment: "
         "JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=/var/lib/spark-job}}, or mount /tmp without noexec", True),
        ("dc1-spark1", {OF_JOBS: OWN}, ["/tmp"], "", "", False),
        ("dc1-zk1", {}, ["/tmp"], "", "", False),
    ],
)  # fmt: skip
def test_folders_from_which_java_loads_libraries(
    host: str, declared: dict[str, Any], noexec: list[str], place: str, advice: str, warning: bool
) -> None:
    """/tmp, unless an option or the unit names another one; what is advised is not refused."""
    probe = Probe("", "", "", answer(noexec=noexec), host, declared)
    found = check_hosts(model(probe), probed(probe))
    wanted = [("TMP_NOEXEC", place, advice, warning)] if place else []
    assert [(one.code, one.variable, one.advice, one.warning) for one in found] == wanted


@pytest.mark.parametrize(("host", "path"), [("dc1-kafka1", "/data/kafka1"), ("dc1-zk1", LOG)])
def test_a_link_is_named_with_its_target(host: str, path: str) -> None:
    """The unit may write below the declared path only."""
    probe = Probe("", "", "", mount(path, mounted=False, link="/mnt/one"), host)
    (found,) = check_hosts(model(probe), probed(probe))
    assert (found.code, found.value) == ("NOT_MOUNTED", path)
    assert found.message.startswith("a link to /mnt/one, where") and found.advice.startswith("write /mnt/one in ")


@pytest.mark.parametrize(
    ("changes", "begin"),
    [
        ({}, "not a mount point, but a folder of the file system at /mnt/one: data would go there"),
        ({"target": "/mnt/one/kafka"}, "a link to /mnt/one/kafka, a folder of the file system at /mnt/one, but"),
    ],
)
def test_a_folder_is_named_with_its_file_system(changes: dict[str, str], begin: str) -> None:
    """Data would go there, and not to the root file system."""
    probe = Probe("", "", "", mount("/data/kafka1", mounted=False, below="/mnt/one", **changes))
    (found,) = check_hosts(model(probe), probed(probe))
    assert found.code == "NOT_MOUNTED" and found.message.startswith(begin)
    assert found.advice == "mount a disk at this path, or write /mnt/one in kafka_log_dirs if the data belongs there"


@pytest.mark.parametrize("number", ["1", "01", "1 "])
def test_ids_are_compared_as_numbers(number: str) -> None:
    """As an earlier run wrote them."""
    meta = {"/data/kafka1": {"cluster.id": "x", "broker.id": number}}
    for host, change in (("dc1-kafka1", answer(meta_properties=meta)), ("dc1-zk1", answer(myid=number))):
        probe = Probe("", "", "", change, host)
        found = check_hosts(model(probe), probed(probe))
        assert [one.code for one in found if one.code.endswith("ID_CHANGED")] == []


def test_hosts_that_are_not_of_this_run_are_not_judged() -> None:
    """With --limit a silent peer is judged only if it takes part."""
    probe = next(probe for probe in PROBES if probe.code == "PEER_UNREACHABLE")
    answers = probed(probe)
    assert check_hosts(model(probe), {probe.host: answers[probe.host]}) == []


@pytest.mark.parametrize(
    ("inventory", "milliseconds", "runs", "warnings"),
    [
        ("lab_stretch2", 29.9, False, set()),
        ("lab_stretch2", 30.0, False, {True}),
        ("lab_stretch2", 100.0, False, {False}),
        ("lab_stretch2", 100.0, True, {True}),
        ("lab", 200.0, False, set()),
    ],
)
def test_the_shortest_connection_is_the_distance(
    inventory: str, milliseconds: float, runs: bool, warnings: set[bool]
) -> None:
    """All others waited for a processor too; one datacenter has no distance, and a running cluster cannot be moved."""
    network = {"lab": "198.18.2", "lab_stretch2": "198.18.52"}[inventory]
    times = {f"{network}.23:9093": milliseconds, f"{network}.24:9093": milliseconds + 50}
    answers = probed(Probe("", "", "", answer(round_trips=times), inventory=inventory))
    for each in answers.values():
        each["converged"] = runs
    found = [problem for problem in check_hosts(lab(inventory), answers) if problem.code == "DATACENTERS_FAR"]
    assert {problem.warning for problem in found} == warnings
    assert all(str(round(milliseconds)) in problem.message for problem in found)


def test_a_witness_far_away_is_no_problem() -> None:
    """It has no replicas, and two of three groups are a quorum without it."""
    times = {"198.18.54.17:2888": 120.0, "198.18.54.14:2888": 5.0}
    answers = probed(Probe("", "", "", answer(round_trips=times), "dc1-zk1", inventory="lab_stretch2_5"))
    assert [one.code for one in check_hosts(lab("lab_stretch2_5"), answers) if one.code == "DATACENTERS_FAR"] == []


def test_ports_that_an_earlier_run_closed_are_not_judged() -> None:
    """A peer whose loaded rules are not the declared ones drops a new host, until this run replaces them.

    The declared ones drop nobody.
    """
    answers = probed(Probe("", "", "", peer("198.18.2.12:2888", "timeout"), ZOOKEEPER))
    declared = nft_rules.lines(lab().hosts["dc1-zk2"]["base_firewall_rules"])
    older = ["tcp dport 2888 ip saddr { 198.18.2.13 } accept", "tcp dport { 2888 } drop"]
    for rules, judged in (
        ([], True),
        (declared, True),
        (older, False),
        (["tcp dport 2181 ip saddr { 198.18.2.13 } accept"], True),
    ):
        answers["dc1-zk2"]["firewall"] = "\n".join(rules)
        assert [problem.code for problem in check_hosts(lab(), answers)] == ["PEER_UNREACHABLE"] * judged, rules


def test_a_host_without_rules_needs_no_nft() -> None:
    """Rules or closed, a host needs it; the firewall can be switched off."""
    answers = {host: {**healthy, "nft": "no such program"} for host, healthy in probed(Probe("", "", "")).items()}
    for word, needing in (
        ("base_firewall_rules", lab().function_hosts),
        ("base_firewall_closed", [machine.name for machine in lab().cluster]),
        ("base_firewall", ()),
    ):
        void: object = [] if word == "base_firewall_rules" else False
        spark = replace(
            lab(),
            hosts={
                host: {**values, **({word: void} if host in lab().groups["spark"] or word == "base_firewall" else {})}
                for host, values in lab().hosts.items()
            },
        )
        assert {problem.hosts[0] for problem in check_hosts(spark, answers)} == set(needing), word


def test_a_host_that_was_closed_says_nothing_by_silence() -> None:
    """It becomes a broker, and the others cannot reach it until this run replaces its rules."""
    answers = probed(Probe("", "", "", peer("198.18.2.22:9093", "timeout")))
    assert [problem.code for problem in check_hosts(lab(), answers)] == ["PEER_UNREACHABLE"]
    answers["dc1-kafka2"]["firewall"] = "tcp dport != { 22 } drop"
    assert check_hosts(lab(), answers) == []


def test_the_port_of_ssh_stays_open_on_a_closed_host() -> None:
    """Where Ansible comes in at another port than 22, that one has to be declared; a rule may let in somebody else."""
    probe = next(probe for probe in PROBES if probe.code == "FIREWALL_SSH_CLOSED")
    for declared in (
        {"ansible_port": 2200},
        {"base_firewall_closed": False},
        {"base_firewall_closed": "no"},
        {"base_firewall": "false"},
    ):
        assert check_hosts(model(replace(probe, declared=declared)), probed(probe)) == [], declared
    elsewhere = replace(probe, declared={"base_firewall_rules": [{"port": 2200, "from": ["203.0.113.9"]}]})
    assert [problem.code for problem in check_hosts(model(elsewhere), probed(probe))] == ["FIREWALL_SSH_CLOSED"]


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.code)
def test_probe(probe: Probe) -> None:
    """The code is said once, of the right place, with its advice, as docs/errors.md shows it; nothing else is said."""
    problems = merged(check_hosts(model(probe), probed(probe), probe.undeclared, (), probe.alone, (), probe.registered))
    lines = [line(problem, model(probe).groups) for problem in problems]
    assert [problem.code for problem in problems] == [probe.code], "\n".join(lines)
    assert re.match(rf"{probe.code} {re.escape(probe.where)}( = .*)?: .", lines[0]), lines[0]
    assert probe.advice in lines[0].rpartition("; ")[2] or probe.advice in lines[0], lines[0]
    assert written()[probe.code] == row(lines[0], problems[0].warning), "run: make docs"


@pytest.mark.parametrize(
    ("path", "package", "said"),
    [
        ("/opt/jdk-21/bin/java", None, ["JAVA_ABSENT"]),
        ("/opt/jdk-21/bin/java", "jdk-21", []),
        ("/usr/lib/jvm/java-21-openjdk-amd64/bin/java", None, []),
    ],
)
def test_a_java_that_is_not_there_comes_with_a_package_or_is_said(
    path: str, package: str | None, said: list[str]
) -> None:
    """The usual package brings nothing below /opt; a site that names another knows what that brings."""
    names = ("java_executable", "kafka_java_executable")
    declared = {**dict.fromkeys(names, path), **({"java_package": package} if package else {})}
    probe = Probe("", "", "", declared=declared)
    found = check_hosts(model(probe), probed(probe))
    assert [(problem.code, problem.variable) for problem in found] == [(code, "java_executable") for code in said]


@pytest.mark.parametrize("version", ["3.8.5", "3.8.6", "3.9.3", "3.10.0"])
def test_archives_with_a_mended_client(version: str) -> None:
    probe = Probe("", "", "", answer(archives={}), declared=archive(f"libs/zookeeper-{version}.jar"))
    assert check_hosts(model(probe), probed(probe)) == []


def test_an_archive_that_was_cut_before_its_checksum_was_taken(tmp_path: Path) -> None:
    whole = Path(archive("libs/zookeeper-3.8.6.jar")["kafka_archive"])
    for name, data in (("cut", whole.read_bytes()[:40]), ("other", b"<html>")):
        (tmp_path / name).write_bytes(data)
        declared = {
            "kafka_archive": str(tmp_path / name),
            "kafka_archive_checksum": f"sha512:{hashlib.sha512(data).hexdigest()}",
        }
        probe = Probe("", "", "", answer(archives={}), declared=declared)
        problems = check_hosts(model(probe), probed(probe))
        assert {(problem.code, problem.warning) for problem in problems} == {("ARCHIVE", False)}
        assert problems[0].message.startswith(
            f"{tmp_path / name}: has the declared SHA-512, but cannot be read as an archive ("
        )
        assert problems[0].advice == "fetch it again, and copy the checksum from its publisher"


def test_an_old_client_without_tls() -> None:
    probe = Probe(
        "",
        "",
        "",
        answer(archives={}),
        declared={**archive("libs/zookeeper-3.8.4.jar"), "kafka_zookeeper_keystore": ""},
    )
    assert check_hosts(model(probe), probed(probe)) == []


def test_a_listener_on_a_third_network() -> None:
    """The model lets it pass; the host has to have the address."""
    listeners = [*lab().hosts[KAFKA]["kafka_listeners"], {"name": "OFFICE", "address": "192.0.2.5", "port": 9094}]
    rules = [*lab().hosts[KAFKA]["base_firewall_rules"], {"port": 9094, "from": ["192.0.2.0/24"]}]
    declared = {"kafka_listeners": listeners, "base_firewall_rules": rules}
    absent = Probe("", "", "", declared=declared)
    assert check_model(model(absent)) == []
    lines = [line(problem, {}) for problem in check_hosts(model(absent), probed(absent))]
    assert lines == [
        f"ADDRESS_ABSENT {KAFKA}/kafka_listeners[OFFICE] = 192.0.2.5: "
        "the host does not have this address, only 198.18.1.21, 198.18.2.21; "
        "correct the inventory, or configure the interface"
    ]
    there = Probe(
        "",
        "",
        "",
        answer(addresses=["198.18.1.21", "198.18.2.21", "192.0.2.5"]),
        declared=declared,
    )
    assert check_hosts(model(there), probed(there)) == []


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({"error": "Input/output error"}, ["DISK_FAILED"]),
        ({"error": "Read-only file system", "names": ["meta.properties", "t-0"]}, ["DISK_FAILED"]),
        ({"mounted": False}, ["NOT_MOUNTED"]),
    ],
)
def test_one_disk_of_a_broker_that_served(changes: dict[str, object], codes: list[str]) -> None:
    """It is named, and the run goes on with the others; not where none is left, or data went to the directory below.

    What the site needs of space is not judged by the disks that are left.
    """
    space = {"expected_bytes_per_second": 1500, "kafka_config": {"log.retention.hours": 168}}
    sized = model(Probe("", "", "", declared=space))
    served = {"/data/kafka1": {"cluster.id": "x", "broker.id": "1"}}
    installed = ["/data/kafka1", "/data/kafka2"]

    def found(**more: object) -> list[tuple[str, bool]]:
        answers = probed(Probe("", "", ""))
        probe = {**answers[KAFKA], "meta_properties": served, "log_dirs": installed, **more}
        probe["mounts"] = {
            path: {**mount, **(changes if path == "/data/kafka2" or "both" in more else {})}
            for path, mount in probe["mounts"].items()
        }
        if "below" in more:
            probe["mounts"]["/data/kafka2"]["names"] = ["meta.properties"]
        return [(problem.code, problem.warning) for problem in check_hosts(sized, {**answers, KAFKA: probe})]

    assert found() == [(code, True) for code in codes]
    assert found(meta_properties={}) == [(code, False) for code in codes]
    assert found(log_dirs=["/data/kafka1"]) == [(code, False) for code in codes], "a path that it never served"
    assert found(both=True) == [(code, False) for code in codes] * 2
    if not changes.get("mounted", True):
        assert found(below=True) == [("NOT_MOUNTED", False)]


def test_a_failed_disk_that_keeps_the_unit_from_starting() -> None:
    """Directly below /, systemd itself opens it: then nothing may be restarted."""
    for path, error, stops in (
        ("/data/kafka2", "Input/output error", False),
        ("/kafka2", "Input/output error", True),
        ("/kafka2/", "Input/output error", True),
        ("/kafka2", "Read-only file system", False),
    ):
        assert disks.stops_the_unit(path, {"mounted": True, "error": error}) is stops


@pytest.mark.parametrize(
    ("state", "ports", "codes"),
    [
        ("active", [2281, 2181], []),
        ("active", [2181], ["ZOOKEEPER_PORT_CHANGED"]),
        ("inactive", [2181], []),
        ("active", [], []),
    ],
)
def test_the_port_at_which_a_server_is_asked(state: str, ports: list[int], codes: list[str]) -> None:
    """One that does not run may come up at another, and one of the two ports is enough."""
    probe = Probe("", "", "", answer(units={"zookeeper.service": state}, client_ports=ports), ZOOKEEPER)
    assert [problem.code for problem in check_hosts(model(probe), probed(probe))] == codes


@pytest.mark.parametrize(
    ("state", "installed", "codes"),
    [
        ("active", {"1": ["198.18.1.11"]}, ["ZOOKEEPER_ADDRESS_ADDED"]),
        ("active", {"1": ["198.18.2.11", "198.18.1.11"], "2": ["198.18.1.12"]}, []),  # its peer answers for itself
        ("active", {}, []),  # it listens everywhere
        ("inactive", {"1": ["198.18.1.11"]}, []),
    ],
)
def test_the_address_at_which_peers_look_for_a_server(
    state: str, installed: dict[str, list[str]], codes: list[str]
) -> None:
    probe = Probe("", "", "", answer(units={"zookeeper.service": state}, ensemble=installed), ZOOKEEPER)
    assert [problem.code for problem in check_hosts(model(probe), probed(probe))] == codes


@pytest.mark.parametrize(
    ("old", "servers", "advice"),
    [
        ("198.18.1.21", "", "set adding_replication_network: true until all brokers are restarted"),
        ("198.18.1.21", "198.18.2.21:9093,198.18.1.21:9093", ""),  # what adding_replication_network sets
        ("192.0.2.1", "", "set 192.0.2.1 again, or set kafka_admin_listeners"),
        ("198.18.2.21", "", ""),
    ],
)
def test_the_address_at_which_admins_look_for_a_broker(old: str, servers: str, advice: str) -> None:
    """Another one is told of, or it is known, too; a broker that has moved answers for all."""
    declared = {"kafka_admin_listeners": {"REPLICATION": {"bootstrap.servers": servers}}} if servers else {}
    installed = {"listeners": {"REPLICATION": 9093}, "listener_addresses": {"REPLICATION": old}}
    probe = Probe("", "", "", answer(units={"kafka.service": "active"}, **installed), declared=declared)
    answers = probed(probe)
    found = check_hosts(model(probe), answers)
    assert [problem.code for problem in found] == ["ADMIN_LISTENER_CHANGED"] * bool(advice)
    assert all(problem.advice.startswith(advice) for problem in found), found
    moved = {"listeners": {"REPLICATION": 9093}, "listener_addresses": {"REPLICATION": "198.18.2.22"}}
    answers["dc1-kafka2"] |= {"units": {"kafka.service": "active"}, **moved}
    assert check_hosts(model(probe), answers) == []
    answers["dc1-kafka2"] |= {"behind": ["kafka.service"]}  # it was not restarted since its files have the address
    assert [problem.code for problem in check_hosts(model(probe), answers)] == ["ADMIN_LISTENER_CHANGED"] * bool(advice)
    assert check_hosts(model(probe), answers, registered=["2"]) == []  # it answers where it is declared


@pytest.mark.parametrize(
    ("state", "installed", "codes"),
    [
        ("active", {"CLIENT": 9095, "REPLICATION": 9093}, []),
        ("active", {"CLIENT": 9092}, ["ADMIN_LISTENER_CHANGED"]),
        ("failed", {"CLIENT": 9092}, []),
        ("active", {}, []),
    ],
)
def test_the_listener_that_admins_use(state: str, installed: dict[str, int], codes: list[str]) -> None:
    """Others may change, and one whose broker does not run; another broker that has it answers for all."""
    probe = Probe("", "", "", answer(units={"kafka.service": state}, listeners=installed))
    answers = probed(probe)
    assert [problem.code for problem in check_hosts(model(probe), answers)] == codes
    asked = check_hosts(model(probe), answers, registered=["2"])
    assert [problem.code for problem in asked] == codes, "the listener may have another name there"
    running: dict[str, Any] = {"units": {"kafka.service": "active"}, "listeners": installed}
    answers["dc1-kafka2"] |= {**running, "behind": ["kafka.service"]}  # its process is older than its files
    assert check_hosts(model(probe), answers, registered=["2"]) == []
    answers["dc1-kafka3"] |= running
    found = check_hosts(model(probe), answers, registered=["2"])
    assert bool(found) is bool(codes), "brokers of two racks run with their files: it was no run that stopped"
    answers["dc1-kafka2"] |= {"units": {"kafka.service": "active"}, "listeners": {"REPLICATION": 9093}}
    answers["dc1-kafka3"] |= {"units": {"kafka.service": "inactive"}}
    assert check_hosts(model(probe), answers) == []


def test_only_the_first_admin_listener_has_answered() -> None:
    """By it, the cluster was asked; another one that changes is told of."""
    both: dict[str, Any] = {"kafka_admin_listeners": {"REPLICATION": {}, "CLIENT": {}}}
    installed = {"listeners": {"REPLICATION": 9095, "CLIENT": 9095}}
    probe = Probe("", "", "", answer(units={"kafka.service": "active"}, **installed), declared=both)
    answers = probed(probe)
    answers["dc1-kafka2"] |= {"units": {"kafka.service": "active"}, "behind": ["kafka.service"]}
    found = check_hosts(model(probe), answers, registered=["2"])
    assert [(problem.code, problem.variable) for problem in found] == [
        ("ADMIN_LISTENER_CHANGED", "kafka_listeners[CLIENT]")
    ]
