"""The program that writes metrics of services for the node exporter."""

import datetime
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from ansible_collections.millrace.kafka.plugins.module_utils.host.service_metrics import (
    first_end,
    job_samples,
    main,
    text_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.program import program


def certificate(ends: datetime.datetime) -> str:
    """Return a certificate in PEM that ends at this time."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, datetime.datetime(2020, 1, 1), ends)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


@pytest.mark.parametrize("year", [2031, 2049, 2050, 2120])
def test_the_end_of_a_certificate(year: int) -> None:
    """Two forms of times: until 2049 a year has two digits."""
    end = datetime.datetime(year, 3, 4, 5, 6, 7, tzinfo=datetime.UTC)
    assert first_end("key\n" + certificate(end)) == end.timestamp()


def test_the_first_end_of_several() -> None:
    ends = [datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in (2035, 2031, 2033)]
    assert first_end("".join(map(certificate, ends))) == ends[1].timestamp()


@pytest.mark.parametrize("text", ["", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"])
def test_no_certificate(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        first_end(text)


def systemd(folder: Path, units: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return an environment in which systemctl answers this, in the order in which it is asked."""
    for name, unit in units.items():
        lines = [f"{key}={value}\n" for key, value in {"NeedDaemonReload": "no", **unit}.items()]
        (folder / f"{name}.shown").write_text("".join(lines))
    script = f'#!/bin/sh\nfor name; do cat "{folder}/$name.shown" 2>/dev/null && echo; done\nexit 0\n'
    (folder / "systemctl").write_text(script)
    (folder / "systemctl").chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_what_is_written(tmp_path: Path) -> None:
    """A unit that runs with an earlier configuration, one that does not run, a certificate, and a file that is none."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={"CONFIG_DIGEST": "aa"}) as old:
        units: dict[str, dict[str, str]] = {
            "kafka.service": {"ActiveState": "active", "MainPID": str(old.pid), "Environment": "CONFIG_DIGEST=bb A=b"},
            "of-a-file.service": {
                "ActiveState": "active",
                "MainPID": str(old.pid),
                "EnvironmentFiles": f"{tmp_path}/job.env (ignore_errors=no)",
            },
            "same.service": {"ActiveState": "active", "MainPID": str(old.pid), "Environment": "A=b CONFIG_DIGEST=aa"},
            "job.service": {"ActiveState": "failed", "MainPID": "0", "Environment": "CONFIG_DIGEST=bb"},
            "a.timer": {"ActiveState": "active"},
        }
        end = datetime.datetime(2031, 1, 1, tzinfo=datetime.UTC)
        (tmp_path / "a.pem").write_text(certificate(end))
        paths = [str(tmp_path / "a.pem"), str(tmp_path / "none.pem")]
        wanted = {"units": [*units], "certificates": paths, "jobs": f"{tmp_path}/jobs"}
        (tmp_path / "c.json").write_text(json.dumps(wanted))
        (tmp_path / "job.env").write_text("JOB=a\nCONFIG_DIGEST=bb\n")
        (tmp_path / "service_metrics.pyz").write_bytes(program("host.service_metrics"))
        command = [
            sys.executable,
            "-I",
            str(tmp_path / "service_metrics.pyz"),
            str(tmp_path / "c.json"),
            str(tmp_path / "m.prom"),
        ]
        subprocess.run(command, check=True, env=systemd(tmp_path, units))
        old.communicate(b"\n")
    found: dict[str, Any] = dict(
        line.rsplit(" ", 1) for line in (tmp_path / "m.prom").read_text().splitlines() if not line.startswith("#")
    )
    assert found == {
        'millrace_unit_active{unit="kafka.service"}': "1",
        'millrace_unit_active{unit="of-a-file.service"}': "1",
        'millrace_unit_active{unit="same.service"}': "1",
        'millrace_unit_active{unit="job.service"}': "0",
        'millrace_unit_active{unit="a.timer"}': "1",
        'millrace_unit_restart_owed{unit="kafka.service"}': "1",
        'millrace_unit_restart_owed{unit="of-a-file.service"}': "1",
        'millrace_unit_restart_owed{unit="same.service"}': "0",
        'millrace_unit_restart_owed{unit="job.service"}': "0",
        'millrace_unit_restart_owed{unit="a.timer"}': "0",
        f'millrace_certificate_end_seconds{{path="{paths[0]}"}}': str(int(end.timestamp())),
        f'millrace_certificate_unreadable{{path="{paths[0]}"}}': "0",
        f'millrace_certificate_unreadable{{path="{paths[1]}"}}': "1",
    }
    assert (tmp_path / "m.prom").stat().st_mode & 0o777 == 0o644
    assert not (tmp_path / "m.prom.new").exists()


STATUS = {
    "job": "count_words",
    "state": "running",
    "progress": "2026-01-31T12:00:00.250Z",
    "trigger_seconds": 10.0,
    "queries": [
        {
            "query": "count_words",
            "ended": "2026-01-31T12:00:00.000Z",
            "rows_per_second": 12.5,
            "lag_records": 3,
            "late": None,
            "state_bytes": 2048,
        }
    ],
}
NOON = 1769860800


def test_metrics_of_jobs(tmp_path: Path) -> None:
    """Of a job that runs, one that waits and has no query; none of files that are no status."""
    waiting = {**STATUS, "state": "waiting for brokers", "queries": []}
    contents = {"a": STATUS, "b": waiting, "c": {**STATUS, "progress": None}, "d": [], "e": {**STATUS, "queries": [1]}}
    for name, content in contents.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "status.json").write_text(json.dumps(content))
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "status.json").write_text("{")
    found = text_of(list(job_samples(str(tmp_path)))).splitlines()
    assert sorted(line for line in found if line.startswith("millrace_job")) == [
        'millrace_job_batch_end_seconds{spark_job="a",query="count_words"} ' + str(NOON),
        'millrace_job_lag_records{spark_job="a",query="count_words"} 3',
        'millrace_job_progress_seconds{spark_job="a"} ' + f"{NOON}.25",
        'millrace_job_progress_seconds{spark_job="b"} ' + f"{NOON}.25",
        'millrace_job_rows_per_second{spark_job="a",query="count_words"} 12.5',
        'millrace_job_state_bytes{spark_job="a",query="count_words"} 2048',
        'millrace_job_trigger_seconds{spark_job="a"} 10',
        'millrace_job_trigger_seconds{spark_job="b"} 10',
        'millrace_job_waiting{spark_job="a"} 0',
        'millrace_job_waiting{spark_job="b"} 1',
    ]


@pytest.mark.parametrize(
    "odd",
    [
        {**STATUS, "trigger_seconds": float("nan")},
        {**STATUS, "queries": [{"query": "a", "lag_records": float("inf")}]},
        {**STATUS, "trigger_seconds": 10**400},
        {**STATUS, "queries": [{"query": "\ud800", "late": 1}]},
        {**STATUS, "state": None},
        "[" * 200_000,
    ],
    ids=["no number", "infinite", "too large", "no character", "no state", "too deep"],
)
def test_a_job_does_not_hide_other_metrics(odd: Any, tmp_path: Path) -> None:
    """Whatever its file has, the metrics of the host are written."""
    for name, content in (("a", json.dumps(STATUS)), ("b", odd if isinstance(odd, str) else json.dumps(odd))):
        (tmp_path / "jobs" / name).mkdir(parents=True)
        (tmp_path / "jobs" / name / "status.json").write_text(content)
    (tmp_path / "c.json").write_text(json.dumps({"units": [], "certificates": [], "jobs": f"{tmp_path}/jobs"}))
    assert main([str(tmp_path / "c.json"), str(tmp_path / "m.prom")]) == 0
    assert 'millrace_job_trigger_seconds{spark_job="a"} 10' in (tmp_path / "m.prom").read_text().splitlines()


def test_a_label_is_escaped() -> None:
    sample = ("millrace_unit_active", {"unit": 'x\\y"z\n'}, 1)
    assert r'millrace_unit_active{unit="x\\y\"z\n"} 1' in text_of([sample]).splitlines()
