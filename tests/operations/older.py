"""Archives of versions before the product's own, built as those are; jars are pinned as the repository has them."""

import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from faults.inventory import ROOT

OLDER = {"kafka": "3.9.1", "zookeeper": "3.8.5"}
PINNED = {"inter.broker.protocol.version": "3.8"}
"""What brokers speak before the protocol step: of the minor before, as after an upgrade over minors."""


def versions() -> dict[str, str]:
    """Return what the product installs of itself."""
    said = yaml.safe_load((ROOT / "functions" / "all.yml").read_text())["variables"]["product_versions"]
    return {product: said[product] for product in OLDER}


def archives(folder: Path) -> Path:
    """Build the older archives in `folder`, put the product's own beside them; return where they are.

    Raises CalledProcessError where they cannot be built.
    """
    shutil.copytree(ROOT / "packaging", folder / "packaging")
    (folder / "functions").mkdir()
    shutil.copy(ROOT / "functions" / "all.yml", folder / "functions")
    for product, version in versions().items():
        pom = folder / "packaging" / product / "pom.xml"
        text, wanted = pom.read_text(), f"<{product}.version>{OLDER[product]}<"
        pom.write_text(text.replace(f"<{product}.version>{version}<", wanted))
        assert wanted in pom.read_text(), f"{pom} names {version} otherwise"
    build = [sys.executable, str(folder / "packaging" / "build.py"), "--update-checksums", *OLDER]
    subprocess.run(build, cwd=folder, check=True)
    built = folder / ".build" / "archives"
    for file in (ROOT / ".build" / "archives").glob("[!.]*"):
        (built / file.name).symlink_to(file)
    return built
