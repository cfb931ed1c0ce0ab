"""Where an archive comes from: the checksum that is declared, and the file or URL that has it."""

import os
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from unit.certificate_maker import Ca, key_pem, new_key, pem

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
    assert expected(f"SHA512: {HELLO}\n") == HELLO


@pytest.mark.parametrize("checksum", [HELLO, "sha256:abc", "sha512:", ""])
def test_other_forms_are_refused(checksum: str) -> None:
    with pytest.raises(ArchiveError, match="not of the form sha512:HEX, sha512:FILE or sha512:URL"):
        expected(checksum)


@pytest.mark.parametrize("text", ["", "hello  kafka.tgz\n", f"{HELLO[:-8]}  kafka.tgz\n", "<html>404</html>"])
def test_a_file_without_a_checksum(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.sha512").write_text(text)
    with pytest.raises(ArchiveError) as error:
        expected(f"sha512:{tmp_path / 'a.sha512'}")
    assert str(error.value) == (
        f"checksum = sha512:{tmp_path / 'a.sha512'}: contains no SHA-512 (128 hexadecimal digits); "
        "correct the archive or its checksum"
    )


def test_a_checksum_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError) as error:
        expected(f"sha512:{tmp_path}/a.sha512")
    assert str(error.value) == (
        f"checksum file {tmp_path}/a.sha512: cannot be read (FileNotFoundError); "
        "run `make archives`, or set another file"
    )


def test_a_checksum_file_that_is_no_text(tmp_path: Path) -> None:
    """As the archive itself, named by mistake."""
    (tmp_path / "x").write_bytes(bytes(range(256)) * 8)
    with pytest.raises(ArchiveError, match="contains no SHA-512"):
        expected(f"sha512:{tmp_path / 'x'}")


class Hello(BaseHTTPRequestHandler):
    """Sends a checksum."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{HELLO}  kafka.tgz\n".encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.usefixtures("strict")
def test_a_mirror_whose_ca_leaves_out_identifiers_of_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is taken, whatever the Python; one that nobody trusts is refused, with the reason."""
    authority, key = Ca("Infra CA"), new_key()
    (tmp_path / "ca.pem").write_bytes(pem(authority.certificate))
    (tmp_path / "server.pem").write_bytes(pem(authority.issue(key, names=["127.0.0.1"])) + key_pem(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        url = f"sha512:https://127.0.0.1:{server.server_address[1]}/x.sha512"
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert expected(url) == HELLO
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
        with pytest.raises(ArchiveError, match=r"cannot be read .*certificate verify failed"):
            expected(url)
        server.shutdown()


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
        f"{tmp_path / 'a'}: SHA-512 is c6f81db0e9f8206c..., but 9b71d224bd62f378... is declared: "
        "the archive is damaged or another release; correct the checksum or the archive"
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
    with pytest.raises(ArchiveError, match="the archive is damaged or another release"):
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
