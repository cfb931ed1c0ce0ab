"""Sends archives to a host that does not have them; verifies their checksums on the control node first."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.archives import ArchiveError, expected, local


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin of the module install_archives; uploads only the archives that the host does not have.

    The additional option `installed` is {directory: SHA-512 of the archive unpacked there}, from an earlier host_probe.
    """

    TRANSFERS_FILES = True
    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Upload the archives that the host does not have, let the module unpack them, and return the module's result.

        `changed` in the result is true if an archive was unpacked, or would be in check mode.
        """
        super().run(tmp, task_vars)
        archives = [dict(archive) for archive in self._task.args["archives"]]
        try:
            for archive in archives:
                archive["checksum"] = "sha512:" + expected(archive["checksum"])
            there = self._task.args.get("installed") or {}
            if all(there.get(archive["dest"]) == archive["checksum"].partition(":")[2] for archive in archives):
                return {"changed": False, "missing": []}
            result: dict[str, Any] = self._execute_module(
                "install_archives", {"archives": archives}, task_vars=task_vars
            )
            if result.get("failed") or self._task.check_mode or not result["missing"]:
                return result
            return self.send(archives, set(result["missing"]), task_vars)
        except ArchiveError as error:
            return {"failed": True, "msg": str(error)}

    def send(
        self, archives: list[dict[str, Any]], missing: set[str], task_vars: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Upload the archives whose `dest` is in `missing`, run the module to unpack them, and return its result.

        Raises ArchiveError if an archive is missing on the control node, or has another checksum.
        """
        folder = self._make_tmp_path()
        try:
            for number, archive in enumerate(archives):
                if archive["dest"] in missing:
                    file = local(archive["src"], archive["checksum"].partition(":")[2])
                    archive["uploaded"] = self._connection._shell.join_path(folder, f"archive-{number}")
                    self._transfer_file(str(file), archive["uploaded"])
            result: dict[str, Any] = self._execute_module(
                "install_archives", {"archives": archives}, task_vars=task_vars
            )
            return result
        finally:
            self._remove_tmp_path(folder, force=True)
