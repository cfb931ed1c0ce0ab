"""The memory of a database: what its server keeps and all its connections may take, against what the host has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import check_hosts
from model.probes import DATABASE, GIB, Probe, answer, model, probed
from model.test_meant import said

CONFIG = "postgresql_config[{}]"


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, []),
        ({"max_connections": 50, "shared_buffers": "1GB"}, []),
        ({"work_mem": "16MB", "max_connections": 100, "maintenance_work_mem": "256MB"}, []),
        # Every connection may take it: 4 GiB are 200 times 20 MiB.
        ({"work_mem": "64MB", "max_connections": 100}, ["warn work_mem"]),
        ({"max_connections": 2000}, ["warn max_connections"]),
        ({"maintenance_work_mem": "1500MB"}, ["warn maintenance_work_mem"]),
        ({"WORK_MEM": "64MB"}, ["warn work_mem"]),
        ({"shared_buffers": "3GB", "work_mem": "64MB"}, ["warn shared_buffers"]),
        # One statement alone.
        ({"work_mem": "8GB"}, ["work_mem"]),
        ({"maintenance_work_mem": 8388608}, ["maintenance_work_mem"]),
        ({"work_mem": "8GB", "shared_buffers": "3GB"}, ["work_mem"]),  # the mistake, before the warning
        # A value that is none is said as such, and reckoned as the usual one.
        ({"work_mem": "16MiB", "max_connections": 20}, []),
    ],
    ids=str,
)
def test_what_connections_may_take(settings: dict[str, Any], wanted: list[str], tmp_path: Path) -> None:
    """Said of the setting that takes most, whether the memory is declared or asked of the host."""
    declared = {"database": {"memory": "4g"}, "all": {"postgresql_config": settings}}
    lines = [line for line in said(tmp_path, declared, "lab_orders") if "DATABASE_MEMORY" in line]
    names = [f"{'warn ' * line.startswith('warn ')}{line.rpartition('[')[2].rstrip(']')}" for line in lines]
    assert names == wanted
    probe = Probe("", "", "", answer(memory=4 * GIB), DATABASE, {"postgresql_config": settings}, inventory="lab_orders")
    found = check_hosts(model(probe), probed(probe))
    assert [(problem.code, problem.hosts) for problem in found] == [("DATABASE_RAM", (DATABASE,))] * len(wanted)
    assert [f"{'warn ' * problem.warning}{problem.variable}" for problem in found] == [
        f"{'warn ' * name.startswith('warn ')}{CONFIG.format(name.removeprefix('warn '))}" for name in wanted
    ]


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"shared_buffers": "128MB"}, []),  # a quarter; of the others nobody said anything
        ({"shared_buffers": "128MB", "max_connections": 100, "work_mem": "4MB"}, []),  # what is usual
        ({"shared_buffers": "128MB", "max_connections": 200}, ["warn DATABASE_MEMORY max_connections"]),
    ],
    ids=str,
)
def test_a_small_host_is_not_blamed_for_what_is_usual(
    settings: dict[str, Any], wanted: list[str], tmp_path: Path
) -> None:
    declared = {"database": {"memory": "512m"}, "all": {"postgresql_config": settings}}
    place = " group all/" + CONFIG
    assert [
        line.replace(place.format("max_connections"), " max_connections")
        for line in said(tmp_path, declared, "lab_orders")
    ] == wanted


def test_hosts_that_run_no_database_are_not_judged(tmp_path: Path) -> None:
    """And neither is a memory that nobody declares."""
    settings = {"postgresql_config": {"work_mem": "64GB"}}
    assert said(tmp_path, {"kafka": {"memory": "4g"}, "all": settings}, "lab_orders") == []
