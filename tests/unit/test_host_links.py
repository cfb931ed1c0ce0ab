"""What host_state does where others had a hand: links, a umask, lost markers, files that were left over."""

import os
import pwd
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from unit.test_host_state import OWNER, file, run, wanted

from ansible_collections.millrace.kafka.plugins.module_utils.host import files as host_files
from ansible_collections.millrace.kafka.plugins.module_utils.host.files import block
from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import StateError
from ansible_collections.millrace.kafka.plugins.modules.host_state import SPEC

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="gives a directory to a service's user")
SERVICE = pwd.getpwnam("nobody")


def directory(path: Path, mode: str = "0750") -> dict[str, str]:
    return {"path": str(path), "mode": mode, **OWNER}


def of_a_service(folder: Path) -> Path:
    """Return a directory that a service owns, on a way that it can go."""
    home = folder / "home"
    home.mkdir()
    os.chown(home, SERVICE.pw_uid, SERVICE.pw_gid)
    return home


@contextmanager
def under(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def meanwhile(monkeypatch: pytest.MonkeyPatch, *acts: Callable[..., None]) -> None:
    """Have others do something where a directory is missing; `os.mkdir` among it is the making itself."""

    def together(name: str, mode: int, *, dir_fd: int) -> None:
        for act in acts:
            act(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", together)


def test_another_run_makes_the_same_directory_at_the_same_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the making, on each of the ways: both runs have what they want."""
    meanwhile(monkeypatch, os.mkdir, os.mkdir)
    run(wanted(directories=[directory(tmp_path / "a" / "b")]))
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o750


@AS_ROOT
def test_a_link_that_is_put_there_at_the_same_moment_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etc").mkdir(mode=0o755)
    home = of_a_service(tmp_path)
    meanwhile(monkeypatch, partial(os.symlink, tmp_path / "etc"), os.mkdir)
    with pytest.raises(StateError, match="checkpoint is a link in a directory of nobody, who could point it anywhere"):
        run(wanted(directories=[{**directory(home / "checkpoint", "0700"), "owner": "nobody"}]))
    assert ((tmp_path / "etc").stat().st_uid, list((tmp_path / "etc").iterdir())) == (0, [])


def test_a_directory_that_is_removed_while_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said of which."""
    meanwhile(monkeypatch, os.mkdir, os.rmdir)
    with pytest.raises(StateError, match=f"{tmp_path}/a: was removed while it was created"):
        run(wanted(directories=[directory(tmp_path / "a")]))


@AS_ROOT
@pytest.mark.parametrize("below", ["checkpoint", "checkpoint/deeper"])
def test_a_link_in_a_directory_of_a_service_is_not_followed(below: str, tmp_path: Path) -> None:
    """A checkpoint that was swapped for a link to a directory of root does not give that directory away."""
    (tmp_path / "etc").mkdir(mode=0o755)
    home = of_a_service(tmp_path)
    (home / "checkpoint").symlink_to(tmp_path / "etc")
    text = f"{home / below}: checkpoint is a link in a directory of nobody, who could point it anywhere"
    for check_mode in (True, False):
        with pytest.raises(StateError, match=text):
            run(wanted(directories=[{**directory(home / below, "0700"), "owner": "nobody"}]), check_mode)
    assert (stat.S_IMODE((tmp_path / "etc").stat().st_mode), (tmp_path / "etc").stat().st_uid) == (0o755, 0)
    assert list((tmp_path / "etc").iterdir()) == []


@AS_ROOT
def test_a_file_of_a_service_that_became_a_link(tmp_path: Path) -> None:
    """Neither the text nor the attributes of what it leads to change; a directory on the way is no link either."""
    (tmp_path / "shadow").write_text("secret")
    (tmp_path / "shadow").chmod(0o600)
    home = of_a_service(tmp_path)
    (home / "myid").symlink_to(tmp_path / "shadow")
    with pytest.raises(StateError, match=f"{home / 'myid'}: is a link, not a file; move it away"):
        run(wanted(files=[file(home / "myid", "secret", mode="0644")]))
    assert (tmp_path / "shadow").read_text() == "secret"
    assert stat.S_IMODE((tmp_path / "shadow").stat().st_mode) == 0o600


@AS_ROOT
def test_a_file_of_a_service_with_another_mode_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is changed by its name in a directory where names can be led elsewhere meanwhile."""
    home = of_a_service(tmp_path)
    options = wanted(files=[file(home / "myid", "1", mode="0644")])
    with under(0o077):
        run(options)
    assert run(options).changes == []
    (home / "myid").chmod(0o600)
    before = (home / "myid").stat().st_ino
    assert run(options).changes == [f"file {home / 'myid'}"]
    assert (home / "myid").stat().st_ino != before
    assert stat.S_IMODE((home / "myid").stat().st_mode) == 0o644
    assert os.listdir(home) == ["myid"]


def test_a_link_of_root_is_followed(tmp_path: Path) -> None:
    """A disk elsewhere, by way of a link that root alone could put there."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "data").symlink_to("disk")
    run(wanted(directories=[directory(tmp_path / "data"), directory(tmp_path / "data" / "a" / "b", "0700")]))
    assert stat.S_IMODE((tmp_path / "disk").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "disk" / "a" / "b").stat().st_mode) == 0o700
    assert (tmp_path / "data").is_symlink()


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(StateError, match="Too many levels of symbolic links"):
        run(wanted(directories=[directory(tmp_path / "a")]))


def test_parents_can_be_entered_under_every_umask(tmp_path: Path) -> None:
    with under(0o027):
        run(
            wanted(
                directories=[directory(tmp_path / "opt" / "kafka" / "data")],
                blocks=[{"path": str(tmp_path / "hosts"), "marker": "m", "content": "x"}],
            )
        )
        assert os.umask(0o027) == 0o027
    for path, mode in (("opt", 0o755), ("opt/kafka", 0o755), ("opt/kafka/data", 0o750), ("hosts", 0o644)):
        assert stat.S_IMODE((tmp_path / path).stat().st_mode) == mode, path


def test_a_new_secret_is_never_readable_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even between the move and the attributes."""
    seen = []
    attributes = host_files.Files.attributes

    def note(self: host_files.Files, name: str, *more: Any, **named: Any) -> None:
        seen.append(stat.S_IMODE(os.lstat(name).st_mode))
        attributes(self, name, *more, **named)

    monkeypatch.setattr(host_files.Files, "attributes", note)
    run(wanted(files=[file(tmp_path / "key", "k", secret=True)]))
    assert seen == [0o600, 0o600]
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o640


def test_a_file_without_content_is_refused(tmp_path: Path) -> None:
    """It is not truncated, and nothing before it is done: the arguments are refused."""
    (tmp_path / "f").write_text("mine")
    with pytest.raises(StateError, match="has neither content nor secret_base64"):
        run(wanted(files=[file(tmp_path / "f", None)]))
    assert (tmp_path / "f").read_text() == "mine"
    for options, words in (
        ({"files": [{"path": "/f"}]}, "content, secret_base64"),
        ({"files": [{"path": "/f", "content": "a", "secret_base64": "YQ=="}]}, "mutually exclusive"),
        ({"nftables": [{"table": "t", "path": "/f"}]}, "content"),
    ):
        errors = ArgumentSpecValidator(SPEC).validate(options).error_messages
        assert len(errors) == 1 and words in errors[0], errors
    for options in ({"files": [{"path": "/f", "content": ""}]}, {"files": [{"path": "/f", "state": "absent"}]}):
        assert ArgumentSpecValidator(SPEC).validate(options).error_messages == []


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("mine")
    run(wanted(files=[file(tmp_path / "f", "")]))
    assert (tmp_path / "f").read_text() == ""


def test_a_link_that_an_interrupted_run_left(tmp_path: Path) -> None:
    (tmp_path / "current").symlink_to("1.0")
    (tmp_path / "current.new").symlink_to("1.5")
    run(wanted(links=[{"path": str(tmp_path / "current"), "target": "2.0"}]))
    assert os.readlink(tmp_path / "current") == "2.0"
    assert os.listdir(tmp_path) == ["current"]
    (tmp_path / "current.new").write_text("mine")
    with pytest.raises(StateError, match=r"current\.new: exists and is not a link; move it away"):
        run(wanted(links=[{"path": str(tmp_path / "current"), "target": "3.0"}]))


@pytest.mark.parametrize(
    "before",
    [
        "# BEGIN m\nours\n10.0.0.1 theirs\n",
        "ours\n# END m\n10.0.0.1 theirs\n",
        "# BEGIN m\nours\n10.0.0.1 theirs\n# BEGIN m\nours\n# END m\n",
        "# END m\n10.0.0.1 theirs\n# BEGIN m\n",
    ],
)
def test_lines_of_others_survive_a_lost_marker(before: str, tmp_path: Path) -> None:
    """Nobody can tell which lines are whose, so the file is left to people."""
    with pytest.raises(StateError, match=r"'# BEGIN m' occurs \d times, '# END m' \d times"):
        block(before, "m", "new")
    (tmp_path / "hosts").write_text(before)
    with pytest.raises(StateError, match=f"{tmp_path / 'hosts'}: '# BEGIN m' occurs"):
        run(wanted(blocks=[{"path": str(tmp_path / "hosts"), "marker": "m", "content": "new"}]))
    assert (tmp_path / "hosts").read_text() == before


def test_validate(tmp_path: Path) -> None:
    """A file that its command refuses is not put there; what the command says of a secret is kept to itself."""
    (tmp_path / "f").write_text("good")
    for more, text in (
        ({"validate": "grep good %s"}, "rejected by grep$"),
        ({"validate": "ls %s /nowhere"}, "rejected by ls: .*/nowhere"),
        ({"validate": "ls %s /nowhere", "secret": True}, "rejected by ls$"),
        ({"validate": "true"}, "has no %s for the new file"),
    ):
        with pytest.raises(StateError, match=text):
            run(wanted(files=[file(tmp_path / "f", "bad", **more)]))
    assert (tmp_path / "f").read_text() == "good"
    assert os.listdir(tmp_path) == ["f"]
    run(wanted(files=[file(tmp_path / "f", "very good", validate="grep good %s")]))
    assert (tmp_path / "f").read_text() == "very good"


def test_a_file_that_is_a_mount_is_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /etc/hosts of a container: it cannot be replaced. Any other file that cannot be is an error."""
    (tmp_path / "hosts").write_text("one\n")
    inode, rename = (tmp_path / "hosts").stat().st_ino, os.rename

    def busy(old: Any, new: Any) -> None:
        if os.fsdecode(new).endswith("/hosts"):
            raise OSError(16, "Device or resource busy")
        rename(old, new)

    monkeypatch.setattr(os, "rename", busy)
    options = wanted(blocks=[{"path": str(tmp_path / "hosts"), "marker": "m", "content": "two"}])
    with pytest.raises(StateError, match="busy"):
        run(options)
    monkeypatch.setattr(host_files, "mount_table", lambda: {str(tmp_path / "hosts"): ("ext4", set())})
    run(options)
    assert (tmp_path / "hosts").read_text() == "one\n# BEGIN m\ntwo\n# END m\n"
    assert (tmp_path / "hosts").stat().st_ino == inode
    assert os.listdir(tmp_path) == ["hosts"]
