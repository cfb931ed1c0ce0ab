"""packaging/build.py: what it refuses, what it skips, and that the same input gives the same bytes."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import build
import products
import pytest
import tarballs
from unit.packaged import make_jar, pin, put


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Return a repository with a one-jar Kafka, jobs and a lock file."""
    root = tmp_path / "repo"
    kafka = root / "packaging" / "kafka"
    put(root / "packaging" / "pom.xml", "<project/>")
    put(root / "packaging" / "build-constraints.txt", "setuptools==1\n")
    put(kafka / "pom.xml", "<properties><kafka.version>1.2.3</kafka.version></properties>")
    put(kafka / "launchers.tsv", "# script\tprofile\tclass\nkafka-topics.sh\ttool\ttools.Topics\n")
    put(kafka / "bin" / "kafka-run-class.sh", "#!/bin/sh\n")
    put(kafka / "config" / "log4j.properties", "x=y\n")
    jar = make_jar(root / "served" / "one.jar", "tools/Topics.class", "META-INF/LICENSE")
    pin(kafka / "libs.sha256", jar)
    put(root / "spark_jobs" / "pyproject.toml", '[project]\nname = "millrace-jobs"\nversion = "0.4"\n')
    put(root / "spark_jobs" / "src" / "millrace_jobs" / "cli.py", "pass\n")
    put(root / "spark_jobs" / "tests" / "test_cli.py", "pass\n")
    lock = "pyspark==9.8 \\\n    --hash=sha256:aa\n    # via -r in\nPy4J==1 \\\n    --hash=sha256:bb \\\n"
    put(root / "spark_jobs" / "requirements.lock", lock + "    --hash=sha256:cc\n")
    return root


@pytest.fixture
def maven(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put an mvn on PATH that serves repo/served; return its script."""
    find = "for a; do case $a in -Dstage=*) d=${a#*=}/kafka/dependency;; esac; done\n"
    copy = f'mkdir -p "$d"\ncp {repo}/served/* "$d"\n'
    path = put(tmp_path / "path" / "mvn", "#!/bin/sh\n" + find + copy, 0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return path


def key_of(repo: Path, target: str, pythons: Sequence[str] = products.PYTHONS) -> str:
    """Return the key of a target as the repository stands."""
    return str(products.key(products.product(target, repo, repo / "out", pythons), repo))


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("kafka", "packaging/pom.xml"),
        ("kafka", "packaging/kafka/pom.xml"),
        ("kafka", "packaging/kafka/libs.sha256"),
        ("kafka", "packaging/kafka/launchers.tsv"),
        ("kafka", "packaging/kafka/bin/kafka-run-class.sh"),
        ("kafka", "packaging/kafka/config/new.properties"),
        ("wheelhouse", "spark_jobs/requirements.lock"),
        ("wheelhouse", "packaging/build-constraints.txt"),
        ("jobs", "spark_jobs/pyproject.toml"),
        ("jobs", "spark_jobs/src/millrace_jobs/cli.py"),
        ("jobs", "spark_jobs/src/millrace_jobs/new.py"),
    ],
)
def test_a_changed_input_changes_the_key(repo: Path, target: str, path: str) -> None:
    before = key_of(repo, target)
    file = repo / path
    put(file, (file.read_text() if file.exists() else "") + "\n")
    assert key_of(repo, target) != before


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("kafka", "packaging/zookeeper/pom.xml"),
        ("kafka", "spark_jobs/requirements.lock"),
        ("wheelhouse", "spark_jobs/src/millrace_jobs/cli.py"),
        ("jobs", "spark_jobs/tests/test_cli.py"),
        ("jobs", "spark_jobs/src/millrace_jobs/__pycache__/cli.pyc"),
        ("jobs", "spark_jobs/.mypy_cache/x"),
    ],
)
def test_a_change_elsewhere_changes_no_key(repo: Path, target: str, path: str) -> None:
    before = key_of(repo, target)
    file = repo / path
    put(file, (file.read_text() if file.exists() else "") + "\n")
    assert key_of(repo, target) == before


def test_a_renamed_input_changes_the_key(repo: Path) -> None:
    before = key_of(repo, "jobs")
    source = repo / "spark_jobs" / "src" / "millrace_jobs"
    (source / "cli.py").rename(source / "command.py")
    assert key_of(repo, "jobs") != before


def test_the_wheelhouse_depends_on_the_hosts_pythons_and_not_on_this_one(repo: Path) -> None:
    assert key_of(repo, "wheelhouse", ["3.11"]) != key_of(repo, "wheelhouse", ["3.11", "3.13"])
    assert products.product("wheelhouse", repo, repo).file.name == "spark-wheelhouse-9.8.tar"


def test_lock_lines_keep_all_their_hashes(repo: Path) -> None:
    assert products.requirements(repo / "spark_jobs" / "requirements.lock") == {
        "pyspark": "pyspark==9.8 --hash=sha256:aa",
        "py4j": "Py4J==1 --hash=sha256:bb --hash=sha256:cc",
    }


def test_the_same_entries_give_the_same_bytes(tmp_path: Path) -> None:
    one, two = put(tmp_path / "1" / "a", "A", 0o600), put(tmp_path / "2" / "a", "A", 0o777)
    os.utime(one, (1, 1))
    script = tarballs.Entry("t/b", b"B", 0o755)
    tarballs.write_tar(tmp_path / "one", [script, tarballs.Entry("t/x/a", one)], compress=True)
    tarballs.write_tar(tmp_path / "two", [tarballs.Entry("t/x/a", two), script], compress=True)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes()[4:8] == bytes(4), "the gzip header carries a time"
    with gzip.open(tmp_path / "one") as plain, tarfile.open(fileobj=plain) as tar:
        shown = [(m.name, m.mode, m.mtime, m.uid, m.gid, m.uname, m.gname, m.isdir()) for m in tar]
    fixed = (315532800, 0, 0, "root", "root")
    assert shown == [
        ("t", 0o755, *fixed, True),
        ("t/b", 0o755, *fixed, False),
        ("t/x", 0o755, *fixed, True),
        ("t/x/a", 0o644, *fixed, False),
    ]


def test_jars_that_are_not_the_pinned_ones_are_named(tmp_path: Path) -> None:
    names = ("good", "bad", "new", "gone")
    good, bad, new, gone = (make_jar(tmp_path / f"{name}.jar", name) for name in names)
    listing = tmp_path / "libs.sha256"
    pin(listing, good, bad, gone)
    tarballs.check_jars([good, bad, gone], listing)
    make_jar(bad, "other content")
    with pytest.raises(tarballs.BuildError) as error:
        tarballs.check_jars([good, bad, new], listing)
    lines = str(error.value).splitlines()
    assert any("bad.jar: its sha256 is" in line for line in lines)
    assert "  new.jar: is not on the list" in lines
    assert "  gone.jar: is on the list, but was not resolved" in lines
    assert "good.jar" not in str(error.value)
    assert "--update-checksums" in str(error.value)


def test_a_missing_main_class_is_named(tmp_path: Path) -> None:
    jar = make_jar(tmp_path / "a.jar", "tools/Here.class")
    put(tmp_path / "launchers.tsv", "here.sh\ttool\ttools.Here\ngone.sh\ttool\ttools.Gone\n")
    with pytest.raises(tarballs.BuildError) as error:
        tarballs.tree_entries(products.TREES["kafka"], "top", tmp_path, [jar])
    assert "gone.sh: no jar holds tools.Gone" in str(error.value)
    assert "here.sh" not in str(error.value)


def test_a_misspelt_launcher_line_is_named(tmp_path: Path) -> None:
    table = put(tmp_path / "launchers.tsv", "# table\nkafka-topics.sh tool tools.Topics\n")
    with pytest.raises(tarballs.BuildError, match=r"launchers\.tsv:2: wants script"):
        tarballs.read_launchers(table)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    item = products.Product("kafka", tmp_path / "a.tgz", ())

    def fail(path: Path) -> None:
        path.write_text("half")
        raise tarballs.BuildError("disk full")

    with pytest.raises(tarballs.BuildError):
        products.publish(item, "key", fail)
    assert list(tmp_path.iterdir()) == []

    products.publish(item, products.key(item, tmp_path), lambda path: path.write_text("whole"))
    with pytest.raises(tarballs.BuildError):
        products.publish(item, "other key", fail)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tgz", "a.tgz.key", "a.tgz.sha512"]
    assert item.file.read_text() == "whole"
    assert products.is_current(item, tmp_path)


def test_a_product_cut_short_is_built_again(tmp_path: Path) -> None:
    item = products.Product("kafka", tmp_path / "a.tgz", ())
    products.publish(item, products.key(item, tmp_path), lambda path: path.write_text("whole"))
    item.file.write_text("who")
    assert not products.is_current(item, tmp_path)


def test_a_build_runs_once_and_its_checksum_fits(repo: Path, maven: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = repo / ".build" / "archives"
    put(out / ".stage-killed" / "kafka.tgz", "half")
    assert build.main(["kafka"], repo) == 0
    assert "checked 1 jars, wrote kafka_2.13-1.2.3.tgz" in capsys.readouterr().out
    subprocess.run(["sha512sum", "--check", "--quiet", "kafka_2.13-1.2.3.tgz.sha512"], cwd=out, check=True)
    with tarfile.open(out / "kafka_2.13-1.2.3.tgz") as tar:
        files = [member.name.partition("/") for member in tar if member.isfile()]
    assert {top for top, _, _ in files} == {"kafka_2.13-1.2.3"}
    assert [name for _, _, name in files] == [
        "bin/kafka-run-class.sh",
        "bin/kafka-topics.sh",
        "config/log4j.properties",
        "libs.sha256",
        "libs/one.jar",
        "licenses/one/LICENSE",
    ]
    assert not list(out.glob(".stage-*"))

    put(maven, "#!/bin/sh\nexit 9\n", 0o755)
    assert build.main(["kafka"], repo) == 0
    assert "up to date" in capsys.readouterr().out


def test_a_jar_served_differently_is_refused_until_it_is_pinned(
    repo: Path, maven: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_jar(repo / "served" / "one.jar", "tools/Topics.class", "Other.class")
    assert build.main(["kafka"], repo) == 1
    assert "one.jar: its sha256 is" in capsys.readouterr().err
    assert not list((repo / ".build").rglob("*.tgz"))
    assert build.main(["--update-checksums", "kafka"], repo) == 0
    assert build.main(["kafka"], repo) == 0
    assert "up to date" in capsys.readouterr().out


def test_an_unresolvable_coordinate_is_named_and_no_address(
    repo: Path, maven: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "[ERROR] Failed to execute goal on project kafka: Could not resolve dependencies for project "
    text += "millrace:kafka:pom:1: Could not find artifact org.example:thing:jar:7.7 in r (https://repo.test)"
    put(maven, f"#!/bin/sh\necho '{text}'\nexit 1\n", 0o755)
    assert build.main(["kafka"], repo) == 1
    error = capsys.readouterr().err
    assert "org.example:thing:jar:7.7" in error
    assert "packaging/kafka/pom.xml" in error
    assert "repo.test" not in error


def test_any_other_failure_of_maven_is_shown_without_addresses(
    repo: Path, maven: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(maven, "#!/bin/sh\necho '[ERROR] No plugin in r (https://repo.test): disk full'\nexit 1\n", 0o755)
    assert build.main(["kafka"], repo) == 1
    error = capsys.readouterr().err
    assert "disk full" in error
    assert "repo.test" not in error


def test_missing_programs_are_named_with_their_packages(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(put(tmp_path / "python", "#!/bin/sh\nexit 1\n", 0o755)))
    monkeypatch.delenv("MILLRACE_PYTHON", raising=False)
    assert build.main(["kafka", "jobs"], repo) == 1
    error = capsys.readouterr().err
    assert "kafka: mvn was not found: apt-get install maven" in error
    assert "has no pip: apt-get install python3-pip" in error
    assert "MILLRACE_PYTHON" in error


def test_list_prints_paths_and_builds_nothing(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main(["--list", "--python-version", "3.12", "kafka", "wheelhouse", "jobs"], repo) == 0
    names = [Path(line).name for line in capsys.readouterr().out.splitlines()]
    assert names == ["kafka_2.13-1.2.3.tgz", "spark-wheelhouse-9.8.tar", "millrace_jobs-0.4-py3-none-any.whl"]
    assert not (repo / ".build").exists()


def test_without_maven_no_wheel_is_downloaded(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(build, "build_wheelhouse", lambda *_: pytest.fail("minutes of downloads"))
    assert build.main(["kafka", "wheelhouse"], repo) == 1
    said = capsys.readouterr()
    assert "kafka: mvn was not found: apt-get install maven" in said.err
    assert "resolved" not in said.out
