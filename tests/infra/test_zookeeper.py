"""The ensemble, asked server by server."""

import re
import socket

import pytest
from faults.inventory import Inventory
from testinfra.host import Host

from infra.conftest import limit, service_problem


def ask(address: str, word: str) -> str:
    """Return a server's answer to a four-letter word."""
    with socket.create_connection((address, 2181), timeout=5) as connection:
        connection.sendall(word.encode())
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def test_service_runs_and_starts_at_boot(zookeeper_host: Host) -> None:
    assert service_problem(zookeeper_host, "zookeeper") == ""


def test_one_leader_and_the_others_follow_or_observe(inventory: Inventory) -> None:
    modes = {
        server: re.findall(r"^Mode: (\w+)$", ask(inventory.client_address(server), "srvr"), re.MULTILINE) for server in inventory.hosts("zookeeper")
    }
    observers = [
        server for server in modes if inventory.variables[server]["zookeeper_id"] in inventory.variables[server].get("zookeeper_observers", [])
    ]
    assert [modes.pop(server) for server in observers] == [["observer"]] * len(observers)
    assert sorted(modes.values()) == [["follower"]] * (len(modes) - 1) + [["leader"]]


@pytest.mark.parametrize("network", ["client_address", "replication_address"])
def test_clients_are_served_on_both_networks(inventory: Inventory, network: str) -> None:
    assert [ask(str(inventory.variables[server][network]), "ruok") for server in inventory.hosts("zookeeper")] == ["imok"] * len(
        inventory.hosts("zookeeper")
    )


def test_words_beyond_the_allowed_are_refused(inventory: Inventory) -> None:
    assert "not in the whitelist" in ask(inventory.client_address(inventory.hosts("zookeeper")[0]), "conf")


def test_a_write_is_read_on_every_server(inventory: Inventory, request: pytest.FixtureRequest) -> None:
    servers = inventory.hosts("zookeeper")
    inventory.run(servers[0], "zkCli.sh -server localhost:2181 create /infra-test written 2>&1")
    request.addfinalizer(lambda: inventory.run(servers[0], "zkCli.sh -server localhost:2181 delete /infra-test 2>&1"))
    for server in servers:
        assert "written" in inventory.run(server, "zkCli.sh -server localhost:2181 get -s /infra-test 2>&1").splitlines()


def test_write_ahead_log_is_on_a_file_system_of_its_own(zookeeper_host: Host) -> None:
    config = dict(line.split("=", 1) for line in zookeeper_host.file("/etc/zookeeper/zoo.cfg").content_string.splitlines() if "=" in line)
    assert zookeeper_host.mount_point(config["dataLogDir"]).exists
    assert zookeeper_host.check_output(f"ls {config['dataLogDir']}/version-2") != ""
    assert zookeeper_host.check_output(f"ls {config['dataDir']}/version-2 | grep -c ^log || true") == "0"


def test_quorum_ports_are_on_both_networks_and_nowhere_else(inventory: Inventory) -> None:
    server = inventory.hosts("zookeeper")[0]
    listening = {line.split()[3] for line in inventory.run(server, "ss -Hltn 'sport = :3888'").splitlines()}
    assert listening == {f"[::ffff:{address}]:3888" for address in (inventory.replication_address(server), inventory.client_address(server))}


def test_limits_of_the_running_process(zookeeper_host: Host) -> None:
    assert limit(zookeeper_host, "zookeeper", "Max open files") == "16384"


def test_hardening_is_in_force(zookeeper_host: Host) -> None:
    assert_hardened(zookeeper_host, "zookeeper")


def assert_hardened(host: Host, unit: str) -> None:
    """The running process sees a read-only root and a /tmp of its own; the kernel refuses root under the same setting."""
    pid = host.check_output(f"systemctl show -p MainPID --value {unit}")
    mounts = {line.split()[4]: line.split()[5].split(",") for line in host.check_output(f"cat /proc/{pid}/mountinfo").splitlines()}
    assert "ro" in mounts["/"]
    assert host.check_output(f"grep -c '/systemd-private-.*{unit}.*/tmp /tmp ' /proc/{pid}/mountinfo") == "1"
    strict = host.check_output(f"systemctl show -p ProtectSystem {unit}")
    refused = host.run(f"systemd-run --quiet --pipe -p {strict} touch /etc/written-by-test")
    assert refused.rc != 0 and "Read-only file system" in refused.stderr
    assert not host.file("/etc/written-by-test").exists
