"""Who may connect: from groups and addresses to rules, from rules to lines of nft."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import (
    installed,
    lets_in,
    lines,
    listener_ports,
    rules,
    sources,
)

HOSTS = {
    "k1": {
        "client_address": "10.0.1.1",
        "replication_address": "10.0.2.1",
        "client_network": "10.0.1.0/24",
        "replication_network": "10.0.2.0/24",
    },
    "k2": {"client_address": "10.0.3.1", "client_network": "10.0.3.0/24"},
    "z1": {"client_address": "10.0.1.9", "replication_address": "10.0.2.9", "client_network": "10.0.1.0/24"},
    "ops": {"client_address": "10.0.9.1"},
}
GROUPS = {"all": ["k1", "k2", "z1", "ops"], "kafka": ["k1", "k2"], "zookeeper": ["z1"], "admin": ["ops"]}
KNOWN = {"client": ["10.0.1.0/24"], "admin": ["10.0.9.1"], "kafka": ["10.0.1.1", "10.0.2.1"], "zookeeper": ["10.0.1.9"]}
CLIENT, REPLICATION = (
    {"name": "CLIENT", "address": "10.0.1.1", "port": 9092},
    {"name": "REPLICATION", "address": "10.0.2.1", "port": 9093},
)


def test_sources() -> None:
    """Both addresses of every member, each subnet of clients once, what is added last; the undeclared is left out."""
    wanted = {
        "client": ["10.0.1.0/24", "10.0.3.0/24", "192.0.2.0/24"],
        "replication": ["10.0.2.0/24", "192.0.2.0/24"],
        "admin": ["10.0.9.1", "192.0.2.7"],
        "kafka": ["10.0.1.1", "10.0.2.1", "10.0.3.1"],
        "zookeeper": ["10.0.1.9", "10.0.2.9"],
    }
    found = sources(GROUPS, HOSTS, {"client": ["192.0.2.0/24", ""], "admin": ["192.0.2.7"]})
    assert found == {name: [] for name in functions()} | wanted


def test_sources_with_one_network() -> None:
    """An address that serves as both is named once."""
    hosts = {name: {**values, "replication_address": values["client_address"]} for name, values in HOSTS.items()}
    found = sources(GROUPS, hosts, {})
    assert (found["kafka"], found["zookeeper"], found["admin"]) == (
        ["10.0.1.1", "10.0.3.1"],
        ["10.0.1.9"],
        ["10.0.9.1"],
    )


def test_sources_of_groups_that_are_not_there() -> None:
    assert sources({"all": ["ops"]}, HOSTS, {}) == {
        name: [] for name in ["client", "replication", "admin", *functions()]
    }


def test_ports_of_a_broker() -> None:
    """Clients on their listener, brokers on theirs, admin hosts on both; its only listener serves both."""
    client = {"what": "listener CLIENT", "input": "kafka_listeners[CLIENT]", "address": "10.0.1.1"}
    replication = {"what": "listener REPLICATION", "input": "kafka_listeners[REPLICATION]", "address": "10.0.2.1"}
    assert listener_ports([CLIENT, REPLICATION], "REPLICATION") == [
        {"port": 9092, "from": ["client", "admin"], **client},
        {"port": 9093, "from": ["kafka", "admin"], **replication},
    ]
    assert listener_ports([CLIENT], "CLIENT") == [{"port": 9092, "from": ["client", "kafka", "admin"], **client}]


@pytest.mark.parametrize(
    ("listener", "clients"),
    [
        ({"address": "10.0.2.1"}, "replication"),
        ({"address": "10.0.2.1", "advertised_address": "nat.example.org"}, "replication"),
        ({"address": "0.0.0.0", "advertised_address": "10.0.2.1"}, "replication"),
        ({"address": "0.0.0.0", "advertised_address": "10.0.1.1"}, "client"),
        ({"address": "10.0.1.1"}, "client"),
    ],
)
def test_clients_are_those_of_the_network_of_the_address(listener: dict[str, Any], clients: str) -> None:
    more = {"name": "MORE", "port": 9095, **listener}
    assert listener_ports([REPLICATION, more], "REPLICATION", "10.0.2.1")[1]["from"] == [clients, "admin"]
    assert listener_ports([more], "MORE", "10.0.2.1")[0]["from"] == [clients, "kafka", "admin"]


def test_rules_in_place_of_clients() -> None:
    """The others who need the port stay, and so do all other ports."""
    ports = [{"port": 9092, "from": ["client", "admin"]}, {"port": 2281, "from": ["client", "kafka"]}]
    site: list[Any] = [
        {"port": "9092", "from": ["192.0.2.7"], "only": "yes"},
        {"port": 9100, "from": ["192.0.2.7"]},
        "wrong",
    ]
    assert rules(ports, KNOWN, site) == [
        {"port": 9092, "from": ["10.0.9.1"]},
        {"port": 2281, "from": ["10.0.1.0/24", "10.0.1.1", "10.0.2.1"]},
        {"port": "9092", "from": ["192.0.2.7"]},
        {"port": 9100, "from": ["192.0.2.7"]},
        "wrong",
    ]


def test_rules_name_addresses() -> None:
    """A port that is 0 is none."""
    ports = [
        {"port": 0, "from": ["client"]},
        {"port": 2181, "from": ["client", "kafka"]},
        {"port": 7, "from": ["zookeeper"], "action": "reject"},
    ]
    assert rules(ports, KNOWN) == [
        {"port": 2181, "from": ["10.0.1.0/24", "10.0.1.1", "10.0.2.1"]},
        {"port": 7, "from": ["10.0.1.9"], "action": "reject"},
    ]
    assert rules([], KNOWN) == []
    told = {"port": 9, "from": ["client"], "function": "echo", "what": "echo's port", "address": "10.0.1.1"}
    assert rules([told], KNOWN) == [{"port": 9, "from": ["10.0.1.0/24"]}], "what else is said is not for the rules"


def test_a_name_that_is_no_function() -> None:
    said = r"functions/echo\.yml: from = kafkas: unknown source of port 9: neither .*; did you mean kafka\?"
    with pytest.raises(ValueError, match=said):
        rules([{"port": 9, "from": ["client", "kafkas"], "function": "echo"}], KNOWN)
    with pytest.raises(ValueError, match=r"^from = nobody: .*; use admin, client, kafka, zookeeper"):
        rules([{"port": 9, "from": ["nobody"]}], KNOWN)


def test_lines() -> None:
    """One line for each rule and family; sources in order, none inside another; last, nobody else gets an answer."""
    wanted = [
        {
            "port": 9092,
            "from": [
                "10.0.1.7",
                "10.0.1.0/24",
                "10.0.0.9",
                "10.0.0.10",
                "10.0.0.9/32",
                "10.0.1.0/25",
                "fd00::7",
                "fd00::/64",
                "fd01::1",
            ],
        },
        {"port": 7, "from": ["10.0.0.9"], "action": "reject"},
        {"port": 9093, "from": []},
        {"port": 9092, "from": ["192.0.2.1"], "action": "accept"},
    ]
    assert lines(wanted) == [
        "tcp dport 9092 ip saddr { 10.0.0.9, 10.0.0.10, 10.0.1.0/24 } accept",
        "tcp dport 9092 ip6 saddr { fd00::/64, fd01::1 } accept",
        "tcp dport 7 ip saddr { 10.0.0.9 } reject with tcp reset",
        "tcp dport 9092 ip saddr { 192.0.2.1 } accept",
        "tcp dport { 7, 9092, 9093 } drop",
    ]


def test_lines_of_no_rules() -> None:
    assert lines([]) == []


def test_lines_of_a_closed_host() -> None:
    """Whoever is in a rule is let in there; everybody else to SSH alone."""
    assert lines([], [22, 22]) == ["tcp dport != { 22 } drop"]
    assert lines([{"port": 9100, "from": ["10.0.0.9"]}], [2222, 22]) == [
        "tcp dport 9100 ip saddr { 10.0.0.9 } accept",
        "tcp dport != { 22, 2222 } drop",
    ]


@pytest.mark.parametrize("source", ["10.0.0.300", "10.0.0.1/24", "kafka1", ""])
def test_lines_of_malformed_sources(source: str) -> None:
    with pytest.raises(ValueError):
        lines([{"port": 9092, "from": [source]}])


@pytest.mark.parametrize(
    ("port", "source", "answered"),
    [
        (9092, "10.0.1.7", True),
        (9092, "10.0.2.7", False),
        (9092, "fd00::7", True),
        (9092, "fd01::7", False),
        (9092, "192.0.2.1", True),
        (7, "10.0.0.9", True),
        (7, "10.0.0.8", False),
        (22, "10.0.2.7", True),
        (9092, "no address", False),
    ],
)
def test_who_gets_an_answer(port: int, source: str, answered: bool) -> None:
    """A port that no rule names is as before; a reset is an answer; several rules of a port add up."""
    wanted: list[dict[str, Any]] = [
        {"port": 9092, "from": ["10.0.1.0/24", "fd00::/64", "malformed"]},
        {"port": "9092", "from": ["192.0.2.1"]},
        {"port": 7, "from": ["10.0.0.9"], "action": "reject"},
    ]
    assert lets_in(wanted, port, source) is answered
    assert lets_in(wanted, port, source, closed=True) is (answered and port != 22)


def test_installed() -> None:
    """What stands in the file is read back."""
    assert installed(
        "# tcp\ntable inet millrace {\n    tcp flags syn accept\n    tcp dport 7 ip saddr { 10.0.0.9 } accept\n  }\n"
    ) == ["tcp dport 7 ip saddr { 10.0.0.9 } accept"]
    assert installed("") == []
