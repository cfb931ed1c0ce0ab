"""Read the model out of an Ansible inventory: role inputs per host, with the role's own argument spec applied."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.template import Templar

from .problems import Problem

# The roles that a function group gets, as playbooks/layers/*.yml apply them.
ROLES = {
    "zookeeper": ("base", "java", "zookeeper"),
    "kafka": ("base", "java", "kafka"),
    "spark": ("base", "java", "spark_job"),
}
# Words of the site that roles never see and the model needs.
SITE_WORDS = ("client_address", "replication_address")


def function_groups(groups: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the members of each function group."""
    return {name: list(groups.get(name, [])) for name in ROLES}


def argument_spec(roles_path: Path, role: str) -> dict[str, Any]:
    """Return the options of a role's main entry point (meta/argument_specs.yml)."""
    with (roles_path / role / "meta" / "argument_specs.yml").open(encoding="utf-8") as stream:
        options: dict[str, Any] = yaml.safe_load(stream)["argument_specs"]["main"]["options"]
    return options


class Reader:
    """Reads host variables; remembers what is missing, so that one missing word is one problem and not twenty."""

    def __init__(self, hostvars: Any, groups: Mapping[str, Sequence[str]], loader: Any, roles_path: Path) -> None:
        """`hostvars`, `groups` and `loader` are Ansible's own."""
        self.hostvars = hostvars
        self.loader = loader
        self.all_groups = groups
        self.groups = function_groups(groups)
        self.roles_path = roles_path
        self.problems: list[Problem] = []
        self.failed: list[tuple[str, str, str]] = []

    def read(self) -> dict[str, dict[str, Any]]:
        """Return `{host: {variable: value}}`; what is wrong with single variables is in `problems`."""
        hosts: dict[str, dict[str, Any]] = {}
        for group, members in self.groups.items():
            for host in members:
                values = hosts.setdefault(host, {})
                values |= self.values(host, SITE_WORDS)
                for role in ROLES[group]:
                    options = argument_spec(self.roles_path, role)
                    values |= self.values(host, options)
                    self.validate(host, options, values)
        self.explain(hosts)
        return hosts

    def values(self, host: str, names: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the variables that are set and can be computed."""
        # hostvars[host] itself cannot compute what stands on other hosts' variables.
        variables = {**self.hostvars.raw_get(host), "hostvars": self.hostvars, "groups": self.all_groups}
        templar, found = Templar(loader=self.loader, variables=variables), {}
        for name in names:
            if name not in variables:
                continue
            try:
                found[name] = templar.template(variables[name])
            except AnsibleError as error:
                self.failed.append((host, name, str(error)))
        return found

    def validate(self, host: str, options: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Apply one role's argument spec to one host: unknown keys, types, choices, missing inputs."""
        given = {name: value for name, value in values.items() if name in options}
        uncomputed = {name for failed_host, name, _ in self.failed if failed_host == host}
        # Identity has checks of its own in model.py, with the other hosts in view.
        own = uncomputed | {"kafka_broker_id", "kafka_rack", "zookeeper_id"}
        spec = {name: option for name, option in options.items() if name not in own}
        result = ArgumentSpecValidator(spec).validate({name: value for name, value in given.items() if name not in own})
        advice = "the roles' README tables list the valid names and types"
        for message in result.error_messages:
            self.problems.append(Problem(host, "ROLE_INPUT", None, message.rstrip("."), advice))
        # Ansible would take a text for a list of one, but the roles get the variable as it stands: a list of letters.
        self.problems += [
            Problem(f"{host}/{name}", "ROLE_INPUT", given[name], "a text, not a list", advice)
            for name, option in spec.items()
            if option.get("type") == "list" and isinstance(given.get(name), str)
        ]

    def explain(self, hosts: Mapping[str, Mapping[str, Any]]) -> None:
        """Report variables that cannot be computed, unless a missing address or rack, reported as such, is why."""
        reported_elsewhere = [name for name in SITE_WORDS if any(name not in values for values in hosts.values())]
        reported_elsewhere += ["rack", "zookeeper_id", "kafka_broker_id"]
        for host, name, error in dict.fromkeys(self.failed):
            if not any(re.search(rf"['\"]{word}['\"]", error) for word in reported_elsewhere):
                self.problems.append(
                    Problem(f"{host}/{name}", "NOT_COMPUTED", None, f"cannot be computed: {error.splitlines()[0]}", "set what it stands on")
                )


def job_problems(hosts: Mapping[str, Mapping[str, Any]], members: Sequence[str]) -> Iterator[Problem]:
    """Yield what is wrong with the jobs' configurations, as the very wheel that would be installed judges them."""
    for host in members:
        wheel = hosts[host].get("spark_job_wheel")
        # A job without a configuration is reported with the role's inputs.
        jobs = [job for job in hosts[host].get("spark_job_jobs") or [] if isinstance(job, Mapping) and isinstance(job.get("config"), Mapping)]
        if not wheel or not jobs:
            continue
        if not Path(wheel).is_file():
            yield Problem(
                f"{host}/spark_job_wheel", "ARCHIVE_ABSENT", wheel, "no such file on the control node", "run `make archives`, or name another"
            )
            continue
        asked = json.dumps([[job.get("job", job.get("name")), job.get("config")] for job in jobs], default=str)
        done = subprocess.run(
            [sys.executable, "-c", "import json, sys; from millrace.config import problems; "
             "print(json.dumps([problems(job, config) for job, config in json.load(sys.stdin)]))"],
            input=asked, capture_output=True, text=True, env={"PYTHONPATH": str(wheel), "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        if done.returncode:
            yield Problem(
                f"{host}/spark_job_wheel",
                "WHEEL",
                wheel,
                f"cannot judge job configurations: {done.stderr.strip()[-200:]}",
                "build it anew: `make archives`",
            )
            continue
        for job, found in zip(jobs, json.loads(done.stdout), strict=True):
            for text in found:
                wrong, _, advice = text.rpartition("; ")
                yield Problem(
                    f"{host}/spark_job_jobs[{job.get('name')}].config",
                    "JOB_CONFIG",
                    None,
                    wrong or text,
                    advice if wrong else "see spark_jobs/README.md",
                )
