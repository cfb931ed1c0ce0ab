"""Ports and names at which nobody is met: of clients, of the firewall, of certificates, of brokers, of users."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.access import users
from model.mistakes.base import LAB, kafka, spoil
from model.mistakes.jobs import PLACE, client, job
from model.said import check
from model.test_said_in_place import MTLS, OWN_NAME
from model.test_said_in_place import PARTNERS as BEHIND_NAT

SERVERS = "bootstrap.servers"
PARTNERS = {"name": "PARTNERS", "address": "{{ client_address }}", "port": 9095, "protocol": "SASL_SSL"}
RULE = "group kafka/site_firewall_rules"
CLIENT_1 = "write 198.18.1.21:9092 (listener CLIENT)"


def said(variables: dict[str, Any], folder: Path, inventory: str = "lab") -> list[str]:
    """Return the lines of a wrong inventory, warnings marked, without what dc1 says of its racks."""
    problems, lines = check(spoil(folder / "inventory", replace(LAB, inventory=inventory, variables=variables)))
    return [
        f"{'warn ' if problem.warning else ''}{line}"
        for problem, line in zip(problems, lines, strict=True)
        if problem.code != "RACK_UNEVEN"
    ]


@pytest.mark.parametrize(
    ("servers", "value", "advice"),
    [
        ("198.18.1.21:9093,198.18.1.22:9093", "198.18.1.21:9093, 198.18.1.22:9093", f"{CLIENT_1}, and so on"),
        ("198.18.1.21:9999, 198.18.1.22:9092", "198.18.1.21:9999", CLIENT_1),
        ("198.18.2.21:9999", "198.18.2.21:9999", CLIENT_1),
        ("dc1-kafka1:9999", "dc1-kafka1:9999", CLIENT_1),
        ("198.18.1.21:9092,198.18.1.22:9092", "", ""),
        ("dc1-kafka1:9092", "", ""),
        ("kafka.example.org:9999", "", ""),  # another cluster, or a name for all
    ],
)
def test_the_port_of_no_listener(servers: str, value: str, advice: str, tmp_path: Path) -> None:
    """Wherever a job says whom it asks first, and nowhere else what it does with them."""
    lines = said(job(kafka=client(SERVERS, servers)), tmp_path)
    assert len(lines) == bool(value), lines
    begin = f"BOOTSTRAP_UNKNOWN {PLACE}.kafka[{SERVERS}] = {value}: the broker"
    assert all(line.startswith(begin) and " no listener at th" in line for line in lines), lines
    assert all(line.endswith(advice) for line in lines), lines


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        (kafka(kafka_client_properties={SERVERS: "198.18.1.21:9999"}), f"kafka_client_properties[{SERVERS}]"),
        (
            kafka(
                kafka_config={f"confluent.metrics.reporter.{SERVERS}": "198.18.1.21:9999"},
                known_properties=[f"confluent.metrics.reporter.{SERVERS}"],
            ),
            f"kafka_config[confluent.metrics.reporter.{SERVERS}]",
        ),
    ],
)
def test_of_brokers_tools_and_plugins(variables: dict[str, Any], place: str, tmp_path: Path) -> None:
    lines = said(variables, tmp_path)
    assert f"BOOTSTRAP_UNKNOWN group kafka/{place} = 198.18.1.21:9999: the broker has no listener" in "\n".join(
        lines
    ), lines


@pytest.mark.parametrize(
    ("listeners", "rules", "wanted"),
    [
        ([PARTNERS], [9096], [f"warn FIREWALL_MEANT {RULE}[9096] = 9096: no service of this project listens at this "
                              "port; did you mean 9095 (listener PARTNERS)?"]),
        ([PARTNERS], [9059], [f"warn FIREWALL_MEANT {RULE}[9059] = 9059: no service of this project listens at this "
                              "port; did you mean 9095 (listener PARTNERS)?"]),
        ([PARTNERS], [95], []),
        ([PARTNERS], [9095, 9096], []),  # the listener has its rule
        ([PARTNERS], [9100], []),  # of somebody else
        ([], [9096], []),
        ([], [9029], [f"warn FIREWALL_MEANT {RULE}[9029] = 9029: no service of this project listens at this "
                      "port; did you mean 9092 (listener CLIENT)?"]),
    ],
)  # fmt: skip
def test_a_rule_for_a_port_where_nothing_listens(
    listeners: list[Any], rules: list[int], wanted: list[str], tmp_path: Path
) -> None:
    own = [{"port": port, "from": ["192.0.2.0/24"]} for port in rules]
    assert said(kafka(site_listeners=listeners, site_firewall_rules=own), tmp_path) == wanted


ALL_ALIKE = {**PARTNERS, "advertised_address": "{{ hostvars[groups['kafka'][0]].client_address }}"}
NAT = {**PARTNERS, "keystore": OWN_NAME["path"], "advertised_address": "nat.example.org"}
PORTS = {**NAT, "advertised_port": "{{ 9100 + kafka_broker_id }}"}
NAT_NAME = {**OWN_NAME, "names": ["nat.example.org"]}


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        (
            kafka(site_listeners=[ALL_ALIKE]),
            "ADVERTISED_SHARED group kafka/site_listeners[PARTNERS].advertised_address = 198.18.1.21: other brokers "
            "advertise the same address and port",
        ),
        # A name that is missing in the certificate is reported once for each host.
        (
            kafka(site_listeners=[{**PARTNERS, "advertised_address": "{{ inventory_hostname }}.kafka.example.org"}]),
            "CERTIFICATE_NAMES group kafka/site_listeners[PARTNERS].advertised_address = "
            "{{ inventory_hostname }}.kafka.example.org: the broker's certificate (pki_certificates[broker]) does not",
        ),
        (
            kafka(site_listeners=[BEHIND_NAT], site_certificates=[{**OWN_NAME, "names": ["{{ inventory_hostname }}"]}]),
            "CERTIFICATE_NAMES group kafka/site_listeners[PARTNERS].advertised_address = "
            "{{ inventory_hostname }}.partners.example.org: the broker's certificate (pki_certificates[partners]) ",
        ),
        (kafka(site_listeners=[PORTS], site_certificates=[NAT_NAME]), ""),
    ],
    ids=["one address", "a name", "of its own certificate", "ports"],
)
def test_what_brokers_advertise(variables: dict[str, Any], wanted: str, tmp_path: Path) -> None:
    lines = said(variables, tmp_path)
    assert len(lines) == bool(wanted), lines
    assert all(line.startswith(wanted) for line in lines), lines


@pytest.mark.parametrize(
    ("name", "more", "nobody"),
    [
        ("CN=reports,OU=clients,O=example", {}, True),
        ("CN=reports,OU=clients,O=example", {"site_listeners": [MTLS]}, True),  # which calls them by their CN
        ("CN=reports,OU=clients,O=example",
         {"site_listeners": [{**MTLS, "principal_mapping_rules": ["DEFAULT"]}]}, False),
        ("CN=reports,OU=clients,O=example", {"site_listeners": [{**MTLS, "client_auth": "none"}]}, True),
        ("reports", {"site_listeners": [MTLS]}, False),
        ("reports, inc", {"site_listeners": [MTLS]}, True),
        ("reports", {}, False),  # an admin may be called so
        ("kafka-broker", {}, False),
        ("REPORTS", {"site_listeners": [{**MTLS, "principal_mapping_rules": ["RULE:^CN=([^,]+),.*$/$1-x/L"]}],
                     "kafka_config": {"listener.name.replication.ssl.principal.mapping.rules": "RULE:^CN=.*$/a/"}},
         True),
        ("CN=reports,OU=clients,O=example",
         {"kafka_config": {"principal.builder.class": "org.example.Builder"}}, False),
    ],
)  # fmt: skip
def test_whom_no_listener_makes(name: str, more: dict[str, Any], nobody: bool, tmp_path: Path) -> None:
    told = users({"name": name, "credential": False})
    lines = said({**told, "kafka": more}, tmp_path)
    found = [line for line in lines if "USER_NOBODY" in line]
    assert bool(found) == nobody, lines
    assert all(f"kafka_users[{name}].credential = false: no client can log in" in line for line in found)


HOST_NUMBERS = {f"dc1-{kind}{n}": first + n for kind, first in (("zk", 10), ("kafka", 20)) for n in (1, 2, 3)}
SECOND = {name: {"replication_address": f"198.18.8.{number}"} for name, number in HOST_NUMBERS.items()}
SECOND_NETWORK = {"all": {"replication_network": "198.18.8.0/24"}}
WITHOUT = "ADDRESS_MISSING dc1-kafka2/replication_address: the host has no address in the replication network"


@pytest.mark.parametrize(
    ("variables", "lines"),
    [
        ({}, []),
        ({name: {"replication_address": f"198.18.7.{number}"} for name, number in HOST_NUMBERS.items()}, []),
        ({"dc1-kafka2": {"replication_address": "{{ client_address }}"}}, []),
        ({**SECOND, **SECOND_NETWORK}, []),
        ({**SECOND, "all": {**SECOND_NETWORK["all"], "adding_replication_network": True}}, []),
        (SECOND, ["warn NETWORK_MISSING groups zookeeper and kafka/replication_network: "]),
        ({**SECOND, **SECOND_NETWORK, "dc1-kafka2": {}}, [f"{WITHOUT} 198.18.8.0/24; "]),
        ({**SECOND, **SECOND_NETWORK, "dc1-kafka2": {"replication_address": "198.18.7.22"}}, [f"{WITHOUT} 198.18.8."]),
        (
            {**{name: values for name, values in SECOND.items() if name != "dc1-kafka2"}},
            [f"{WITHOUT}, but dc1-zk1 has; ", "warn NETWORK_MISSING"],
        ),
        (SECOND_NETWORK, ["ADDRESS_MISSING groups zookeeper and kafka/replication_address: "]),
        (
            {"all": {"replication_network": "198.18.7.0/24"}},
            ["ADDRESS_MISSING groups zookeeper and", "NETWORK_OVERLAP"],
        ),
        ({"dc1-kafka2": {"client_address": "198.18.7.23"}}, ["ADDRESS_DUPLICATE dc1-kafka2, dc1-kafka3 = 198.18.7.23"]),
        ({"dc1-kafka2": {"client_address": "198.18.9.22"}}, ["ADDRESS_OUTSIDE dc1-kafka2/client_address"]),
        ({"dc1-kafka2": {"client_address": "198.18.7.222.2"}}, ["ADDRESS_INVALID dc1-kafka2/client_address"]),
        (kafka(replication_port=9092), ["PORT_CLASH "]),
        (kafka(site_listeners=[{**PARTNERS, "address": "{{ replication_address }}"}]), []),
    ],
)
def test_hosts_with_one_network(variables: dict[str, Any], lines: list[str], tmp_path: Path) -> None:
    """Nobody needs a second address, unless a subnet or another host of the datacenter says that there is one."""
    found = said(variables, tmp_path, "lab_one_network")
    assert len(found) == len(lines), found
    assert all(line.startswith(begin) for line, begin in zip(sorted(found), sorted(lines), strict=True)), found


def test_one_network_in_one_datacenter(tmp_path: Path) -> None:
    """The hosts of one datacenter have no second network, those of the others have one."""
    hosts = {name: {"replication_address": "{{ client_address }}"} for name in ("dc1-zk1", "dc1-kafka1", "dc1-kafka2")}
    assert said({"dc1": {"replication_network": None}, **hosts}, tmp_path, "lab_stretch3") == []


def test_the_password_in_a_url_is_hidden(tmp_path: Path) -> None:
    """The wheel is a path on the control node, so an archive by URL is reported."""
    lines = said({"all": {"archives": "https://ops:ieSh4Tho@mirror/a"}}, tmp_path)
    (line,) = (text for text in lines if "WHEEL" in text)
    assert "https://ops:***@mirror/a/" in line and "ieSh4Tho" not in line
