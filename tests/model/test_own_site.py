"""The site that inventories/README.md shows: one file of at most 40 lines that preflight accepts."""

import re
import textwrap
from dataclasses import replace
from pathlib import Path

import yaml
from made_archives import made_archives, own_wheel

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from model.mistakes.base import INVENTORIES, LAB, spoil
from model.said import check

PAGE, GUIDE = INVENTORIES / "README.md", INVENTORIES.parent / "docs" / "write-a-job.md"


def shown(part: str = "site", page: Path = PAGE, language: str = "yaml") -> str:
    """Return a file that a page shows, in a part of the page between two comments."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"<!-- {part}: begin[^`]*```{language}\n(.*?)```", text, re.DOTALL)
    assert found, f"{page} has no part {part}"
    return textwrap.dedent(found.group(1))


SECRETS = yaml.safe_load(shown("vault").replace('"..."', "Ohg4ieXeipha"))


def test_it_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "hosts.yml").write_text(shown())
    assert len(shown().splitlines()) <= 40
    extra = {**SECRETS, "archives": str(made_archives())}
    assert check(tmp_path / "mine", extra)[1] == []
    hosts = load(tmp_path / "mine", extra).read().hosts
    assert hosts["kafka2"]["kafka_rack"] == "dc1-b"
    assert hosts["kafka2"]["pki_directory"] == "/srv/millrace-pki/mine"
    assert hosts["zk1"]["zookeeper_servers"] == {number: [f"198.51.100.1{number}"] for number in (1, 2, 3)}


def test_it_is_accepted_with_a_second_network(tmp_path: Path) -> None:
    """What the page shows of the second network, for every host."""
    page = (INVENTORIES / "README.md").read_text(encoding="utf-8")
    found = re.search("<!-- second network: begin.*?```yaml\n(.*?)```", page, re.DOTALL)
    assert found
    second = found.group(1).splitlines()
    text = re.sub(r"(?m)^    firewall_extra_sources: .*$", "\n".join(second[:2]), shown())
    text = re.sub(r"client_address: 198\.51\.100\.(\d+)", r"\g<0>, replication_address: 203.0.113.\1", text)
    assert [line for line in second if line not in text.splitlines()] == []
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "hosts.yml").write_text(text)
    extra = {**SECRETS, "archives": str(made_archives())}
    assert check(tmp_path / "mine", extra)[1] == []
    assert load(tmp_path / "mine", extra).read().hosts["zk1"]["zookeeper_servers"] == {
        number: [f"203.0.113.1{number}", f"198.51.100.1{number}"] for number in (1, 2, 3)
    }


def test_the_job_of_write_a_job_is_accepted(tmp_path: Path) -> None:
    """In the site of inventories/README.md, with the wheel that has the job of the page."""
    site = yaml.safe_load(shown())
    assert yaml.safe_load(shown("hosts", GUIDE)) == yaml.safe_load(shown("spark"))
    site["all"]["children"] |= yaml.safe_load(shown("hosts", GUIDE))
    for name in ("kafka_topics", "kafka_users"):
        del site["all"]["vars"][name]
    folder = tmp_path / "mine"
    (folder / "group_vars" / "all").mkdir(parents=True)
    (folder / "hosts.yml").write_text(yaml.safe_dump(site, sort_keys=False))
    (folder / "group_vars" / "all" / "resources.yml").write_text(shown("resources", GUIDE))
    (folder / "group_vars" / "spark_large_orders.yml").write_text(shown("group", GUIDE))
    wheel = own_wheel({"find_large_orders": shown("job", GUIDE, "python")})
    passwords = {**SECRETS["vault"]["passwords"], "find_large_orders": "Wae1aequ6ei0"}
    vault = {"vault": {**SECRETS["vault"], "passwords": passwords}}
    extra = {**vault, "archives": str(made_archives()), "spark_job_wheel": str(wheel)}
    assert check(folder, extra)[1] == []


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
