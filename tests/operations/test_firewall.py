"""Who may connect, tried from every kind of host on both networks.

SSH is left alone, drift is repaired, and one variable takes all away.
"""

import inspect
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from faults.inventory import Inventory
from faults.lab import until

from ansible_collections.millrace.kafka.plugins.module_utils.host import network as from_here
from operations.conftest import Operator

# Runs on a host: tries what its argument names, all at once.
TRY = f"{inspect.getsource(from_here)}\nimport json, sys\nprint(json.dumps(reach(json.loads(sys.argv[1]))))\n"
# A port of a Spark node, at which something listens that is none of ours.
STRANGER = 9999
PORTS = {"ZooKeeper": (7, 22, 2281, 2888, 3888), "broker": (7, 22, 9092, 9093), "Spark": (7, 22, STRANGER)}
NO_ROUTE = ["ENETUNREACH"] * 5
# From whom to whom, on which network: what the ports say, in the order of PORTS.
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
    ("Spark", "Spark", "client"): ["timeout", "open", "timeout"],
    ("broker", "Spark", "client"): ["timeout", "open", "timeout"],
    ("ZooKeeper", "Spark", "client"): ["timeout", "open", "timeout"],
}
LISTING = "nft list table inet millrace"
TRACES = (
    "ls -d /etc/nftables.d /etc/systemd/system/millrace-firewall.service "
    "/etc/systemd/system/*/millrace-firewall.service 2>/dev/null || true"
)
# Done by hand to rules that are loaded.
ALTER = "nft insert rule inet millrace input tcp dport 9093 accept"
FORGET = "systemctl disable --quiet --now millrace-firewall; rm -r /etc/nftables.d"
REMOVE = f"{FORGET}; rm /etc/systemd/system/millrace-firewall.service; systemctl daemon-reload"


@pytest.fixture(scope="module", autouse=True)
def stranger(inventory: Inventory) -> Iterator[None]:
    """Something listens on a Spark node.

    A program that listens by itself: of a socket unit with its service the one that is stopped last may start the other
    again, for connections that nobody took.
    """
    node = inventory.hosts("spark")[1]
    listens = f"import signal, socket; s = socket.create_server(('0.0.0.0', {STRANGER})); signal.pause()"
    stop = "systemctl stop --quiet stranger"
    inventory.run(node, f'{stop}; systemd-run --quiet --collect --unit stranger python3 -c "{listens}"')
    until("the stranger listens", lambda: inventory.run(node, f"ss -Hltn sport = :{STRANGER}"), 60)
    yield
    inventory.run(node, stop)


def ports(address: str, kind: str) -> list[dict[str, Any]]:
    """Return the ports of a host as the probe wants them."""
    return [{"address": address, "port": port} for port in PORTS[kind]]


def tried(inventory: Inventory) -> tuple[dict[str, str], dict[str, str]]:
    """Return the hosts from which and to which ways are tried, by kind; the server asked leads: it has 2888 open."""
    ensemble, brokers, nodes = (inventory.hosts(group) for group in ("zookeeper", "kafka", "spark"))
    leader = next(server for server in ensemble if "Mode: leader" in inventory.ask_zookeeper(server, "srvr"))
    sources = {
        "Spark": nodes[0],
        "broker": brokers[0],
        "ZooKeeper": next(server for server in ensemble if server != leader),
    }
    return sources, {"ZooKeeper": leader, "broker": brokers[1], "Spark": nodes[1]}


def try_all(inventory: Inventory, table: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], list[str]]:
    """Return what each way of the table says, from one host of each kind to another."""
    sources, targets = tried(inventory)
    found: dict[tuple[str, str, str], list[str]] = {}
    for kind, host in sources.items():
        ways = [way for way in table if way[0] == kind]
        asked = {way: ports(inventory.variables[targets[way[1]]][f"{way[2]}_address"], way[1]) for way in ways}
        everything = json.dumps([one for several in asked.values() for one in several])
        said = json.loads(inventory.run(host, f"python3 - '{everything}'", stdin=TRY))
        found |= {
            way: [said[f"{each['address']}:{each['port']}"] for each in several] for way, several in asked.items()
        }
    return found


def listings(operator: Operator) -> dict[str, str]:
    """Return every host's table, '' where there is none."""
    return {
        host: operator.inventory.run(host, f"{LISTING} 2>/dev/null || true") for host in operator.inventory.hosts("all")
    }


def test_every_way_is_as_the_table_says(operator: Operator) -> None:
    assert try_all(operator.inventory, TABLE) == TABLE


def test_the_control_node_reaches_what_it_asks(operator: Operator) -> None:
    """On both networks; not what servers open to one another, and of a Spark node SSH alone."""
    server, broker, node = (operator.inventory.hosts(group)[-1] for group in ("zookeeper", "kafka", "spark"))
    for network, listeners in (("client", ["open", "refused"]), ("replication", ["refused", "open"])):
        said = from_here.reach(ports(operator.inventory.variables[server][f"{network}_address"], "ZooKeeper"))
        assert list(said.values()) == ["timeout", "open", "open", "timeout", "timeout"]
        said = from_here.reach(ports(operator.inventory.variables[broker][f"{network}_address"], "broker"))
        assert list(said.values()) == ["refused", "open", *listeners]
    assert list(from_here.reach(ports(operator.inventory.client_address(node), "Spark")).values()) == [
        "timeout",
        "open",
        "timeout",
    ]


def test_a_job_listens_on_the_loopback_alone(operator: Operator) -> None:
    """Driver, block manager, py4j and what Python itself opens, in a job that runs."""
    for host in operator.inventory.hosts("spark"):

        def listening(host: str = host) -> dict[str, set[str]]:
            rows = [line.split() for line in operator.inventory.run(host, "ss -Hltnp").splitlines()]
            named = {name: {row[3] for row in rows if f'"{name}"' in row[5]} for name in ("java", "millrace-jobs")}
            return named if len(named["java"]) >= 3 and named["millrace-jobs"] else {}

        opened = set().union(*until(f"the job of {host} runs", listening, 120).values())
        assert {
            place
            for place in opened
            if not place.startswith(("127.0.0.1:", "[::ffff:127.0.0.1]:", "[::1]:"))
            and not (host in operator.inventory.hosts("mirror_maker") and place.endswith(":8083"))
        } == set()


@pytest.mark.parametrize("command", ["systemctl restart millrace-firewall", "systemctl reload millrace-firewall"])
def test_rules_are_applied_anew_under_an_open_session(operator: Operator, command: str) -> None:
    """As at boot. The SSH connection of the tests goes on, a new one is let in, and so is everybody that was before."""
    before = listings(operator)
    for host in operator.inventory.hosts("all"):
        assert operator.inventory.run(host, f"{command} && echo still here") == "still here\n"
    operator.inventory.disconnect()
    assert listings(operator) == before
    assert all(before.values())


def test_other_tables_are_left_alone(operator: Operator) -> None:
    """Somebody else's table is there before and after rules are applied."""
    host = operator.inventory.hosts("kafka")[0]
    operator.inventory.run(host, "nft 'add table inet others; add chain inet others c'")
    try:
        operator.inventory.run(host, "systemctl restart millrace-firewall")
        assert operator.inventory.run(host, "nft list tables") == "table inet others\ntable inet millrace\n"
    finally:
        operator.inventory.run(host, "nft delete table inet others")


@pytest.mark.campaign
def test_off_and_drift_and_on_again(operator: Operator) -> None:
    """Off leaves no trace, and every way is as without rules; check mode shows what lacks, and a run puts it right.

    On those hosts alone, and no service is restarted for it.
    """
    inventory = operator.inventory
    before, processes = listings(operator), operator.processes()
    off, shut = [*tried(inventory)[1].values()], inventory.hosts("spark")[0]
    altered, forgotten = (
        inventory.hosts("kafka")[2],
        next(server for server in inventory.hosts("zookeeper") if server not in off),
    )
    wrong = {*off, shut, altered, forgotten}
    inventory.run(shut, REMOVE)
    switched = operator.play("site", "--limit", ":".join([*off, shut]), "-e", '{"base_firewall": false}')
    try:
        assert switched.code == 0, switched.output[-3000:]
        assert switched.recap("changed") == {**dict.fromkeys(off, 1), shut: 0}, (
            "where it was off before, nothing changes"
        )
        assert {host for host, said in listings(operator).items() if not said} == {*off, shut}
        assert {inventory.run(host, TRACES) for host in (*off, shut)} == {""}
        ways = try_all(inventory, TABLE)
        assert not [way for way, said in ways.items() if "timeout" in said], ways
        assert {tuple(said) for way, said in ways.items() if way[1] == "Spark"} == {("refused", "open", "open")}
        inventory.run(altered, ALTER)
        inventory.run(forgotten, FORGET)
        drifted = listings(operator)
        assert {host for host in before if drifted[host] != before[host]} == wrong
        checked = operator.play("site", "--check", "--diff")
        assert checked.code == 0, checked.output[-3000:]
        assert listings(operator) == drifted
    finally:
        on = operator.play("site")
    for run in (checked, on):
        assert run.code == 0, run.output[-3000:]
        assert {host: number for host, number in run.recap("changed").items() if number} == dict.fromkeys(wrong, 1), (
            run.output[-3000:]
        )
    assert checked.output.count("+++ after: table inet millrace") == len(wrong)
    assert listings(operator) == before
    assert {inventory.run(host, "systemctl is-enabled millrace-firewall") for host in before} == {"enabled\n"}
    assert operator.processes() == processes
