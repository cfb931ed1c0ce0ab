"""What roles take, what they compute and what a site may set is read by code, not by comments."""

import re
import subprocess
from functools import cache
from pathlib import Path

import yaml

from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec, site_words

ROOT = Path(__file__).parents[2]
ROLES = sorted(folder.name for folder in (ROOT / "roles").iterdir())
# Where a name is said, and not read.
SAYS = re.compile(r".*(README\.md|argument_specs\.yml|defaults/main\.yml)|plugins/definitions/.*")


COMMENTS = re.compile(r'(?:^|(?<=\s))#[^\n]*|\{#.*?#\}|r?""".*?"""', re.MULTILINE | re.DOTALL)


@cache
def readers(*folders: str) -> dict[str, str]:
    """Return the files of some folders that read variables, by their paths, with what is read in them."""
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [path for path in listed.stdout.split("\0") if path and not SAYS.fullmatch(path)]
    return {path: read_in(path, (ROOT / path).read_text(encoding="utf-8")) for path in paths}


def read_in(path: str, text: str) -> str:
    """Return a text without its comments and docstrings, and without the keys of variables that YAML sets."""
    code = COMMENTS.sub("", text)
    return re.sub(r"^ *\w+:(?=\s)", "", code, flags=re.MULTILINE) if path.endswith((".yml", ".yaml")) else code


def unread(names: list[str], texts: dict[str, str]) -> list[str]:
    """Return those of the names that stand in no text."""
    words = {word for text in texts.values() for word in re.findall(r"\w+", text)}
    return [name for name in names if name not in words]


def test_every_input_of_a_role_is_read() -> None:
    """The role pki hands its inputs to a module, which has them without their prefix."""
    texts = readers("roles", "plugins", "playbooks", "functions")
    missing = unread([name for role in ROLES for name in argument_spec(role)], texts)
    assert [name for name in missing if not name.startswith("pki_") or unread([name[4:]], texts)] == []


def test_everything_that_a_role_computes_is_read() -> None:
    found = {}
    for role in ROLES:
        files = list((ROOT / "roles" / role / "vars").rglob("*.yml"))
        names = [name for file in files for name in yaml.safe_load(file.read_text())]
        found[role] = (len(names), unread(names, readers(f"roles/{role}")))
    assert sum(count for count, _ in found.values()) > 20
    assert {role: names for role, (_, names) in found.items() if names} == {}


def test_every_word_of_a_site_is_read() -> None:
    words = [name for name in site_words() if not name.startswith("ansible_")]  # Ansible itself reads these
    assert unread(words, readers("roles", "plugins", "playbooks", "functions", "lab")) == []


def test_every_word_that_a_playbook_has_a_default_for_is_described_with_it() -> None:
    """What a person can say to check.yml stands where a person looks, and is the same there."""
    said = {
        (name, value)
        for text in readers("playbooks").values()
        for name, value in re.findall(r"\b(check_\w+) \| default\((.*?)\)", text)
    }
    assert said, "no playbook has such a word any more: take this test away"
    words = site_words()
    assert said == {(name, repr(words[name].get("default"))) for name, _ in said if name in words}


def test_a_name_that_is_only_said_is_found() -> None:
    """What this file looks with."""
    texts = {
        "a.yml": read_in("a.yml", 'x_patience: 30\nx_path: "{{ x_home }}"  # not x_user\n'),
        "a.py": read_in("a.py", 'def f(x_mode):\n    """Not\n    x_group."""\n'),
        "a.j2": read_in("a.j2", "{# x_port #}{{ x_host }}#x_kept"),
    }
    names = ["x_patience", "x_path", "x_home", "x_user", "x_mode", "x_group", "x_port", "x_host", "x_kept"]
    assert unread(names, texts) == ["x_patience", "x_path", "x_user", "x_group", "x_port"]
