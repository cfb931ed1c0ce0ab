"""Checks the tags of the command line."""

from __future__ import annotations

from collections.abc import Iterable

# Those of playbooks/.
TAGS = ("model", "hosts", "install", "config", "resources", "jobs")
# The two phases of preflight.
ASK = {"model", "hosts"}
ANSIBLE_TAGS = ("all", "always", "never", "tagged", "untagged")


def unknown(run: Iterable[str], skip: Iterable[str]) -> list[str]:
    """Return a warning for each tag option that no task has: Ansible would silently skip everything.

    It is a warning, since plays of a site itself may have tags of their own.
    """
    skip = list(skip)
    found = {
        option: [tag for tag in given if tag not in (*TAGS, *ANSIBLE_TAGS)]
        for option, given in (("--tags", run), ("--skip-tags", skip))
    }
    said = [] if "model" not in skip else ["--skip-tags model: it is checked all the same, for all else stands on it"]
    return said + [
        f"{option} {','.join(tags)}: no task of this project's playbooks has such a tag; there are {', '.join(TAGS)}"
        for option, tags in found.items()
        if tags
    ]


def only_asked(run: Iterable[str]) -> bool:
    """Tell whether --tags selected phases of preflight and nothing else."""
    return bool({*run}) and {*run} <= ASK
