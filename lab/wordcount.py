"""Publish real text through the producer node and compare the consumer's counts with a count made here by other means.

The Spark job splits with Java's (?U)\\W+ and lower-cases in the JVM; this count uses Python's str.lower and the `regex`
package, whose \\w is the same Unicode property by another implementation. A difference is a failure.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import regex
from confluent_kafka import Consumer, KafkaException, TopicPartition

PARTITIONS = 6
OUTPUT = "streams-wordcount-output"
LONGEST = 200  # characters of a text's name here and on the producer, the end of a longer one


def client_properties(lab: Path) -> dict[str, str | int | float | bool]:
    """Return the client properties that kcat uses too."""
    lines = (lab / "kcat.conf").read_text().splitlines()
    return {name: value for name, _, value in (line.partition("=") for line in lines) if value}


def texts(source: Path) -> Iterator[Path]:
    """Yield the text files of a file or folder; links to a file already there are left out."""
    seen: set[str] = set()
    for path in [source] if source.is_file() else sorted(source.rglob("*")):
        real = os.path.realpath(path)  # of a link to itself, too
        if os.path.isfile(real) and real not in seen:
            seen.add(real)
            yield path


def collect(source: Path, published: Path) -> list[Path]:
    """Copy the texts that are not in `published`, the record of what was sent, beside it; return the copies."""
    published.mkdir(exist_ok=True)
    beside = published.with_name(f"{published.name}.new")
    shutil.rmtree(beside, ignore_errors=True)  # of a run that was interrupted
    beside.mkdir()
    for path in texts(source):
        content = path.read_bytes()
        name = path.name.lstrip("._")[-LONGEST:] or "text"
        if any((folder / name).exists() and (folder / name).read_bytes() != content for folder in (published, beside)):
            name = f"{name}.{hashlib.sha256(content).hexdigest()[:8]}"
        if not (published / name).exists():
            (beside / name).write_bytes(content)
    return sorted(beside.iterdir())


def publish(lab: Path, host: str, directory: str, files: list[Path]) -> None:
    """Put files, all there are in their folder, into the producer's input directory, each whole, by a rename.

    They are in the record then. Where it is interrupted before, they are sent again, under the same names, which the
    job does not read twice.
    """
    tar = subprocess.Popen(["tar", "-C", str(files[0].parent), "-cf", "-", "."], stdout=subprocess.PIPE)
    script = (
        f"set -e; d=$(mktemp -d -p {directory} .incoming-XXXX); tar -C $d -xf - --no-same-owner; "
        f"chown -R spark:spark $d; find $d -mindepth 1 -exec mv -t {directory} {{}} +; rmdir $d"
    )
    done = subprocess.run(["ssh", "-F", str(lab / "ssh_config"), host, script], stdin=tar.stdout)
    if done.returncode or tar.wait():
        sys.exit(f"publish: {host} did not take the files into {directory}; is the job there? (playbooks/spark.yml)")
    for file in files:
        file.rename(lab / "texts" / file.name)


def expected_counts(published: Path) -> collections.Counter[str]:
    """Count the words of every text ever published to this lab."""
    counts: collections.Counter[str] = collections.Counter()
    for path in published.iterdir():
        counts.update(regex.findall(r"\w+", path.read_text(encoding="utf-8", errors="replace").lower()))
    return counts


class Output:
    """The output topic, read from its beginning: the last count of each word."""

    def __init__(self, properties: dict[str, str | int | float | bool]) -> None:
        """Assign every partition; no group is joined."""
        self.consumer = Consumer(
            {
                **properties,
                "group.id": "millrace-lab-compare",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        self.consumer.assign([TopicPartition(OUTPUT, number, 0) for number in range(PARTITIONS)])
        self.counts: dict[str, int] = {}

    def read(self, seconds: float) -> None:
        """Take what arrives within `seconds`."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            for message in self.consumer.consume(5000, left):
                if message.error():
                    raise KafkaException(message.error())
                key, value = message.key(), message.value()
                self.counts[(key or b"").decode()] = int(value or b"0")


def differences(expected: dict[str, int], found: dict[str, int]) -> list[str]:
    """Return up to ten words whose counts differ."""
    words = sorted(word for word in expected.keys() | found.keys() if expected.get(word) != found.get(word))
    return [f"{word}: here {expected.get(word, 0)}, topic {found.get(word, 0)}" for word in words[:10]]


def main() -> int:
    """Publish, wait for equal counts, print them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lab", type=Path, required=True, help="the lab's directory, .lab/<inventory>")
    parser.add_argument("--text", type=Path, required=True, help="a file or a folder of text files")
    parser.add_argument(
        "--directory", default="/var/lib/spark-job/publish_lines/input", help="input_directory of the job publish_lines"
    )
    parser.add_argument("--timeout", type=float, default=300, help="seconds to wait for equal counts")
    arguments = parser.parse_args()
    if not arguments.text.exists():
        sys.exit(f"TEXT={arguments.text}: no such file or folder")
    properties = client_properties(arguments.lab)
    published = arguments.lab / "texts"
    new = collect(arguments.text, published)
    if new:
        publish(
            arguments.lab,
            json.loads((arguments.lab / "lab.json").read_text())["producers"][0],
            arguments.directory,
            new,
        )
    print(f"texts: {len(new)} published now, {len(list(published.iterdir()))} in all")
    expected = expected_counts(published)
    if not expected:
        sys.exit(f"TEXT={arguments.text}: no word in it, nor in what this lab has had before: nothing to count")
    output, deadline, said = Output(properties), time.monotonic() + arguments.timeout, time.monotonic()
    while True:
        output.read(1.0)
        if output.counts == dict(expected):
            break
        if time.monotonic() > deadline:
            print(
                "DIFFERENT after",
                f"{arguments.timeout:.0f} s:",
                *differences(expected, output.counts),
                sep="\n  ",
                file=sys.stderr,
            )
            print("Look at: journalctl -u 'spark-job@*' on the Spark nodes", file=sys.stderr)
            return 1
        if time.monotonic() - said > 5:
            said = time.monotonic()
            print(f"  counted so far: {sum(output.counts.values())} of {sum(expected.values())} words", flush=True)
    print(
        f"EQUAL: {len(expected)} different words, {sum(expected.values())} in all, "
        "counted by the Spark job and here by other means"
    )
    for word, count in expected.most_common(10):
        print(f"  {word:<12} {output.counts[word]:>8} (topic) = {count:>8} (here)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
