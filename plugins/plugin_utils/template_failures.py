"""Reads why a template failed from the text of Ansible's exception, which has no structured data.

The error texts of this project's own filters are defined here too, next to the patterns that read them.
"""

from __future__ import annotations

import re
from typing import Any

NO_USER = "{users} has no user {name}, it has {others}; declare it, or correct the name"
"""Error of the filters kafka_login and postgresql_login."""
ABSENT_USER = "{name} of kafka_users has state: absent; remove it, or log in as another user"
"""Error of the filter kafka_login."""
NO_PASSWORD = "{name} of kafka_users has no password (credential: false); set credential: true"
"""Error of the filter kafka_login."""

UNDEFINED = re.compile(r"'(\w+)' is undefined")
MISSING_KEY = re.compile(r"has no attribute '(\w+)'|has no element '(\w+)'")
RECURSIVE = re.compile(r"Recursive loop")
PLUGIN = re.compile(r"The (?:filter|lookup) plugin '([\w.]+)' failed")
UNKNOWN_HOST = re.compile(r"hostvars\['([^']+)'\]")
OTHER_TYPE = re.compile(r"unable to convert|must be of type|could not parse")
USER_UNKNOWN = re.compile(r"(\w+_users) has no user (.*?), it has (.*?); ")
USER_ABSENT = re.compile(r"(\S+) of kafka_users has state: absent")
USER_WITHOUT_PASSWORD = re.compile(r"(\S+) of kafka_users has no password")


def failure_details(error: str) -> dict[str, Any]:
    """Return the details of the problem of a failed template, read from the text of Ansible's exception.

    - `error`: first line of the text;
    - `undefined`: the names of undefined variables;
    - `missing_keys`: the keys that a value does not have;
    - `is_recursive`: whether the template depends on itself;
    - `plugin`: the filter or lookup that failed, or '';
    - `unknown_host`: a host that is not in the inventory, or '';
    - `unknown_user`: (variable, user, users that the variable has), or ();
    - `user_without_password`, `absent_user`: a user of kafka_users, or '';
    - `failure`: `type` if a value has the wrong type, or ''.
    """
    line = error.splitlines()[0].rstrip(".") if error else ""
    plugin, host = PLUGIN.search(line), UNKNOWN_HOST.fullmatch(line)
    user, without_password = USER_UNKNOWN.search(line), USER_WITHOUT_PASSWORD.search(line)
    return {
        "error": line,
        "undefined": UNDEFINED.findall(line),
        "missing_keys": [match[1] or match[2] for match in MISSING_KEY.finditer(line)],
        "is_recursive": bool(RECURSIVE.search(line)),
        "plugin": plugin[1] if plugin else "",
        "unknown_host": host[1] if host else "",
        "unknown_user": user.groups() if user else (),
        "user_without_password": without_password[1] if without_password else "",
        "absent_user": absent[1] if (absent := USER_ABSENT.search(line)) else "",
        "failure": "type" if OTHER_TYPE.search(line) else "",
    }
