"""What a job reads, writes and keeps its progress in has to be apart, however it is spelt."""

import pytest
from millrace_jobs.config import problems

from .configured import COUNT, PUBLISH

AMONG = "so bad records would be mixed with good ones; give another"
FEEDS = "so the job would feed itself; give another"
TAKEN = "so the files of both would be mixed; give another"
FILES: dict[str, object] = {"checkpoint": "/c", "input_directory": "/a", "output_directory": "/o"}
ARCHIVE: dict[str, object] = {**COUNT, "input_topics": ["t"], "output_directory": "/o"}


@pytest.mark.parametrize("output", ["/a", "/a/", "/a/.", "//a", "/b/../a", "/./a//"])
def test_an_output_that_is_the_input_in_other_words_is_refused(output: str) -> None:
    assert problems("publish_lines", {**FILES, "output_directory": output}) == [
        f"output: is the same as the input, {FEEDS}"
    ]


@pytest.mark.parametrize(
    ("job", "data", "problem"),
    [
        ("publish_lines", {**FILES, "output_directory": "/a/sub"}, f"output: lies below the input, {FEEDS}"),
        ("publish_lines", {**FILES, "input_directory": "/o/../o/in"}, f"input: lies below the output, {FEEDS}"),
        ("publish_lines", {**PUBLISH, "checkpoint": "/in/"}, f"input: is the same as the checkpoint, {TAKEN}"),
        ("publish_lines", {**PUBLISH, "checkpoint": "/in/c"}, f"checkpoint: lies below the input, {TAKEN}"),
        ("publish_lines", {**PUBLISH, "checkpoint": "//in//c"}, f"checkpoint: lies below the input, {TAKEN}"),
        ("count_words", {**FILES, "output_directory": "/c/out"}, f"output: lies below the checkpoint, {TAKEN}"),
        ("archive_events", {**ARCHIVE, "checkpoint": "/o"}, f"output: is the same as the checkpoint, {TAKEN}"),
        ("archive_events", {**ARCHIVE, "checkpoint": "/o/c"}, f"checkpoint: lies below the output, {TAKEN}"),
    ],
)
def test_one_folder_below_another_is_refused(job: str, data: dict[str, object], problem: str) -> None:
    assert problems(job, data) == [problem]


@pytest.mark.parametrize(
    "changes",
    [
        {"output_directory": "/ab"},
        {"checkpoint": "/a.c"},
        {"checkpoint": "/x/c", "input_directory": "/x/in", "output_directory": "/x/out"},
    ],
)
def test_folders_beside_each_other_are_taken(changes: dict[str, object]) -> None:
    assert problems("publish_lines", {**FILES, **changes}) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"output_topic": "t", "dead_letter_topic": "t"},
            f"dead_letter_topic: t is the output too, {AMONG}",
        ),
        (
            {"output_topic": "orders-dead"},
            f"dead_letter_topic: orders-dead is the output too, {AMONG}",
        ),
        (
            {"dead_letter_topic": "orders"},
            "dead_letter_topic: is the same as the input topic, so bad records would be read again; give another",
        ),
        (
            {"shipments_topic": "orders-dead"},
            "dead_letter_topic: is the same as the input topic, so bad records would be read again; give another",
        ),
    ],
)
def test_dead_letters_have_a_topic_of_their_own(changes: dict[str, object], problem: str) -> None:
    """Of either input, and where it has its default name."""
    assert problems("join_shipments", {**COUNT, **changes}) == [problem]
