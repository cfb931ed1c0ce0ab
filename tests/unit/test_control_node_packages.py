"""An old or missing package of the control node is one line that names the Python, not a traceback."""

import importlib.metadata
import sys

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils import control_node


def of_version(text: str | None) -> object:
    def version(name: str) -> str:
        if text is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return text

    return version


@pytest.mark.parametrize(
    ("found", "has"),
    [("43.0.0", "has cryptography 43.0.0"), ("49.9", "has cryptography 49.9"), (None, "has no cryptography")],
)
def test_what_is_reported(found: str | None, has: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_node, "version", of_version(found))
    (error,) = control_node.package_errors()
    assert has in error
    assert sys.executable in error
    assert "needs 50 or newer" in error


@pytest.mark.parametrize("found", ["50.0.2", "51.0.0", "100.0"])
def test_what_is_accepted(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_node, "version", of_version(found))
    assert control_node.package_errors() == []
