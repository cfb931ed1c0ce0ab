"""The ensemble, asked server by server."""

import re
import uuid

import pytest
from faults.inventory import Inventory
from faults.zookeeper import session
from testinfra.host import Host

from infra.conftest import limit, service_problem
from infra.hardening import assert_hardened


def test_service_runs_and_starts_at_boot(zookeeper_host: Host) -> None:
    assert service_problem(zookeeper_host, "zookeeper") == ""


def test_one_leader_and_the_others_follow_or_observe(inventory: Inventory) -> None:
    modes = {
        server: re.findall(r"^Mode: (\w+)$", inventory.ask_zookeeper(server, "srvr"), re.MULTILINE)
        for server in inventory.hosts("zookeeper")
    }
    observers = [
        server
        for server in modes
        if inventory.variables[server]["zookeeper_id"] in inventory.variables[server].get("zookeeper_observers", [])
    ]
    assert [modes.pop(server) for server in observers] == [["observer"]] * len(observers)
    assert sorted(modes.values()) == [["follower"]] * (len(modes) - 1) + [["leader"]]


@pytest.mark.parametrize("network", ["client", "replication"])
def test_clients_are_served_on_both_networks(inventory: Inventory, network: str) -> None:
    servers = inventory.hosts("zookeeper")
    assert [inventory.ask_zookeeper(server, "ruok", network) for server in servers] == ["imok"] * len(servers)


def test_words_beyond_the_allowed_are_refused(inventory: Inventory) -> None:
    assert "not in the whitelist" in inventory.ask_zookeeper(inventory.hosts("zookeeper")[0], "conf")


def test_a_write_is_read_on_every_server_and_only_the_owner_writes_to_the_root(inventory: Inventory) -> None:
    servers, znode = inventory.hosts("zookeeper"), f"/infra-{uuid.uuid4().hex[:8]}"
    with session(inventory) as owner:
        owner.create(znode, b"written")
        try:
            for server in servers:
                assert "written" in command_line(inventory, server, f"get -s {znode}").splitlines()
        finally:
            owner.delete(znode)
    assert f"Insufficient permission : {znode}" in command_line(inventory, servers[0], f"create {znode}")


def command_line(inventory: Inventory, server: str, command: str) -> str:
    """Return what ZooKeeper's own client says on a server's host, with the server's certificate."""
    tls = "-client-configuration /etc/zookeeper/client.properties" if inventory.secure else ""
    place = f"{inventory.client_address(server)}:{inventory.zookeeper_port}"
    return inventory.run(server, f"zkCli.sh -server {place} {tls} {command} 2>&1", check=False)


def test_write_ahead_log_is_on_a_file_system_of_its_own(zookeeper_host: Host) -> None:
    config = dict(
        line.split("=", 1)
        for line in zookeeper_host.file("/etc/zookeeper/zoo.cfg").content_string.splitlines()
        if "=" in line
    )
    assert zookeeper_host.mount_point(config["dataLogDir"]).exists
    assert zookeeper_host.check_output(f"ls {config['dataLogDir']}/version-2") != ""
    assert zookeeper_host.check_output(f"ls {config['dataDir']}/version-2 | grep -c ^log || true") == "0"


def test_quorum_ports_are_on_both_networks_and_nowhere_else(inventory: Inventory) -> None:
    server = inventory.hosts("zookeeper")[0]
    listening = {line.split()[3] for line in inventory.run(server, "ss -Hltn 'sport = :3888'").splitlines()}
    assert listening == {f"[::ffff:{address}]:3888" for address in inventory.addresses(server)}


def test_limits_of_the_running_process(zookeeper_host: Host) -> None:
    assert limit(zookeeper_host, "zookeeper", "Max open files") == "16384"


def test_hardening_is_in_force(zookeeper_host: Host) -> None:
    assert_hardened(zookeeper_host, "zookeeper")
