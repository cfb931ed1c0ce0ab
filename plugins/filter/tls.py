"""Filters for certificates and for the ports that use TLS."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils import endpoints
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions


def pki_of(made: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the role pki's result for a host, without the files of its other functions.

    Groups of other functions may not exist yet. `held` has only the certificates of this function, by name, since its
    service uses no others. The order does not depend on the inventory: first the entries of the function itself, then
    the others, each sorted by name.
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

    A file of the site without `function` belongs to the function that has the name of its group.
    """
    return file.get("function") or (file["group"] if file["group"] in functions() else "")


class FilterModule:
    """The filters under their names."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {
            "pki_of": pki_of,
            "kafka_endpoints_with_tls": endpoints.broker_endpoints,
            "zookeeper_endpoints_with_tls": endpoints.zookeeper_endpoints,
        }
