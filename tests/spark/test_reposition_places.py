"""A checkpoint that is a link, a mount point, or cannot be moved: a reposition is done there, or changes nothing."""

import errno
import json
import os
from pathlib import Path

import pytest
from millrace_jobs import reposition
from millrace_jobs.config import Config, parse
from millrace_jobs.errors import JobError
from millrace_jobs.reposition import Move

MOVES = {"input": [Move("a", 0, 5, 9, None)]}
STARTS = {"a": {"0": 5}}
MOUNT = r"^checkpoint: {} is a mount point and cannot be replaced; name a folder below it, and move "


def configured(checkpoint: Path) -> Config:
    """A job that reads topic a."""
    kafka = {"bootstrap.servers": "k:1"}
    return parse("count_words", {"checkpoint": str(checkpoint), "kafka": kafka, "input_topic": "a"})


def begun(checkpoint: Path) -> Path:
    """A checkpoint of which a batch was planned."""
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "offsets" / "0").touch()
    return checkpoint


def names(folder: Path) -> list[str]:
    """What lies in a folder; of what was put aside no time."""
    return sorted(path.name.partition("-2")[0] for path in folder.iterdir())


@pytest.mark.parametrize("filled", [False, True])
def test_what_a_link_leads_to_is_put_aside(tmp_path: Path, filled: bool) -> None:
    """On its own file system, which somebody chose by that link; the link stays."""
    disk, home = tmp_path / "disk", tmp_path / "home"
    (disk / "c").mkdir(parents=True)
    if filled:
        begun(disk / "c")
    home.mkdir()
    (home / "c").symlink_to(disk / "c")
    old = reposition.apply(configured(home / "c"), MOVES)
    assert (home / "c").is_symlink() and names(home) == ["c"]
    assert names(disk) == (["c", "c.before"] if filled else ["c"])
    assert (old and old.parent) == (disk if filled else None)
    assert json.loads((home / "c" / "starts-a").read_text()) == STARTS
    reposition.finish(configured(home / "c"))
    assert names(disk) == (["c", "c.before"] if filled else ["c"])


def test_one_that_was_killed_is_finished_behind_the_link(tmp_path: Path) -> None:
    (tmp_path / "disk" / "c.new").mkdir(parents=True)
    (tmp_path / "disk" / "c.new" / "starts-a").write_text(json.dumps(STARTS))
    (tmp_path / "c").symlink_to(tmp_path / "disk" / "c")
    reposition.finish(configured(tmp_path / "c"))
    assert names(tmp_path / "disk") == ["c"]
    assert (tmp_path / "c" / "starts-a").exists()


@pytest.mark.parametrize("filled", [False, True])
def test_a_mount_point_is_refused_before_anything_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filled: bool
) -> None:
    checkpoint = begun(tmp_path / "c") if filled else tmp_path / "c"
    checkpoint.mkdir(exist_ok=True)
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == checkpoint)
    with pytest.raises(JobError, match=MOUNT.format(checkpoint)):
        reposition.apply(configured(checkpoint), MOVES)
    assert names(tmp_path) == ["c"]
    assert names(checkpoint) == (["offsets"] if filled else [])


@pytest.mark.skipif(os.getuid() != 0, reason="only root could follow a link to what is not its maker's")
def test_root_follows_no_link_that_leads_elsewhere(tmp_path: Path) -> None:
    """The job's user could have root move what is not theirs; to what they own themselves it may lead."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "c").symlink_to(tmp_path / "etc")
    os.chown(tmp_path / "c", 65534, -1, follow_symlinks=False)
    with pytest.raises(JobError, match=f"^checkpoint: {tmp_path / 'c'} is a link that another user owns; run it as"):
        reposition.apply(configured(tmp_path / "c"), MOVES)
    assert names(tmp_path) == ["c", "etc"]
    os.chown(tmp_path / "etc", 65534, -1)
    assert reposition.apply(configured(tmp_path / "c"), MOVES) is None


def failing(monkeypatch: pytest.MonkeyPatch, renamed: str, number: int) -> None:
    """Let the rename of one name fail, as a kernel does."""
    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if self.name == renamed:
            raise OSError(number, os.strerror(number), str(self))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refused)


@pytest.mark.parametrize("renamed", ["c", "c.new", "c.new.part"])
def test_one_that_is_refused_has_changed_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renamed: str) -> None:
    """Whatever could not be moved: the next start goes on where the job was."""
    checkpoint = begun(tmp_path / "c")
    failing(monkeypatch, renamed, errno.EACCES)
    with pytest.raises(
        JobError, match=f"^checkpoint: {tmp_path / renamed} cannot be moved .*denied.*as the job's user"
    ):
        reposition.apply(configured(checkpoint), MOVES)
    reposition.finish(configured(checkpoint))
    assert names(tmp_path) == ["c"]
    assert (checkpoint / "offsets" / "0").exists() and not (checkpoint / "starts-a").exists()


def test_a_mount_that_looks_like_a_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the same file system, whose kernel says busy."""
    checkpoint = begun(tmp_path / "c")
    failing(monkeypatch, "c", errno.EBUSY)
    with pytest.raises(JobError, match=MOUNT.format(checkpoint)):
        reposition.apply(configured(checkpoint), MOVES)
    assert names(tmp_path) == ["c"]


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EACCES])
def test_one_that_cannot_be_finished_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """At each start, until somebody does something about it."""
    (tmp_path / "c").mkdir()
    (tmp_path / "c.new").mkdir()
    failing(monkeypatch, "c.new", number)
    with pytest.raises(
        JobError, match=MOUNT.format(tmp_path / "c") if number == errno.EBUSY else "^checkpoint: .*moved"
    ):
        reposition.finish(configured(tmp_path / "c"))


def test_an_error_without_a_name_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own, as of a folder that is swapped for a link meanwhile."""
    checkpoint = tmp_path / "c"
    checkpoint.mkdir()

    def refused(*_: object, **said: object) -> None:
        if not said.get("ignore_errors"):
            raise OSError("Cannot call rmtree on a symbolic link")

    monkeypatch.setattr(reposition.shutil, "rmtree", refused)  # type: ignore[attr-defined]
    with pytest.raises(JobError, match=f"^checkpoint: {checkpoint} cannot be moved \\(Cannot call rmtree on a symb"):
        reposition.apply(configured(checkpoint), MOVES)


def test_a_name_that_no_folder_can_have_is_said_in_words(tmp_path: Path) -> None:
    """By whoever opens it next: there is nothing to finish."""
    config = configured(tmp_path / ("x" * 300))
    reposition.finish(config)
    with pytest.raises(JobError, match=r"^checkpoint: .* cannot be moved \(File name too long\)"):
        reposition.apply(config, MOVES)
