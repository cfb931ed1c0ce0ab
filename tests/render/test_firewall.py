"""Who may connect to each kind of host: the whole ruleset of a datacenter and of a stretched cluster."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from render.conftest import INVENTORIES, LAYOUTS, Hosts

UNIT = "/etc/systemd/system/millrace-firewall.service"
RULESET = """\
# Written by the role base. New connections to the ports below are judged here; everything else on the host is left as it is.
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
    tcp dport 7 ip saddr { 198.18.1.11, 198.18.1.12, 198.18.1.13, 198.18.2.11, 198.18.2.12, 198.18.2.13 } reject with tcp reset
    tcp dport { 7, 2281, 2888, 3888 } drop
  }
}
"""
LAB_KAFKA = """\
    tcp dport 9092 ip saddr { 198.18.1.0/24, 198.18.2.1 } accept
    tcp dport 9093 ip saddr { 198.18.1.1, 198.18.1.21, 198.18.1.22, 198.18.1.23, 198.18.2.1, 198.18.2.21, 198.18.2.22, 198.18.2.23 } accept
    tcp dport { 9092, 9093 } drop
  }
}
"""
STRETCH2_ZOOKEEPER = """\
    tcp dport 2281 ip saddr { 198.18.51.0/24, 198.18.52.1, 198.18.52.21, 198.18.52.22, 198.18.52.23, 198.18.52.24 } accept
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
EXPECTED = {"lab": {"zk": LAB_ZOOKEEPER, "kafka": LAB_KAFKA}, "lab_stretch2": {"zk": STRETCH2_ZOOKEEPER, "kafka": STRETCH2_KAFKA}}


def function(host: str) -> str:
    """Return zk, kafka or spark."""
    return host.partition("-")[2].rstrip("0123456789")


def table(rendered: Any) -> Mapping[str, Any]:
    """Return the only table of a host."""
    (found,) = rendered.items("nftables")
    return dict(found)


@pytest.mark.parametrize("inventory_name", EXPECTED)
def test_rulesets(inventory_name: str, hosts: Hosts) -> None:
    """The same for all hosts of a function; a Spark host opens no port."""
    expected = EXPECTED[inventory_name]
    assert {name: table(rendered) for name, rendered in hosts.items() if function(name) != "spark"} == {
        name: {"table": "millrace", "path": "/etc/nftables.d/millrace.nft", "state": "present", "content": RULESET + expected[function(name)]}
        for name in hosts
        if function(name) != "spark"
    }


@pytest.mark.parametrize("inventory_name", [*INVENTORIES, *LAYOUTS])
def test_no_trace_where_no_port_is_opened(inventory_name: str, hosts: Hosts) -> None:
    """Table, unit and its file are there on brokers and ZooKeeper servers, and gone on Spark hosts; no rule ever names SSH's port."""
    for name, rendered in hosts.items():
        states = (table(rendered)["state"], rendered.file(UNIT)["state"], rendered.roles["base"]["units"][0]["state"])
        assert states == (("absent", "absent", "absent") if function(name) == "spark" else ("present", "present", "started")), name
        assert not re.search(r"\b22\b(?!\.)", table(rendered)["content"].replace(".22", "")), name


def test_switched_off(rendered: Callable[[str], Hosts]) -> None:
    """One variable."""
    for name, host in rendered("open").items():
        states = (table(host)["state"], host.file(UNIT)["state"], host.roles["base"]["units"][0]["state"])
        assert states == ("absent", "absent", "absent"), name


@pytest.mark.parametrize("inventory_name", ["lab"])
def test_unit(inventory_name: str, hosts: Hosts) -> None:
    """Before the network, and after the distribution's own service, which begins by flushing everything."""
    unit = hosts["dc1-kafka1"].unit("millrace-firewall.service")
    assert unit["ExecStart"] == unit["ExecReload"] == ["/usr/sbin/nft -f /etc/nftables.d/millrace.nft"]
    assert (unit["Before"], unit["After"], unit["WantedBy"]) == (["network-pre.target"], ["nftables.service"], ["sysinit.target"])
    assert (unit["PartOf"], unit["ReloadPropagatedFrom"], unit["RemainAfterExit"]) == (["nftables.service"], ["nftables.service"], ["yes"])
