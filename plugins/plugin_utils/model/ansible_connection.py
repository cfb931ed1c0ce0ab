"""Rules on Ansible's own words: how it connects, and words that it does not read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import is_address
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# Connections of Ansible itself and of the collections that every installation has, to hosts of Linux.
CONNECTIONS = (
    "ssh", "smart", "local", "paramiko", "paramiko_ssh", "docker", "podman", "buildah", "chroot", "jail", "lxc", "lxd",
    "incus", "kubectl", "oc", "libvirt_lxc", "machinectl", "nsenter", "iocage", "zone", "funcd", "libssh",
)  # fmt: skip
WINDOWS = ("winrm", "psrp")
BECOME = (
    "sudo", "su", "doas", "dzdo", "ksu", "machinectl", "pbrun", "pfexec", "pmrun", "run0", "sesu", "sudosu", "runas",
    "enable",
)  # fmt: skip
# What sites say of a connection.
READ = (
    "ansible_become", "ansible_become_exe", "ansible_become_flags", "ansible_become_method", "ansible_become_pass",
    "ansible_become_password", "ansible_become_user", "ansible_connection", "ansible_group_priority", "ansible_host",
    "ansible_password", "ansible_pipelining", "ansible_port", "ansible_private_key_file", "ansible_python_interpreter",
    "ansible_remote_tmp", "ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_executable",
    "ansible_ssh_extra_args", "ansible_ssh_host", "ansible_ssh_pass", "ansible_ssh_password", "ansible_ssh_pipelining",
    "ansible_ssh_port", "ansible_ssh_private_key_file", "ansible_ssh_retries", "ansible_ssh_timeout",
    "ansible_ssh_user", "ansible_shell_executable", "ansible_shell_type", "ansible_timeout", "ansible_user",
)  # fmt: skip
# A fact of a host or a word of a run, which nobody meant for one of those.
OF_A_RUN = re.compile(
    r"ansible_(hostname|facts|local|python|ssh_host_key_\w+|user_(id|uid|gid|dir|shell|gecos)|forks|limit|version)"
)


def words(model: Model) -> Iterator[Problem]:
    """What is written of a connection is read, and is what Ansible takes."""
    for machine in model.functional:
        for name in sorted(machine.written):
            near = nearest(name, READ) if name.startswith("ansible_") and name not in READ else None
            if near and abs(len(near) - len(name)) <= 2 and not OF_A_RUN.fullmatch(name):
                wrong, advice = "Ansible reads no variable of this name", f"did you mean {near}?"
                yield machine.problem(name, "CONNECTION_WORD", None, wrong, advice)
        for name, judge in (("ansible_connection", _connection), ("ansible_host", _host)):
            value = machine.inputs.values.get(name)
            if value is not None and (found := judge(str(value))):
                yield machine.problem(name, "CONNECTION_WORD", value, *found)
        yield from _login(machine)


def _connection(text: str) -> tuple[str, str] | None:
    if text in WINDOWS:
        return "a connection to Windows, and these are hosts of Linux", "leave it out: ssh"
    if text in CONNECTIONS or re.fullmatch(r"\w+\.\w+(\.\w+)+", text):
        return None
    near = nearest(text, CONNECTIONS)
    return "no connection that Ansible has", f"did you mean {near}?" if near else "leave it out: ssh"


def _host(text: str) -> tuple[str, str] | None:
    if re.fullmatch(r"[\d.]+", text) and not is_address(text):
        return "no IPv4 address", "write an address, as 198.51.100.7, or leave it out: client_address"
    port = re.fullmatch(r"[^:]+:\d+", text)
    if port or not text or re.search(r"\s|[@/]", text):
        wrong = "with a port" if port else "no name and no address"
        return wrong, "write the address alone; the port stands in ansible_port, the login in ansible_user"
    return None


def _login(machine: Machine) -> Iterator[Problem]:
    def problem(name: str, value: Any, wrong: str, advice: str) -> Problem:
        return machine.problem(name, "CONNECTION_WORD", value, wrong, advice)

    method = machine.inputs.values.get("ansible_become_method")
    if method is not None and str(method) not in BECOME and "." not in str(method):
        near = nearest(str(method), BECOME)
        advice = f"did you mean {near}?" if near else "leave it out: sudo"
        yield problem("ansible_become_method", method, "no way to become root that Ansible has", advice)
    login = str(machine.inputs.values.get("ansible_user") or "root")
    if "ansible_become" in machine.inputs.values and not machine.inputs.on("ansible_become") and login != "root":
        wrong = f"{login} would stay {login}, and root alone can set up a host; it goes before what playbooks say"
        yield problem("ansible_become", False, wrong, "take it out, or log in as root")
    for name in ("ansible_user", "ansible_become_user"):
        user = machine.inputs.values.get(name)
        if user is not None and (not str(user).strip() or re.search(r"[\s:@/]", str(user))):
            yield problem(name, repr(str(user)), "no name of a login", "write one, as ops, or leave it out")
