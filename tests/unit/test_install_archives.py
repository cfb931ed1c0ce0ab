"""Archives: unpacked whole or not at all, nothing outside, and only what has the declared checksum."""

import hashlib
import importlib.util
import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest
from unit.test_archive_sources import HELLO


def load() -> ModuleType:
    """Return the module install_archives, which is no package."""
    path = Path(__file__).resolve().parents[2] / "plugins" / "modules" / "install_archives.py"
    spec = importlib.util.spec_from_file_location("millrace_install_archives", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


archive = load()


def unpack(uploaded: str, name: str, dest: str, checksum: str) -> None:
    """Unpack one archive, and put it in its place."""
    archive.unpack(uploaded, name, dest)
    archive.put({dest: checksum})


def tar(path: Path, members: Mapping[str, str | tarfile.TarInfo]) -> str:
    """Write a tar file of texts by name, or of ready members."""
    with tarfile.open(path, "w:gz") as stream:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                stream.addfile(content)
                continue
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o755 if name.endswith(".sh") else 0o644
            member.uid = member.gid = 1234
            stream.addfile(member, io.BytesIO(content.encode()))
    return str(path)


def link(name: str, target: str) -> tarfile.TarInfo:
    """Return a symbolic link as a member of a tar file."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


def texts(folder: Path) -> dict[str, str]:
    """Return every file below a folder."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_top_folder_is_stripped(tmp_path: Path) -> None:
    """What is below it ends in dest, with its modes, and the checksum beside it."""
    source, dest = (
        tar(tmp_path / "a.tgz", {"kafka_2.13-3.9.2/bin/x.sh": "run", "kafka_2.13-3.9.2/LICENSE": "free"}),
        tmp_path / "opt" / "3.9.2",
    )
    unpack(source, "a.tgz", str(dest), "c" * 128)
    assert texts(dest) == {".sha512": f"{'c' * 128}\n", "LICENSE": "free", "bin/x.sh": "run"}
    assert os.access(dest / "bin" / "x.sh", os.X_OK)
    assert (dest / "LICENSE").stat().st_uid == os.getuid()
    assert archive.installed(str(dest)) == "c" * 128
    assert os.listdir(dest.parent) == ["3.9.2"]


def test_any_other_file_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "upload").write_text("wheel")
    unpack(str(tmp_path / "upload"), "a-1.0-py3-none-any.whl", str(tmp_path / "dest"), "c")
    assert texts(tmp_path / "dest") == {".sha512": "c\n", "a-1.0-py3-none-any.whl": "wheel"}


@pytest.mark.parametrize("name", ["/etc/passwd", "top/../../escape", "../escape", "top/a/../../../escape"])
def test_a_path_that_leaves_is_refused(name: str, tmp_path: Path) -> None:
    """Nothing is unpacked, and what was there stays."""
    dest = tmp_path / "dest"
    unpack(tar(tmp_path / "good.tgz", {"top/a": "good"}), "good.tgz", str(dest), "1")
    with pytest.raises(ValueError, match=f"bad.tgz: contains {name}, which is a device or outside of {dest}"):
        unpack(tar(tmp_path / "bad.tgz", {"top/b": "b", name: "x"}), "bad.tgz", str(dest), "2")
    assert texts(dest) == {".sha512": "1\n", "a": "good"}
    assert not list(tmp_path.glob("**/escape"))


def test_a_device_is_refused(tmp_path: Path) -> None:
    device = tarfile.TarInfo("top/null")
    device.type = tarfile.CHRTYPE
    with pytest.raises(ValueError, match="contains top/null"):
        unpack(tar(tmp_path / "bad.tgz", {"top/null": device}), "bad.tgz", str(tmp_path / "dest"), "1")
    assert not (tmp_path / "dest").exists()


def test_a_link_inside_is_kept(tmp_path: Path) -> None:
    source = tar(tmp_path / "a.tgz", {"top/lib/a-1.jar": "jar", "top/lib/a.jar": link("top/lib/a.jar", "a-1.jar")})
    unpack(source, "a.tgz", str(tmp_path / "dest"), "1")
    assert (tmp_path / "dest" / "lib" / "a.jar").read_text() == "jar"


@pytest.mark.parametrize("target", ["{}", "../../outside", ".."])
def test_nothing_is_written_through_a_link(target: str, tmp_path: Path) -> None:
    """A link that points out, then a file below it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    source = tar(tmp_path / "bad.tgz", {"top/d": link("top/d", target.format(outside)), "top/d/escape": "x"})
    with pytest.raises(ValueError, match=r"which is a device or outside of|its link .* leaves"):
        unpack(source, "bad.tgz", str(tmp_path / "dest"), "1")
    assert os.listdir(outside) == []
    assert not (tmp_path / "dest").exists()


def test_a_hard_link_inside_is_kept(tmp_path: Path) -> None:
    hard = link("top/lib/b", "top/lib/a")
    hard.type = tarfile.LNKTYPE
    unpack(tar(tmp_path / "a.tgz", {"top/lib/a": "x", "top/lib/b": hard}), "a.tgz", str(tmp_path / "dest"), "1")
    assert texts(tmp_path / "dest")["lib/b"] == "x"


def test_what_is_unpacked_is_on_the_disk_before_it_is_called_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for all archives, and not at all where there is none: else a power cut leaves a marker over empty files."""
    seen: list[list[str]] = []
    monkeypatch.setattr(archive.os, "sync", lambda: seen.append(sorted(texts(tmp_path / "opt"))))
    wanted = {str(tmp_path / "opt" / name): name for name in ("a", "b")}
    for dest, name in wanted.items():
        archive.unpack(tar(tmp_path / f"{name}.tgz", {"top/x": "x"}), f"{name}.tgz", dest)
    archive.put(wanted)
    archive.put({})
    assert seen == [["a.new/x", "b.new/x"]]
    assert sorted(texts(tmp_path / "opt")) == ["a/.sha512", "a/x", "b/.sha512", "b/x"]


def test_whole_or_absent(tmp_path: Path) -> None:
    """A damaged archive leaves the release before it in place."""
    dest, content = tmp_path / "dest", {"top/a": "a" * 5000, "top/b": hashlib.sha512(b"x").hexdigest() * 100}
    unpack(tar(tmp_path / "a.tgz", {"top/a": "old"}), "a.tgz", str(dest), "1")
    whole = Path(tar(tmp_path / "b.tgz", content)).read_bytes()
    (tmp_path / "cut.tgz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises((EOFError, OSError, tarfile.TarError)):
        unpack(str(tmp_path / "cut.tgz"), "cut.tgz", str(dest), "2")
    assert texts(dest) == {".sha512": "1\n", "a": "old"}
    unpack(str(tmp_path / "b.tgz"), "b.tgz", str(dest), "2")
    assert sorted(texts(dest)) == [".sha512", "a", "b"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["dest"]


def test_leftovers_of_an_interrupted_run_are_no_obstacle(tmp_path: Path) -> None:
    for name in ("dest.new", "dest.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rest").touch()
    (tmp_path / "dest").mkdir()
    unpack(tar(tmp_path / "a.tgz", {"top/a": "x"}), "a.tgz", str(tmp_path / "dest"), "1")
    assert texts(tmp_path / "dest") == {".sha512": "1\n", "a": "x"}


def test_what_services_cannot_enter_counts_as_missing(tmp_path: Path) -> None:
    """It was unpacked under umask 027, and is made anew."""
    dest, source = tmp_path / "opt" / "1", tar(tmp_path / "a.tgz", {"top/b/a": "x"})
    before = os.umask(0o027)
    try:
        unpack(source, "a.tgz", str(dest), "1")
        assert archive.installed(str(dest)) == ""
        with archive.umask(0o022):
            unpack(source, "a.tgz", str(dest), "1")
    finally:
        os.umask(before)
    assert archive.installed(str(dest)) == "1"
    assert {path.stat().st_mode & 0o005 for path in (dest, dest / "b")} == {0o005}


def test_nothing_installed(tmp_path: Path) -> None:
    assert archive.installed(str(tmp_path / "absent")) == ""
    (tmp_path / "hello").write_text("hello")
    assert archive.digest(str(tmp_path / "hello")) == HELLO
