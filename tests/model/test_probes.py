"""What healthy hosts answer is silent; each wrong answer is said once, with its code, its place and how to mend it."""

import re

import pytest

from millrace.hosts import check_hosts
from millrace.model import check_model
from millrace.problems import line, merged
from model.probes import KAFKA, PROBES, Probe, answer, lab, model, probed


def test_healthy_hosts() -> None:
    """Nothing is said of fresh hosts."""
    probe = Probe("", "", "")
    assert check_hosts(model(probe), probed(probe)) == []


def test_hosts_that_are_not_of_this_run_are_not_judged() -> None:
    """With --limit a silent peer is judged only if it takes part."""
    probe = next(probe for probe in PROBES if probe.code == "PEER_UNREACHABLE")
    answers = probed(probe)
    assert check_hosts(model(probe), {probe.host: answers[probe.host]}) == []


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.code)
def test_probe(probe: Probe) -> None:
    """The code is said once, of the right place, with its advice; nothing else is said."""
    problems = merged(check_hosts(model(probe), probed(probe)))
    lines = [line(problem, model(probe).groups) for problem in problems]
    assert [problem.code for problem in problems] == [probe.code], "\n".join(lines)
    assert re.match(rf"{probe.code} {re.escape(probe.where)}( = .*)?: .", lines[0]), lines[0]
    assert probe.advice in lines[0].rpartition("; ")[2] or probe.advice in lines[0], lines[0]


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
