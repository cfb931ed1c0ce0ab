"""What more than one test needs: waiting with a deadline, and reading what a job wrote to a directory."""

import atexit
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

import pyspark

from .built import ClassData

MILLRACE = str(Path(sys.executable).with_name("millrace-jobs"))
_POLL_SECONDS = 0.05
# Short lives: the optimising compiler would cost more than it gives.
CLASS_DATA = ClassData("spark", Path(pyspark.__file__).parent / "jars")
_TEMPORARY = tempfile.mkdtemp(prefix="millrace-tests-")  # a JVM that is killed leaves there what it has
atexit.register(shutil.rmtree, _TEMPORARY, ignore_errors=True)


def spark_properties() -> dict[str, str]:
    """Two tasks at a time, and a JVM that starts fast."""
    return {
        "spark.master": "local[2]",
        "spark.driver.extraJavaOptions": " ".join(
            [f"-XX:TieredStopAtLevel=1 -Xlog:disable -Djava.io.tmpdir={_TEMPORARY}", *CLASS_DATA.flags]
        ),
    }


def eventually(read: Callable[[], object], expected: object, seconds: float = 300) -> None:
    """Call `read` until it returns `expected`; fail with the difference after `seconds`."""
    pause = Event()
    deadline = time.monotonic() + seconds
    while (found := read()) != expected and time.monotonic() < deadline:
        pause.wait(_POLL_SECONDS)
    assert found == expected


def put(directory: Path, name: str, content: bytes | str) -> Path:
    """Let a whole file appear at once, as a job asks for it: written under a hidden name, then renamed."""
    hidden = directory / f".{name}"
    hidden.write_bytes(content if isinstance(content, bytes) else content.encode())
    return hidden.rename(directory / name)


def records(directory: Path) -> list[tuple[str, str]]:
    """Keys and values that a job wrote, batch by batch; of a batch that is being written nothing, and not a part."""
    written = [path.parent for path in directory.glob("batch=*/_SUCCESS")]  # its files appear one by one, this the last
    batches = sorted(written, key=lambda path: int(path.name.removeprefix("batch=")))
    return [record for batch in batches for record in records_of(batch)]


def records_of(batch: Path) -> list[tuple[str, str]]:
    """Keys and values that a job wrote in one batch."""
    lines = [
        line for part in sorted(batch.glob("part-*.json")) for line in part.read_text(encoding="utf-8").splitlines()
    ]
    return [(record.get("key"), record["value"]) for record in map(json.loads, lines)]


def counts(directory: Path) -> dict[str, str]:
    """The last value of each key."""
    return dict(records(directory))


def write_config(tmp_path: Path, **keys: object) -> Path:
    """A configuration for files in `tmp_path`: reads `in`, writes `out`, with two tasks at a time."""
    (tmp_path / "in").mkdir(exist_ok=True)
    file = tmp_path / "job.json"
    file.write_text(json.dumps({**files_config(tmp_path), "spark": spark_properties(), **keys}))
    return file


def files_config(tmp_path: Path) -> dict[str, object]:
    """The keys that make a job run on files below `tmp_path`."""
    return {
        "checkpoint": str(tmp_path / "checkpoint"),
        "input_directory": str(tmp_path / "in"),
        "output_directory": str(tmp_path / "out"),
        "trigger_interval": "100 milliseconds",
    }


def environment() -> Mapping[str, str]:
    """The environment for a job of its own process: nothing of this process's Spark session."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK"))}
