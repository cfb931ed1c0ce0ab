"""Asks the running hosts of --inventory: the same tests serve containers and machines.

A test takes `zookeeper_host`, `kafka_host`, `database_host`, `spark_host` or `any_host` and runs once for each host of
that group; the file of a function that the inventory does not have is left out.
"""

from pathlib import Path

import pytest
import testinfra
from faults.inventory import ROOT, Inventory, load
from testinfra.host import Host

GROUPS = {
    "zookeeper_host": "zookeeper",
    "kafka_host": "kafka",
    "database_host": "database",
    "spark_host": "spark",
    "any_host": "all",
}
FILES = {
    "test_zookeeper.py": "zookeeper",
    "test_kafka.py": "kafka",
    "test_database.py": "database",
    "test_spark.py": "spark",
}
_loaded: dict[Path, Inventory] = {}


def declared(config: pytest.Config) -> Inventory:
    """Return the inventory of this run, read once."""
    directory = config.getoption("--inventory").resolve()
    if directory not in _loaded:
        _loaded[directory] = load(directory, config.getoption("--client-file"))
    return _loaded[directory]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of a function that has no host."""
    absent = [item for item in items if (group := FILES.get(item.path.name)) and not declared(config).hosts(group)]
    if absent:
        config.hook.pytest_deselected(items=absent)
        items[:] = [item for item in items if item not in absent]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per host of the group."""
    for fixture, group in GROUPS.items():
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, declared(metafunc.config).hosts(group), indirect=True)


def connect(request: pytest.FixtureRequest) -> Host:
    """Return testinfra's view of a host over the SSH connection that Ansible would use."""
    lab = declared(request.config).lab_directory
    ssh_config = str(ROOT / lab / "ssh_config") if lab else None
    return testinfra.get_host(f"ssh://{request.param}", ssh_config=ssh_config, controlpersist=120)


zookeeper_host = pytest.fixture(connect, name="zookeeper_host")
kafka_host = pytest.fixture(connect, name="kafka_host")
database_host = pytest.fixture(connect, name="database_host")
spark_host = pytest.fixture(connect, name="spark_host")
any_host = pytest.fixture(connect, name="any_host")


def service_problem(host: Host, unit: str) -> str:
    """Return '' for a unit that runs and is enabled, else what is wrong and the end of its journal."""
    service = host.service(unit)
    if service.is_running and service.is_enabled:
        return ""
    journal = host.run(f"journalctl -u {unit} --no-pager -n 30").stdout
    return f"{unit}: running={service.is_running} enabled={service.is_enabled}\n{journal}"


def limit(host: Host, unit: str, name: str) -> str:
    """Return the soft limit that the unit's running process has, from /proc."""
    pid = host.check_output(f"systemctl show -p MainPID --value {unit}")
    line = next(line for line in host.file(f"/proc/{pid}/limits").content_string.splitlines() if line.startswith(name))
    return str(line.removeprefix(name).split()[0])
