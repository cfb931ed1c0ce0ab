"""The search for secrets of an inventory in texts, and the archive of support.yml."""

import base64
import json
import stat
import tarfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.secret_search import Found, Search
from ansible_collections.millrace.kafka.plugins.plugin_utils.support_bundle import Bundle, write

SECRET = 'p/ä+5 "x&y'
KEY_LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"


def search(**texts: str) -> Search:
    """Return a search for these secrets, each with its name as place, and for one private key."""
    return Search(Found({text: name for name, text in texts.items()}, {KEY_LINE: "/pki/ca.key"}, 1, ("vault of a",)))


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        'p/\\u00e4+5 "x&y',
        "p/ä+5 &quot;x&amp;y",
        *(base64.b64encode(b"u" * before + SECRET.encode() + b"more").decode() for before in range(4)),
        *(base64.urlsafe_b64encode(b"u" * before + SECRET.encode()).decode() for before in range(4)),
    ],
)
def test_forms(written: str) -> None:
    """Base64 is removed as a whole: its other characters have a part of the secret."""
    searched = search(vault=SECRET)
    assert searched.clean("a", f"x={written}, next") == "x=(removed), next"
    assert dict(searched.hits) == {("a", "vault"): 1}


def test_what_is_no_secret() -> None:
    searched = search(vault=SECRET)
    text = "p/ä and other words, cC/DpA== MIIEvQIBADANBgkqhkiG9w0B"
    assert searched.clean("a", text) == text
    assert not searched.hits


def test_one_secret_is_a_part_of_another() -> None:
    searched = search(short="abcdef", long="abcdefghij")
    assert searched.clean("a", "abcdefghij abcdef\nabcdef") == "(removed) (removed)\n(removed)"
    assert dict(searched.hits) == {("a", "long"): 1, ("a", "short"): 2}


def test_lines_of_a_secret() -> None:
    """Each long line of a secret is one, without the lines that mark a PEM block."""
    pem = "-----BEGIN PRIVATE KEY-----\nabcdefghijklmnopqrst\nuvw\n-----END PRIVATE KEY-----"
    searched = search(vault=pem)
    text = "-----BEGIN PRIVATE KEY----- abcdefghijklmnopqrst uvw"
    assert searched.clean("a", text) == "-----BEGIN PRIVATE KEY----- (removed) uvw"


def test_a_private_key() -> None:
    """The whole text is removed: it has the other lines of the key."""
    searched = search()
    assert searched.clean("a", f"before\n{KEY_LINE}\nafter") == "(removed)\n"
    assert dict(searched.hits) == {("a", "the private key /pki/ca.key"): 1}


def bundle() -> Bundle:
    """Return a bundle of a host that answered, one that did not, and a cluster that did not answer."""
    made = Bundle("dc1", search(vault=SECRET), time=1_700_000_000.0)
    file = {"name": "../a.txt", "source": f"/etc/{SECRET}", "content": f"{SECRET}\n", "removed": 2, "cut": True}
    left_out = [{"source": "/etc/key.pem", "reason": "a key"}]
    made.add_host("h1", {"support": {"files": [file], "left_out": left_out}})
    made.add_host("h2", {"unreachable": True, "msg": "no route"})
    made.add_host("h3", {"msg": f"MODULE FAILURE password={SECRET[:3]}\nmore"})
    made.add_site("page", {"page": "fine", "json": '{"token": "abc"}', "changed": False})
    made.add_site("cluster", {"failed": True, "msg": "no broker answers", "x": object()})
    made.add_site("groups", {"groups": [{"name": "token"}], "changed": False, "x": object()})
    return made


def test_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "support.tar.gz"
    path.write_text("earlier")
    write(str(path), bundle())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    with tarfile.open(path) as archive:
        entries: dict[str, Any] = {one.name: archive.extractfile(one) for one in archive.getmembers()}
        found = {name: stream.read().decode() for name, stream in entries.items()}
    manifest = found.pop("support/MANIFEST")
    assert found == {
        "support/hosts/h1/a.txt": "(removed)\n",
        "support/check/page.txt": "fine\n",
        "support/check/page.json": '{"token": "(removed)"}\n',
        "support/cluster/groups.json": '{\n "groups": [\n  {\n   "name": "token"\n  }\n ]\n}\n',
    }
    assert "Support bundle of the site dc1, written at 2023-11-14T22:13:20 UTC." in manifest
    assert "3 secrets were replaced by (removed) on the hosts" in manifest
    assert "1 secrets of the inventory and 1 private keys" in manifest
    for line in (
        "hosts/h1/a.txt  10 bytes, h1: /etc/(removed); 2 removed; longer than allowed: a part is missing",
        "h1  /etc/key.pem: a key",
        "h2  everything: does not answer",
        "h3  everything: MODULE FAILURE password=(removed)",
        "site  cluster.json: no broker answers",
        "hosts/h1/a.txt  vault: 1 times",
        "not searched: vault of a",
    ):
        assert line in manifest.splitlines()


def test_what_is_printed(tmp_path: Path) -> None:
    path, made = tmp_path / "support.tar.gz", bundle()
    write(str(path), made)
    assert made.lines(str(path)) == [
        f"written: {path} (5 files, 1 KiB); MANIFEST in it lists them",
        "h2: does not answer",
        "h3: MODULE FAILURE password=(removed)",
        "not in it: cluster.json: no broker answers",
        "2 secrets of the inventory were found in texts of hosts, and removed (MANIFEST)",
        "read it before you send it: names and addresses of the site are in it",
    ]


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write(str(tmp_path / "none" / "a.tar.gz"), bundle())
