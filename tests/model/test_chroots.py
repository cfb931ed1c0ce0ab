"""The place in ZooKeeper that a broker was installed with, beside the one that is declared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import check_hosts
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import check_model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.risks import OF_HOSTS
from model.installed_probes import SERVED
from model.probes import KAFKA, Probe, answer, lab, model, probed

CHROOT, SERVERS, _ = OF_HOSTS
NAME = "kafka_zookeeper_chroot"
OURS = "198.18.2.11:2281,198.18.2.12:2281,198.18.2.13:2281"


def said(connect: str, meta: dict[str, Any] = SERVED, **declared: Any) -> list[tuple[str, bool]]:
    """Return what is said of a broker with this zookeeper.connect on its host, and whether it stops nothing."""
    probe = Probe("", "", "", answer(zookeeper_connect=connect, meta_properties=meta), declared=declared)
    return [(problem.code, problem.warning) for problem in check_hosts(model(probe), probed(probe))]


@pytest.mark.parametrize(
    ("connect", "declared", "code"),
    [
        (f"{OURS}/kafka", {}, ""),
        (f"{OURS}/kafka/", {}, ""),
        (f"{OURS}/kafka", {NAME: "/kafka2"}, CHROOT),
        (f"{OURS}/kafka", {NAME: ""}, CHROOT),
        (OURS, {}, CHROOT),
        (OURS, {NAME: ""}, ""),
        (f"{OURS}/", {NAME: ""}, ""),
        ("", {NAME: "/kafka2"}, ""),
        # Servers come and go, and may be told by another address, name or port; none that is known is another ensemble.
        ("198.18.2.11:2281/kafka", {}, ""),
        ("192.0.2.1:2281,192.0.2.2:2281,198.18.2.13:2281/kafka", {}, ""),
        ("198.18.1.11:2181/kafka", {}, ""),
        ("dc1-zk3:2281/kafka", {}, ""),
        ("192.0.2.1:2281,192.0.2.2:2281/kafka", {}, SERVERS),
        ("[2001:db8::1]:2281/kafka", {}, SERVERS),
        ("zk.example.org:2281/kafka", {"kafka_zookeeper_connect": ["zk.example.org:2282"]}, ""),
    ],
)
def test_another_place(connect: str, declared: dict[str, Any], code: str) -> None:
    assert said(connect, **declared) == [(code, False)] * bool(code)


def test_a_broker_without_data_may_begin_anywhere() -> None:
    for path in ("", "/data/kafka1"):
        assert said("192.0.2.1:2281/other", {path: {}}) == []


def test_who_knows_better_says_so_for_one_run() -> None:
    """The file may be wrong, or name the same servers otherwise; kept, the word is a reminder, and no mistake."""
    accepted: dict[str, Any] = {"accept_risks": [CHROOT, SERVERS]}
    there = "192.0.2.1:2281/other"
    assert said(there, **accepted) == [(CHROOT, True), (SERVERS, True)]
    assert said(f"{OURS}/kafka", **accepted) == [("RISK_IDLE", True)] * 2
    probe = Probe("", "", "", declared=accepted)
    assert [one.code for one in check_model(model(probe))] == [
        one.code for one in check_model(model(Probe("", "", "")))
    ]
    in_lab = replace(
        probe, declared={"site_environment": "lab"}, change=answer(zookeeper_connect=there, meta_properties=SERVED)
    )
    assert [one.warning for one in check_hosts(model(in_lab), probed(in_lab))] == [False, False], KAFKA


def test_no_property_says_another_place() -> None:
    """That of the servers alone, without the chroot, would be another one."""
    for path, codes in (("", ["PROPERTY_TWICE"]), ("/kafka2", ["PROPERTY_TWICE"]), ("/kafka", [])):
        servers = ",".join(lab().hosts[KAFKA]["kafka_zookeeper_connect"])
        config = {**lab().hosts[KAFKA]["kafka_config"], "zookeeper.connect": servers + path}
        found = check_model(model(Probe("", "", "", declared={"kafka_config": config})))
        assert [one.code for one in found if not one.warning] == codes
