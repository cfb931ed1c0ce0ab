#!/usr/bin/env python3
"""Write the tables of docs/resources.md: profiles of topics, and the ACLs of each grant."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pages import between, write

from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import VERBS, acls_of_grant
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.topics import profiles

PAGE = Path(__file__).resolve().parents[1] / "docs" / "resources.md"
# An example of each grant.
EXAMPLES: Mapping[str, tuple[dict[str, Any], ...]] = {
    "produce": ({"produce": ["orders", "payments.*"]},),
    "consume": ({"consume": ["returns"], "group": "orders"},),
    "transactional_id": ({"transactional_id": "orders-*"},),
    "streams": ({"streams": "totals"},),
    "connect": ({"connect": "etl", "topics": ["etl-configs", "etl-offsets", "etl-status"]},),
    "mirror_maker": (
        {"mirror_maker": "source", "topics": ["orders"], "groups": ["orders"]},
        {"mirror_maker": "source", "source": "east", "topics": ["orders"], "groups": ["orders"]},
        {"mirror_maker": "target", "source": "west", "groups": ["orders"]},
    ),
    "exporter": ({"exporter": True}, {"exporter": True, "topics": ["orders"]}, {"exporter": True, "canary": "canary"}),
}


def written(value: Any) -> str:
    """Return a value as YAML in one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {written(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def profile_rows() -> list[str]:
    """Return a list of the profiles with their purpose and cost, then the table of their properties."""
    known = profiles()
    rows = []
    for name, profile in known.items():
        description, cost = (" ".join(str(profile[key]).split()) for key in ("description", "cost"))
        item = f"- `{name}`: {description} Cost: {cost}"
        rows += textwrap.wrap(item, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    rows += ["", f"| Property | {' | '.join(f'`{name}`' for name in known)} |", f"| --- |{' --- |' * len(known)}"]
    for key in dict.fromkeys(key for profile in known.values() for key in profile["config"]):
        cells = (f"`{written(p['config'][key])}` |" if key in p["config"] else "|" for p in known.values())
        rows.append(f"| `{key}` | {' '.join(cells)}")
    return rows


def grant_rows() -> list[str]:
    """Return the table of grants, with one row for each ACL."""
    rows = ["| Grant | Operations | Resource |", "| --- | --- | --- |"]
    for verb in VERBS:
        for grant in EXAMPLES[verb]:
            first = f" `{written(grant)}`"
            for acl in acls_of_grant(grant):
                name, star = acl.get("name", ""), "*" if acl.get("pattern") == "prefixed" else ""
                resource = f"{acl['resource'].replace('_', ' ')}{f' `{name}{star}`' if name else ''}"
                rows.append(f"|{first} | {', '.join(acl['operations'])} | {resource} |")
                first = ""
    return rows


def page() -> str:
    """Return the page with its current tables. Raises ValueError if the markers of one are missing."""
    text = PAGE.read_text(encoding="utf-8")
    for name, rows in (("profiles", profile_rows()), ("grants", grant_rows())):
        begin, end = f"<!-- {name}: begin, by make docs -->", f"<!-- {name}: end -->"
        text = between(PAGE, text, begin, end, "\n".join(("\n", *rows, "\n")))
    return text


if __name__ == "__main__":
    write(PAGE, page)
