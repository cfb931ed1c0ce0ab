"""Files, units and firewalls of a Spark cluster, and of the job that runs on it. No hosts."""

import json

import pytest

from render.conftest import Hosts

ADDRESSES = {
    "dc1-master1": "198.18.40.51",
    "dc1-worker1": "198.18.40.61",
    "dc1-worker2": "198.18.40.62",
    "dc1-spark1": "198.18.40.31",
    "dc1-spark2": "198.18.40.32",
}
LOGIN = [
    "spark.authenticate true",
    "spark.network.crypto.cipher AES/GCM/NoPadding",
    "spark.network.crypto.enabled true",
]

pytestmark = pytest.mark.parametrize("inventory_name", ["lab_spark_cluster"])


def test_daemons(hosts: Hosts) -> None:
    """Each listens at the address of its host, with its pages on loopback; one unit on each host."""
    master = hosts["dc1-master1"].text("/etc/systemd/system/spark-master.service")
    assert "--host 198.18.40.51 --port 7077" in master
    worker = hosts["dc1-worker2"].text("/etc/systemd/system/spark-worker.service")
    assert "--host 198.18.40.62 --port 7078" in worker
    assert "--cores 2" in worker
    assert "spark://198.18.40.51:7077" in worker
    for text in (master, worker):
        assert "SPARK_LOCAL_IP=127.0.0.1" in text
        assert "JAVA_HOME=/usr PATH=" in text
    units = {name: [unit["name"] for unit in hosts[name].services if "spark" in unit["name"]] for name in ADDRESSES}
    assert units == {
        "dc1-master1": ["spark-master.service"],
        "dc1-worker1": ["spark-worker.service"],
        "dc1-worker2": ["spark-worker.service"],
        "dc1-spark1": ["spark-job@publish_lines.service"],
        "dc1-spark2": ["spark-job@count_words.service"],
    }


def test_the_secret_is_in_one_file_of_each_host(hosts: Hosts) -> None:
    """Which only the user of the daemons and of the job reads."""
    files = {
        "dc1-master1": "/etc/spark-cluster/spark.conf",
        "dc1-worker1": "/etc/spark-cluster/spark.conf",
        "dc1-worker2": "/etc/spark-cluster/spark.conf",
        "dc1-spark2": "/etc/spark-job/cluster/spark-defaults.conf",
    }
    secrets = set()
    for host, path in files.items():
        lines = hosts[host].secret(path).splitlines()
        found = [line for line in lines if "authenticate" in line or "crypto" in line]
        (secret,) = (line for line in found if line.startswith("spark.authenticate.secret "))
        secrets.add(secret.split()[1])
        assert [line for line in found if line != secret] == LOGIN
        assert (hosts[host].file(path)["group"], hosts[host].file(path)["mode"]) == ("spark", "0640")
    assert len(secrets) == 1
    for host in ADDRESSES:
        open_files = [{**file, "secret_base64": ""} for file in hosts[host].items("files")]
        assert not any(secret in json.dumps(open_files) for secret in secrets)


def test_a_job_on_the_cluster(hosts: Hosts) -> None:
    """Master, addresses and ports in its properties; the Python of its release for executors."""
    spark = json.loads(hosts["dc1-spark2"].secret("/etc/spark-job/count_words.json"))["spark"]
    assert spark["spark.master"] == "spark://198.18.40.51:7077"
    assert (spark["spark.driver.host"], spark["spark.driver.port"]) == ("198.18.40.32", "7200")
    assert (spark["spark.cores.max"], spark["spark.executor.memory"]) == ("2", "512m")
    environment = hosts["dc1-spark2"].text("/etc/spark-job/count_words.env")
    home = hosts["dc1-worker1"].items("links")[0]["target"]
    assert f"PYSPARK_PYTHON={home}/bin/python\n" in environment


def test_who_may_connect(hosts: Hosts) -> None:
    """Only processes of the cluster, and nobody to the pages; all other ports are closed."""
    workers, jobs = "198.18.40.61, 198.18.40.62", "198.18.40.31, 198.18.40.32"
    rules = {host: hosts[host].items("nftables")[0]["content"] for host in ADDRESSES}
    assert f"tcp dport 7077 ip saddr {{ {jobs}, {workers} }} accept" in rules["dc1-master1"]
    assert "tcp dport 7078 ip saddr { 198.18.40.51 } accept" in rules["dc1-worker1"]
    assert f"tcp dport 7103 ip saddr {{ {jobs}, {workers} }} accept" in rules["dc1-worker1"]
    assert f"tcp dport 7201 ip saddr {{ 198.18.40.51, {workers} }} accept" in rules["dc1-spark2"]
    for host in ADDRESSES:
        assert "tcp dport != { 22 } drop" in rules[host], rules[host]
