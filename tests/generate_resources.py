#!/usr/bin/env python3
"""Write the tables of docs/resources.md: profiles of topics, and the ACLs that grants come to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pages import between, write

from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import VERBS, acls_of_grant
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.topics import profiles

PAGE = Path(__file__).resolve().parents[1] / "docs" / "resources.md"
# One grant for each verb, as a person writes it.
EXAMPLES: Mapping[str, tuple[dict[str, Any], ...]] = {
    "produce": ({"produce": ["orders", "payments.*"]},),
    "consume": ({"consume": ["returns"], "group": "orders"},),
    "transactional_id": ({"transactional_id": "orders-*"},),
    "streams": ({"streams": "totals"},),
    "connect": ({"connect": "etl", "topics": ["etl-configs", "etl-offsets", "etl-status"]},),
    "mirror_maker": (
        {"mirror_maker": "source", "source": "east", "topics": ["orders"], "groups": ["orders"]},
        {"mirror_maker": "target", "source": "west", "groups": ["orders"]},
    ),
    "exporter": ({"exporter": True},),
}


def written(value: Any) -> str:
    """Return a value as YAML in one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {written(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def profile_rows() -> list[str]:
    """Return the table of profiles."""
    rows = ["| Profile | For | Properties | What it costs |", "| --- | --- | --- | --- |"]
    for name, profile in profiles().items():
        config = "<br>".join(f"`{key}: {written(value)}`" for key, value in profile["config"].items())
        texts = (" ".join(str(profile[key]).split()) for key in ("description", "cost"))
        description, cost = texts
        rows.append(f"| `{name}` | {description} | {config} | {cost} |")
    return rows


def grant_rows() -> list[str]:
    """Return the table of grants."""
    rows = ["| Grant | ACLs of the user |", "| --- | --- |"]
    for verb in VERBS:
        for grant in EXAMPLES[verb]:
            found = []
            for acl in acls_of_grant(grant):
                name, star = acl.get("name", ""), "*" if acl.get("pattern") == "prefixed" else ""
                place = f" `{name}{star}`" if name else ""
                found.append(f"{', '.join(acl['operations'])} on {acl['resource'].replace('_', ' ')}{place}")
            rows.append(f"| `{written(grant)}` | {'<br>'.join(found)} |")
    return rows


def page() -> str:
    """Return the page with its tables as they have to be. Raises ValueError where one has no place."""
    text = PAGE.read_text(encoding="utf-8")
    for name, rows in (("profiles", profile_rows()), ("grants", grant_rows())):
        begin, end = f"<!-- {name}: begin, by make docs -->", f"<!-- {name}: end -->"
        text = between(PAGE, text, begin, end, "\n".join(("\n", *rows, "\n")))
    return text


if __name__ == "__main__":
    write(PAGE, page)
