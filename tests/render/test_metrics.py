"""What hosts of the group metrics get: exporters on loopback, a proxy with TLS; and who asks for it. No hosts."""

import base64
import json
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from model.mistakes.base import VAULT

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import find_collections, load
from render.conftest import Hosts
from render.site import ROOT
from render.test_firewall import table

ROLE = ROOT / "roles" / "prometheus"
NODE = "/etc/systemd/system/prometheus-node-exporter.service.d/millrace.conf"
PROXY = "/etc/systemd/system/prometheus-exporter-exporter.service.d/millrace.conf"
MODULES = "/etc/prometheus/millrace-metrics.yml"
ADDRESSES = {"dc1-kafka1": "198.19.1.21", "dc1-zk1": "198.19.1.11", "dc1-mon1": "198.19.1.51"}
EXPORTERS = {
    "dc1-kafka1": {"node": 9100, "kafka": 7071},
    "dc1-zk1": {"node": 9100, "zookeeper": 7000},
    "dc1-mon1": {"node": 9100},
}
AGENT = (
    "-javaagent:/opt/jmx-exporter/1.0.1/jmx_prometheus_javaagent-1.0.1.jar=127.0.0.1:7071:/etc/kafka/jmx_exporter.yml"
)
PROVIDER = {
    "metricsProvider.className": "org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider",
    "metricsProvider.httpHost": "127.0.0.1",
    "metricsProvider.httpPort": "7000",
}


def command(text: str) -> list[str]:
    """Return the words of the command with which a drop-in replaces that of its unit."""
    first, last = (line for line in text.replace("\\\n", " ").splitlines() if line.startswith("ExecStart="))
    assert first == "ExecStart="
    return last.removeprefix("ExecStart=").split()


@pytest.mark.parametrize("inventory_name", ["dc1"])
@pytest.mark.parametrize("name", ADDRESSES)
def test_exporter_and_proxy_of_a_host(name: str, inventory_name: str, hosts: Hosts) -> None:
    """The exporter has no TLS, so it listens on loopback; the proxy asks each client for a certificate."""
    host = hosts[name]
    assert command(host.text(NODE)) == [
        "/usr/bin/prometheus-node-exporter",
        "--web.listen-address=127.0.0.1:9100",
        "--collector.textfile.directory=/var/lib/prometheus/node-exporter",
    ]
    assert command(host.text(PROXY)) == [
        "/usr/bin/prometheus-exporter-exporter",
        "-config.file=/etc/prometheus/millrace-metrics.yml",
        "-web.listen-address=",
        f"-web.tls.listen-address={ADDRESSES[name]}:9990",
        "-web.tls.cert=/etc/prometheus/tls/metrics.pem",
        "-web.tls.key=/etc/prometheus/tls/metrics.pem",
        "-web.tls.ca=/etc/prometheus/tls/ca.pem",
        "-web.tls.verify",
        "-web.tls.certmatch=^prometheus$$",
    ]
    assert "ConditionPathExists=/etc/prometheus/millrace-metrics.yml" in host.text(PROXY)
    modules = yaml.safe_load(host.text(MODULES))["modules"]
    assert {key: (one["http"]["address"], one["http"]["port"]) for key, one in modules.items()} == {
        key: ("127.0.0.1", port) for key, port in EXPORTERS[name].items()
    }
    assert {one["http"]["verify"] for one in modules.values()} == {False}  # it rejects what the agent serves
    units = {unit["name"]: unit for unit in host.roles["metrics"]["units"]}
    assert {unit: (one["state"], len(one["digest"] or "")) for unit, one in units.items()} == {
        "prometheus-node-exporter.service": ("converged", 64),
        "prometheus-exporter-exporter.service": ("converged", 64),
        "service-metrics.timer": ("started", 0),
    }


@pytest.mark.parametrize("inventory_name", ["dc1"])
def test_certificates(inventory_name: str, hosts: Hosts) -> None:
    """Only the monitoring host has the client's certificate."""
    folder = "/etc/prometheus/tls/"
    for name in ADDRESSES:
        held = {file["path"].removeprefix(folder) for file in hosts[name].items("files") if folder in file["path"]}
        assert held == {"metrics.pem", "ca.pem", *(["prometheus.pem"] if name == "dc1-mon1" else [])}, name


@pytest.mark.parametrize("inventory_name", ["dc1"])
def test_services_and_certificates_of_a_host(inventory_name: str, hosts: Hosts) -> None:
    """The units of all its functions, and all files with certificates."""
    found = json.loads(hosts["dc1-kafka1"].text("/opt/service-metrics/services.json"))
    program = hosts["dc1-kafka1"].file("/opt/service-metrics/service_metrics.pyz")
    assert base64.b64decode(program["secret_base64"]).startswith(b"PK")
    (start,) = hosts["dc1-kafka1"].unit("service-metrics.service")["ExecStart"]
    assert start.split()[:4] == ["/usr/bin/python3", "-I", program["path"], "/opt/service-metrics/services.json"]
    own = ["prometheus-node-exporter.service", "prometheus-exporter-exporter.service", "service-metrics.timer"]
    assert sorted(found["units"]) == sorted(["kafka.service", *own])
    assert sorted(found["certificates"]) == [
        "/etc/kafka/tls/ca.pem",
        "/etc/kafka/tls/keystore.pem",
        "/etc/kafka/tls/zookeeper.pem",
        "/etc/prometheus/tls/ca.pem",
        "/etc/prometheus/tls/metrics.pem",
    ]
    spark = json.loads(hosts["dc1-spark1"].text("/opt/service-metrics/services.json"))
    assert "spark-job@publish_lines.service" in spark["units"]
    standby = json.loads(hosts["dc1-spark4"].text("/opt/service-metrics/services.json"))
    assert "spark-job@project_orders.service" not in standby["units"], "a standby is stopped on purpose"


@pytest.mark.parametrize("inventory_name", ["dc1"])
def test_only_monitoring_hosts_reach_the_proxy(inventory_name: str, hosts: Hosts) -> None:
    """A host without servers is closed but for SSH and this port."""
    allowed = "    tcp dport 9990 ip saddr { 198.19.1.51 } accept\n"
    for name, rendered in hosts.items():
        rules = table(rendered)["content"]
        assert allowed in rules, name
        if "spark" in name or "mon" in name:
            assert rules.partition("!= syn accept\n")[2] == f"{allowed}    tcp dport != {{ 22 }} drop\n  }}\n}}\n", name
        else:
            assert "9990" in rules.partition(allowed)[2], name


@pytest.mark.parametrize("inventory_name", ["dc1"])
def test_servers(inventory_name: str, hosts: Hosts) -> None:
    """A broker has the agent and its file, a ZooKeeper server its own provider."""
    (start,) = hosts["dc1-kafka1"].unit("kafka.service")["ExecStart"]
    assert AGENT in start.split()
    assert "includeObjectNames" in hosts["dc1-kafka1"].text("/etc/kafka/jmx_exporter.yml")
    settings = hosts["dc1-zk1"].properties("/etc/zookeeper/zoo.cfg")
    assert {key: value for key, value in settings.items() if key.startswith("metricsProvider")} == PROVIDER


def scrape_jobs(inventory: str, host: str) -> dict[str, dict[str, Any]]:
    """Return the scrape jobs by name in the configuration that Prometheus gets; the template is that of the role."""
    variables = load(ROOT / "inventories" / inventory, {"vault": VAULT}).read().hosts[host]
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))
    wired = {name: value for name, value in variables.items() if name.startswith("prometheus_")}
    text = (ROLE / "templates" / "prometheus.yml.j2").read_text(encoding="utf-8")
    templar = Templar(loader=DataLoader(), variables={**defaults, **wired})
    found = yaml.safe_load(templar.template(trust_as_template(text)))
    return {job["job_name"]: job for job in found["scrape_configs"]}


def test_scrape_jobs() -> None:
    """One job for each exporter, with TLS; labels name the host and where it stands."""
    jobs = scrape_jobs("dc1", "dc1-mon1")
    assert set(jobs) == {"lag_exporter", "kafka", "node", "zookeeper"}
    for name, count in {"kafka": 5, "node": 16, "zookeeper": 5}.items():
        job = jobs[name]
        assert len(job["static_configs"]) == count, name
        assert (job["metrics_path"], job["params"], job["scheme"]) == ("/proxy", {"module": [name]}, "https")
        assert job["tls_config"] == {
            "ca_file": "/etc/prometheus/tls/ca.pem",
            "cert_file": "/etc/prometheus/tls/prometheus.pem",
            "key_file": "/etc/prometheus/tls/prometheus.pem",
            "server_name": "millrace-metrics",
        }
    assert jobs["kafka"]["static_configs"][1] == {
        "targets": ["198.19.1.22:9990"],
        "labels": {"instance": "dc1-kafka2", "datacenter": "dc1", "rack": "b"},
    }
    (of_monitoring,) = (one for one in jobs["node"]["static_configs"] if one["labels"]["instance"] == "dc1-mon1")
    assert of_monitoring == {"targets": ["198.19.1.51:9990"], "labels": {"instance": "dc1-mon1", "datacenter": "dc1"}}


@pytest.mark.parametrize("inventory_name", ["lab"])
def test_without_the_group(inventory_name: str, hosts: Hosts) -> None:
    """Nothing of it."""
    for name, rendered in hosts.items():
        text = str([rendered.roles, rendered.archives])
        assert "metrics" not in rendered.roles, name
        assert not [word for word in ("javaagent", "9990", "metricsProvider", "prometheus") if word in text], name


def proxy_digest(serial: str) -> str:
    """Return the digest of the proxy whose certificate has this serial number."""
    find_collections()
    role = ROOT / "roles" / "metrics"
    variables = yaml.safe_load((role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    variables |= {"metrics_address": "198.18.10.21", "role_path": str(role), "ansible_search_path": [str(role)]}
    entry = {"path": "/etc/prometheus/tls/metrics.pem", "serial": serial}
    variables["metrics_pki"] = {"directories": [], "files": [], "held": {"metrics": entry}}
    text = yaml.safe_load((role / "vars" / "main.yml").read_text(encoding="utf-8"))["__metrics_proxy_digest"]
    return str(Templar(loader=DataLoader(), variables=variables).template(trust_as_template(text)))


def test_a_renewed_certificate_restarts_the_proxy() -> None:
    """The proxy reads its certificate only when it starts."""
    assert proxy_digest("1") == proxy_digest("1") != proxy_digest("2")
