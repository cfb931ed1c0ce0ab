"""Files and units of a monitoring host: brokers and login of the exporter, addresses of the servers. No hosts."""

import json
from base64 import b64decode
from typing import Any

import pytest
from model.mistakes.base import VAULT

from render.conftest import Hosts
from render.site import Rendered

HOST = "dc1-mon1"
LOOPBACK = {
    "prometheus.service.d": "--web.listen-address=127.0.0.1:9090",
    "prometheus-alertmanager.service.d": "--web.listen-address=127.0.0.1:9093",
}


pytestmark = pytest.mark.parametrize("inventory_name", ["dc1"])


@pytest.fixture
def host(hosts: Hosts) -> Rendered:
    """The monitoring host of the inventory."""
    return hosts[HOST]


def test_brokers_and_login_of_the_exporter(host: Rendered) -> None:
    """All brokers, by the listener of clients, as its own user; racks as the inventory has them."""
    settings: dict[str, Any] = json.loads(host.secret("/etc/lag-exporter/settings.json"))
    client = settings["client"]
    assert client["bootstrap.servers"].split(",") == [f"198.19.1.2{number}:9092" for number in range(1, 6)]
    assert (client["security.protocol"], client["ssl.ca.location"]) == ("SASL_SSL", "/etc/lag-exporter/tls/ca.pem")
    assert (client["sasl.username"], client["sasl.password"]) == ("monitoring", VAULT["passwords"]["monitoring"])
    assert settings["racks"] == {"1": "dc1-a", "2": "dc1-b", "3": "dc1-c", "4": "dc1-a", "5": "dc1-b"}
    assert (settings["address"], settings["port"]) == ("127.0.0.1", 9308)
    assert settings["canary"] == "", "which is off by default"


def test_the_password_is_in_one_file(host: Rendered) -> None:
    """Which only the exporter reads."""
    password = VAULT["passwords"]["monitoring"]
    secrets = [b64decode(file["secret_base64"] or "") for file in host.items("files")]
    texts = [str(file["content"]).encode() + secret for file, secret in zip(host.items("files"), secrets, strict=True)]
    holding = [file for file, text in zip(host.items("files"), texts, strict=True) if password.encode() in text]
    assert [(file["path"], file["group"], file["mode"]) for file in holding] == [
        ("/etc/lag-exporter/settings.json", "lag-exporter", "0640")
    ]


@pytest.mark.parametrize("folder", LOOPBACK)
def test_servers_listen_on_loopback(host: Rendered, folder: str) -> None:
    """Their packages' own units listen on all addresses, so these start only with a configuration of the role."""
    text = host.text(f"/etc/systemd/system/{folder}/millrace.conf")
    assert LOOPBACK[folder] in text
    assert "ConditionPathExists=/etc/prometheus/millrace" in text
    assert "\nExecStart=\nExecStart=/usr/bin/prometheus" in text


def test_every_unit_is_restarted_when_its_configuration_changes(host: Rendered) -> None:
    """Each has a digest of it."""
    digests = {unit["name"]: len(unit["digest"]) for unit in host.services}
    names = ("lag-exporter.service", "prometheus.service", "prometheus-alertmanager.service")
    assert digests == dict.fromkeys(names, 64)
