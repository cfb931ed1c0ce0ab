"""What units of ours do not see of a host: homes, which are closed to them, and /tmp, of which each has its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import overrides
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below

# roles/base/templates/service/sandbox.j2
HOMES, OWN = ("/home", "/root", "/run/user"), ("/tmp", "/var/tmp")
UNSEEN = (*HOMES, *OWN)
OFF = ("no", "false", "off", "0")
OPENED = ("BindPaths", "BindReadOnlyPaths")


def hidden(path: str, services: Sequence[Mapping[Any, Any]]) -> str | None:
    """Return the folder that is another one to a unit and that a path is in, with the setting that says so.

    `services` are the sections Service that are laid over the unit. ReadWritePaths opens nothing of a home
    (systemd.exec(5), ProtectHome).
    """
    folder = below(path, *UNSEEN)
    if not folder:
        return None
    name = "ProtectHome" if folder in HOMES else "PrivateTmp"
    told = [str(given[name]).lower() for given in services if given.get(name) is not None]
    seen = bool(told) and told[-1] in ((*OFF, "read-only") if folder in HOMES else OFF)
    mounted = [place for given in services for key in OPENED for place in _mounted(given.get(key))]
    return None if seen or any(below(path, place) for place in mounted) else f"{folder} ({name})"


def _mounted(given: Any) -> Iterator[str]:
    """Yield where folders of the host are mounted for a unit: source:place:options, or the source itself."""
    for text in given if isinstance(given, (list, tuple)) else [given] if given else []:
        for one in str(text).split():
            parts = re.sub(r"^[-+]+", "", one).split(":")
            place = parts[1] if len(parts) > 1 and parts[1] else parts[0]
            if place.startswith("/"):
                yield place


def services_of(machine: Machine, *names: str) -> list[Mapping[Any, Any]]:
    """Return the sections Service of drop-ins, by where they are said."""
    found = [sections.get("Service") for name, sections in overrides(machine) if name in names]
    return [section for section in found if isinstance(section, Mapping)]
