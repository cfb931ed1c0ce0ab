"""Where TLS is spoken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils import endpoints
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions


def pki_of(made: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return what the role pki answered for a host, without the files of the services of its other functions.

    Those have groups that may not be there yet, and are none of what this function's service runs with.
    """
    others = functions().keys() - {name}
    files = [file for file in made["files"] if file["group"] not in others]
    paths = {file["path"] for file in files}
    return {
        **made,
        "files": files,
        "directories": [folder for folder in made["directories"] if folder["group"] not in others],
        "held": {key: held for key, held in made["held"].items() if held["path"] in paths},
    }


class FilterModule:
    """The filters under their names."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {
            "pki_of": pki_of,
            "kafka_endpoints_with_tls": endpoints.broker_endpoints,
            "zookeeper_endpoints_with_tls": endpoints.zookeeper_endpoints,
        }
