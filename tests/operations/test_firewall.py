"""Who may connect, tried from every kind of host on both networks; SSH is left alone, drift is repaired, and one variable takes all away."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from millrace import probe
from operations.conftest import Operator

# Runs on a host: tries what its argument names, all at once.
TRY = f"{Path(probe.__file__).read_text()}\nimport json, sys\nprint(json.dumps(reach(json.loads(sys.argv[1]))))\n"
PORTS = {"ZooKeeper": (7, 22, 2281, 2888, 3888), "broker": (7, 22, 9092, 9093)}
NO_ROUTE = ["ENETUNREACH"] * 5
# From whom to whom, on which network: what the ports say, in the order of PORTS. The server asked is the ensemble's leader, which has 2888 open.
# "refused" is an answer, too: of the kernel where nothing listens, of the rules on port 7.
TABLE = {
    ("Spark", "ZooKeeper", "client"): ["timeout", "open", "open", "timeout", "timeout"],
    ("Spark", "ZooKeeper", "replication"): NO_ROUTE,
    ("Spark", "broker", "client"): ["refused", "open", "open", "timeout"],
    ("Spark", "broker", "replication"): NO_ROUTE[:4],
    ("broker", "ZooKeeper", "client"): ["timeout", "open", "open", "timeout", "timeout"],
    ("broker", "ZooKeeper", "replication"): ["timeout", "open", "open", "timeout", "timeout"],
    ("broker", "broker", "client"): ["refused", "open", "open", "refused"],
    ("broker", "broker", "replication"): ["refused", "open", "timeout", "open"],
    ("ZooKeeper", "ZooKeeper", "client"): ["refused", "open", "open", "open", "open"],
    ("ZooKeeper", "ZooKeeper", "replication"): ["refused", "open", "timeout", "open", "open"],
    ("ZooKeeper", "broker", "client"): ["refused", "open", "open", "timeout"],
    ("ZooKeeper", "broker", "replication"): ["refused", "open", "timeout", "timeout"],
}
LISTING = "nft list table inet millrace"
TRACES = "ls -d /etc/nftables.d /etc/systemd/system/millrace-firewall.service /etc/systemd/system/*/millrace-firewall.service 2>/dev/null || true"


def ports(address: str, kind: str) -> list[dict[str, Any]]:
    """Return the ports of a host as the probe wants them."""
    return [{"address": address, "port": port} for port in PORTS[kind]]


def try_all(operator: Operator, table: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], list[str]]:
    """Return what each way of the table says, from one host of each kind to another."""
    inventory = operator.inventory
    ensemble = inventory.hosts("zookeeper")
    leader = next(server for server in ensemble if "Mode: leader" in inventory.ask_zookeeper(server, "srvr"))
    source = {
        "Spark": inventory.hosts("spark")[0],
        "broker": inventory.hosts("kafka")[0],
        "ZooKeeper": next(server for server in ensemble if server != leader),
    }
    target = {"ZooKeeper": leader, "broker": inventory.hosts("kafka")[1]}
    found: dict[tuple[str, str, str], list[str]] = {}
    for kind, host in source.items():
        ways = [way for way in table if way[0] == kind]
        asked = {way: ports(inventory.variables[target[way[1]]][f"{way[2]}_address"], way[1]) for way in ways}
        everything = json.dumps([one for several in asked.values() for one in several])
        said = json.loads(inventory.run(host, f"python3 - '{everything}'", stdin=TRY))
        found |= {way: [said[f"{each['address']}:{each['port']}"] for each in several] for way, several in asked.items()}
    return found


def protected(operator: Operator) -> list[str]:
    """Return the hosts that open ports."""
    return [*operator.inventory.hosts("zookeeper"), *operator.inventory.hosts("kafka")]


def servers(operator: Operator) -> dict[str, str]:
    """Return the processes of the hosts that open ports."""
    return {host: said for host, said in operator.processes().items() if host in protected(operator)}


def listings(operator: Operator) -> dict[str, str]:
    """Return every host's table, '' where there is none."""
    return {host: operator.inventory.run(host, f"{LISTING} 2>/dev/null || true") for host in operator.inventory.hosts("all")}


def test_every_way_is_as_the_table_says(operator: Operator) -> None:
    assert try_all(operator, TABLE) == TABLE


def test_the_control_node_reaches_what_it_asks(operator: Operator) -> None:
    """On both networks; not what servers open to one another."""
    server, broker = operator.inventory.hosts("zookeeper")[0], operator.inventory.hosts("kafka")[0]
    for network, listeners in (("client", ["open", "refused"]), ("replication", ["refused", "open"])):
        said = probe.reach(ports(operator.inventory.variables[server][f"{network}_address"], "ZooKeeper"))
        assert list(said.values()) == ["timeout", "open", "open", "timeout", "timeout"]
        said = probe.reach(ports(operator.inventory.variables[broker][f"{network}_address"], "broker"))
        assert list(said.values()) == ["refused", "open", *listeners]


@pytest.mark.parametrize("command", ["systemctl restart millrace-firewall", "systemctl reload millrace-firewall"])
def test_rules_are_applied_anew_under_an_open_session(operator: Operator, command: str) -> None:
    """As at boot. The SSH connection of the tests goes on, a new one is let in, and so is everybody that was before."""
    before = listings(operator)
    for host in protected(operator):
        assert operator.inventory.run(host, f"{command} && echo still here") == "still here\n"
    operator.inventory.disconnect()
    assert listings(operator) == before
    assert sum(map(bool, before.values())) == len(protected(operator))


def test_other_tables_are_left_alone(operator: Operator) -> None:
    """Somebody else's table is there before and after rules are applied."""
    host = operator.inventory.hosts("kafka")[0]
    operator.inventory.run(host, "nft 'add table inet others; add chain inet others c'")
    try:
        operator.inventory.run(host, "systemctl restart millrace-firewall")
        assert operator.inventory.run(host, "nft list tables") == "table inet others\ntable inet millrace\n"
    finally:
        operator.inventory.run(host, "nft delete table inet others")


@pytest.mark.parametrize(
    "drift", ["nft insert rule inet millrace input tcp dport 9093 accept", "systemctl disable --quiet --now millrace-firewall; rm -r /etc/nftables.d"]
)
def test_drift_is_shown_by_check_mode_and_repaired(operator: Operator, drift: str) -> None:
    """On that host alone, and no service is restarted for it."""
    host = operator.inventory.hosts("kafka")[-1]
    before, processes = listings(operator), servers(operator)
    operator.inventory.run(host, drift)
    assert listings(operator)[host] != before[host]
    checked = operator.play("kafka", "--check", "--diff", "--limit", host)
    assert checked.code == 0 and checked.recap("changed") == {host: 1}, checked.output[-3000:]
    assert "+++ after: table inet millrace" in checked.output
    assert listings(operator)[host] != before[host]
    repaired = operator.play("kafka", "--limit", host)
    assert repaired.code == 0 and repaired.recap("changed") == {host: 1}, repaired.output[-3000:]
    assert listings(operator) == before
    assert operator.inventory.run(host, "systemctl is-enabled millrace-firewall") == "enabled\n"
    assert servers(operator) == processes


def test_switched_off_and_on_again(operator: Operator) -> None:
    """Off leaves no trace, and every way is as without rules; on is as before; no service is restarted."""
    before, processes = listings(operator), servers(operator)
    off = operator.play("site", "-e", '{"base_firewall": false}')
    assert off.code == 0, off.output[-3000:]
    try:
        assert {host: number for host, number in off.recap("changed").items() if number} == dict.fromkeys(protected(operator), 1)
        assert set(listings(operator).values()) == {""}
        assert {operator.inventory.run(host, TRACES) for host in operator.inventory.hosts("all")} == {""}
        ways = try_all(operator, TABLE)
        assert not [way for way, said in ways.items() if "timeout" in said], ways
        again = operator.play(
            "site", "--limit", f"{operator.inventory.hosts('kafka')[0]}:{operator.inventory.hosts('spark')[0]}", "-e", '{"base_firewall": false}'
        )
        assert again.code == 0 and set(again.recap("changed").values()) == {0}, again.output[-3000:]
    finally:
        on = operator.play("site")
    assert on.code == 0, on.output[-3000:]
    assert listings(operator) == before
    assert servers(operator) == processes


def test_a_source_more(operator: Operator) -> None:
    """An added source is in the rules of the listener of clients and of ZooKeeper's client port, and nowhere else; preflight refuses a typo."""
    typo = operator.play("site", "-e", '{"firewall_extra_sources": {"clients": ["198.19.0.0/16"]}}')
    assert typo.code != 0 and "INPUT_REFUSED" in typo.output and "firewall_extra_sources" in typo.output
    variables = operator.inventory.variables[operator.inventory.hosts("kafka")[0]]
    admin = [re.sub(r"\d+/24$", "1", variables[f"{kind}_network"]) for kind in ("client", "replication")]
    extra = json.dumps({"firewall_extra_sources": {"client": ["198.19.0.0/16"], "admin": admin}})
    checked = operator.play("site", "--check", "--diff", "-e", extra)
    assert checked.code == 0, checked.output[-3000:]
    added = [line.split()[3] for line in checked.output.splitlines() if re.match(r"\s*\+.*tcp dport .*198\.19\.0\.0/16", line)]
    assert set(added) == {"9092", "2281"}
