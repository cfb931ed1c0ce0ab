"""Say everything that is wrong with the inventory, then with the hosts, before anything is changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))
from millrace.archives import ArchiveError, expected, local
from millrace.hosts import check_hosts
from millrace.inventory import Reader, job_problems
from millrace.model import check_model
from millrace.problems import Problem, report

ROLES = Path(__file__).resolve().parents[2] / "roles"
# Variables that name an archive, each with the one that holds its checksum.
ARCHIVES = ("zookeeper_archive", "kafka_archive", "spark_job_jars_archive", "spark_job_wheelhouse_archive")


class ActionModule(ActionBase):
    """Runs once, on the control node, for all hosts of the inventory, also under --limit."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Fail with every mistake at once; option `register` (where each host's answer of host_probe is) selects the second phase."""
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        register = self._task.args.get("register")
        reader = Reader(task_vars["hostvars"], task_vars["groups"], self._loader, ROLES)
        hosts = reader.read()
        probes = {}
        if register is None:
            uncomputed = {problem.where for problem in reader.problems if problem.code == "NOT_COMPUTED"}
            model = [problem for problem in check_model(hosts, reader.groups) if problem.where not in uncomputed]
            problems = [*reader.problems, *model, *job_problems(hosts, reader.groups["spark"])]
        else:
            probes = {host: task_vars["hostvars"].raw_get(host)[register]["probe"] for host in task_vars["ansible_play_hosts"]}
            problems = [*check_hosts(hosts, reader.groups, probes), *self.archives(hosts, probes)]
        if problems:
            return {"failed": True, "msg": report(problems)}
        return {"changed": False, "msg": f"{len(probes or hosts)} hosts, no mistake found"}

    @staticmethod
    def archives(hosts: dict[str, dict[str, Any]], probes: dict[str, Any]) -> list[Problem]:
        """Verify each archive that some host still lacks; what every host has needs no reading of large files."""
        problems, verified = [], set()
        for host, probe in probes.items():
            for name in ARCHIVES:
                source, checksum = hosts[host].get(name), hosts[host].get(f"{name}_checksum")
                if not source or not checksum or (source, checksum) in verified:
                    continue
                try:
                    digest = expected(checksum)
                    if digest not in probe["archives"]:
                        verified.add((source, checksum))
                        local(source, digest)
                except ArchiveError as error:
                    verified.add((source, checksum))
                    wrong, _, advice = str(error).partition("; ")
                    problems.append(Problem(f"{host}/{name}", "ARCHIVE", None, wrong, advice or "correct the archive or its checksum"))
        return problems
