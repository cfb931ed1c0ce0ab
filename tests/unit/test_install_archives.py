"""Archives: unpacked whole or not at all, nothing outside, and only what has the declared checksum."""

import hashlib
import importlib.util
import io
import os
import tarfile
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils import archives
from ansible_collections.millrace.kafka.plugins.plugin_utils.archives import ArchiveError, expected, local

# printf hello | sha512sum
HELLO = (
    "9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca7"
    "2323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043"
)
# As Apache publishes checksums: groups of eight in upper case over several lines, after the file's name.
APACHE = """\
kafka_2.13-3.9.2.tgz: 9B71D224 BD62F378 5D96D46A D3EA3D73 319BFBC2 890CAADA
                      E2DFF725 19673CA7 2323C3D9 9BA5C11D 7C7ACC6E 14B8C5DA
                      0C466347 5C2E5C3A DEF46F73 BCDEC043
"""


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
    archive.unpack(source, "a.tgz", str(dest), "c" * 128)
    assert texts(dest) == {".sha512": f"{'c' * 128}\n", "LICENSE": "free", "bin/x.sh": "run"}
    assert os.access(dest / "bin" / "x.sh", os.X_OK)
    assert (dest / "LICENSE").stat().st_uid == os.getuid()
    assert archive.installed(str(dest)) == "c" * 128
    assert os.listdir(dest.parent) == ["3.9.2"]


def test_any_other_file_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "upload").write_text("wheel")
    archive.unpack(str(tmp_path / "upload"), "a-1.0-py3-none-any.whl", str(tmp_path / "dest"), "c")
    assert texts(tmp_path / "dest") == {".sha512": "c\n", "a-1.0-py3-none-any.whl": "wheel"}


@pytest.mark.parametrize("name", ["/etc/passwd", "top/../../escape", "../escape", "top/a/../../../escape"])
def test_a_path_that_leaves_is_refused(name: str, tmp_path: Path) -> None:
    """Nothing is unpacked, and what was there stays."""
    dest = tmp_path / "dest"
    archive.unpack(tar(tmp_path / "good.tgz", {"top/a": "good"}), "good.tgz", str(dest), "1")
    with pytest.raises(ValueError, match=f"bad.tgz: holds {name}, which would leave {dest}"):
        archive.unpack(tar(tmp_path / "bad.tgz", {"top/b": "b", name: "x"}), "bad.tgz", str(dest), "2")
    assert texts(dest) == {".sha512": "1\n", "a": "good"}
    assert not list(tmp_path.glob("**/escape"))


def test_a_device_is_refused(tmp_path: Path) -> None:
    device = tarfile.TarInfo("top/null")
    device.type = tarfile.CHRTYPE
    with pytest.raises(ValueError, match="holds top/null"):
        archive.unpack(tar(tmp_path / "bad.tgz", {"top/null": device}), "bad.tgz", str(tmp_path / "dest"), "1")
    assert not (tmp_path / "dest").exists()


def test_a_link_inside_is_kept(tmp_path: Path) -> None:
    source = tar(tmp_path / "a.tgz", {"top/lib/a-1.jar": "jar", "top/lib/a.jar": link("top/lib/a.jar", "a-1.jar")})
    archive.unpack(source, "a.tgz", str(tmp_path / "dest"), "1")
    assert (tmp_path / "dest" / "lib" / "a.jar").read_text() == "jar"


@pytest.mark.parametrize("target", ["{}", "../../outside", ".."])
def test_nothing_is_written_through_a_link(target: str, tmp_path: Path) -> None:
    """A link that points out, then a file below it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    source = tar(tmp_path / "bad.tgz", {"top/d": link("top/d", target.format(outside)), "top/d/escape": "x"})
    with pytest.raises(ValueError, match="which would leave"):
        archive.unpack(source, "bad.tgz", str(tmp_path / "dest"), "1")
    assert os.listdir(outside) == []
    assert not (tmp_path / "dest").exists()


def test_a_hard_link_inside_is_kept(tmp_path: Path) -> None:
    hard = link("top/lib/b", "top/lib/a")
    hard.type = tarfile.LNKTYPE
    archive.unpack(tar(tmp_path / "a.tgz", {"top/lib/a": "x", "top/lib/b": hard}), "a.tgz", str(tmp_path / "dest"), "1")
    assert texts(tmp_path / "dest")["lib/b"] == "x"


def test_whole_or_absent(tmp_path: Path) -> None:
    """A damaged archive leaves the release before it in place."""
    dest, content = tmp_path / "dest", {"top/a": "a" * 5000, "top/b": hashlib.sha512(b"x").hexdigest() * 100}
    archive.unpack(tar(tmp_path / "a.tgz", {"top/a": "old"}), "a.tgz", str(dest), "1")
    whole = Path(tar(tmp_path / "b.tgz", content)).read_bytes()
    (tmp_path / "cut.tgz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises((EOFError, OSError, tarfile.TarError)):
        archive.unpack(str(tmp_path / "cut.tgz"), "cut.tgz", str(dest), "2")
    assert texts(dest) == {".sha512": "1\n", "a": "old"}
    archive.unpack(str(tmp_path / "b.tgz"), "b.tgz", str(dest), "2")
    assert sorted(texts(dest)) == [".sha512", "a", "b"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["dest"]


def test_leftovers_of_an_interrupted_run_are_no_obstacle(tmp_path: Path) -> None:
    for name in ("dest.new", "dest.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rest").touch()
    (tmp_path / "dest").mkdir()
    archive.unpack(tar(tmp_path / "a.tgz", {"top/a": "x"}), "a.tgz", str(tmp_path / "dest"), "1")
    assert texts(tmp_path / "dest") == {".sha512": "1\n", "a": "x"}


def test_what_services_cannot_enter_counts_as_missing(tmp_path: Path) -> None:
    """It was unpacked under umask 027, and is made anew."""
    dest, source = tmp_path / "opt" / "1", tar(tmp_path / "a.tgz", {"top/b/a": "x"})
    before = os.umask(0o027)
    try:
        archive.unpack(source, "a.tgz", str(dest), "1")
        assert archive.installed(str(dest)) == ""
        with archive.umask(0o022):
            archive.unpack(source, "a.tgz", str(dest), "1")
    finally:
        os.umask(before)
    assert archive.installed(str(dest)) == "1"
    assert {path.stat().st_mode & 0o005 for path in (dest, dest / "b")} == {0o005}


def test_nothing_installed(tmp_path: Path) -> None:
    assert archive.installed(str(tmp_path / "absent")) == ""
    (tmp_path / "hello").write_text("hello")
    assert archive.digest(str(tmp_path / "hello")) == HELLO


@pytest.mark.parametrize(
    "text",
    [f"{HELLO}  kafka.tgz\n", f"{HELLO}\n", f"{HELLO.upper()} *kafka.tgz\n", APACHE, APACHE.replace("\n", "\r\n")],
)
def test_checksum_files(text: str, tmp_path: Path) -> None:
    """As sha512sum writes them, the bare digits, and Apache's grouped lines."""
    (tmp_path / "a.sha512").write_text(text)
    assert expected(f"sha512:{tmp_path / 'a.sha512'}") == HELLO
    assert expected((tmp_path / "a.sha512").as_uri().join(["sha512:", ""])) == HELLO


def test_checksum_as_digits() -> None:
    assert expected(f"sha512:{HELLO.upper()}") == HELLO


@pytest.mark.parametrize("checksum", [HELLO, "sha256:abc", "sha512:", ""])
def test_other_forms_are_refused(checksum: str) -> None:
    with pytest.raises(ArchiveError, match="not of the form sha512:HEX, sha512:FILE or sha512:URL"):
        expected(checksum)


@pytest.mark.parametrize("text", ["", "hello  kafka.tgz\n", f"{HELLO[:-8]}  kafka.tgz\n", "<html>404</html>"])
def test_a_file_without_a_checksum(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.sha512").write_text(text)
    with pytest.raises(ArchiveError) as error:
        expected(f"sha512:{tmp_path / 'a.sha512'}")
    assert str(error.value) == f"checksum = sha512:{tmp_path / 'a.sha512'}: holds no SHA-512 (128 hexadecimal digits)"


def test_a_checksum_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError) as error:
        expected(f"sha512:{tmp_path}/a.sha512")
    assert str(error.value) == (
        f"checksum file {tmp_path}/a.sha512: cannot be read (FileNotFoundError); run `make archives`, or name another"
    )


def test_a_checksum_file_that_is_no_text(tmp_path: Path) -> None:
    """As the archive itself, named by mistake."""
    (tmp_path / "x").write_bytes(bytes(range(256)) * 8)
    with pytest.raises(ArchiveError, match="holds no SHA-512"):
        expected(f"sha512:{tmp_path / 'x'}")


class Cut(BaseHTTPRequestHandler):
    """Promises more than it sends."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"ff\r\nab")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_a_transfer_that_ends_too_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said of the checksum and of the archive, and nothing stays in the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), Cut) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/x.tgz"
        with pytest.raises(ArchiveError, match=r"checksum file http://.*: cannot be read \(IncompleteRead\)"):
            expected(f"sha512:{url}.sha512")
        with pytest.raises(ArchiveError, match=r"x\.tgz: cannot be fetched: IncompleteRead"):
            local(url, HELLO)
        server.shutdown()
    assert list((tmp_path / "millrace").iterdir()) == []


def test_a_local_file_is_used_in_place(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello")
    assert local(str(tmp_path / "a"), HELLO) == tmp_path / "a"


def test_a_local_file_with_another_checksum(tmp_path: Path) -> None:
    """The text shows both and what to do; the file is people's own and stays."""
    (tmp_path / "a").write_text("hello!")
    with pytest.raises(ArchiveError) as error:
        local(str(tmp_path / "a"), HELLO)
    # printf 'hello!' | sha512sum
    assert str(error.value) == (
        f"{tmp_path / 'a'}: SHA-512 is c6f81db0e9f8206c..., declared is 9b71d224bd62f378..., "
        "so it is damaged or another release; correct the checksum or the archive"
    )
    assert (tmp_path / "a").exists()


def test_a_local_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        ArchiveError, match="no such file on the control node; run `make archives`, or set a path or URL of your own"
    ):
        local(str(tmp_path / "a"), HELLO)


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every URL that is fetched; the cache is below the temporary directory."""
    urls: list[str] = []
    fetch: Callable[[str, Path], None] = archives.fetch

    def note(url: str, path: Path) -> None:
        urls.append(url)
        fetch(url, path)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(archives, "fetch", note)
    return urls


def test_a_url_is_fetched_once(tmp_path: Path, fetched: list[str]) -> None:
    """Into the cache, under a name with its checksum, so that two releases of one name do not meet."""
    (tmp_path / "a.tgz").write_text("hello")
    url = (tmp_path / "a.tgz").as_uri()
    path = local(url, HELLO)
    assert path == tmp_path / "cache" / "millrace" / "9b71d224bd62f378-a.tgz"
    assert path.read_text() == "hello"
    assert local(url, HELLO) == path
    assert fetched == [url]
    assert os.listdir(path.parent) == [path.name]


def test_a_damaged_download_is_not_kept(tmp_path: Path, fetched: list[str]) -> None:
    """The next run fetches it again."""
    (tmp_path / "a.tgz").write_text("damaged")
    url = (tmp_path / "a.tgz").as_uri()
    with pytest.raises(ArchiveError, match="it is damaged or another release"):
        local(url, HELLO)
    assert os.listdir(tmp_path / "cache" / "millrace") == []
    (tmp_path / "a.tgz").write_text("hello")
    assert local(url, HELLO).read_text() == "hello"
    assert fetched == [url, url]


def test_a_url_that_does_not_answer(tmp_path: Path, fetched: list[str]) -> None:
    url = (tmp_path / "absent.tgz").as_uri()
    with pytest.raises(ArchiveError, match=f"{url}: cannot be fetched: "):
        local(url, HELLO)
    assert fetched == [url]
    assert os.listdir(tmp_path / "cache" / "millrace") == []
