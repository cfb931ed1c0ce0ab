"""A function is described once: what one more says in its file is what every rule, the probe and the page know of it.

No line of the project names it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from unit import pki_folder

from ansible_collections.millrace.kafka.plugins.action.health_page import declared
from ansible_collections.millrace.kafka.plugins.action.preflight import probe_questions
from ansible_collections.millrace.kafka.plugins.filter.tls import pki_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, passed_variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.page import page
from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import check_hosts
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import role_input
from model.echo import HOST, healthy, installed, site
from model.mistakes.base import VAULT
from model.said import check


@pytest.fixture(scope="module", autouse=True)
def echo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The function is there for the tests of this file alone."""
    with installed(tmp_path_factory.mktemp("echo")):
        yield
    assert "echo" not in functions()


def model(folder: Path, **variables: Any) -> Model:
    """Return the model of the site."""
    return load(site(folder / "inventory", **variables), {"vault": VAULT}).read()


def test_a_site_with_it_has_no_mistake(tmp_path: Path) -> None:
    assert check(site(tmp_path / "inventory"))[1] == []


def test_who_may_connect(tmp_path: Path) -> None:
    """From the names of functions to addresses; what preflight alone wants to know is not in the rules."""
    rules = model(tmp_path).hosts[HOST]["base_firewall_rules"]
    brokers = [f"198.18.{network}.2{number}" for number in (1, 2, 3) for network in (1, 2)]
    assert [{**rule, "from": rule["from"][:6]} for rule in rules] == [{"port": 7777, "from": brokers}]


ELSEWHERE = [{"port": 9100, "from": ["192.0.2.7"]}]


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"echo_server_port": 22}, "PORT_CLASH dc1-echo1 = 22: used by echo_server_port and by the SSH server"),
        ({"echo_server_port": 77777}, "PORT_RANGE dc1-echo1 = 77777: echo_server_port has a port outside 1 to 65535"),
        ({"echo_server_port": 0}, "PORT_RANGE dc1-echo1 = 0: echo_server_port has a port outside"),
        ({"echo_server_port": 700}, "PORT_PRIVILEGED dc1-echo1/echo_server_port = 700: .* in echo_server_unit_overrid"),
        (
            {"base_firewall_rules": ELSEWHERE},
            r"FIREWALL_FORGOTTEN dc1-echo1/base_firewall_rules: .* no rule is for 7777",
        ),
        ({"echo_server_data_dir": "data"}, "PATH_RELATIVE dc1-echo1/echo_server_data_dir = data"),
        ({"echo_server_java_options": ["-Xmx1g"]}, "OPTION_HEAP .* = -Xmx1g: echo_server_heap sets the heap too"),
        ({"echo_server_heap": "12"}, "HEAP_SMALL dc1-echo1/echo_server_heap = 12"),
        ({"echo_server_archive_checksum": "http://a/b"}, "CHECKSUM_FORM dc1-echo1/echo_server_archive_checksum"),
        ({"echo_server_prot": 1}, "VARIABLE_UNKNOWN dc1-echo1/echo_server_prot.*did you mean echo_server_port"),
    ],
)
def test_what_preflight_says_of_the_inventory(variables: dict[str, Any], said: str, tmp_path: Path) -> None:
    lines = check(site(tmp_path / "inventory", **variables))[1]
    assert [line for line in lines if re.match(said, line)] != [], lines


def test_a_host_that_has_its_identity_alone(tmp_path: Path) -> None:
    made = site(tmp_path / "inventory")
    path = made / "hosts.yml"
    path.write_text(path.read_text().replace("    echo:\n", "    ech_o_hosts:\n"))
    (line,) = [line for line in check(made)[1] if line.startswith("HOST_WITHOUT_FUNCTION")]
    assert "although it has echo_server_number; add the host to the group echo" in line


def test_what_the_host_is_asked(tmp_path: Path) -> None:
    """The java of its units, and whom it connects to, of the hosts of this inventory."""
    wanted = probe_questions(model(tmp_path, echo_server_java_executable="/opt/jdk/bin/java"), [HOST])
    assert wanted["java"] == {HOST: ["/usr/bin/java", "/opt/jdk/bin/java"]}
    assert [(peer["host"], peer["port"]) for peer in wanted["peers"][HOST]] == [
        (f"dc1-kafka{number}", 9092) for number in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("changed", "mount", "said"),
    [
        ({}, {}, []),
        ({}, {"mounted": False}, [("NOT_MOUNTED", "echo_server_data_dir")]),
        ({}, {"error": "Input/output error"}, [("DISK_FAILED", "echo_server_data_dir")]),
        ({}, {"type": "tmpfs"}, [("DISK_VOLATILE", "echo_server_data_dir")]),
        ({"java": {"/opt/jdk/bin/java": "17.0.1"}}, {}, []),
        ({"java": {"/usr/bin/java": "11.0.1"}}, {}, [("JAVA_VERSION", "java_executable")]),
        ({"archives": {}}, {}, [("ARCHIVE", "echo_server_archive")]),
        ({"addresses": ["198.18.1.42"]}, {}, [("ADDRESS_ABSENT", "client_address")]),
        ({"control_node": {"198.18.1.41": "192.0.2.9"}}, {}, [("FIREWALL_CONTROL_NODE", "base_firewall_rules[7777]")]),
    ],
)
def test_what_preflight_says_of_the_host(
    changed: dict[str, Any], mount: dict[str, Any], said: list[tuple[str, str]], tmp_path: Path
) -> None:
    probe = {**healthy(), **changed}
    probe["mounts"]["/data/echo"].update(mount)
    assert [(problem.code, problem.variable) for problem in check_hosts(model(tmp_path), {HOST: probe})] == said


def test_a_java_that_is_not_there(tmp_path: Path) -> None:
    found = check_hosts(model(tmp_path, echo_server_java_executable="/opt/jdk/bin/java"), {HOST: healthy()})
    assert [(problem.code, problem.variable) for problem in found] == [("JAVA_ABSENT", "echo_server_java_executable")]


def test_its_certificates_are_its_own_whatever_their_group(tmp_path: Path) -> None:
    """No other service of the host takes them."""
    values = model(tmp_path).hosts[HOST]
    certificates, stores = ([dict(entry) for entry in values[f"pki_{name}s"]] for name in ("certificate", "truststore"))
    made = pki_folder.run(tmp_path / "pki", host=HOST, certificates=certificates, truststores=stores)
    assert made.problems == []
    answer = {"files": made.files, "directories": made.directories, "held": made.held}
    own, other = pki_of(answer, "echo"), pki_of(answer, "kafka")
    assert [file["path"] for file in own["files"]] == ["/etc/echo/tls/ca.pem", "/etc/echo/tls/keystore.pem"]
    assert [folder["path"] for folder in own["directories"]] == ["/etc/echo/tls"]
    assert list(own["held"]) == ["answers"]
    assert (other["files"], other["directories"], other["held"]) == ([], [], {})


def test_the_health_page(tmp_path: Path) -> None:
    facts = {HOST: declared(model(tmp_path), HOST)}
    mount = {"size": 100, "free": 50, "mounted": False}
    probe = {"units": {"echo.service": "failed"}, "mounts": {"/data/echo": mount}}
    text, problems = page(facts, {HOST: probe}, {})
    assert "dc1-echo1  echo.service  failed" in text
    assert problems == [f"{HOST}:/data/echo: no file system is mounted there", f"echo.service on {HOST} is failed"]


def test_its_role_and_what_playbooks_hand_to_it() -> None:
    assert role_input({}, "echo_server_heap") == "512m"
    assert passed_variables().match("echo_server_pki")
    assert passed_variables().match("echo_server_base")
    assert passed_variables().match("echo_server_state")
