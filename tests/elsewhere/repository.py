"""A repository of a site's own, made as docs/control_node.md says: nothing in it leads to this checkout."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from faults.inventory import ROOT

MOST_LINES = 40
SECRETS = "vault: {pki_passphrase: of-the-ca-keys, passwords: {orders: of-the-user-orders}}\n"


class Repository:
    """The folder `site` below `place`. Commands in it see no variable of the environment but PATH and HOME."""

    def __init__(self, place: Path, run: Callable[..., None]) -> None:
        """Make the folder; `run` runs a command of the checkout, and raises where it fails."""
        self.folder, self._run = place / "site", run
        self.inventory = self.folder / "inventories" / "mine"
        self.vault = ("--vault-password-file", str(self.folder / "password"))
        self.environment = {"PATH": f"{self.folder}/.venv/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(place)}

    def make(self) -> None:
        """Write its files: the collection's, an inventory of one file, a vault, and what the archives are."""
        (self.inventory / "group_vars" / "all").mkdir(parents=True)
        self._run("make", "collection")
        (built,) = (ROOT / ".build").glob("millrace-kafka-*.tar.gz")
        shutil.copy(built, self.folder)
        page = (ROOT / "docs" / "control_node.md").read_text()
        (self.folder / "ansible.cfg").write_text(re.findall(r"```ini\n(.*?)```", page, re.DOTALL)[0])
        wanted = re.findall(r"^\| `requirements.yml` \| `(.*)` \|$", page, re.MULTILINE)[0]
        (self.folder / "requirements.yml").write_text(f"{wanted}\n")
        shutil.copytree(ROOT / ".build" / "archives", self.folder / "archives")
        text = (ROOT / "tests" / "elsewhere" / "hosts.yml").read_text()
        if len(text.splitlines()) > MOST_LINES:
            raise ValueError(f"the inventory has more than {MOST_LINES} lines")
        (self.inventory / "hosts.yml").write_text(text)
        (self.folder / "password").write_text("of-the-vault\n")
        (self.inventory / "group_vars" / "all" / "vault.yml").write_text(SECRETS)

    def install(self) -> None:
        """Install the Python packages and the collection, and encrypt the vault."""
        self.command("tar", "-xf", *(file.name for file in self.folder.glob("*.tar.gz")), "requirements-control.lock")
        self.command("python3", "-m", "venv", ".venv")
        self.command("pip", "install", "--quiet", "--require-hashes", "-r", "requirements-control.lock")
        self.command("ansible-galaxy", "collection", "install", "-r", "requirements.yml", "-p", "collections")
        self.command("ansible-vault", "encrypt", *self.vault, "inventories/mine/group_vars/all/vault.yml")

    def play(self, playbook: str) -> None:
        """Run a playbook of the collection on the site's inventory."""
        self.command("ansible-playbook", f"millrace.kafka.{playbook}", "-i", "inventories/mine", *self.vault)

    def command(self, *command: str) -> None:
        """Run a command in the repository. Raises CalledProcessError."""
        print(f"(elsewhere) $ {' '.join(command)}", flush=True)
        subprocess.run(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, check=True)
