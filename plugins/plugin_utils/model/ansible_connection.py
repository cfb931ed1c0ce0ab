"""Rules on Ansible's own variables (ansible_*): misspelt names, and values that prevent a connection."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import is_address
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

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
# Variables of connections that Ansible reads.
READ = (
    "ansible_become", "ansible_become_exe", "ansible_become_flags", "ansible_become_method", "ansible_become_pass",
    "ansible_become_password", "ansible_become_user", "ansible_connection", "ansible_group_priority", "ansible_host",
    "ansible_password", "ansible_pipelining", "ansible_port", "ansible_private_key_file", "ansible_python_interpreter",
    "ansible_remote_tmp", "ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_executable",
    "ansible_ssh_extra_args", "ansible_ssh_host", "ansible_ssh_pass", "ansible_ssh_password", "ansible_ssh_pipelining",
    "ansible_ssh_port", "ansible_ssh_private_key_file", "ansible_ssh_retries", "ansible_ssh_timeout",
    "ansible_ssh_user", "ansible_shell_executable", "ansible_shell_type", "ansible_timeout", "ansible_user",
)  # fmt: skip
# Variables of plugins of connections and become, as ansible-doc lists them, which are no typos of those.
PLUGINS = sorted({*CONNECTIONS, *BECOME, "scp", "sftp", "netconf", "httpapi", "vmware"} - {"ssh"})
OF_PLUGINS = tuple(
    f"ansible_{plugin}_{option}"
    for plugin in PLUGINS
    for option in (
        "exe", "executable", "extra_args", "flags", "host", "pass", "password", "port", "timeout", "user"
    )
)  # fmt: skip
# Facts of hosts, variables of runs and interpreters, which are no typos of those.
OTHERS = re.compile(
    r"ansible_(hostname|facts|local|python|ssh_host_key_\w+|user_(id|uid|gid|dir|shell|gecos)|forks|limit|version"
    r"|(bash|lua|node|nodejs|perl|php|ruby|sh)_interpreter)"
)


CONNECTION_WORD = ProblemKind("CONNECTION_WORD", "Ansible reads no variable of this name", "did you mean {near}?")
CONNECTION_WINDOWS = CONNECTION_WORD.variant(
    message="this connection is for Windows, but the hosts run Linux", advice="remove it (default: ssh)"
)
CONNECTION_UNKNOWN = CONNECTION_WORD.variant(
    message="Ansible has no connection plugin of this name", advice="remove it (default: ssh)"
)
CONNECTION_UNKNOWN_MEANT = CONNECTION_UNKNOWN.variant(advice="did you mean {near}?")
HOST_ADDRESS = CONNECTION_WORD.variant(
    message="not an IPv4 address",
    advice="set an address, for example 198.51.100.7, or remove it to use client_address",
)
HOST_TEXT = CONNECTION_WORD.variant(
    message="neither a host name nor an address",
    advice="set only the address here, the port in ansible_port, and the user in ansible_user",
)
HOST_PORT = HOST_TEXT.variant(message="contains a port")
BECOME_UNKNOWN = CONNECTION_WORD.variant(
    message="Ansible has no become method of this name", advice="remove it (default: sudo)"
)
BECOME_UNKNOWN_MEANT = BECOME_UNKNOWN.variant(advice="did you mean {near}?")
BECOME_DISABLED = CONNECTION_WORD.variant(
    message="overrides become of the playbooks: user {login} would not become root, but only root can set up a host",
    advice="remove ansible_become, or set ansible_user: root",
)
LOGIN_INVALID = CONNECTION_WORD.variant(
    message="not a user name", advice="set a user name, for example ops, or remove it"
)
LOGIN_HOST = CONNECTION_WORD.variant(
    message="contains the host {host}", advice="write {login}, and the address in ansible_host"
)


def words(model: Model) -> Iterator[Problem]:
    """Yield a problem for each misspelt ansible_* variable, and for each value with which Ansible could not connect."""
    for machine in model.functional:
        for name in sorted(machine.written):
            near = nearest(name, READ) if name.startswith("ansible_") and name not in READ else None
            if near and abs(len(near) - len(name)) <= 2 and not OTHERS.fullmatch(name) and name not in OF_PLUGINS:
                yield machine.report(CONNECTION_WORD, name, near=nearest(name, (*READ, *OF_PLUGINS)))
        for name, check in (("ansible_connection", _connection), ("ansible_host", _host)):
            value = machine.inputs.values.get(name)
            if value is not None and (kind := check(str(value))):
                yield machine.report(kind, name, value, near=nearest(str(value), CONNECTIONS))
        yield from _login(machine, model)


def _connection(text: str) -> ProblemKind | None:
    if text in WINDOWS:
        return CONNECTION_WINDOWS
    if text in CONNECTIONS or re.fullmatch(r"\w+\.\w+(\.\w+)+", text):
        return None
    return CONNECTION_UNKNOWN_MEANT if nearest(text, CONNECTIONS) else CONNECTION_UNKNOWN


def _host(text: str) -> ProblemKind | None:
    if re.fullmatch(r"[\d.]+", text) and not is_address(text):
        return HOST_ADDRESS
    if re.fullmatch(r"[^:]+:\d+", text):
        return HOST_PORT
    return HOST_TEXT if not text or re.search(r"\s|[@/]", text) else None


def _login(machine: Machine, model: Model) -> Iterator[Problem]:
    """Yield problems of ansible_user, and of the ansible_become* variables, by which that user becomes root."""
    values = machine.inputs.values
    method = values.get("ansible_become_method")
    if method is not None and str(method) not in BECOME and "." not in str(method):
        near = nearest(str(method), BECOME)
        kind = BECOME_UNKNOWN_MEANT if near else BECOME_UNKNOWN
        yield machine.report(kind, "ansible_become_method", method, near=near)
    login = str(values.get("ansible_user") or "root")
    if "ansible_become" in values and not machine.inputs.on("ansible_become") and login != "root":
        yield machine.report(BECOME_DISABLED, "ansible_become", False, login=login)
    for name in ("ansible_user", "ansible_become_user"):
        user = values.get(name)
        login, _, domain = str(user).rpartition("@")  # a login may have a domain, as ops@example.org
        if user is not None and (not str(user).strip() or re.search(r"[\s:/]|^@|@$|@.*@", str(user))):
            yield machine.report(LOGIN_INVALID, name, repr(str(user)))
        elif login and (is_address(domain) or domain in model.hosts):
            yield machine.report(LOGIN_HOST, name, user, login=login, host=domain)
