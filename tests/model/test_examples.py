"""The example of a site's own repository is accepted by preflight, and has the settings that the page shows."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = ROOT / "examples" / "site"
PAGE = (ROOT / "docs" / "control_node.md").read_text(encoding="utf-8")


def test_preflight_accepts_it() -> None:
    """By its own CI job, which has no secrets: the inventory script, the lookups and the outside CA."""
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"), "ANSIBLE_CONFIG": "ansible.cfg"}
    done = subprocess.run([SITE / "ci" / "preflight.sh"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "What this layout (single) survives" in done.stdout
    assert [*re.findall(r"\b([A-Z]+_[A-Z_]+) group", done.stdout)] == ["CERTIFICATE_UNSIGNED"]  # a warning


def test_it_has_the_settings_of_the_page() -> None:
    assert (SITE / "ansible.cfg").read_text() == re.findall(r"```ini\n(.*?)```", PAGE, re.DOTALL)[0]
    (wanted,) = re.findall(r"^\| `requirements.yml` \| `(.*)` \|$", PAGE, re.MULTILINE)
    assert (SITE / "requirements.yml").read_text() == f"{wanted}\n"


def test_the_page_names_files_that_exist() -> None:
    named = re.findall(r"`([\w./-]+/[\w.-]+|\.gitlab-ci\.yml)`", (ROOT / "examples" / "README.md").read_text())
    assert {name for name in named if name.endswith((".py", ".yml", ".sh", ".csv", ".pem", "secret"))} >= {"bin/secret"}
    assert [name for name in named if not name.startswith(("/", "inventories/.")) and not (SITE / name).exists()] == []
