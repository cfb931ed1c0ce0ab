"""Checks the values of --tags and --skip-tags."""

from __future__ import annotations

from collections.abc import Iterable

# The tags of playbooks/.
TAGS = ("model", "hosts", "install", "config", "resources", "jobs")
# The two phases of preflight.
PREFLIGHT_TAGS = {"model", "hosts"}
ANSIBLE_TAGS = ("all", "always", "never", "tagged", "untagged")


def unknown_tags(run: Iterable[str], skip: Iterable[str]) -> list[str]:
    """Return a warning for each of --tags and --skip-tags that contains a tag which no task of this project has.

    `run` and `skip` are the values of --tags and --skip-tags. With an unknown tag in --tags, a run would silently skip
    all tasks. But plays of a site may have tags of their own, so an unknown tag is not an error. `--skip-tags model`
    also causes a warning, since it has no effect.
    """
    skip = list(skip)
    unknown_by_option = {
        option: [tag for tag in given if tag not in (*TAGS, *ANSIBLE_TAGS)]
        for option, given in (("--tags", run), ("--skip-tags", skip))
    }
    model = ["--skip-tags model: the model is checked nevertheless, since all other phases depend on it"]
    return (model if "model" in skip else []) + [
        f"{option} {','.join(tags)}: no task of this project has this tag; known tags: {', '.join(TAGS)}"
        for option, tags in unknown_by_option.items()
        if tags
    ]


def only_preflight(run: Iterable[str]) -> bool:
    """Tell whether the tags `run`, the value of --tags, select nothing but phases of preflight."""
    return bool({*run}) and {*run} <= PREFLIGHT_TAGS
