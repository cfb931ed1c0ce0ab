"""A java of a site's own: said once, it is what all units run."""

from collections.abc import Callable

import pytest

from render.conftest import INVENTORIES, Hosts

OWN, HOME = "/opt/jdk-21/bin/java", "/opt/jdk-21"


def runs(hosts: Hosts, host: str, unit: str) -> str:
    """Return the program that a unit starts."""
    return hosts[host].unit(unit)["ExecStart"][0].split()[0]


def job_environment(hosts: Hosts, host: str) -> list[str]:
    """Return the environment of a node's jobs, without what stands in quotes."""
    return hosts[host].unit("spark-job@.service")["Environment"][0].split()


def test_brokers_servers_and_jobs_run_the_java_of_the_site(rendered: Callable[[str], Hosts]) -> None:
    """Hosts of the copy `varied` that say java_executable and nothing else of java; the others as before."""
    hosts = rendered("varied")
    assert (runs(hosts, "dc1-kafka1", "kafka.service"), runs(hosts, "dc1-kafka3", "kafka.service")) == (
        OWN,
        "/usr/bin/java",
    )
    assert (runs(hosts, "dc1-zk1", "zookeeper.service"), runs(hosts, "dc1-zk2", "zookeeper.service")) == (
        OWN,
        "/usr/bin/java",
    )
    assert f"JAVA_HOME={HOME}" in job_environment(hosts, "dc1-spark1")
    assert "JAVA_HOME=/usr" in job_environment(hosts, "dc1-spark2")


def test_class_data_of_jobs_is_of_their_java(rendered: Callable[[str], Hosts]) -> None:
    """The archive is made by the java that will start from it, and known by where that really is."""
    script = rendered("varied")["dc1-spark1"].text("/etc/spark-job/class-data.sh")
    assert f"java=$(readlink -f {OWN})\n" in script
    assert f"export HOME=/tmp JAVA_HOME={HOME}\n" in script


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_where_nothing_is_said_it_is_the_distributions(inventory_name: str, hosts: Hosts) -> None:
    found = {job_environment(hosts, name)[-1] for name in hosts if "spark_job" in hosts[name].roles}
    assert found == {"JAVA_HOME=/usr"}
