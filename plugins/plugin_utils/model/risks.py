"""Weakened security: refused in production, unless the site names it as wanted; then every preflight says so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

NAME = "accept_risks"
# Said of what hosts answer, so that the inventory alone does not know whether they are there still.
OF_HOSTS = ("ZOOKEEPER_CHROOT_CHANGED", "ZOOKEEPER_SERVERS_CHANGED")
# What a site may accept by its code. Outside of production it is a warning.
RISKS = frozenset(
    (
        # who may do what
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
        # what can be read or changed on the way
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
        # what listens besides
        "DEBUGGER_OPEN",
        "FIREWALL_OPEN",
        "JMX_OPEN",
        "JOB_OPEN",
        # what a service that is taken over may do
        "SANDBOX_OPEN",
        # secrets
        "AUTHORITY_KEYS",
        "OPTION_SECRET",
        "PASSWORD_GUESSABLE",
        "PASSWORD_SHARED",
        # versions that can lose records, for the way back from an upgrade
        "KAFKA_VERSION",
        "ZOOKEEPER_VERSION",
        # another place in ZooKeeper than the one that a broker was installed with
        *OF_HOSTS,
    )
)
# Refused outside of production as well, where they are not accepted.
ALWAYS = ("KAFKA_VERSION", "ZOOKEEPER_VERSION", *OF_HOSTS)


def known(model: Model) -> Iterator[Problem]:
    """Accepted risks are codes of risks."""
    for machine in model.functional:
        for code in dict.fromkeys(str(item) for item in machine.inputs.sequence(NAME)):
            if code not in RISKS:
                near = nearest(code, RISKS)
                advice = f"did you mean {near}?" if near else f"one of {', '.join(sorted(RISKS))}"
                wrong = "no risk that can be accepted"
                yield machine.problem(NAME, "RISK_UNKNOWN", code, wrong, advice)


def weighed(model: Model, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the problems, risks as warnings where they are accepted and where it is not production."""
    there = set[str]()
    for problem in problems:
        there.add(problem.code)
        yield from _weighed(model, problem)
    for machine in model.functional:
        yield from _idle(machine, RISKS - there - set(OF_HOSTS))


def weighed_of_hosts(model: Model, asked: Collection[str], problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield likewise what is said of the hosts that were asked."""
    there = set[str]()
    for problem in problems:
        there.add(problem.code)
        yield from _weighed(model, problem)
    for broker in model.brokers:
        if broker.name in asked:
            yield from _idle(broker, set(OF_HOSTS) - there)


def _weighed(model: Model, problem: Problem) -> Iterator[Problem]:
    if problem.code not in RISKS:
        yield problem
        return
    for host in problem.hosts:
        machine = model.machines[host]
        one = replace(problem, hosts=(host,))
        if problem.code in map(str, machine.inputs.sequence(NAME)):
            yield replace(one, advice=f"accepted by {NAME}", warning=True)
        else:
            yield one if machine.production or one.code in ALWAYS else replace(one, warning=True)


def _idle(machine: Machine, gone: Collection[str]) -> Iterator[Problem]:
    for code in dict.fromkeys(map(str, machine.inputs.sequence(NAME))):
        if code in gone:
            wrong = "nothing here has it any more, and what has it next would be taken for wanted"
            yield machine.problem(NAME, "RISK_IDLE", code, wrong, "take it out", warning=True)
