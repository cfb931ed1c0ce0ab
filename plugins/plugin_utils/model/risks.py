"""Risks, most of them of security, that a site can accept by listing their codes in the variable accept_risks.

In production, a risk that is not accepted is an error. An accepted risk remains a warning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

NAME = "accept_risks"
# Codes of checks that ask the hosts: the inventory alone does not show whether the risk still exists.
# Each with the case in which to accept it.
OF_HOSTS = {
    "ZOOKEEPER_CHROOT_CHANGED": " for one run if that file is wrong",
    "ZOOKEEPER_SERVERS_CHANGED": " for one run if these are the same servers under other names",
    "DATACENTERS_FAR": " if applications can wait as long",
}
# Codes that a site may accept. Outside production they are warnings.
RISKS = frozenset(
    (
        # authentication and authorization
        "AUTHORIZER_NONE",
        "CLIENT_AUTH_NONE",
        "CLIENTS_TRUSTED",
        "EVERYONE_ALLOWED",
        "PRINCIPAL_ANYBODY",
        "SUPER_USER_APPLICATION",
        "SUPER_USER_EVERYBODY",
        "SUPER_USERS_MISSING",
        "TOKEN_CLEAR",
        "TOKEN_UNSIGNED",
        # data in transit
        "ARCHIVE_CLEAR",
        "CIPHER_WEAK",
        "HOSTNAME_UNCHECKED",
        "LISTENER_PLAINTEXT",
        "SECURITY_PLAINTEXT",
        "TLS_OLD",
        # ZooKeeper
        "ZNODES_OPEN",
        "ZOOKEEPER_ADMIN_SERVER",
        "ZOOKEEPER_CLEAR",
        "ZOOKEEPER_CLIENT_AUTH",
        "ZOOKEEPER_COMMANDS",
        "ZOOKEEPER_SUPER_DIGEST",
        # additional open ports
        "DEBUGGER_OPEN",
        "FIREWALL_OPEN",
        "JMX_OPEN",
        "JOB_OPEN",
        # what a compromised service may do
        "SANDBOX_OPEN",
        # data that leaves a cluster, or comes back
        "MIRROR_ITSELF",
        # secrets
        "AUTHORITY_KEYS",
        "OPTION_SECRET",
        "PASSWORD_GUESSABLE",
        "PASSWORD_SHARED",
        # versions that can lose records; needed for a rollback of an upgrade
        "KAFKA_VERSION",
        "ZOOKEEPER_VERSION",
        # racks of different sizes
        "RACK_UNEVEN",
        # another chroot or ensemble than the one that a broker was installed with, a stretched cluster over far links
        *OF_HOSTS,
    )
)
# Refused outside production too, unless accepted.
ALWAYS = ("KAFKA_VERSION", "ZOOKEEPER_VERSION", "RACK_UNEVEN", "MIRROR_ITSELF", *OF_HOSTS)
# Nothing is printed of a warning with such a code that a site accepts: it endangers neither security nor records.
SILENT = ("RACK_UNEVEN",)

RISK_UNKNOWN = ProblemKind("RISK_UNKNOWN", "no risk that can be accepted has this code", "use one of {codes}")
RISK_UNKNOWN_MEANT = RISK_UNKNOWN.variant(advice="did you mean {near}?")
RISK_IDLE = ProblemKind(
    "RISK_IDLE",
    "no setting has this risk any more, and a later setting with this risk would be accepted without an error",
    "remove the code",
    warning=True,
)


def known(model: Model) -> Iterator[Problem]:
    """Yield a problem for each entry of accept_risks that is not the code of a risk."""
    for machine in model.functional:
        for code in dict.fromkeys(str(item) for item in machine.inputs.sequence(NAME)):
            if code not in RISKS:
                if near := nearest(code, RISKS):
                    yield machine.report(RISK_UNKNOWN_MEANT, NAME, code, near=near)
                else:
                    yield machine.report(RISK_UNKNOWN, NAME, code, codes=sorted(RISKS))


def with_accepted_risks(model: Model, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the problems of an inventory; a risk becomes a warning if it is accepted, or outside production.

    Also yield a warning for each code in accept_risks that no problem has.
    """
    reported = set[str]()
    for problem in problems:
        reported.add(problem.code)
        yield from _with_acceptance(model, problem)
    for machine in model.functional:
        yield from _idle(machine, RISKS - reported - set(OF_HOSTS))


def with_accepted_risks_of_hosts(
    model: Model, asked: Collection[str], problems: Iterable[Problem]
) -> Iterator[Problem]:
    """Yield problems found on running hosts; a risk becomes a warning if it is accepted, or outside production.

    `asked` are the names of the hosts that were asked. Also yield a warning for each code in accept_risks of these
    hosts that no problem has.
    """
    reported = set[str]()
    for problem in problems:
        reported.add(problem.code)
        yield from _with_acceptance(model, problem)
    for broker in model.brokers:
        if broker.name in asked:
            yield from _idle(broker, set(OF_HOSTS) - reported)


def _with_acceptance(model: Model, problem: Problem) -> Iterator[Problem]:
    """Yield a problem as it is, or, if it is a risk, once for each of its hosts.

    A host that accepts the risk gets a warning, or nothing (SILENT); the advice for others is how to accept the risk.
    """
    if problem.code not in RISKS:
        yield problem
        return
    when = OF_HOSTS.get(problem.code, "")
    for host in problem.hosts:
        machine = model.machines[host]
        is_accepted = problem.code in map(str, machine.inputs.sequence(NAME))
        if is_accepted and problem.warning and problem.code in SILENT:
            continue
        if is_accepted:
            yield replace(problem, hosts=(host,), advice=f"accepted by {NAME}", warning=True)
        else:
            refused = machine.production or problem.code in ALWAYS
            advice = f"{problem.advice}, or {NAME}: [{problem.code}]{when}"
            yield replace(problem, hosts=(host,), advice=advice, warning=problem.warning or not refused)


def _idle(machine: Machine, absent: Collection[str]) -> Iterator[Problem]:
    """Yield a warning for each code in accept_risks of a host that is in `absent`: the codes that no problem has."""
    for code in dict.fromkeys(map(str, machine.inputs.sequence(NAME))):
        if code in absent:
            yield machine.report(RISK_IDLE, NAME, code)
