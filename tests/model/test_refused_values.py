"""Values that products refuse, or take for something else, when the service starts: reported at their place, once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typed_values import meant_items
from model.batches import Batches, batched, judge
from model.mistakes.access import users
from model.mistakes.base import JOB, LAB, spoil
from model.mistakes.jobs import job
from model.said import check
from model.test_fitting_values import OF_ONE, UNIT, java, unit
from model.test_meant import PLACE, SPARK, config, reported, said, topics

JAVA, JVM_PATH = "group kafka/kafka_java_options", "JVM_PATH group kafka/kafka_java_options"
LOCAL_DIR = f"JOB_DIRECTORY {SPARK}[spark.local.dir]"


def spark(**settings: Any) -> dict[str, Any]:
    """Return settings of Spark of the lab's job, with _ for each dot."""
    return job(spark={name.replace("_", "."): value for name, value in settings.items()})


def with_unit(spark_settings: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Return settings of Spark of the lab's job, and settings of its unit."""
    entry = {**JOB, "config": {**JOB["config"], "spark": spark_settings}, "unit_overrides": {"Service": settings}}
    return {"spark_consumer": {"spark_job_jobs": [entry]}}


@pytest.mark.parametrize(
    "batches",
    batched([
        # Folders and files that a JVM writes.
        (java("-Djava.io.tmpdir=tmp"), [JVM_PATH]),
        (java("-Djava.io.tmpdir="), [JVM_PATH]),
        (java("-Djava.io.tmpdir=~/tmp"), [JVM_PATH]),
        (java("-Djava.io.tmpdir=/opt/kafka/tmp"), [JVM_PATH]),
        (java("-Djava.io.tmpdir=/var/tmp"), []),
        (java("-Djava.io.tmpdir=/var/lib/kafka/tmp"), []),
        ({"kafka": {**java("-Djava.io.tmpdir=/srv/tmp")["kafka"], **unit(ReadWritePaths=["/srv"])["kafka"]}}, []),
        ({"kafka": {**java("-Djava.io.tmpdir=/var/cache/k")["kafka"], **unit(CacheDirectory="k")["kafka"]}}, []),
        (java("-XX:ErrorFile=hs_err.log"), [JVM_PATH]),
        (java("-XX:ErrorFile=/var/log/kafka/hs_err%p.log"), []),
        (java("-XX:HeapDumpPath=/opt/dumps"), [JVM_PATH]),
        (java("-Xlog:safepoint:file=safepoint.log"), [JVM_PATH]),
        (java("-Xlog:safepoint:stdout"), []),
        (java("-Xlog:safepoint:file=/dev/stderr"), []),
        ({"zookeeper": {"zookeeper_java_options": ["-Djava.io.tmpdir=/opt/tmp"]}},
         ["JVM_PATH group zookeeper/zookeeper_java_options"]),
        ({"zookeeper": {"zookeeper_java_options": ["-XX:ErrorFile=/var/log/zookeeper/hs_err.log"]}}, []),
        (unit(Environment="JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=tmp"),
         ["JVM_PATH group kafka/kafka_unit_overrides[Service][Environment]"]),
        # Those of a job.
        (spark(spark_driver_extraJavaOptions="-Djava.io.tmpdir=tmp"),
         [f"JVM_PATH {SPARK}[spark.driver.extraJavaOptions]"]),
        (spark(spark_local_dir="~/tmp"), [LOCAL_DIR]),
        (spark(spark_local_dir="tmp"), [LOCAL_DIR]),
        (spark(spark_local_dir="/tmp,/data/spark"), [LOCAL_DIR]),
        (spark(spark_local_dir="/home/spark"), [LOCAL_DIR]),
        (spark(spark_local_dir="/var/lib/spark-job/tmp"), []),
        (with_unit({"spark.local.dir": "/data/spark"}, ReadWritePaths="/data/spark"), []),
    ]),
)  # fmt: skip
def test_folders_that_a_service_writes(batches: Batches, tmp_path: Path) -> None:
    """They are absolute, and the unit's sandbox lets the service write there."""
    judge(batches, reported, tmp_path)


ON_ERROR, OPTION = "-XX:OnOutOfMemoryError", "spark.driver.extraJavaOptions"
FORM = f"OPTION_FORM {JAVA}"


@pytest.mark.parametrize(
    ("variables", "place", "option", "first", "quoted"),
    [
        (java(f"{ON_ERROR}=kill -9 %p", "-Dsite=x"), JAVA, f"{ON_ERROR}=kill -9 %p", f"{ON_ERROR}=kill",
         f"{ON_ERROR}='kill -9 %p'"),
        (java("-Dsite.title=My site -Dsite=x"), JAVA, "-Dsite.title=My site", "-Dsite.title=My",
         "-Dsite.title='My site'"),
        (job(spark={OPTION: f"{ON_ERROR}=kill -9 %p -Dsite=x"}), f"{SPARK}[{OPTION}]", f"{ON_ERROR}=kill -9 %p",
         f"{ON_ERROR}=kill", f"{ON_ERROR}='kill -9 %p'"),
    ],
)  # fmt: skip
def test_a_value_with_blanks(
    variables: dict[str, Any], place: str, option: str, first: str, quoted: str, tmp_path: Path
) -> None:
    """The whole value is named, with the form in which Java gets it."""
    _, lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)))
    assert lines == [
        f"OPTION_FORM {place} = {option}: the value contains a blank, which ends the option: Java reads only {first}, "
        f"and would not start; put the value in quotation marks: {quoted}"
    ]


@pytest.mark.parametrize(
    "batches",
    batched([
        (java(f"{ON_ERROR}='kill -9 %p'"), []),
        (java("-XX:OnError='gcore %p; dmesg'", "-Dsite.title='My site'"), []),
        (spark(spark_driver_extraJavaOptions=f"{ON_ERROR}='kill -9 %p'"), []),
        (java("my.title=a", "-Dsite=x"), [FORM]),
    ]),
)  # fmt: skip
def test_a_value_in_quotation_marks(batches: Batches, tmp_path: Path) -> None:
    judge(batches, reported, tmp_path)


def gc_logs(log_dir: str, path: str) -> dict[str, Any]:
    """Return a log directory of brokers, and the directory of their GC logs."""
    return {"kafka": {"kafka_log_dirs": [log_dir], "kafka_gc_log_dir": path}}


LOG_DIR, GC_LOG_DIR = "LOG_DIRS_PATH group kafka/kafka_log_dirs", "GC_LOG_DIR group kafka/kafka_gc_log_dir"


@pytest.mark.parametrize(
    "batches",
    batched([
        (gc_logs("data", "gc"), [LOG_DIR, GC_LOG_DIR]),
        (gc_logs("/", "/var/log"), [LOG_DIR, GC_LOG_DIR]),
        (gc_logs("/", "/var/log/kafka"), [LOG_DIR]),
        (gc_logs("/data/kafka1", "/data/kafka1/gc"), [GC_LOG_DIR]),
        ({"zookeeper": {"zookeeper_data_dir": "/", "zookeeper_gc_log_dir": "gc"}},
         ["GC_LOG_DIR group zookeeper/zookeeper_gc_log_dir", "PATH_ROOT group zookeeper/zookeeper_data_dir"]),
    ]),
)  # fmt: skip
def test_two_directories_are_two_mistakes(batches: Batches, tmp_path: Path) -> None:
    """A wrong log directory hides no mistake of the directory of GC logs."""
    judge(batches, reported, tmp_path)


SPECIFIER = "warn UNIT_SPECIFIER group kafka/kafka_unit_overrides[Service][Environment]"


@pytest.mark.parametrize(
    "batches",
    batched([
        (unit(Environment="JAVA_TOOL_OPTIONS=-XX:ErrorFile=/var/log/kafka/hs_err%p.log"), [SPECIFIER]),
        (unit(Environment=["A=1", "PATTERN=%d %n"]), [SPECIFIER]),
        (unit(Environment="SITE_URL=http://example.org/%C3%A4"), [SPECIFIER]),
        (unit(Environment=["A=50%", "B=%20", "C=%%p", "D=%%%%h"]), []),
        (with_unit({}, Environment="SITE_JOB=%i"), [f"warn UNIT_SPECIFIER {OF_ONE}[Environment]"]),
    ]),
)  # fmt: skip
def test_specifiers(batches: Batches, tmp_path: Path) -> None:
    """A % that systemd replaces is named, with the form that it keeps."""
    judge(batches, reported, tmp_path)


@pytest.mark.parametrize("name", ["dc1*kafka2", "dc1-kafka2.", "k" * 64])
def test_a_name_that_no_host_can_have(name: str, tmp_path: Path) -> None:
    """It is reported of the host, and not of each variable that contains it."""
    hosts = {"dc1-kafka2:": f"{name}:"}
    problems, lines = check(spoil(tmp_path / "inventory", replace(LAB, hosts=hosts)))
    assert [(problem.code, problem.hosts) for problem in problems] == [("HOST_NAME", (name,))], lines


def test_a_name_of_the_sites_own_in_base_hosts(tmp_path: Path) -> None:
    """A name that is no host of the inventory is reported of the variable."""
    hosts = [{"address": "192.0.2.7", "names": ["mirror*"]}]
    assert said(tmp_path, {"all": {"base_hosts": hosts}}) == ["HOSTS_LINE group all/base_hosts[192.0.2.7].names"]


BATCH, OWN_TOPIC = "kafka_config[message.max.bytes]", f"{PLACE}.config[max.message.bytes]"


@pytest.mark.parametrize(
    "batches",
    batched([
        (topics({"max.message.bytes": 2_000_000_000}), [f"TOPIC_MESSAGE {OWN_TOPIC}"]),
        (topics({"max.message.bytes": 200_000_000_000}), [f"TOPIC_PROPERTY_VALUE {OWN_TOPIC}"]),
        (config(message_max_bytes=2_000_000_000), [f"LIMIT_MEANT group kafka/{BATCH}"]),
        (config(message_max_bytes=200_000_000_000), [f"KAFKA_PROPERTY_VALUE group kafka/{BATCH}"]),
        (config(message_max_bytes=200_000_000), [f"LIMIT_MEANT group kafka/{BATCH}"]),
        (config(message_max_bytes=200_000_000, socket_request_max_bytes=100_000_000),
         ["LIMIT_MEANT group kafka/kafka_config[socket.request.max.bytes]"]),
    ]),
)  # fmt: skip
def test_the_largest_batch(batches: Batches, tmp_path: Path) -> None:
    """A size that exceeds several limits is one mistake."""
    judge(batches, reported, tmp_path)


@pytest.mark.parametrize(
    ("hosts", "place"),
    [
        ({"kafka_broker_id: 1,": "kafka_broker_id: [1],"}, "dc1-kafka1/kafka_broker_id"),
        ({"zookeeper_id: 1,": "zookeeper_id: {a: 1},"}, "dc1-zk1/zookeeper_id"),
    ],
)
def test_a_wrong_type_of_one_host(hosts: dict[str, str], place: str, tmp_path: Path) -> None:
    """It is reported once, although templates of other hosts fail on it."""
    _, lines = check(spoil(tmp_path / "inventory", replace(LAB, hosts=hosts)))
    assert [line.split(":")[0] for line in lines] == [f"INPUT_REFUSED {place}"]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("-Da='x -Db=y' -Dc=z", ["-Da='x -Db=y'", "-Dc=z"]),
        (f'-Da=b {ON_ERROR}="kill -9 %p"', ["-Da=b", f'{ON_ERROR}="kill -9 %p"']),
        ("-cp /opt/a.jar -Da='b", ["-cp /opt/a.jar", "-Da='b"]),
    ],
)
def test_options_that_one_text_means(text: str, items: list[str]) -> None:
    """The advised list has each text between quotation marks in one entry."""
    assert meant_items(text) == items


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("ansible_sftp_extra_arg", "ansible_sftp_extra_args"),
        ("ansible_scp_extra_arg", "ansible_scp_extra_args"),
        ("ansible_ssh_extra_arg", "ansible_ssh_extra_args"),
        ("ansible_become_pas", "ansible_become_pass"),
    ],
)
def test_a_misspelt_variable_of_a_connection(name: str, near: str, tmp_path: Path) -> None:
    """The advice is the variable of the same plugin."""
    _, lines = check(spoil(tmp_path / "inventory", replace(LAB, variables={"all": {name: "x"}})))
    assert [line.rpartition("; ")[2] for line in lines] == [f"did you mean {near}?"]


@pytest.mark.parametrize(
    "batches",
    batched([
        ({"kafka": {"kafka_stop_timeout": 2_000_000_001}}, ["TIMEOUT_LONG group kafka/kafka_stop_timeout"]),
        ({"kafka": {"kafka_restart_timeout": 99_999_999_999_000}}, ["TIMEOUT_LONG group kafka/kafka_restart_timeout"]),
        ({"zookeeper": {"zookeeper_stop_timeout": 604_801}}, ["TIMEOUT_LONG group zookeeper/zookeeper_stop_timeout"]),
        ({"zookeeper": {"zookeeper_restart_timeout": 604_800}}, []),
        ({"spark": {"spark_job_stop_timeout": 900_000}}, ["TIMEOUT_LONG group spark/spark_job_stop_timeout"]),
        (unit(TimeoutStartSec=18_446_744_073_709), [f"UNIT_VALUE {UNIT}[TimeoutStartSec]"]),
        (unit(RestartSec="5min 20s"), []),
    ]),
)  # fmt: skip
def test_durations(batches: Batches, tmp_path: Path) -> None:
    """One of more than a week makes no sense, and systemd ignores one that does not fit into 64 bits."""
    judge(batches, reported, tmp_path)


def path_form(group: str, *names: str) -> list[str]:
    """Return the reported problems of paths of files in variables of a group."""
    return [f"PATH_FORM group {group}/{name}" for name in names]


def own_pki(path: str, bundle: str) -> dict[str, Any]:
    """Return a certificate and a truststore of the site's own."""
    certificate = {"name": "own", "subject": "CN=own", "authority": "infra", "names": ["a.example.org"], "path": path}
    store = {"path": bundle, "authorities": ["infra"], "group": "kafka"}
    return {"all": {"site_certificates": [{**certificate, "group": "kafka"}], "site_truststores": [store]}}


@pytest.mark.parametrize(
    "batches",
    batched([
        ({"kafka": {"kafka_keystore": "/etc/kafka/tls/keystore.pem/", "kafka_class_path": ["/opt/a.jar/", "/opt/b/"]}},
         path_form("kafka", "kafka_keystore", "kafka_class_path")),
        ({"kafka": {"kafka_java_executable": "/usr/bin/java/"}}, path_form("kafka", "kafka_java_executable")),
        ({"kafka": {"kafka_gc_log_dir": "/var/log/kafka/"}}, []),
        ({"spark": {"spark_job_python": "/usr/bin/python3/"}}, path_form("spark", "spark_job_python")),
        ({"all": {"failover_lock": "/srv/lock/", "pki_requests_directory": "/srv/requests/"}},
         path_form("all", "failover_lock")),
        ({"kafka": {"kafka_archive": "/srv/kafka_2.13-3.9.2.tgz/"}}, path_form("kafka", "kafka_archive")),
        (own_pki("/etc/kafka/own/k.pem/", "/etc/kafka/own/ca.pem/"),
         ["CERTIFICATE_PATH group all/site_certificates[own]",
          "CERTIFICATE_PATH group all/site_truststores[/etc/kafka/own/ca.pem/]"]),
    ]),
)  # fmt: skip
def test_a_file_whose_path_ends_with_a_slash(batches: Batches, tmp_path: Path) -> None:
    """No program opens it; the path of a folder may end so."""
    judge(batches, reported, tmp_path)


@pytest.mark.parametrize(
    ("own", "of_all", "place"),
    [
        ({"log.retention.minutes": 400}, {"log.retention.hours": 5}, "kafka_config_overrides[log.retention.minutes]"),
        ({"log.retention.hours": 5}, {"log.retention.minutes": 400}, "kafka_config_overrides[log.retention.hours]"),
    ],
)
def test_one_property_under_two_names(own: dict[str, int], of_all: dict[str, int], place: str, tmp_path: Path) -> None:
    """The place is that of the host, and the message names the other place."""
    values = {"kafka": {"kafka_config": of_all}, "dc1-kafka1": {"kafka_config_overrides": own}}
    _, lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=values)))
    ((name, value),) = of_all.items()
    (number,) = own.values()
    begin = f"PROPERTY_SYNONYM dc1-kafka1/{place} = {number}: kafka_config[{name}] = {value} sets"
    assert len([line for line in lines if line.startswith(begin)]) == 1, lines


NUMBERS = """
kafka_limit_nofile: 1:30
kafka_restart_margin: 010
kafka_heap: yes
kafka_config: {num.io.threads: 010, log.retention.hours: 1:30}
kafka_version: on
"""


def test_the_advice_where_a_number_is_wanted(tmp_path: Path) -> None:
    """It is a number, and not quotation marks, with which the value would be refused again."""
    hosts, files = {"client_address: 198.18.1.31": "client_address: no"}, {"group_vars/kafka/w.yml": NUMBERS}
    _, lines = check(spoil(tmp_path / "inventory", replace(LAB, hosts=hosts, files=files)))
    advice = {line.partition("/")[2].partition(" ")[0]: line.rpartition("; ")[2] for line in lines}
    assert advice == {
        "kafka_limit_nofile": "write a number without a colon, such as 90",
        "kafka_restart_margin": "write 10",
        "kafka_heap": "write a size, such as 6g",
        "kafka_config[num.io.threads]": "write 10, or put it in quotes if the zeros belong to it",
        "kafka_config[log.retention.hours]": "write a number without a colon, or put it in quotes if it is a text",
        "client_address": "write an address, such as 198.51.100.7",
        "kafka_version": "put it in quotes: yes, no, on and off are true and false in YAML",
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (" ", "' ': empty: no client could log in with it; set the name with which the client logs in, for"),
        (" orders", "' orders': begins or ends with a blank: no client could log in with it; write orders"),
        (
            "ord\ners",
            "'ord\\ners': contains '\\n': no client could log in with it; use printable characters in one line",
        ),
        ("a\tb\x07", "'a\\tb\\x07': contains '\\t', '\\x07': no client could log in with it; use printable characters"),
    ],
)
def test_a_name_of_a_user(name: str, said: str, tmp_path: Path) -> None:
    """The message says what is wrong with this name, and shows it."""
    user = {"name": name, "password": "{{ vault.passwords.lab }}2"}
    _, lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=users(user))))
    assert [line[: line.index(said) + len(said)] for line in lines if said in line] == [
        f"USER_NAME group all/kafka_users[3].name = {said}"
    ], lines
