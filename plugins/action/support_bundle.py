"""Writes the archive of support.yml on the control node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret_search import Search, secrets_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.support_bundle import Bundle, write


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin `support_bundle`; runs once, on the control node."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write the file, and return what to print about it; a failed result if it cannot be written."""
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        hostvars, names = task_vars["hostvars"], self._task.args["registers"]
        hosts = list(task_vars["ansible_play_hosts_all"])
        reader = Reader(hostvars, task_vars["groups"], self._loader)
        bundle = Bundle(Path(task_vars.get("inventory_dir") or "").name, Search(secrets_of(reader, hostvars)))
        for host in hosts:
            bundle.add_host(host, hostvars.raw_get(host).get(names["host"]) or {})
        for name in ("page", "cluster", "groups"):
            found = (hostvars.raw_get(host).get(names.get(name, "")) for host in hosts)
            bundle.add_site(name, next((one for one in found if one and not one.get("skipped")), {}))
        file = str(self._task.args["file"])
        try:
            write(file, bundle)
        except OSError as error:
            return {"failed": True, "msg": f"file = {file} cannot be written: {error.strerror or error}"}
        return {"changed": False, "file": file, "lines": bundle.lines(file)}
