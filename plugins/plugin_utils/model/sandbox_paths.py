"""Folders that systemd units hide from services: home directories and the host's /tmp."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import overrides
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below

# roles/base/templates/service/sandbox.j2
HOMES, PRIVATE = ("/home", "/root", "/run/user"), ("/tmp", "/var/tmp")
UNSEEN = (*HOMES, *PRIVATE)
OFF = ("no", "false", "off", "0")
OPENED = ("BindPaths", "BindReadOnlyPaths")
WRITABLE = ("ReadWritePaths", "BindPaths", "TemporaryFileSystem")
# Settings with names of folders that systemd makes for a service, and where it makes them.
MADE = {
    "StateDirectory": "/var/lib",
    "CacheDirectory": "/var/cache",
    "LogsDirectory": "/var/log",
    "RuntimeDirectory": "/run",
}


def hidden(path: str, services: Sequence[Mapping[Any, Any]]) -> str | None:
    """Return the folder around `path` that a systemd unit hides from its service, such as "/home (ProtectHome)".

    Return None if the service can see the path. `services` are the [Service] sections of the unit's drop-ins.
    """
    folder = below(path, *UNSEEN)
    if not folder:
        return None
    name = "ProtectHome" if folder in HOMES else "PrivateTmp"
    values = [str(section[name]).lower() for section in services if section.get(name) is not None]
    seen = bool(values) and values[-1] in ((*OFF, "read-only") if folder in HOMES else OFF)
    opened = [place for section in services for key in OPENED for place in mounted(section.get(key))]
    return None if seen or any(below(path, place) for place in opened) else f"{folder} ({name})"


def mounted(given: Any) -> Iterator[str]:
    """Yield the mount points in a value of BindPaths, whose entries are source or source:mount point:options.

    A value of TemporaryFileSystem has entries mount point:options, one of ExecPaths only paths.
    """
    for text in given if isinstance(given, (list, tuple)) else [given] if given else []:
        for entry in str(text).split():
            parts = re.sub(r"^[-+]+", "", entry).split(":")
            place = parts[1] if len(parts) > 1 and parts[1].startswith("/") else parts[0]
            if place.startswith("/"):
                yield place


def more_writable(services: Sequence[Mapping[Any, Any]]) -> list[str]:
    """Return the paths that drop-ins make writable; `services` are their [Service] sections."""
    paths = [path for section in services for key in WRITABLE for path in mounted(section.get(key))]
    for section in services:
        for key, parent in MADE.items():
            names = section.get(key)
            for text in names if isinstance(names, (list, tuple)) else [names] if names else []:
                paths += [f"{parent}/{name.partition(':')[0]}" for name in str(text).split()]
    return paths


def is_strict(services: Sequence[Mapping[Any, Any]]) -> bool:
    """Tell whether a service may write only where its unit allows writes, as the roles set it (ProtectSystem)."""
    values = [str(section["ProtectSystem"]) for section in services if section.get("ProtectSystem") is not None]
    return not values or values[-1] == "strict"


def services_of(machine: Machine, *names: str) -> list[Mapping[Any, Any]]:
    """Return the [Service] sections of the drop-ins in the variables `names` of a host."""
    services = [sections.get("Service") for name, sections in overrides(machine) if name in names]
    return [section for section in services if isinstance(section, Mapping)]
