"""The site that inventories/README.md shows: one file of at most 40 lines that preflight accepts."""

import re
from dataclasses import replace
from pathlib import Path

from made_archives import made_archives

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from model.mistakes.base import INVENTORIES, LAB, spoil
from model.said import check

SECRETS = {"vault": {"pki_passphrase": "Ohg4ieXeipha", "passwords": {"orders": "eeNg3ahthi4y"}}}


def shown() -> str:
    """Return the file that the page shows."""
    found = re.search(
        "<!-- site: begin.*?```yaml\n(.*?)```", (INVENTORIES / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert found
    return found.group(1)


def test_it_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "hosts.yml").write_text(shown())
    assert len(shown().splitlines()) <= 40
    extra = {**SECRETS, "archives": str(made_archives())}
    assert check(tmp_path / "mine", extra)[1] == []
    hosts = load(tmp_path / "mine", extra).read().hosts
    assert hosts["kafka2"]["kafka_rack"] == "dc1-b"
    assert hosts["kafka2"]["pki_directory"] == "/srv/millrace-pki/mine"
    assert hosts["zk1"]["zookeeper_servers"] == {
        number: [f"203.0.113.1{number}", f"198.51.100.1{number}"] for number in (1, 2, 3)
    }


def test_what_stands_in_comments_to_copy_is_right(tmp_path: Path) -> None:
    """Of inventories/dc1, line by line and together."""
    made = spoil(tmp_path / "dc1", replace(LAB, inventory="dc1"))
    file = made / "group_vars" / "kafka" / "a.yml"
    text = file.read_text(encoding="utf-8")
    before = check(made)[1]
    file.write_text(re.sub(r"^# (?=\w+: )", "", text, flags=re.MULTILINE), encoding="utf-8")
    assert check(made)[1] == before
    brokers = [values for name, values in load(made, SECRETS).read().hosts.items() if "-kafka" in name]
    assert {values["kafka_heap"] for values in brokers} == {"6g"}
    said = {tuple(entry["name"] for entry in values["kafka_listeners"]) for values in brokers}
    assert all("PARTNERS" in names for names in said), said
