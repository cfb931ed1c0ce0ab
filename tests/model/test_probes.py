"""What healthy hosts answer is silent; each wrong answer is said once, with its code, its place and how to mend it."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from generate_errors import written

from millrace import firewall
from millrace.hosts import check_hosts
from millrace.model import check_model
from millrace.problems import line, merged
from model.probes import KAFKA, PROBES, ZOOKEEPER, Probe, answer, archive, lab, model, peer, probed
from model.said import row


def test_healthy_hosts() -> None:
    """Nothing is said of fresh hosts."""
    probe = Probe("", "", "")
    assert check_hosts(model(probe), probed(probe)) == []


def test_hosts_that_are_not_of_this_run_are_not_judged() -> None:
    """With --limit a silent peer is judged only if it takes part."""
    probe = next(probe for probe in PROBES if probe.code == "PEER_UNREACHABLE")
    answers = probed(probe)
    assert check_hosts(model(probe), {probe.host: answers[probe.host]}) == []


def test_ports_that_an_earlier_run_closed_are_not_judged() -> None:
    """A peer whose loaded rules are not the declared ones drops a new host, until this run replaces them; the declared ones drop nobody."""
    answers = probed(Probe("", "", "", peer("198.18.2.12:2888", "timeout"), ZOOKEEPER))
    declared = firewall.lines(lab().hosts["dc1-zk2"]["base_firewall_rules"])
    older = ["tcp dport 2888 ip saddr { 198.18.2.13 } accept", "tcp dport { 2888 } drop"]
    for rules, judged in (([], True), (declared, True), (older, False), (["tcp dport 2181 ip saddr { 198.18.2.13 } accept"], True)):
        answers["dc1-zk2"]["firewall"] = "\n".join(rules)
        assert [problem.code for problem in check_hosts(lab(), answers)] == ["PEER_UNREACHABLE"] * judged, rules


def test_a_host_without_rules_needs_no_nft() -> None:
    """Rules or closed, a host needs it; the firewall can be switched off."""
    answers = {host: {**healthy, "nft": "no such program"} for host, healthy in probed(Probe("", "", "")).items()}
    for word, needing in (("base_firewall_rules", lab().function_hosts), ("base_firewall_closed", lab().cluster_hosts), ("base_firewall", ())):
        void: object = [] if word == "base_firewall_rules" else False
        spark = replace(lab(), hosts={host: {**values, **({word: void} if host in lab().spark or word == "base_firewall" else {})}
                                      for host, values in lab().hosts.items()})  # fmt: skip
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
    for declared in ({"ansible_port": 2200}, {"base_firewall_closed": False}, {"base_firewall_closed": "no"}, {"base_firewall": "false"}):
        assert check_hosts(model(replace(probe, declared=declared)), probed(probe)) == [], declared
    elsewhere = replace(probe, declared={"base_firewall_rules": [{"port": 2200, "from": ["203.0.113.9"]}]})
    assert [problem.code for problem in check_hosts(model(elsewhere), probed(probe))] == ["FIREWALL_SSH_CLOSED"]


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.code)
def test_probe(probe: Probe) -> None:
    """The code is said once, of the right place, with its advice, as docs/errors.md shows it; nothing else is said."""
    problems = merged(check_hosts(model(probe), probed(probe)))
    lines = [line(problem, model(probe).groups) for problem in problems]
    assert [problem.code for problem in problems] == [probe.code], "\n".join(lines)
    assert re.match(rf"{probe.code} {re.escape(probe.where)}( = .*)?: .", lines[0]), lines[0]
    assert probe.advice in lines[0].rpartition("; ")[2] or probe.advice in lines[0], lines[0]
    assert written()[probe.code] == row(lines[0], problems[0].warning), "run: make docs"


@pytest.mark.parametrize("version", ["3.8.5", "3.8.6", "3.9.3", "3.10.0"])
def test_archives_with_a_mended_client(version: str) -> None:
    probe = Probe("", "", "", answer(archives={}), declared=archive(f"libs/zookeeper-{version}.jar"))
    assert check_hosts(model(probe), probed(probe)) == []


def test_an_archive_that_was_cut_before_its_checksum_was_taken(tmp_path: Path) -> None:
    whole = Path(archive("libs/zookeeper-3.8.6.jar")["kafka_archive"])
    for name, data in (("cut", whole.read_bytes()[:40]), ("other", b"<html>")):
        (tmp_path / name).write_bytes(data)
        declared = {"kafka_archive": str(tmp_path / name), "kafka_archive_checksum": f"sha512:{hashlib.sha512(data).hexdigest()}"}
        probe = Probe("", "", "", answer(archives={}), declared=declared)
        problems = check_hosts(model(probe), probed(probe))
        assert {(problem.code, problem.warning) for problem in problems} == {("ARCHIVE", False)}
        assert problems[0].wrong.startswith(f"{tmp_path / name}: the SHA-512 is the declared one, and the archive cannot be read (")
        assert problems[0].advice == "fetch it again, and take the checksum from where it is published"


def test_an_old_client_without_tls() -> None:
    probe = Probe("", "", "", answer(archives={}), declared={**archive("libs/zookeeper-3.8.4.jar"), "kafka_zookeeper_keystore": ""})
    assert check_hosts(model(probe), probed(probe)) == []


def test_a_listener_on_a_third_network() -> None:
    """The model lets it pass; the host has to have the address."""
    listeners = [*lab().sequence(KAFKA, "kafka_listeners"), {"name": "OFFICE", "address": "192.0.2.5", "port": 9094}]
    absent = Probe("", "", "", declared={"kafka_listeners": listeners})
    assert check_model(model(absent)) == []
    lines = [line(problem, {}) for problem in check_hosts(model(absent), probed(absent))]
    assert lines == [
        f"ADDRESS_ABSENT {KAFKA}/kafka_listeners[OFFICE] = 192.0.2.5: the host has only 198.18.1.21, 198.18.2.21; "
        "correct the inventory, or configure the interface"
    ]
    there = Probe("", "", "", answer(addresses=["198.18.1.21", "198.18.2.21", "192.0.2.5"]), declared={"kafka_listeners": listeners})
    assert check_hosts(model(there), probed(there)) == []
