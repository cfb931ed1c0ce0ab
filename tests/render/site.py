"""Runs the real playbooks and roles on an inventory without its hosts, and returns what each host would get.

The modules that reach hosts have stand-ins (tests/render/action) that write their arguments down; everything else runs
in check mode.
"""

import atexit
import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from made_archives import made_archives
from model.mistakes.base import VAULT

from ansible_collections.millrace.kafka.plugins.module_utils.host.properties import pairs
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from render.started import Started

ROOT = Path(__file__).resolve().parents[2]

FIREWALL = "millrace-firewall.service"
CHEAP = {"pki_key": "ec-p256", "pki_authority_key": "ec-p256"}
CLUSTER = ("spark_masters", "spark_workers")


@dataclass(frozen=True)
class Rendered:
    """What the roles want of one host: the arguments of host_state by role, and the archives."""

    roles: Mapping[str, Mapping[str, Any]]
    archives: Sequence[Mapping[str, Any]]

    def items(self, option: str) -> list[dict[str, Any]]:
        """Return the elements of a list option of host_state, over all roles."""
        return [element for arguments in self.roles.values() for element in arguments[option]]

    @property
    def services(self) -> list[dict[str, Any]]:
        """Return the units of the host's function, without the firewall's and without those that serve metrics.

        Each with its digest, where it is not said the one in its file.
        """
        own = (arguments["units"] for role, arguments in self.roles.items() if role != "metrics")
        units = [unit for found in own for unit in found if unit["name"] != FIREWALL]
        written = {file["path"]: str(file["content"]) for file in self.items("files")}
        digests = {
            name: re.findall(r"CONFIG_DIGEST=(\w+)", written.get(f"/etc/systemd/system/{name}", ""))
            for name in (unit["name"] for unit in units)
        }
        named = [{**unit, "digest": unit["digest"] or next(iter(digests[unit["name"]]), None)} for unit in units]
        return [{key: value for key, value in unit.items() if value is not None} for unit in named]

    def file(self, path: str) -> dict[str, Any]:
        """Return one file with its attributes."""
        return next(file for file in self.items("files") if file["path"] == path)

    def text(self, path: str) -> str:
        """Return the content of one file that is no secret."""
        return str(self.file(path)["content"])

    def secret(self, path: str) -> str:
        """Return the content of a secret file, which is in no option that Ansible would show or note."""
        file = self.file(path)
        assert file["secret"]
        assert not file["content"]
        return base64.b64decode(file["secret_base64"]).decode()

    def properties(self, path: str) -> dict[str, str]:
        """Return a properties file as a dict."""
        return properties(self.text(path))

    def unit(self, name: str) -> dict[str, list[str]]:
        """Return a systemd unit as the values of each key, in order, continuation lines joined."""
        values: dict[str, list[str]] = {}
        for line in self.text(f"/etc/systemd/system/{name}").replace("\\\n", " ").splitlines():
            key, found, value = line.partition("=")
            if found and not key.startswith("#"):
                values.setdefault(key, []).append(value)
        return values


def properties(text: str) -> dict[str, str]:
    """Return keys and values as Java reads them; a key that stands there twice is an error."""
    found = pairs(text)
    assert len(dict(found)) == len(found), f"a key is there twice:\n{text}"
    return dict(found)


def readme_command() -> str:
    """Return what README.md tells to type on a broker's host."""
    (found,) = re.findall(r"```\n(f=\S+\nkafka-topics\.sh .*\n)```", (ROOT / "README.md").read_text(encoding="utf-8"))
    return str(found)


@cache
def with_stand_ins() -> Path:
    """Return a folder of collections that holds this one with other actions.

    All are links, those of this folder in place of real_*.
    """
    folder = Path(mkdtemp(prefix="render-collections"))
    atexit.register(rmtree, folder)
    collection = folder / "ansible_collections" / "millrace" / "kafka"
    actions = collection / "plugins" / "action"
    actions.mkdir(parents=True)
    for file in (*ROOT.glob("[!.]*"), *(ROOT / "plugins").iterdir(), *(ROOT / "plugins" / "action").glob("*.py")):
        link = collection / file.relative_to(ROOT)
        if not link.exists():
            link.symlink_to(file)
    for file in Path(__file__).with_name("action").glob("*.py"):
        if (actions / file.name).exists():
            (actions / file.name).rename(actions / f"real_{file.name}")
        (actions / file.name).symlink_to(file)
    return folder


@cache
def with_no_network() -> Started:
    """Return what runs playbooks with the stand-ins."""
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    return Started(*alone, ANSIBLE_COLLECTIONS_PATH=str(with_stand_ins()))


def run_playbooks(inventory: Path, playbooks: Sequence[str], *options: str) -> subprocess.CompletedProcess[str]:
    """Run playbooks of this repository on an inventory with the stand-ins and no network; both outputs in one text."""
    return with_no_network().run("-i", str(inventory), *options, *playbooks)


def make_archives(folder: Path) -> None:
    """Link a folder to the made-up archives and their checksum files, which all tests share and none changes."""
    folder.symlink_to(made_archives())


def control_node(inventory: Path, folder: Path) -> dict[str, Any]:
    """Return variables that keep every file of the control node in a folder, with cheap keys.

    A lab makes its secrets itself.
    """
    found: dict[str, Any] = {"archives": str(folder / "archives"), "pki_directory": str(folder / "pki"), **CHEAP}
    found["accept_risks"] = ["AUTHORITY_KEYS"]  # of made-up CAs, in a folder of the test
    return {
        **found,
        **(
            {"lab_directory": str(folder / "lab")}
            if "lab_directory" in (inventory / "hosts.yml").read_text()
            else {"vault": VAULT}
        ),
    }


def layers() -> list[str]:
    """Return the names of the layers of all functions, in their order; the Spark cluster has one of two functions."""
    return list(dict.fromkeys("spark_cluster" if name in CLUSTER else name for name in functions()))


def render(inventory: Path, folder: Path, *options: str, control: Path | None = None) -> dict[str, Rendered]:
    """Return what each host of an inventory would get; AssertionError with Ansible's words where a role fails.

    `control` is the folder of a run whose certificates and passwords are used again.
    """
    make_archives(folder / "archives")
    settings = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "render_directory": str(folder / "hosts"),
        **control_node(inventory, control or folder),
    }
    done = run_playbooks(
        inventory,
        ["tests/render/probe.yml", *(f"playbooks/layers/{layer}.yml" for layer in layers())],
        "--check",
        "--tags",
        "config",
        "-e",
        json.dumps(settings),
        *options,
    )
    assert done.returncode == 0, done.stdout
    hosts = {}
    for host in sorted((folder / "hosts").iterdir()):
        noted = {file.stem: json.loads(file.read_text()) for file in host.iterdir()}
        archives = noted.pop("archive", {"archives": []})["archives"]
        hosts[host.name] = Rendered(noted, archives)
    return hosts
