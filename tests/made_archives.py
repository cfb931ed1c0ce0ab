"""Makes stand-ins for the archives that `make archives` builds: empty files with checksums, and a wheel of the source.

Tests of the model and of rendered files use them, so they run in a fresh clone.
"""

import atexit
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

# Made-up digits: the first digits of each show in paths on the hosts.
CHECKSUMS = {
    "kafka_2.13-3.9.2.tgz": "a" * 128,
    "apache-zookeeper-3.8.6-bin.tar.gz": "b" * 128,
    "millrace_jobs-0.1.0-py3-none-any.whl": "c" * 128,
    "spark-wheelhouse-4.2.0.tar": "d" * 128,
    "spark-jars-4.2.0.tgz": "e" * 128,
    "exporter-wheelhouse-2.16.1.tar": "f" * 128,
    "jmx-exporter-1.0.1.tgz": "9" * 128,
}
SOURCE = Path(__file__).resolve().parents[1] / "spark_jobs" / "src"


@cache
def made_archives() -> Path:
    """Return the folder of stand-ins. All tests of a process share the folder, so none may change it.

    The wheel holds the real source, because preflight runs the wheel's code.
    """
    folder = Path(mkdtemp(prefix="made-archives"))
    atexit.register(rmtree, folder)
    for name, checksum in CHECKSUMS.items():
        (folder / name).touch()
        (folder / f"{name}.sha512").write_text(f"{checksum}  {name}\n")
    with zipfile.ZipFile(folder / "millrace_jobs-0.1.0-py3-none-any.whl", "w") as wheel:
        for file in sorted((SOURCE / "millrace_jobs").rglob("*.py")):
            wheel.write(file, file.relative_to(SOURCE))
    return folder


def own_wheel(jobs: Mapping[str, str], without: str = "") -> Path:
    """Return a site's own wheel: that of the project without one of its files, and more jobs, {name: Python source}."""
    folder = Path(mkdtemp(prefix="own-wheel"))
    atexit.register(rmtree, folder)
    own = folder / "own_jobs-1.0-py3-none-any.whl"
    (project,) = made_archives().glob("*.whl")
    with zipfile.ZipFile(project) as wheel, zipfile.ZipFile(own, "w") as made:
        for name in wheel.namelist():
            if name != without:
                made.writestr(name, wheel.read(name))
        for name, text in jobs.items():
            made.writestr(f"millrace_jobs/jobs/{name}.py", text)
    return own
