"""Filters for Java properties files, such as server.properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.properties import line
from ansible_collections.millrace.kafka.plugins.plugin_utils.live_settings import live_settings, start_settings
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import written


def properties(settings: Mapping[str, Any]) -> list[str]:
    """Return the sorted lines `key=value` of a Java properties file; settings with the value None are skipped.

    Lists are joined by commas. Blanks at the ends of a value are removed, but not those of a secret. Backslashes,
    leading blanks, line ends and non-ASCII letters are escaped, so that Java reads each value as given.
    """
    return [line(str(key), written(str(key), value)) for key, value in sorted(settings.items()) if value is not None]


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {"live_settings": live_settings, "properties": properties, "start_settings": start_settings}
