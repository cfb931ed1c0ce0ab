"""Who may connect to each kind of host: the whole ruleset of a datacenter and of a stretched cluster."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from render.conftest import INVENTORIES, LAYOUTS, Hosts
from render.site import FIREWALL

UNIT = f"/etc/systemd/system/{FIREWALL}"
RULESET = """\
# Written by the role base. New connections to the ports below are judged here; \
everything else on the host is left as it is.
table inet millrace
delete table inet millrace
table inet millrace {
  chain input {
    type filter hook input priority 10; policy accept;
    iifname "lo" accept
    tcp flags & (fin | syn | rst | ack) != syn accept
"""
LAB_ZOOKEEPER = """\
    tcp dport 2281 ip saddr { 198.18.1.0/24, 198.18.2.1, 198.18.2.21, 198.18.2.22, 198.18.2.23 } accept
    tcp dport 2888 ip saddr { 198.18.1.11, 198.18.1.12, 198.18.1.13, 198.18.2.11, 198.18.2.12, 198.18.2.13 } accept
    tcp dport 3888 ip saddr { 198.18.1.11, 198.18.1.12, 198.18.1.13, 198.18.2.11, 198.18.2.12, 198.18.2.13 } accept
    tcp dport 7 ip saddr { 198.18.1.11, 198.18.1.12, 198.18.1.13, 198.18.2.11, 198.18.2.12, 198.18.2.13 } \
reject with tcp reset
    tcp dport { 7, 2281, 2888, 3888 } drop
  }
}
"""
LAB_KAFKA = """\
    tcp dport 9092 ip saddr { 198.18.1.0/24, 198.18.2.1 } accept
    tcp dport 9093 ip saddr { 198.18.1.1, 198.18.1.21, 198.18.1.22, 198.18.1.23, \
198.18.2.1, 198.18.2.21, 198.18.2.22, 198.18.2.23 } accept
    tcp dport { 9092, 9093 } drop
  }
}
"""
CLOSED = """\
    tcp dport != { 22 } drop
  }
}
"""
STRETCH2_ZOOKEEPER = """\
    tcp dport 2281 ip saddr { 198.18.51.0/24, \
198.18.52.1, 198.18.52.21, 198.18.52.22, 198.18.52.23, 198.18.52.24 } accept
    tcp dport 2888 ip saddr { 198.18.51.11, 198.18.51.12, 198.18.51.13, 198.18.51.14, 198.18.51.15, 198.18.51.16, \
198.18.52.11, 198.18.52.12, 198.18.52.13, 198.18.52.14, 198.18.52.15, 198.18.52.16 } accept
    tcp dport 3888 ip saddr { 198.18.51.11, 198.18.51.12, 198.18.51.13, 198.18.51.14, 198.18.51.15, 198.18.51.16, \
198.18.52.11, 198.18.52.12, 198.18.52.13, 198.18.52.14, 198.18.52.15, 198.18.52.16 } accept
    tcp dport 7 ip saddr { 198.18.51.11, 198.18.51.12, 198.18.51.13, 198.18.51.14, 198.18.51.15, 198.18.51.16, \
198.18.52.11, 198.18.52.12, 198.18.52.13, 198.18.52.14, 198.18.52.15, 198.18.52.16 } reject with tcp reset
    tcp dport { 7, 2281, 2888, 3888 } drop
  }
}
"""
STRETCH2_KAFKA = """\
    tcp dport 9092 ip saddr { 198.18.51.0/24, 198.18.52.1 } accept
    tcp dport 9093 ip saddr { 198.18.51.1, 198.18.51.21, 198.18.51.22, 198.18.51.23, 198.18.51.24, \
198.18.52.1, 198.18.52.21, 198.18.52.22, 198.18.52.23, 198.18.52.24 } accept
    tcp dport { 9092, 9093 } drop
  }
}
"""
EXPECTED = {
    "lab": {"zk": LAB_ZOOKEEPER, "kafka": LAB_KAFKA, "spark": CLOSED},
    "lab_stretch2": {"zk": STRETCH2_ZOOKEEPER, "kafka": STRETCH2_KAFKA, "spark": CLOSED},
}


def function(host: str) -> str:
    """Return zk, kafka, spark, db or mon."""
    return host.partition("-")[2].rstrip("0123456789")


def table(rendered: Any) -> Mapping[str, Any]:
    """Return the only table of a host, which is the same in each of its layers."""
    found, *others = rendered.items("nftables")
    assert others == [found] * len(others)
    return dict(found)


def firewall(rendered: Any) -> Mapping[str, Any]:
    """Return the only unit of the firewall of a host, which is the same in each of its layers."""
    found, *others = (unit for unit in rendered.items("units") if unit["name"] == FIREWALL)
    assert others == [found] * len(others)
    return dict(found)


@pytest.mark.parametrize("inventory_name", EXPECTED)
def test_rulesets(inventory_name: str, hosts: Hosts) -> None:
    """The same for all hosts of a function; a Spark host is closed but for SSH."""
    expected = EXPECTED[inventory_name]
    assert {function(name) for name in hosts} == set(expected)
    assert {name: table(rendered) for name, rendered in hosts.items()} == {
        name: {
            "table": "millrace",
            "path": "/etc/nftables.d/millrace.nft",
            "state": "present",
            "content": RULESET + expected[function(name)],
        }
        for name in hosts
    }


@pytest.mark.parametrize("inventory_name", [*INVENTORIES, *LAYOUTS])
def test_every_host_has_rules(inventory_name: str, hosts: Hosts) -> None:
    """Table, unit and its file; SSH's port is named in no rule, but for the one that spares it."""
    for name, rendered in hosts.items():
        states = (table(rendered)["state"], rendered.file(UNIT)["state"], firewall(rendered)["state"])
        assert states == ("present", "present", "started"), name
        content = table(rendered)["content"]
        assert content.count("tcp dport != { 22 } drop") == (function(name) in ("spark", "mon")), name
        assert not re.search(r"\b22\b(?!\.)", content.replace(".22", "").replace("!= { 22 }", "")), name


@pytest.mark.parametrize("inventory_name", ["varied"])
def test_rules_of_ones_own(inventory_name: str, hosts: Hosts) -> None:
    """A source more is in the rules of the clients' listener and of ZooKeeper's client port, and nowhere else.

    A closed host opens one port. A listener is open to two clients, and to admins, alone.
    """
    for name, port in (("dc1-kafka1", "9092"), ("dc1-zk1", "2281")):
        added = [line.split()[2] for line in table(hosts[name])["content"].splitlines() if "198.19.0.0/16" in line]
        assert added == [port], name
    assert "198.19" not in table(hosts["dc1-kafka2"])["content"]
    clients = [line.split()[4:] for line in table(hosts["dc1-kafka2"])["content"].splitlines() if "dport 9092" in line]
    assert [" ".join(sources) for sources in clients] == [
        "saddr { 198.18.1.1, 198.18.2.1 } accept",
        "saddr { 198.18.1.31, 198.18.1.32 } accept",
    ]
    opened = "    tcp dport 9100 ip saddr { 198.18.1.0/24 } accept\n"
    assert table(hosts["dc1-spark1"])["content"] == RULESET + opened + CLOSED.replace("{ 22 }", "{ 22, 2222 }")
    assert [table(hosts["dc1-spark2"])[key] for key in ("state", "content")] == ["absent", RULESET + "  }\n}\n"]


def test_switched_off(rendered: Callable[[str], Hosts]) -> None:
    """One variable."""
    for name, host in rendered("open").items():
        states = (table(host)["state"], host.file(UNIT)["state"], firewall(host)["state"])
        assert states == ("absent", "absent", "absent"), name


@pytest.mark.parametrize("inventory_name", ["lab"])
def test_unit(inventory_name: str, hosts: Hosts) -> None:
    """Before the network, and after the distribution's own service, which begins by flushing everything."""
    unit = hosts["dc1-kafka1"].unit("millrace-firewall.service")
    assert unit["ExecStart"] == unit["ExecReload"] == ["/usr/sbin/nft -f /etc/nftables.d/millrace.nft"]
    assert (unit["Before"], unit["After"], unit["WantedBy"]) == (
        ["network-pre.target"],
        ["nftables.service"],
        ["sysinit.target"],
    )
    assert (unit["PartOf"], unit["ReloadPropagatedFrom"], unit["RemainAfterExit"]) == (
        ["nftables.service"],
        ["nftables.service"],
        ["yes"],
    )
