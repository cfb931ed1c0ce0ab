"""What a Spark node gets: each job's frozen configuration, environment and unit."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from render.conftest import INVENTORIES, Hosts
from render.site import Rendered

# The wheel's version, then the first digits of the SHA-256 over both made-up checksums:
# printf '%128s%128s' | tr ' ' c (the first 128), d (the others) | sha256sum
RELEASE = "0.1.0-f3b5c7feff21"
JARS = "/opt/spark-job/jars/eeeeeeeeeeee"
BOOTSTRAP = {
    "lab": "198.18.1.21:9092,198.18.1.22:9092,198.18.1.23:9092",
    "dc1": "198.19.1.21:9092,198.19.1.22:9092,198.19.1.23:9092,198.19.1.24:9092,198.19.1.25:9092",
    "dc2": "198.19.11.21:9092,198.19.11.22:9092,198.19.11.23:9092,198.19.11.24:9092,198.19.11.25:9092",
}
MEMORY = {"lab": ("512m", "512m"), "dc1": ("2g", "4g"), "dc2": ("2g", "4g")}
FAST = {"lab": {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}, "dc1": {}, "dc2": {}}
# host: job, whether it runs
JOBS = {
    "lab": {"dc1-spark1": ("publish_lines", True), "dc1-spark2": ("count_words", True)},
    "dc1": {  # project_orders on the consumers as well: test_database.py
        "dc1-spark1": ("publish_lines", True),
        "dc1-spark2": ("publish_lines", True),
        "dc1-spark3": ("count_words", True),
        "dc1-spark4": ("count_words", False),
    },
    "dc2": {
        "dc2-spark1": ("publish_lines", True),
        "dc2-spark2": ("publish_lines", True),
        "dc2-spark3": ("count_words", True),
        "dc2-spark4": ("count_words", False),
    },
}


LOGIN = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="{}" password="{}";'


def config(name: str, job: str, password: str) -> dict[str, object]:
    """Return the configuration that a job of an inventory is started with."""
    kafka = {
        "bootstrap.servers": BOOTSTRAP[name],
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": LOGIN.format(job, password),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/etc/millrace/tls/ca.pem",
    }
    common = {"jars_directory": JARS, "kafka": kafka}
    publisher, counter = MEMORY[name]
    if job == "publish_lines":
        return {
            **common,
            "checkpoint": "/var/lib/spark-job/publish_lines/checkpoint",
            "input_directory": "/var/lib/spark-job/publish_lines/input",
            "output_topic": "streams-plaintext-input",
            "spark": {"spark.driver.memory": publisher, **FAST[name]},
        }
    return {
        **common,
        "checkpoint": "/var/lib/spark-job/count_words/checkpoint",
        "input_topic": "streams-plaintext-input",
        "output_topic": "streams-wordcount-output",
        "spark": {"spark.driver.memory": counter, **FAST[name]},
    }


def digest(host: Rendered, job: str) -> str:
    """Return the digest in a job's environment file, which has to have its two lines."""
    found = re.fullmatch(r"JOB=[a-z_]+\nCONFIG_DIGEST=([0-9a-f]{64})\n", host.text(f"/etc/spark-job/{job}.env"))
    assert found
    return found.group(1)


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_configuration_of_each_job(inventory_name: str, hosts: Hosts) -> None:
    """The frozen file says what group_vars says, where this release keeps its jars, and the job's own login.

    Ansible does not show it.
    """
    found = {
        name: {
            file["path"]: json.loads(rendered.secret(file["path"]))
            for file in rendered.roles["spark_job"]["files"]
            if file["path"].endswith(".json") and "project_orders" not in file["path"]
        }
        for name, rendered in hosts.items()
        if "spark_job" in rendered.roles
    }
    passwords = {"publish_lines": "ib5Ohquail1e", "count_words": "Wae1aequ6ei0"}
    if inventory_name == "lab":  # random ones, made by the run
        passwords = {
            job: password_of(found[name][f"/etc/spark-job/{job}.json"]) for name, (job, _) in JOBS["lab"].items()
        }
        assert len(set(passwords.values())) == 2
    assert found == {
        name: {f"/etc/spark-job/{job}.json": config(inventory_name, job, passwords[job])}
        for name, (job, _) in JOBS[inventory_name].items()
    }


def password_of(config: Any) -> str:
    """Return the password of a login, 32 letters and digits or more of ASCII."""
    found = re.search(r' password="([\w.,:-]{32})";$', config["kafka"]["sasl.jaas.config"])
    assert found
    return found.group(1)


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_units_of_each_job(inventory_name: str, hosts: Hosts) -> None:
    """A job runs, restarted where its digest changed; a standby is stopped and does not start at boot."""
    for name, (job, runs) in JOBS[inventory_name].items():
        assert f"JOB={job}\n" in hosts[name].text(f"/etc/spark-job/{job}.env")
        assert [unit for unit in hosts[name].services if "project_orders" not in unit["name"]] == [
            {
                "name": f"spark-job@{job}.service",
                "digest": digest(hosts[name], job),
                "enabled": runs,
                "state": "converged" if runs else "stopped",
                "watch": 0,
            }
        ]


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_one_unit_for_all_jobs(inventory_name: str, hosts: Hosts) -> None:
    """The same template unit on all nodes, running the release's own program; SIGTERM reaches Python alone."""
    units = [hosts[name].unit("spark-job@.service") for name in JOBS[inventory_name]]
    assert all(unit == units[0] for unit in units)
    assert units[0]["ExecStart"] == ["/opt/spark-job/current/bin/millrace-jobs ${JOB} --config /etc/spark-job/%i.json"]
    assert units[0]["EnvironmentFile"] == ["/etc/spark-job/%i.env"]
    assert (units[0]["User"], units[0]["KillMode"], units[0]["SuccessExitStatus"]) == (["spark"], ["mixed"], ["143"])
    assert (units[0]["LimitNOFILE"], units[0]["MemoryMax"]) == (["16384"], ["infinity"])
    assert units[0]["ReadWritePaths"] == ["/var/lib/spark-job"]
    assert (units[0]["RuntimeDirectory"], units[0]["NotifyAccess"]) == (["spark-job/%i"], ["main"])
    assert (units[0]["WatchdogSec"], units[0]["WatchdogSignal"]) == (["600"], ["SIGKILL"])
    assert "LC_ALL=C.UTF-8" in units[0]["Environment"][0].split()
    assert "class-data" not in hosts[next(iter(JOBS[inventory_name]))].text("/etc/systemd/system/spark-job@.service")


def test_class_data_is_made_beside_the_jobs(rendered: Callable[[str], Hosts]) -> None:
    """Where it is asked for: named by release and jars, out of the jobs' reach, away before a start when it was cut.

    Java takes it where the class path is that of whom it was made by: the jars are those of the jobs.
    """
    unit, maker = (
        rendered("varied")["dc1-spark1"].unit(name) for name in ("spark-job@.service", "spark-job-class-data.service")
    )
    archive = f"/var/cache/spark-job-class-data/{RELEASE}-{JARS.rpartition('/')[2]}.jsa"
    script = rendered("varied")["dc1-spark1"].text("/etc/spark-job/class-data.sh")
    assert 'SPARK_SUBMIT_OPTS="-Xlog:disable -XX:TieredStopAtLevel=1 -XX:ArchiveClassesAtExit=' in script
    assert f"archive={archive}\n" in script and f"/bin/millrace-jobs class-data --jars {JARS} " in script
    assert (
        f'"SPARK_SUBMIT_OPTS=-XX:SharedArchiveFile={archive} -XX:+VerifySharedSpaces -Xlog:cds=off '
        '-Xlog:cds+dynamic=off"' in unit["Environment"]
    )
    assert "spark-job-class-data.service" in unit["Wants"]
    assert unit["ExecStartPre"][0].startswith("+-/bin/sh -c '[ ") and archive in unit["ExecStartPre"][0]
    assert (maker["CacheDirectory"], maker["PrivateNetwork"], maker["CapabilityBoundingSet"]) == (
        ["spark-job-class-data"],
        ["yes"],
        [""],
    )


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_release(inventory_name: str, hosts: Hosts) -> None:
    """Archives and the virtual environment are in folders named by what they were made from."""
    for name in JOBS[inventory_name]:
        assert {archive["src"].rpartition("/")[2]: archive["dest"] for archive in hosts[name].archives} == {
            "spark-wheelhouse-4.2.0.tar": "/opt/spark-job/wheelhouse/dddddddddddd",
            "millrace_jobs-0.1.0-py3-none-any.whl": "/opt/spark-job/wheel/cccccccccccc",
            "spark-jars-4.2.0.tgz": JARS,
        }
        assert hosts[name].items("links") == [
            {"path": "/opt/spark-job/current", "target": f"/opt/spark-job/releases/{RELEASE}"}
        ]


@pytest.mark.parametrize("inventory_name", INVENTORIES)
def test_directories_of_a_producer(inventory_name: str, hosts: Hosts) -> None:
    """The job owns its home, checkpoint and input, and nothing else."""
    name = next(iter(JOBS[inventory_name]))
    owned = {"owner": "spark", "group": "spark", "mode": "0750", "mount": False}
    home = "/var/lib/spark-job"
    assert hosts[name].roles["spark_job"]["directories"] == [
        *(
            {"path": f"/opt/spark-job{folder}", "owner": "root", "group": "root", "mode": "0755", "mount": False}
            for folder in ("", "/jars", "/releases")
        ),
        {"path": "/etc/spark-job", "owner": "root", "group": "spark", "mode": "0750", "mount": False},
        *(
            {"path": path, **owned}
            for path in (
                home,
                f"{home}/publish_lines",
                f"{home}/publish_lines/checkpoint",
                f"{home}/publish_lines/input",
            )
        ),
        {"path": "/etc/millrace/tls", "owner": "root", "group": "spark", "mode": "0750", "mount": False},
    ]


def test_two_jobs_of_one_kind_on_one_node(rendered: Callable[[str], Hosts]) -> None:
    """Instances are named apart from the job that they run; a password in the properties hides that file's diff."""
    node = rendered("varied")["dc1-spark1"]
    assert [file["path"] for file in node.items("files") if file["secret"]] == ["/etc/spark-job/lines-a.json"]
    assert {
        (file["owner"], file["group"], file["mode"])
        for file in node.items("files")
        if file["path"].startswith("/etc/spark-job/")
    } == {("root", "spark", "0640")}
    assert "JOB=publish_lines\n" in node.text("/etc/spark-job/lines-a.env")
    assert "JOB=publish_lines\n" in node.text("/etc/spark-job/lines-b.env")
    assert [(unit["name"], unit["enabled"], unit["state"]) for unit in node.services] == [
        ("spark-job@lines-a.service", True, "converged"),
        ("spark-job@lines-b.service", False, "stopped"),
    ]
    assert digest(node, "lines-a") != digest(node, "lines-b")
    assert node.unit("spark-job@.service")["TimeoutStopSec"] == ["600"]
    drop_in = node.text("/etc/systemd/system/spark-job@.service.d/overrides.conf")
    assert drop_in.endswith("\n[Service]\nIOAccounting=true\n")


def test_the_drop_in_of_one_job(rendered: Callable[[str], Hosts]) -> None:
    """It goes before that of all jobs: systemd takes drop-ins in the order of their names, and the last one wins."""
    node, plain = rendered("varied")["dc1-spark1"], rendered("lab")["dc1-spark1"]
    folder = "/etc/systemd/system/spark-job@lines-a.service.d"
    assert node.text(f"{folder}/unit_overrides.conf").splitlines() == [
        "# Written by the role spark_job: unit_overrides of lines-a in spark_job_jobs.", "",
        "[Service]", "Environment=A=1", "Environment=B=2", "IOAccounting=false", "Nice=5",
    ]  # fmt: skip
    assert "overrides.conf" < "unit_overrides.conf"
    assert [each["owner"] for each in node.items("directories") if each["path"] == folder] == ["root"]
    for host, name in ((node, "lines-b"), (plain, "publish_lines")):
        path = f"/etc/systemd/system/spark-job@{name}.service.d"
        assert host.file(f"{path}/unit_overrides.conf")["state"] == "absent"
        assert path not in [each["path"] for each in host.items("directories")]


def test_an_unchanged_job_is_not_restarted(rendered: Callable[[str], Hosts]) -> None:
    """The digest of a job does not depend on the other nodes' jobs."""
    assert digest(rendered("varied")["dc1-spark2"], "count_words") == digest(
        rendered("lab")["dc1-spark2"], "count_words"
    )
