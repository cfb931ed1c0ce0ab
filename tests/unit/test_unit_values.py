"""Preflight accepts the values of unit settings that systemd accepts; systemd itself is asked if it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.unit_values import rejected_values

ACCEPTED = (
    "NUMAMask=all",
    "NUMAMask=0-1",
    "NUMAMask=0-1,",
    "CPUAffinity=numa",
    "CPUAffinity=0-3,",
    "CPUAffinity=0,,2",
    "CPUAffinity=,0",
    "AllowedCPUs=0-3,",
    "AllowedMemoryNodes=0-3,",
    "ProtectHome=Yes",
    "ProtectHome=TRUE",
    "ProtectHome=tmpfs",
    "ProtectHome=On",
    "PrivateTmp=YES",
    "OOMPolicy=kill",
    "IOSchedulingClass=2",
    "CPUSchedulingPolicy=2",
    "CPUWeight=idle",
    "Nice=+5",
    "Nice=0x5",
    "CPUQuota=150%",
    "CPUQuota=0.5%",
    "TimeoutStopSec=5 min 20s",
    "TimeoutStopSec=infinity",
    "TimeoutStopSec=1min30",
    "TimeoutStopSec=.5",
    "RestartSec=5M",
    "RestartSec=100µs",
    "RestartSec=1month",
    "RestartSec=5sec",
    "RestartSec=5seconds",
    "RestartSec=5second",
    "RestartSec=5minute",
    "RestartSec=5hours",
    "MemoryMax=12G",
    "MemoryMax=12.5G",
    "MemoryMax=1G 500M",
    "MemoryMax=12 G",
    "MemoryMax=12B",
    "TasksMax=infinity",
    "LimitNOFILE=1024:2048",
    "LimitAS=12.5G",
    "LimitMEMLOCK=64M:infinity",
    'Environment="A=b c" D=e',
    "IOSchedulingPriority=7",
    "OOMScoreAdjust=-900",
)
IGNORED = (
    "NUMAMask=numa",
    "CPUAffinity=all",
    "CPUAffinity=0 - 3",
    "CPUAffinity=3-0",
    "AllowedCPUs=numa",
    "AllowedCPUs=all",
    "ProtectHome=Read-Only",
    "IOSchedulingClass=Idle",
    "OOMPolicy=Kill",
    "CPUSchedulingPolicy=RR",
    "CPUSchedulingPolicy=ext",
    "CPUQuota=5",
    "TimeoutStopSec=Infinity",
    "RestartSec=5ns",
    "MemoryMax=12g",
    "MemoryMax=12GB",
    "TasksMax=4K",
    "LimitNOFILE=1K",
    "Environment=A",
)


def accepted(line: str) -> bool:
    """Tell whether preflight accepts a line of a unit."""
    key, _, value = line.partition("=")
    return not list(rejected_values(key, value))


def test_accepted() -> None:
    assert [line for line in ACCEPTED if not accepted(line)] == []


def test_ignored() -> None:
    assert [line for line in IGNORED if accepted(line)] == []


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_says_the_same(tmp_path: Path) -> None:
    units = {tmp_path / f"t{number}.service": line for number, line in enumerate((*ACCEPTED, *IGNORED))}
    for unit, line in units.items():
        unit.write_text(f"[Service]\nExecStart=/bin/true\n{line}\n")
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True)
    said = {Path(name) for name in re.findall(r"^(/\S+):3: ", done.stderr, re.MULTILINE)}
    assert [line for unit, line in units.items() if unit in said] == list(IGNORED), done.stderr
