"""Paths and checksums of archives, which the control node reads: judged before any host is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.test_reached import said

DIGITS = 32 * "0aB3"
HERE = "not an absolute path: programs that run in another folder would not find it, and not all replace a ~; "
HOME = "write {{ lookup('ansible.builtin.env', 'HOME') }}/%s, or a folder that all administrators share"
LINE = (
    "more than the digits of a SHA-512: a run would look for a file of this name; write only sha512: and the 128 "
    "hexadecimal digits"
)


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        (
            {"all": {"archives": "~/archives"}},
            [f"PATH_RELATIVE group all/archives = ~/archives: {HERE}{HOME}" % "archives"],
        ),
        (
            {"all": {"archives": ".build/archives"}},
            [f"PATH_RELATIVE group all/archives = .build/archives: {HERE}write it from / on, such as "
             "{{ inventory_dir }}/.build/archives"],
        ),
        (
            {"kafka": {"kafka_archive": "~/kafka-3.9.2.tgz", "kafka_archive_checksum": "sha512:~/k.sha512"}},
            [
                f"PATH_RELATIVE group kafka/kafka_archive = ~/kafka-3.9.2.tgz: {HERE}{HOME}" % "kafka-3.9.2.tgz",
                f"PATH_RELATIVE group kafka/kafka_archive_checksum = ~/k.sha512: {HERE}{HOME}" % "k.sha512",
            ],
        ),
        (
            {"spark": {"spark_job_wheel": "own.whl"}},
            [f"PATH_RELATIVE group spark/spark_job_wheel = own.whl: {HERE}write it from / on, such as "
             "{{ inventory_dir }}/own.whl"],
        ),
        *(
            ({"kafka": {"kafka_archive_checksum": f"sha512:{text}"}},
             [f"CHECKSUM_FORM group kafka/kafka_archive_checksum = sha512:{text}: {LINE}"])
            for text in (
                f"{DIGITS}  kafka_2.13-3.9.2.tgz",
                f"kafka_2.13-3.9.2.tgz: {' '.join(16 * ['0123ABCD'])}",
                f"SHA512 (kafka_2.13-3.9.2.tgz) = {DIGITS}",
            )
        ),
        *(
            ({"kafka": {"kafka_archive_checksum": f"sha512:{text}"}}, [])
            for text in (DIGITS, "/srv/k.sha512", f"https://mirror/{DIGITS}/k.sha512", f"/srv/{DIGITS}.sha512")
        ),
    ],
)  # fmt: skip
def test_paths_of_archives(variables: dict[str, Any], wanted: list[str], tmp_path: Path) -> None:
    assert sorted(said(variables, tmp_path)) == wanted
