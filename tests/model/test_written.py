"""Other ways to make a mistake that a row of docs/errors.md shows in one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from model.batches import Batches, Row, batched, judge, variables
from model.mistakes.base import JOB, LAB, spoil
from model.said import check

EXTERNAL = {"name": "EXTERNAL", "address": "{{ client_address }}", "port": 9095, "protocol": "SASL_SSL"}

OF_VAULT = "-Ddsn={{ vault.pki_passphrase }}"  # its name does not tell
DEBUGGER = "JAVA_TOOL_OPTIONS=-agentlib:jdwp=server=y"
STORE = {"path": "/etc/kafka/tls/own-ca.pem", "authorities": ["infra"], "group": "kafka"}
CERTIFICATE = {"name": "x", "subject": "CN=x,O=lab", "authority": "infra"}


def reported(rows: Sequence[Row], folder: Path) -> None:
    """Look for the code of each row among those of the lab."""
    problems, lines = check(spoil(folder / "inventory", replace(LAB, variables=variables(rows))))
    assert Counter(code for _, code in rows) <= Counter(problem.code for problem in problems), lines


@pytest.mark.parametrize(
    "batches",
    batched(
        [
            ({"kafka": {"kafka_log_dirs": ["/data/kafka1", "/data/kafka1/"]}}, "LOG_DIRS_DUPLICATE"),
            ({"zookeeper": {"zookeeper_data_dir": "/d/z/", "zookeeper_data_log_dir": "/d/z"}}, "ZOOKEEPER_DIRS_SAME"),
            (
                {"kafka": {"kafka_users": [{"name": "a", "password": "long enough 1", "iterations": 20000}]}},
                "USER_ITERATIONS",
            ),
            ({"kafka": {"site_listeners": [{**EXTERNAL, "advertised_port": 99999}]}}, "PORT_RANGE"),
            ({"kafka": {"kafka_java_executable": "/home/ops/jdk/bin/java"}}, "PATH_SYSTEM"),
            ({"spark": {"java_executable": "java"}}, "PATH_RELATIVE"),
            ({"spark": {"java_executable": "/usr/lib/jvm/java-11-openjdk-amd64/bin/java"}}, "JAVA_OLD"),
            ({"all": {"java_executable": "/usr/lib/jvm/java-8-openjdk-amd64/bin/java"}}, "JAVA_OLD"),
            ({"kafka": {"kafka_class_path": ["plugins/quota.jar"]}}, "PATH_RELATIVE"),
            ({"kafka": {"kafka_class_path": ["/opt/a.jar:/opt/b.jar"]}}, "PATH_SIGNS"),
            ({"zookeeper": {"zookeeper_class_path": ["/home/ops/*"]}}, "PATH_SYSTEM"),
            ({"kafka": {"kafka_gc_log_dir": "/var/log/my kafka"}}, "PATH_SIGNS"),
            ({"kafka": {"kafka_gc_log_dir": "/tmp/kafka-gc"}}, "PATH_EMPTIED"),
            ({"zookeeper": {"zookeeper_gc_log_dir": "/dev/shm/zookeeper"}}, "PATH_EMPTIED"),
            ({"zookeeper": {"zookeeper_gc_log_dir": "/var/log/zookeeper-%H"}}, "PATH_SIGNS"),
            ({"kafka": {"site_listeners": [{**EXTERNAL, "keystore": "/etc/kafka/k b.pem"}]}}, "PATH_SIGNS"),
            ({"zookeeper": {"zookeeper_data_dir": "/data/zö"}}, "PATH_SIGNS"),
            ({"all": {"pki_directory": "~/pki"}}, "PATH_RELATIVE"),
            ({"all": {"pki_directory": "pki"}}, "PATH_RELATIVE"),
            ({"all": {"pki_directory": "~root/pki"}}, "PATH_RELATIVE"),
            ({"all": {"admin_tls": {"certificate": "/a.pem", "ca": "~/ca.pem"}}}, "PATH_RELATIVE"),
            ({"all": {"kafka_admin_listeners": {"REPLICATION": {"ssl.ca.location": "ca.pem"}}}}, "PATH_RELATIVE"),
            ({"all": {"pki_requests_directory": "requests"}}, "PATH_RELATIVE"),
            ({"kafka": {"site_certificates": [{**CERTIFICATE, "key": "~/k.pem"}]}}, "PATH_RELATIVE"),
            ({"kafka": {"site_truststores": [{**STORE, "extra": ["a.pem"]}]}}, "PATH_RELATIVE"),
            ({"zookeeper": {"zookeeper_java_options": ["--class-path=/opt/a.jar"]}}, "OPTION_CLASS_PATH"),
            ({"kafka": {"kafka_gc_options": ["-classpath", "/opt/a.jar"]}}, "OPTION_CLASS_PATH"),
            (
                {"kafka": {"kafka_unit_overrides": {"Service": {"Environment": "CLASSPATH=/opt/a.jar"}}}},
                "UNIT_ENVIRONMENT",
            ),
            (
                {"kafka": {"kafka_unit_overrides": {"Service": {"Environment": "A=http://ops:ieSh4Tho@p:3128"}}}},
                "UNIT_SECRET",
            ),
            ({"kafka": {"kafka_unit_overrides": {"Service": {"Environment": ["B=1", OF_VAULT]}}}}, "UNIT_SECRET"),
            ({"zookeeper": {"more": [OF_VAULT], "zookeeper_java_options": "{{ more }}"}}, "OPTION_SECRET"),
            (
                {
                    "spark_consumer": {
                        "spark_job_jobs": [{**JOB, "unit_overrides": {"Service": {"Environment": OF_VAULT}}}]
                    }
                },
                "UNIT_SECRET",
            ),
            ({"dc1-kafka1": {"rack": ""}}, "RACK_MISSING"),
            ({"all": {"run_lock_directory": "locks"}}, "LOCK_DIRECTORY"),
            ({"zookeeper": {"zookeeper_unit_overrides": {"Service": None}}}, "UNIT_SECTION"),
            ({"spark_consumer": {"spark_job_jobs": [{"name": "../old", "state": "absent"}]}}, "JOB_NAME"),
            ({"spark_consumer": {"spark_job_jobs": [{**JOB, "unit_overrides": {"Nice": 5}}]}}, "UNIT_SECTION"),
            ({"spark_consumer": {"spark_job_jobs": [{**JOB, "unit_overrides": {"service": {}}}]}}, "SECTION_UNKNOWN"),
            (
                {
                    "spark_consumer": {
                        "spark_job_jobs": [{**JOB, "unit_overrides": {"Service": {"SetCredential": "a:b"}}}]
                    }
                },
                "UNIT_SECRET",
            ),
            (
                {"spark": {"spark_job_jobs": [{**JOB, "unit_overrides": {"Service": {"Environment": DEBUGGER}}}]}},
                "DEBUGGER_OPEN",
            ),
            ({"kafka": {"kafka_prune": {"users": ["?*"], "max_deletes": 1}}}, "PRUNE_SCOPE"),
            ({"kafka": {"kafka_prune": {"topics": ["[a-z]*"], "max_deletes": 1}}}, "PRUNE_SCOPE"),
            ({"kafka": {"kafka_prune": {"acls": ["User:orders-?"], "max_deletes": 1}}}, "PRUNE_SCOPE"),
            (
                {"kafka": {"site_certificates": [{**CERTIFICATE, "path": "/etc/kafka/tls/ca.pem"}]}},
                "CERTIFICATE_DUPLICATE",
            ),
        ]
    ),
)
def test_is_said(batches: Batches, tmp_path: Path) -> None:
    judge(batches, reported, tmp_path)
