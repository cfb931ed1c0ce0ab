"""A folder of certificates that is on another disk, is not mounted, is another's, cannot be written, or is full."""

import os
import resource
import signal
import stat
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from unit.pki_folder import BROKER, BROKER_PEM, CA_KEY, CA_PEM, ZOOKEEPER, run, said, snapshot

from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.ca_replacement import PreviousState
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.work import exists

NOBODY = 65534
AUTHORITIES = [{"name": "infra", "subject": "CN=Infra CA,O=lab"}]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users reach too, as those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def as_somebody(make: Callable[[], object], prepare: Callable[[], None]) -> str:
    """Return what another process says that is prepared first; what it raises, by its text."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        try:
            prepare()
            text = str(make())
        except BaseException as error:
            text = str(error)
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return text


def another_user() -> None:
    os.setgid(NOBODY)
    os.setuid(NOBODY)


@pytest.mark.parametrize("name", ["", "authorities", "certificates"])
@pytest.mark.parametrize("check_mode", [True, False])
def test_a_link_to_a_disk_that_is_not_mounted(tmp_path: Path, name: str, check_mode: bool) -> None:
    """Nothing is made at either end, and preflight knows."""
    (tmp_path / "pki").mkdir()
    if not name:
        (tmp_path / "pki").rmdir()
    (tmp_path / "pki" / name if name else tmp_path / "pki").symlink_to(tmp_path / "disk")
    link = f"{tmp_path}/pki/{name}".rstrip("/")
    with pytest.raises(OSError) as caught:
        run(tmp_path / "pki", check_mode=check_mode)
    assert str(caught.value) == f"[Errno 2] it is a link to {tmp_path}/disk, which does not exist: '{link}'"
    assert not (tmp_path / "disk").exists()
    assert not snapshot(tmp_path)


@pytest.mark.parametrize("missing", [CA_PEM, CA_KEY])
def test_a_ca_whose_files_are_links_to_a_disk_that_is_not_mounted(tmp_path: Path, missing: str) -> None:
    """Each alone is enough, and no new CA takes the links' places."""
    folder, disk = tmp_path / "pki", tmp_path / "disk"
    (folder / "authorities").mkdir(parents=True)
    (folder / missing).symlink_to(disk / "file")
    assert said(run(folder), tmp_path) == [
        f"CERTIFICATE_MISSING dc1-kafka1/pki_authorities[infra]: pki/{missing} is a link to disk/file, "
        "which does not exist; "
        "mount the disk with this file, or remove the link to create a new CA"
    ]
    assert (folder / missing).is_symlink()
    assert not snapshot(folder)


def test_an_empty_mount_point_where_the_cas_were(tmp_path: Path) -> None:
    """Certificates from the CA are still there, so it was made before, and no other is made in its place."""
    run(tmp_path / "pki")
    (tmp_path / "pki/authorities").rename(tmp_path / "disk")
    (tmp_path / "pki/authorities").mkdir()
    before = snapshot(tmp_path / "pki")
    for check_mode in (True, False):
        assert said(run(tmp_path / "pki", check_mode=check_mode), tmp_path) == [
            "CERTIFICATE_MISSING dc1-kafka1/pki_authorities[infra]: pki/authorities/infra.pem does not exist, but "
            "dc1-kafka1 have certificates from CN=Infra CA,O=lab, so the CA was created before; mount the disk with "
            "this file, or restore the file from its backup"
        ]
    assert snapshot(tmp_path / "pki") == before
    (tmp_path / "pki/authorities").rmdir()
    (tmp_path / "pki/authorities").symlink_to(tmp_path / "disk")
    done = run(tmp_path / "pki")
    assert (said(done), done.changes) == ([], [])


def test_a_second_ca_of_the_same_subject(tmp_path: Path) -> None:
    """It is made: the certificates that are there may be from the first."""
    run(tmp_path)
    both = [*AUTHORITIES, {"name": "infra-2027", "subject": "CN=Infra CA,O=lab"}]
    done = run(tmp_path, authorities=both, truststores=[{"path": "/t/ca.pem", "authorities": ["infra", "infra-2027"]}])
    assert (said(done), done.changes) == ([], ["authority infra-2027", "bundle ca.pem"])


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_file_where_the_folder_should_be(tmp_path: Path, check_mode: bool) -> None:
    (tmp_path / "pki").write_text("")
    with pytest.raises(OSError, match=r"^\[Errno 20\] Not a directory: '.*/pki'$"):
        run(tmp_path / "pki", check_mode=check_mode)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_a_folder_of_somebody_else(open_folder: Path) -> None:
    """Who may not read it is told so, and where."""
    run(open_folder / "pki")
    assert stat.S_IMODE((open_folder / "pki").stat().st_mode) == 0o700
    for made in (partial(run, open_folder / "pki", check_mode=check_mode) for check_mode in (True, False)):
        text = as_somebody(made, another_user)
        assert text.startswith(f"[Errno 13] Permission denied: '{open_folder}/pki")


def test_what_cannot_be_told_is_not_denied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As Path.exists does from Python 3.14 on."""
    assert (exists(tmp_path), exists(tmp_path / "x"), exists(Path(__file__) / "x")) == (True, False, False)

    def refuse(path: Path) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(PermissionError, match="Permission denied"):
        exists(tmp_path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize("closed", ["certificates/dc1-kafka2", "certificates/dc1-kafka2/ca.pem"])
def test_whose_trust_cannot_be_looked_at_is_not_cut_off(open_folder: Path, closed: str) -> None:
    """A certificate of a new CA is refused where nobody can tell whether all hosts trust that."""
    both = [*AUTHORITIES, {"name": "new", "subject": "CN=New CA,O=lab"}]
    pki, stores = open_folder / "pki", {"path": "/t/ca.pem", "authorities": ["infra", "new"]}
    run(pki, authorities=both, truststores=[stores])
    run(pki, host="dc1-kafka2", authorities=both, truststores=[{**stores, "authorities": ["infra"]}])
    for path in (pki, *pki.rglob("*")):
        path.chmod(0o755)
    (pki / closed).chmod(0o700)

    def of_the_new() -> object:
        return said(run(pki, authorities=both, truststores=[stores], certificates=[{**BROKER, "authority": "new"}]))

    def another() -> str:
        for path in (pki, *pki.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        os.chown(pki / closed, 0, 0)
        return as_somebody(of_the_new, another_user)

    assert another() == f"[Errno 13] Permission denied: '{pki / closed}'"


def test_a_bundle_that_cannot_be_read_is_none_at_no_time(tmp_path: Path) -> None:
    """Who asks again is told again."""
    (tmp_path / "certificates/dc1-kafka1/ca.pem").mkdir(parents=True)
    before = PreviousState(tmp_path)
    for _ in range(2):
        with pytest.raises(IsADirectoryError):
            before.trusted("dc1-kafka1", "ca.pem")
    assert before.trusted("dc1-kafka2", "ca.pem") == set()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_cas_that_can_be_read_and_not_written(open_folder: Path) -> None:
    """A read-only disk of CAs is enough to sign; another CA cannot be made, and that is said with the file."""
    run(open_folder / "pki")
    os.chmod(open_folder / "pki", 0o755)
    os.chmod(open_folder / "pki" / CA_KEY, 0o644)  # somebody else's, and readable
    for path in [open_folder / "pki/certificates", *(open_folder / "pki/certificates").rglob("*")]:
        os.chown(path, NOBODY, NOBODY)
    ca = (open_folder / "pki" / CA_PEM).read_bytes()

    def more() -> list[str]:
        done = run(open_folder / "pki", certificates=[BROKER, ZOOKEEPER])
        return [*said(done), *done.changes]

    assert as_somebody(more, another_user) == "['certificate zookeeper: new']"
    assert as_somebody(more, another_user) == "[]"
    another = as_somebody(lambda: run(open_folder / "pki", certificates=[{**BROKER, "authority": "new"}]), another_user)
    assert another == f"[Errno 13] Permission denied: '{open_folder}/pki/.lock'"
    assert (open_folder / "pki" / CA_PEM).read_bytes() == ca


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """No half of a key is left, the file is named, and the next run makes all of it."""

    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    assert as_somebody(lambda: run(tmp_path), small) == f"[Errno 27] File too large: '{tmp_path / CA_KEY}'"
    assert not snapshot(tmp_path)
    done = run(tmp_path)
    assert (said(done), sorted(snapshot(tmp_path))) == ([], sorted([CA_KEY, CA_PEM, BROKER_PEM]))


def test_a_disk_that_is_full_in_the_middle(tmp_path: Path) -> None:
    """The CA's key is there and its certificate is not: the next run takes the key, and the rest is left whole."""
    run(tmp_path)
    before = snapshot(tmp_path)

    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))  # more than a key, less than key and certificate

    said_then = as_somebody(lambda: run(tmp_path, renew=True), small)
    assert said_then == f"[Errno 27] File too large: '{tmp_path / BROKER_PEM}'"
    assert snapshot(tmp_path) == before
