"""Filters for the certificates of a host, and for the ports that use TLS."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils import endpoints
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions


def pki_of(made: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the part of a host's result of the role pki, `made`, that belongs to the function `name`.

    `files` and `directories` keep what belongs to this function or to no function, since groups of other functions may
    not exist on the host yet. `held` keeps only certificates of this function. Entries are sorted, those of the
    function first, so that their order does not depend on the inventory.
    """
    every_file = sorted(made["files"], key=lambda file: ("function" not in file, file["path"]))
    owners = {file["path"]: _owner(file) for file in every_file}
    files = [file for file in every_file if owners[file["path"]] in (name, "")]
    folders = {os.path.dirname(file["path"]) for file in files}
    own = {file["path"] for file in files if "function" in file}
    held = sorted(made["held"].items(), key=lambda item: (item[1]["path"] not in own, item[0]))
    return {
        **made,
        "files": files,
        "directories": [folder for folder in made["directories"] if folder["path"] in folders],
        "held": {key: certificate for key, certificate in held if owners.get(certificate["path"]) == name},
    }


def _owner(file: Mapping[str, Any]) -> str:
    """Return the function that a file belongs to, '' for none.

    A file without the key `function` belongs to the function that has the name of its system group.
    """
    return file.get("function") or (file["group"] if file["group"] in functions() else "")


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {
            "pki_of": pki_of,
            "kafka_endpoints_with_tls": endpoints.broker_endpoints,
            "zookeeper_endpoints_with_tls": endpoints.zookeeper_endpoints,
        }
