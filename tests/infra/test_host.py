"""What every host must be."""

from faults.inventory import Inventory
from testinfra.host import Host


def test_no_unit_failed(any_host: Host) -> None:
    assert any_host.check_output("systemctl --failed --no-legend --plain") == ""


def test_hosts_find_each_other_by_name_on_both_networks(any_host: Host, inventory: Inventory) -> None:
    wanted = {name: variables["client_address"] for name, variables in inventory.variables.items()}
    wanted |= {
        f"{name}.replication": address
        for name in inventory.variables
        if (address := inventory.replication_address(name)) != inventory.client_address(name)
    }
    lines = any_host.check_output(
        f"for name in {' '.join(wanted)}; do echo $name $(getent hosts $name); done"
    ).splitlines()
    assert {line.split()[0]: line.split()[1] for line in lines} == wanted


def test_firewall_is_loaded_and_starts_at_boot(any_host: Host) -> None:
    lines = any_host.check_output("nft list table inet millrace").splitlines()
    assert [line for line in lines if line.endswith(" drop")], "no rule drops connections"
    assert any_host.check_output("systemctl is-enabled millrace-firewall") == "enabled"


def test_kernel_settings_are_in_one_file_of_sysctl(any_host: Host) -> None:
    settings = any_host.file("/etc/sysctl.d/60-millrace.conf").content_string
    assert "vm.swappiness = 1" in settings.splitlines()
    assert any_host.run("systemd-analyze cat-config sysctl.d").stdout.count("vm.swappiness = 1") == 1
