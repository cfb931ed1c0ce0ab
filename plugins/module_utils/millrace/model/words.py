"""Rules on variables: every name that begins like a role's is known, and secrets are no words that everybody tries first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..definitions import nearest
from ..problems import Problem
from ..secret import is_secret, texts
from .base import Model

# What installers, tutorials and test benches put where a secret belongs.
DEFAULTS = {"changeme", "change_me", "change-me", "changeit", "password", "passwd", "secret", "admin", "admin-secret", "kafka", "test", "123456"}


def names(model: Model) -> Iterator[Problem]:
    """A variable that begins with a role's name is one of its inputs; one that is almost a site word is suspect."""
    words = frozenset(name for name in model.known if not _prefixed(model, name))
    for host, found in model.names.items():
        for name in found - model.known:
            if _prefixed(model, name):
                near = nearest(name, model.known)
                advice = f"did you mean {near}?" if near else "the roles' README tables list the inputs"
                yield Problem((host,), name, "VARIABLE_UNKNOWN", None, "no role has an input of this name, so it does nothing", advice)
            elif not name.startswith(("ansible_", "group", "inventory_", "omit", "play", "role_", "_")):
                near = nearest(name, words)
                if near and abs(len(near) - len(name)) <= 2 and near not in found and len(name) > 4:
                    wrong = "nothing of ours reads a variable of this name"
                    yield Problem((host,), name, "VARIABLE_SUSPECT", None, wrong, f"did you mean {near}?", warning=True)


def _prefixed(model: Model, name: str) -> bool:
    return any(name.startswith(f"{prefix}_") for prefix in model.prefixes)


def secrets(model: Model) -> Iterator[Problem]:
    """No secret is a default; the value is never shown."""
    for host, values in model.hosts.items():
        for variable, value in values.items():
            for path, found in texts(variable, value):
                if is_secret(path, found) and _guessable(found):
                    wrong = "a secret that everybody tries first"
                    yield Problem((host,), path, "SECRET_DEFAULT", None, wrong, "make a random one, and keep it in a vaulted file")


def _guessable(text: str) -> bool:
    inside = re.search(r"password\s*=\s*[\"']([^\"']*)", text)
    return (inside.group(1) if inside else text).strip().lower() in DEFAULTS
