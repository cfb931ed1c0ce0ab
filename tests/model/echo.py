"""A function that is none of today's, with all that one can say of itself, and a site that has it on a host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.millrace.kafka.plugins.plugin_utils import functions, refused_inputs, specs
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight import unused_variables
from model.mistakes.base import LAB, spoil

HOST = "dc1-echo1"
FUNCTION: dict[str, Any] = {
    "order": 4,
    "roles": ["base", "java", "pki", "echo_server"],
    "prefix": "echo_server",
    "heaps": ["echo_server_heap"],
    "identity": ["echo_server_number"],
    "jvm": ["echo_server_java_options"],
    "java": ["echo_server_java_executable"],
    "archives": ["echo_server_archive"],
    "paths": ["echo_server_data_dir"],
    "units": ["echo.service"],
    "mounts": ["{{ echo_server_data_dir }}"],
    "ports": [{"port": "{{ echo_server_port }}", "from": ["kafka", "admin"], "input": "echo_server_port"}],
    "connects": "{{ client_bootstrap.split(',') }}",
    "certificates": [
        {
            "name": "answers",
            "subject": "CN={{ inventory_hostname }},OU=echo,O={{ organization }}",
            "authority": "{{ infra_authority }}",
            "names": ["{{ client_address }}"],
            "path": "/etc/echo/tls/keystore.pem",
            "group": "postgres",
        }
    ],
    "truststores": [{"path": "/etc/echo/tls/ca.pem", "authorities": "{{ infra_trusted }}", "group": "postgres"}],
    "variables": {
        "echo_server_port": 7777,
        "echo_server_data_dir": "/data/echo",
        "echo_server_archive": "/srv/echo-1.2.3.tgz",
        "echo_server_archive_checksum": f"sha512:{64 * 'ab'}",
        "echo_server_java_executable": "/usr/bin/java",
    },
}
OPTIONS: dict[str, Any] = {
    "echo_server_number": {"type": "int", "required": True},
    "echo_server_port": {"type": "int", "required": True},
    "echo_server_data_dir": {"type": "path", "required": True},
    "echo_server_heap": {"type": "str", "default": "512m"},
    "echo_server_java_options": {"type": "list", "elements": "str", "default": []},
    "echo_server_java_executable": {"type": "path", "default": "/usr/bin/java"},
    "echo_server_archive": {"type": "str", "required": True},
    "echo_server_archive_checksum": {"type": "str", "required": True},
    "echo_server_unit_overrides": {"type": "dict", "default": {}},
    "echo_server_pki": {"type": "dict", "default": {"directories": [], "files": [], "held": {}}},
}
CACHES = (
    functions.functions,
    functions._read_once,
    functions.project_variables,
    functions.passed_variables,
    specs.argument_spec,
    specs.role_of,
    refused_inputs._validator,
    unused_variables.switches,
)


def forget() -> None:
    """Let functions and roles be read again."""
    for cached in CACHES:
        cached.cache_clear()
    refused_inputs._CACHE.clear()


@contextmanager
def installed(folder: Path, **changed: Any) -> Iterator[None]:
    """Put the function and its role beside those of today, in a folder."""
    for kind, source in (("functions", functions.FOLDER), ("roles", specs.ROLES_PATH)):
        (folder / kind).mkdir()
        for path in source.iterdir():
            (folder / kind / path.name).symlink_to(path)
    (folder / "functions" / "echo.yml").write_text(yaml.safe_dump({**FUNCTION, **changed}))
    meta = folder / "roles" / "echo_server" / "meta"
    meta.mkdir(parents=True)
    (meta / "argument_specs.yml").write_text(yaml.safe_dump({"argument_specs": {"main": {"options": OPTIONS}}}))
    with pytest.MonkeyPatch.context() as patch:
        for module in (functions, specs):
            patch.setattr(module, "ROLES_PATH", folder / "roles")
        patch.setattr(functions, "FOLDER", folder / "functions")
        forget()
        try:
            yield
        finally:
            patch.undo()
            forget()


def site(folder: Path, **variables: Any) -> Path:
    """Return the lab's inventory with one host more, which has the function and these variables."""
    made = spoil(folder, LAB)
    path = made / "hosts.yml"
    host = {"echo_server_number": 1, "client_address": "198.18.1.41", "rack": "a", **variables}
    text = path.read_text(encoding="utf-8")
    assert "    spark:\n" in text
    echo = f"    echo:\n      hosts: {{{HOST}: {yaml.safe_dump(host, default_flow_style=True, width=10000).strip()}}}\n"
    path.write_text(text.replace("    spark:\n", f"{echo}    spark:\n"), encoding="utf-8")
    return made


def healthy() -> dict[str, Any]:
    """Return what preflight hears of the host where all is well."""
    mount = {"mounted": True, "size": 2**30, "free": 2**30, "device": 7, "type": "xfs", "names": []}
    return {
        "addresses": ["198.18.1.41"],
        "asked": [1000.0, 1001.0],
        "clock": {"synchronized": True, "time": 1000.5},
        "java": {"/usr/bin/java": "17.0.19"},
        "postgresql": {"release": "debian 12", "installed": []},
        "limits": {"nr_open": 1048576, "nofile": 524288, "capabilities": 1 << 24},
        "memory": 2**36,
        "mounts": {"/data/echo": mount},
        "log_dirs": [],
        "meta_properties": {},
        "myid": "",
        "archives": {"/opt/echo": 64 * "ab"},
        "releases": {},
        "nft": "",
        "firewall": "",
        "ssh_port": 22,
        "control_node": {"198.18.1.41": "198.18.1.1"},
        "peers": {},
    }
