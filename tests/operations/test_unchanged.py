"""A second run: nothing changes, nothing restarts, few host-tasks."""

import subprocess
from collections.abc import Callable

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from operations.conftest import Operator

BUDGET = 3
MORE = {"postgresql": 10, "spark_job": 6}
"""The budget of roles that ask a database: for its users and rights, and for pending migrations of a read model."""
ON_ONE_HOST = {"lag_exporter": 7, "prometheus": 8, "spark_cluster": 9}
"""The budget of roles of few hosts, which consist of Ansible's own modules."""
WITH_PACKAGES = {"metrics": 4}
"""The budget of roles of many hosts that install packages of the distribution: two tasks are skipped in each run."""
BUDGET_ONCE = 18
"""Of tasks that run once for all hosts: more hosts have no more of them."""


def test_second_run_changes_and_restarts_nothing(operator: Operator, note: Callable[[str], None]) -> None:
    before = operator.processes()
    run = operator.play("site")
    assert run.code == 0, run.output[-3000:]
    assert set(run.recap("changed").values()) == {0}
    assert operator.processes() == before
    once = sum(run.host_tasks["(once)"].values())
    worst = {role: max(hosts.values()) for role, hosts in run.host_tasks.items() if role != "(once)"}
    note(f"host-tasks per role and host {worst}; for all hosts at once {once}, budget {BUDGET_ONCE}")
    held = [function for name, function in functions().items() if operator.inventory.hosts(name)]
    roles = {role for function in held for role in function.roles} - {"java"}
    assert set(worst) == roles | {"(playbook)"}
    more = ON_ONE_HOST | WITH_PACKAGES | (MORE if operator.inventory.hosts("database") else {})
    assert {role: number for role, number in worst.items() if number > more.get(role, BUDGET)} == {}
    assert once <= BUDGET_ONCE


def test_kcat_works_from_the_control_node(operator: Operator) -> None:
    assert operator.inventory.lab_directory
    listed = subprocess.run(
        ["kcat", "-F", str(operator.inventory.lab_directory / "kcat.conf"), "-L"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert listed.returncode == 0, listed.stderr
    assert f" {len(operator.inventory.hosts('kafka'))} brokers:" in listed.stdout
