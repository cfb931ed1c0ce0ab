"""The class behind the module host_state, on a temporary directory with the owner of the tests."""

import errno
import grp
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from unit.host import host as a_host

from ansible_collections.millrace.kafka.plugins.module_utils.host import files as host_files
from ansible_collections.millrace.kafka.plugins.module_utils.host import state as host_state
from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import StateError
from ansible_collections.millrace.kafka.plugins.module_utils.host.state import Host

Wanted = dict[str, Any]
OWNER = {"owner": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name}


def wanted(**lists: Any) -> Wanted:
    """Return the options of host_state, empty but for these."""
    return {
        "nftables": [],
        "users": [],
        "directories": [],
        "files": [],
        "blocks": [],
        "links": [],
        "sysctl": {},
        "units": [],
        **lists,
    }


def file(path: Path, content: str | None, **more: Any) -> Wanted:
    """Return a file as the module hands it over."""
    return {"path": str(path), "content": content, "mode": "0640", "secret": False, "state": "present", **OWNER, **more}


def run(options: Wanted, check_mode: bool = False) -> Host:
    """Converge once."""
    host = a_host(check_mode)
    host.converge(options)
    return host


def snapshot(folder: Path) -> dict[str, Any]:
    """Return everything below a folder: mode, and text or target."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        content = os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else None
        found[str(path.relative_to(folder))] = (f"{stat.S_IMODE(path.lstat().st_mode):04o}", content)
    return found


def something_of_everything(folder: Path) -> Wanted:
    """A directory, its mode, a new file, a changed one, one to remove, a block and a link."""
    (folder / "old").write_text("before\n")
    (folder / "old").chmod(0o644)
    (folder / "gone").write_text("x")
    (folder / "hosts").write_text("127.0.0.1 localhost")
    (folder / "hosts").chmod(0o644)
    (folder / "loose").mkdir(mode=0o777)
    (folder / "loose").chmod(0o777)
    (folder / "current").symlink_to("1.0")
    return wanted(
        directories=[
            {"path": str(folder / "a" / "b"), "mode": "0750", **OWNER},
            {"path": str(folder / "loose"), "mode": "0700", **OWNER},
        ],
        files=[
            file(folder / "a" / "new", "text\n"),
            file(folder / "old", "after\n"),
            file(folder / "gone", None, state="absent"),
        ],
        blocks=[{"path": str(folder / "hosts"), "marker": "millrace", "content": "10.0.0.1 a"}],
        links=[{"path": str(folder / "current"), "target": "2.0"}],
    )


def test_first_run(tmp_path: Path) -> None:
    """Everything ends as wanted, and each change is said once, in the order of work."""
    host = run(something_of_everything(tmp_path))
    assert {name: value for name, value in snapshot(tmp_path).items() if name != "a"} == {
        "a/b": ("0750", None),
        "a/new": ("0640", "text\n"),
        "current": ("0777", "2.0"),
        "hosts": ("0644", "127.0.0.1 localhost\n# BEGIN millrace\n10.0.0.1 a\n# END millrace\n"),
        "loose": ("0700", None),
        "old": ("0640", "after\n"),
    }
    assert [change.replace(f"{tmp_path}/", "") for change in host.changes] == [
        "directory a/b", "attributes loose", "file a/new", "file old", "remove gone", "block hosts", "link current",
    ]  # fmt: skip


def test_second_run_changes_nothing(tmp_path: Path) -> None:
    options = something_of_everything(tmp_path)
    run(options)
    before = {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")}
    host = run(options)
    assert (host.changes, host.diffs) == ([], [])
    assert {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_check_mode_says_the_same_and_writes_nothing(tmp_path: Path) -> None:
    """Also where the parent directory does not exist yet."""
    options = something_of_everything(tmp_path)
    before = snapshot(tmp_path)
    checked = run(options, check_mode=True)
    assert snapshot(tmp_path) == before
    real = run(options)
    assert (checked.changes, checked.diffs) == (real.changes, real.diffs)


def test_diff_shows_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("a=1\n")
    (tmp_path / "old").chmod(0o640)
    host = run(wanted(files=[file(tmp_path / "old", "a=2\n")]))
    path = str(tmp_path / "old")
    assert host.diffs == [{"before_header": path, "after_header": path, "before": "a=1\n", "after": "a=2\n"}]


def test_diff_of_a_new_file(tmp_path: Path) -> None:
    host = run(wanted(files=[file(tmp_path / "new", "a\n")]))
    assert (host.diffs[0]["before"], host.diffs[0]["after"]) == ("", "a\n")


def test_a_secret_is_in_no_diff(tmp_path: Path) -> None:
    """Neither the old one nor the new one; that it changed is said."""
    (tmp_path / "s").write_text("password=old\n")
    for check_mode in (True, False):
        host = run(
            wanted(
                files=[
                    file(tmp_path / "s", "password=new\n", secret=True),
                    file(tmp_path / "t", "password=new\n", secret=True),
                ]
            ),
            check_mode,
        )
        assert "password" not in str(host.diffs)
        assert [(diff["before"], diff["after"]) for diff in host.diffs] == [
            ("(secret)\n", "(secret, changed)\n"),
            ("", "(secret, changed)\n"),
        ]
    assert (tmp_path / "s").read_text() == "password=new\n"


def test_mode_of_a_file_whose_text_is_right(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")
    (tmp_path / "f").chmod(0o666)
    host = run(wanted(files=[file(tmp_path / "f", "a")]))
    assert host.changes == [f"attributes {tmp_path / 'f'}"]
    assert (host.diffs[0]["before"], host.diffs[0]["after"]) == (
        "mode: 0666\n",
        "mode: 0640\n",
    )
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640


def test_what_is_below_a_directory_is_left_alone(tmp_path: Path) -> None:
    """Owner and mode are set on the directory itself."""
    (tmp_path / "d").mkdir(mode=0o755)
    (tmp_path / "d" / "data").write_text("x")
    (tmp_path / "d" / "data").chmod(0o604)
    run(wanted(directories=[{"path": str(tmp_path / "d"), "mode": "0750", **OWNER}]))
    assert snapshot(tmp_path) == {"d": ("0750", None), "d/data": ("0604", "x")}


def test_a_disk_that_is_not_there_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No directory is made or changed where it should be mounted, or where it fails; others are."""
    said: list[str] = []
    monkeypatch.setattr(AnsibleModule, "warn", lambda _self, text: said.append(text))
    for name in ("empty", "failed", "whole"):
        (tmp_path / name).mkdir(mode=0o755)
    answers = {
        "empty": {"mounted": False, "size": 1},
        "failed": {"mounted": True, "error": "Input/output error"},
        "whole": {"mounted": True, "size": 1},
        "gone": {"mounted": False},
    }
    monkeypatch.setattr(host_files, "mounts", lambda paths: {path: answers[Path(path).name] for path in paths})
    found = run(
        wanted(directories=[{"path": str(tmp_path / name), "mode": "0700", "mount": True, **OWNER} for name in answers])
    )
    assert {name: mode for name, (mode, _) in snapshot(tmp_path).items()} == {
        "empty": "0755",
        "failed": "0755",
        "whole": "0700",
    }
    assert [change.split(" ")[0] for change in found.changes] == ["attributes"]
    assert said == [
        f"{tmp_path}/empty: no file system is mounted there; the directory is not changed",
        f"{tmp_path}/failed: Input/output error; the directory is not changed",
        f"{tmp_path}/gone: no file system is mounted there; the directory is not changed",
    ]


def test_a_file_is_never_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rename fails, the old file is there and the new one is not."""
    (tmp_path / "f").write_text("before")

    def fail(*_: str) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(StateError, match="no space left"):
        run(wanted(files=[file(tmp_path / "f", "after")]))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("f", "before")]


def test_a_link_is_flipped_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new link is put over the old one, so that the path is always there."""
    (tmp_path / "current").symlink_to("1.0")
    renames: list[tuple[str, str, str]] = []
    rename: Callable[[str, str], None] = os.rename

    def note(new: str, path: str) -> None:
        renames.append((os.readlink(new), os.readlink(path), os.path.basename(path)))
        rename(new, path)

    monkeypatch.setattr(os, "rename", note)
    run(wanted(links=[{"path": str(tmp_path / "current"), "target": "2.0"}]))
    assert renames == [("2.0", "1.0", "current")]
    assert os.listdir(tmp_path) == ["current"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"links": [{"path": "{}/x", "target": "t"}]}, "{}/x: exists and is not a link; move it away"),
        (
            {"directories": [{"path": "{}/x", "mode": "0755", **OWNER}]},
            "{}/x: x exists and is not a directory; move it away",
        ),
    ],
)
def test_what_people_put_there_is_not_overwritten(
    options: dict[str, list[dict[str, str]]], text: str, tmp_path: Path
) -> None:
    (tmp_path / "x").write_text("mine")
    filled = {
        name: [{key: value.format(tmp_path) for key, value in item.items()} for item in items]
        for name, items in options.items()
    }
    with pytest.raises(StateError) as error:
        run(wanted(**filled))
    assert str(error.value) == text.format(tmp_path)
    assert (tmp_path / "x").read_text() == "mine"


def test_unknown_owner(tmp_path: Path) -> None:
    """An error in a real run; in check mode the user is one that the run would make."""
    options = wanted(files=[file(tmp_path / "f", "x", owner="no-such-user-here", group="no-such-group-here")])
    (tmp_path / "f").write_text("x")
    assert run(options, check_mode=True).changes == [f"attributes {tmp_path / 'f'}"]
    with pytest.raises(StateError, match="owner no-such-user-here:no-such-group-here does not exist"):
        run(options)


def test_user_that_exists_is_left_as_it_is() -> None:
    assert run(wanted(users=[{"name": OWNER["owner"], "home": "/elsewhere"}])).changes == []


def test_user_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system user without a login and without a home made for it."""
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(host_state, "run", lambda *argv: commands.append(argv))
    options = wanted(users=[{"name": "no-such-user-here", "home": "/var/lib/x"}])
    assert run(options, check_mode=True).changes == ["user no-such-user-here"]
    assert commands == []
    assert run(options).changes == ["user no-such-user-here"]
    ((program, *arguments),) = commands
    assert program == "useradd"
    assert {"--system", "--user-group", "--no-create-home"} < set(arguments)
    assert arguments[arguments.index("--home-dir") + 1] == "/var/lib/x"
    assert arguments[arguments.index("--shell") + 1].endswith("/nologin")
    assert arguments[-1] == "no-such-user-here"


def test_sysctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a setting that differs is written; white space is no difference; an unknown one is named."""
    kernel = {"/proc/sys/vm/swappiness": "60\n", "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n"}
    monkeypatch.setattr(host_state, "read", lambda _name, path: kernel.get(path))
    host = run(wanted(sysctl={"vm.swappiness": 1, "net.ipv4.tcp_rmem": "4096 131072 6291456"}), check_mode=True)
    assert host.changes == ["sysctl vm.swappiness"]
    assert (host.diffs[0]["before"], host.diffs[0]["after"]) == ("60\n", "1\n")
    with pytest.raises(
        StateError, match=r"sysctl vm\.nonsense: this kernel does not have it; remove it from base_sysctl"
    ):
        run(wanted(sysctl={"vm.nonsense": 1}), check_mode=True)
