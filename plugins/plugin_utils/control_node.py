"""Checks the Python packages of the control node, so that an old package causes one line instead of a traceback."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

LEAST = {"cryptography": 50}
"""{package: its least major version}. Distributions have older ones; other packages are only needed by single tasks."""


def package_errors() -> list[str]:
    """Return one text for each package of this Python that is missing or older than LEAST; [] if none is."""
    errors = []
    for package, least in LEAST.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            found = ""
        if not found or int(found.partition(".")[0]) < least:
            has = f"has {package} {found}" if found else f"has no {package}"
            errors.append(
                f"the Python of the control node, {sys.executable}, {has}, but millrace.kafka needs {least} or newer; "
                "install it in a virtual environment (docs/control_node.md)"
            )
    return errors
