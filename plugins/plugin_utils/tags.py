"""Checks the values of --tags and --skip-tags."""

from __future__ import annotations

from collections.abc import Iterable

# The tags of playbooks/.
TAGS = ("model", "hosts", "install", "config", "resources", "jobs")
# The two phases of preflight.
PREFLIGHT_TAGS = {"model", "hosts"}
ANSIBLE_TAGS = ("all", "always", "never", "tagged", "untagged")


def unknown_tags(run: Iterable[str], skip: Iterable[str]) -> list[str]:
    """Return a warning for each of --tags and --skip-tags that names a tag which no task of this project has.

    `run` and `skip` are the values of these options. A run with such a tag would silently skip all tasks. It is only a
    warning, since plays of a site may have other tags. Also warns of `--skip-tags model`, which has no effect.
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
    """Tell whether --tags (`run`) selects phases of preflight and nothing else."""
    return bool({*run}) and {*run} <= PREFLIGHT_TAGS
