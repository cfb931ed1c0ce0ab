"""Where TLS is spoken."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils import endpoints
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions


def pki_of(made: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return what the role pki answered for a host, without the files of the services of its other functions.

    Those have groups that may not be there yet. `held` has the certificates of this function alone, by their names: its
    service runs with them, and with none that is nobody's. The order of the inventory's entries shows in neither: what
    the function itself has comes first, each by its name.
    """
    found = sorted(made["files"], key=lambda file: ("function" not in file, file["path"]))
    owners = {file["path"]: _owner(file) for file in found}
    files = [file for file in found if owners[file["path"]] in (name, "")]
    folders = {os.path.dirname(file["path"]) for file in files}
    own = {file["path"] for file in files if "function" in file}
    held = sorted(made["held"].items(), key=lambda item: (item[1]["path"] not in own, item[0]))
    return {
        **made,
        "files": files,
        "directories": [folder for folder in made["directories"] if folder["path"] in folders],
        "held": {key: one for key, one in held if owners.get(one["path"]) == name},
    }


def _owner(file: Mapping[str, Any]) -> str:
    """Return the function whose file it is, '' where it is nobody's.

    What a site has besides and says no function of is that one's whose group it names.
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
