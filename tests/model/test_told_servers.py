"""Brokers that are told of the ZooKeeper servers of their datacenter alone."""

from __future__ import annotations

from pathlib import Path

from model.mistakes.base import kafka
from model.test_reached import said

OWN_SERVERS = "{{ groups['zookeeper'] | select('in', groups[datacenter]) | list }}"


def test_three_servers_are_enough(tmp_path: Path) -> None:
    assert said(kafka(broker_zookeeper_hosts=OWN_SERVERS), tmp_path, "lab_stretch2") == []


def test_one_server_is_not(tmp_path: Path) -> None:
    """Each restart of it takes the sessions of its brokers."""
    assert said(kafka(broker_zookeeper_hosts=OWN_SERVERS), tmp_path, "lab_stretch3") == [
        "warn ZOOKEEPER_CONNECT_PARTIAL group kafka/broker_zookeeper_hosts: names only the one server of the broker's "
        "datacenter: the broker loses its session at every restart of that server; name every ZooKeeper server",
    ]
