"""What a control node installs: its lock file, the collection's file, what ansible-builder reads."""

import importlib.metadata
import os
import re
import subprocess
import tarfile
import tomllib
from pathlib import Path

import products
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
LOCKED = products.requirements(ROOT / "requirements.lock")
CONTROL = products.requirements(ROOT / "requirements-control.lock")
GALAXY = yaml.safe_load((ROOT / "galaxy.yml").read_text())


def needed(requirements: list[str]) -> set[str]:
    """Return the names of these and of all that they need on this machine, as installed packages say; no extras."""
    left, found = {*requirements}, set[str]()
    while left:
        requirement = Requirement(left.pop())
        name = canonicalize_name(requirement.name)
        if name not in found and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            found.add(name)
            left |= {*(importlib.metadata.requires(name) or [])}
    return found


def test_the_lock_has_what_the_control_node_needs_and_nothing_else() -> None:
    assert set(CONTROL) == needed(DECLARED), "run: make lock (after it, make setup)"


def test_both_locks_name_the_same_files() -> None:
    """Version and hashes; markers may be narrower where developers' tools need a package as well."""
    words = {
        package: [line.split(";")[0].split()[0], *re.findall(r"--hash=\S+", line)] for package, line in LOCKED.items()
    }
    for package, line in CONTROL.items():
        assert [line.split(";")[0].split()[0], *re.findall(r"--hash=\S+", line)] == words[package], "run: make lock"


def test_ansible_builder_is_told_the_same() -> None:
    lines = (ROOT / "meta" / "ee-requirements.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == DECLARED


def test_the_execution_environment_holds_this_collection_and_the_lock() -> None:
    definition = yaml.safe_load((ROOT / "execution-environment.yml").read_text())
    file = f"{GALAXY['namespace']}-{GALAXY['name']}-{GALAXY['version']}.tar.gz"
    assert definition["dependencies"]["galaxy"]["collections"] == [{"name": f"collections/{file}", "type": "file"}]
    assert [item["src"] for item in definition["additional_build_files"]] == [
        "requirements-control.lock",
        f".build/{file}",
    ]


def test_the_collection_holds_what_a_site_needs(tmp_path: Path) -> None:
    """Everything of it is listed here, down to a folder."""
    subprocess.run(
        ["ansible-galaxy", "collection", "build", "--output-path", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (file,) = tmp_path.iterdir()
    with tarfile.open(file) as archive:
        files = {member.name for member in archive if member.isfile()}
        pages = {
            name: archive.extractfile(name).read().decode()  # type: ignore[union-attr]
            for name in files
            if name.endswith(".md")
        }
    assert {path.partition("/")[0] for path in files} == {
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "FILES.json",
        "LICENSE",
        "MANIFEST.json",
        "README.md",
        "SECURITY.md",
        "SUPPORT.md",
        "changelogs",
        "docs",
        "examples",
        "execution-environment.yml",
        "functions",
        "inventories",
        "lab",
        "meta",
        "packaging",
        "playbooks",
        "plugins",
        "requirements-control.lock",
        "requirements.yml",
        "roles",
        "spark_jobs",
    }
    assert not [path for path in files if re.search(r"__pycache__|^(?!examples).*/\.", path)]
    only_pages = [path for path in files if re.match("inventories|lab|packaging|spark_jobs", path)]
    assert {path.partition("/")[2] for path in only_pages} == {"README.md"}
    folders = {"/".join(path.split("/")[:depth]) for path in files for depth in range(1, path.count("/") + 1)}
    for page, text in pages.items():
        links = re.findall(r"\]\((?!\w+:)([^)#\s]+)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
        linked = {os.path.normpath(os.path.join(os.path.dirname(page), link)) for link in links}
        assert linked <= files | folders, page
    assert {
        "meta/execution-environment.yml",
        "meta/ee-requirements.txt",
        "meta/ee-bindep.txt",
        "meta/runtime.yml",
    } <= files


def test_the_collection_runs_on_the_ansible_that_is_pinned_and_on_newer_ones() -> None:
    """Newer ones too: ansible_internals.py does without what an Ansible lacks."""
    pinned = Version(re.findall(r"==(\S+)", CONTROL["ansible-core"])[0])
    asked = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())["requires_ansible"]
    assert asked == f">={pinned.major}.{pinned.minor}.0", "ansible-lint accepts three numbers only"
    assert f"ansible-core {pinned.major}.{pinned.minor} or newer" in (ROOT / "docs" / "control_node.md").read_text()


def test_the_collection_asks_for_the_collections_that_its_roles_use() -> None:
    """Those that requirements.yml pins, and their later releases; a package `ansible` has them already."""
    pinned = yaml.safe_load((ROOT / "requirements.yml").read_text())["collections"]
    used = {
        name
        for file in ROOT.glob("roles/*/tasks/*.yml")
        for name in re.findall(r"^ *(?:- )?(\w+\.\w+)\.\w+:", file.read_text(), re.MULTILINE)
    }
    assert {one["name"] for one in pinned} == used - {"ansible.builtin", "millrace.kafka"}
    wanted = {one["name"]: f">={one['version']},<{Version(one['version']).major + 1}.0.0" for one in pinned}
    assert GALAXY["dependencies"] == wanted
