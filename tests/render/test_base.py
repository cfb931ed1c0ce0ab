"""What every host gets, and that a run on one host gives it the same as a run on all."""

from collections.abc import Callable

import pytest

from render.conftest import INVENTORIES, LAYOUTS, WITH_METRICS, Hosts
from render.site import ROOT

HOSTS = {
    "lab": """
198.18.1.11 dc1-zk1 dc1-zk1.client
198.18.2.11 dc1-zk1.replication
198.18.1.12 dc1-zk2 dc1-zk2.client
198.18.2.12 dc1-zk2.replication
198.18.1.13 dc1-zk3 dc1-zk3.client
198.18.2.13 dc1-zk3.replication
198.18.1.21 dc1-kafka1 dc1-kafka1.client
198.18.2.21 dc1-kafka1.replication
198.18.1.22 dc1-kafka2 dc1-kafka2.client
198.18.2.22 dc1-kafka2.replication
198.18.1.23 dc1-kafka3 dc1-kafka3.client
198.18.2.23 dc1-kafka3.replication
198.18.1.31 dc1-spark1 dc1-spark1.client
198.18.1.32 dc1-spark2 dc1-spark2.client
""",
    "dc1": """
198.19.1.11 dc1-zk1 dc1-zk1.client
198.19.2.11 dc1-zk1.replication
198.19.1.12 dc1-zk2 dc1-zk2.client
198.19.2.12 dc1-zk2.replication
198.19.1.13 dc1-zk3 dc1-zk3.client
198.19.2.13 dc1-zk3.replication
198.19.1.14 dc1-zk4 dc1-zk4.client
198.19.2.14 dc1-zk4.replication
198.19.1.15 dc1-zk5 dc1-zk5.client
198.19.2.15 dc1-zk5.replication
198.19.1.21 dc1-kafka1 dc1-kafka1.client
198.19.2.21 dc1-kafka1.replication
198.19.1.22 dc1-kafka2 dc1-kafka2.client
198.19.2.22 dc1-kafka2.replication
198.19.1.23 dc1-kafka3 dc1-kafka3.client
198.19.2.23 dc1-kafka3.replication
198.19.1.24 dc1-kafka4 dc1-kafka4.client
198.19.2.24 dc1-kafka4.replication
198.19.1.25 dc1-kafka5 dc1-kafka5.client
198.19.2.25 dc1-kafka5.replication
198.19.1.41 dc1-db1 dc1-db1.client
198.19.1.51 dc1-mon1 dc1-mon1.client
198.19.1.31 dc1-spark1 dc1-spark1.client
198.19.1.32 dc1-spark2 dc1-spark2.client
198.19.1.33 dc1-spark3 dc1-spark3.client
198.19.1.34 dc1-spark4 dc1-spark4.client
""",
    "dc2": """
198.19.11.11 dc2-zk1 dc2-zk1.client
198.19.12.11 dc2-zk1.replication
198.19.11.12 dc2-zk2 dc2-zk2.client
198.19.12.12 dc2-zk2.replication
198.19.11.13 dc2-zk3 dc2-zk3.client
198.19.12.13 dc2-zk3.replication
198.19.11.14 dc2-zk4 dc2-zk4.client
198.19.12.14 dc2-zk4.replication
198.19.11.15 dc2-zk5 dc2-zk5.client
198.19.12.15 dc2-zk5.replication
198.19.11.21 dc2-kafka1 dc2-kafka1.client
198.19.12.21 dc2-kafka1.replication
198.19.11.22 dc2-kafka2 dc2-kafka2.client
198.19.12.22 dc2-kafka2.replication
198.19.11.23 dc2-kafka3 dc2-kafka3.client
198.19.12.23 dc2-kafka3.replication
198.19.11.24 dc2-kafka4 dc2-kafka4.client
198.19.12.24 dc2-kafka4.replication
198.19.11.25 dc2-kafka5 dc2-kafka5.client
198.19.12.25 dc2-kafka5.replication
198.19.11.41 dc2-db1 dc2-db1.client
198.19.11.31 dc2-spark1 dc2-spark1.client
198.19.11.32 dc2-spark2 dc2-spark2.client
198.19.11.33 dc2-spark3 dc2-spark3.client
198.19.11.34 dc2-spark4 dc2-spark4.client
""",
}
OTHERS = ("lab_monitoring", "lab_orders", "lab_spark_cluster")
"""The lab with a host more: test_monitoring.py has that of dc1, test_database.py the other."""
SYSCTL_FILE = """\
# Written by the role base.
net.core.somaxconn = 1024
vm.dirty_background_ratio = 5
vm.dirty_ratio = 60
vm.max_map_count = 262144
vm.swappiness = 1
"""
SYSCTL = {
    "vm.swappiness": 1,
    "vm.max_map_count": 262144,
    "vm.dirty_background_ratio": 5,
    "vm.dirty_ratio": 60,
    "net.core.somaxconn": 1024,
}


def test_every_inventory_is_rendered() -> None:
    """A new directory in inventories/ wants its expected values in these tests."""
    found = [
        path.parent.relative_to(ROOT / "inventories").as_posix() for path in (ROOT / "inventories").rglob("hosts.yml")
    ]
    assert sorted(found) == sorted((*INVENTORIES, *LAYOUTS, *OTHERS))


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_every_host_knows_every_address(inventory_name: str, hosts: Hosts) -> None:
    """One marked block of /etc/hosts: both networks, the same on all hosts of all functions, and in each layer."""
    expected = {"path": "/etc/hosts", "marker": "millrace", "content": HOSTS[inventory_name].lstrip()}
    blocks = {name: rendered.items("blocks") for name, rendered in hosts.items()}
    assert [*blocks] == sorted(
        line.split()[1] for line in HOSTS[inventory_name].split("\n") if line.endswith(".client")
    )
    assert {name: [expected] * len(found) for name, found in blocks.items() if found} == blocks


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_kernel_settings(inventory_name: str, hosts: Hosts) -> None:
    """Written on every host; set at once where the kernel is the host's own, so not in the lab's containers."""
    for rendered in hosts.values():
        assert rendered.text("/etc/sysctl.d/60-millrace.conf") == SYSCTL_FILE
        settings = [arguments["sysctl"] for arguments in rendered.roles.values() if arguments["sysctl"]]
        assert settings == [SYSCTL] * len(settings)
        assert bool(settings) == (inventory_name != "lab")


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_roles_of_a_function(inventory_name: str, hosts: Hosts) -> None:
    """A host gets its own function, nothing of the others; the base in the same call, or in one before."""
    more = {"metrics"} if inventory_name in WITH_METRICS else set()
    roles = {
        "zk": ["zookeeper"],
        "kafka": ["kafka"],
        "db": ["postgresql"],
        "spark": ["base", "spark_job"],
        "mon": ["base", "lag_exporter", "prometheus"],
    }
    assert {name: sorted(rendered.roles) for name, rendered in hosts.items()} == {
        name: sorted({*roles[name.partition("-")[2].rstrip("12345")], *more}) for name in hosts
    }


def test_limit_changes_nothing(rendered: Callable[[str], Hosts]) -> None:
    """What stands on the other hosts' variables is complete under --limit, too."""
    limited, whole = rendered("limited"), rendered("lab")
    assert list(limited) == ["dc1-kafka2"]
    assert limited["dc1-kafka2"].roles == whole["dc1-kafka2"].roles
