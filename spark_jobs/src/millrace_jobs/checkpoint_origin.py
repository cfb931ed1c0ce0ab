"""Keeps the topics and parameters with which a checkpoint began, since with others its state would be wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from millrace_jobs.config import JOBS, Config
from millrace_jobs.errors import JobError
from millrace_jobs.paths import there
from millrace_jobs.positions import has_begun
from millrace_jobs.topics import topic_id

_FILE = "began-with"


def check(config: Config, checkpoint: str, query: str) -> None:
    """Return if the query may continue with its checkpoint: its topics are the same, and with state its parameters too.

    A checkpoint of a release that kept neither records the current ones.

    Raises:
        JobError: a topic was deleted and recreated, or a parameter has changed.
    """
    file = Path(checkpoint) / _FILE
    topics = {topic.name: topic_id(topic) for source in config.inputs.values() for topic in source.topics}
    said = {name: str(value) for name, value in asdict(config.parameters).items()} if JOBS[config.job].shuffles else {}
    began = {"topics": topics, "parameters": said}
    if has_begun(checkpoint) and there(file):
        held = json.loads(file.read_text(encoding="utf-8"))
        _compare(config.job, query, held["topics"], topics)
        _compare_parameters(config.job, query, held["parameters"], said)
        began = {"topics": topics | held["topics"], "parameters": said | held["parameters"]}
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{_FILE}.new")
    new.write_text(json.dumps(began), encoding="utf-8")
    new.rename(file)


def _compare(job: str, query: str, held: Mapping[str, str], topics: Mapping[str, str]) -> None:
    for name, now in topics.items():
        if (was := held.get(name, now)) != now:
            raise JobError(
                f"{query}: topic {name} was deleted and made anew since the checkpoint began (its id was {was} and is "
                f"{now}), so offsets mean others; {_anew(job)}"
            )


def _compare_parameters(job: str, query: str, held: Mapping[str, str], said: Mapping[str, str]) -> None:
    other = [name for name in said if held.get(name, said[name]) != said[name]]
    if other:
        was, now = (" and ".join(f"{name} {of[name]}" for name in other) for of in (held, said))
        raise JobError(
            f"{query}: the checkpoint began with {was}, and {now} would go on with state of those; keep them, or "
            f"{_anew(job)}"
        )


def _anew(job: str) -> str:
    return f"begin anew: stop the job, millrace-jobs reposition {job} --config FILE --to-earliest --apply"
