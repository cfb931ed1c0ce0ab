"""Stores in a checkpoint the topic ids and parameters with which it began; rejects a start with other values.

With another topic or parameter, the offsets and the state in the checkpoint would be wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from millrace_jobs import commands
from millrace_jobs.config import JOBS, Config
from millrace_jobs.errors import JobError
from millrace_jobs.paths import exists
from millrace_jobs.positions import has_begun
from millrace_jobs.topics import topic_id

_FILE = "began-with"


def check(config: Config, checkpoint: str, query: str) -> None:
    """Check that a query may continue with its checkpoint; store the topic ids and parameters in the checkpoint.

    The topic ids must equal the ids that the checkpoint contains. If the job has state, its parameters must equal the
    parameters in the checkpoint. A value that the checkpoint does not contain, as after an older release, is not
    checked. Messages contain `query`, the name of the query.

    Raises:
        JobError: a topic was deleted and recreated, or a parameter of a job with state has changed.
    """
    file = Path(checkpoint) / _FILE
    topics = {topic.name: topic_id(topic) for source in config.inputs.values() for topic in source.topics}
    parameters = (
        {name: str(value) for name, value in asdict(config.parameters).items()} if JOBS[config.job].shuffles else {}
    )
    content = {"topics": topics, "parameters": parameters}
    if has_begun(checkpoint) and exists(file):
        stored = json.loads(file.read_text(encoding="utf-8"))
        _check_topics(config.job, query, stored["topics"], topics)
        _check_parameters(config.job, query, stored["parameters"], parameters)
        content = {"topics": topics | stored["topics"], "parameters": parameters | stored["parameters"]}
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{_FILE}.new")
    temporary.write_text(json.dumps(content), encoding="utf-8")
    temporary.rename(file)


def _check_topics(job: str, query: str, stored: Mapping[str, str], topics: Mapping[str, str]) -> None:
    for name, new in topics.items():
        if (old := stored.get(name, new)) != new:
            raise JobError(
                f"{query}: topic {name} was deleted and recreated since the checkpoint began (its id was {old} and is "
                f"{new}), so stored offsets refer to other records; {_advice(job)}"
            )


def _check_parameters(job: str, query: str, stored: Mapping[str, str], current: Mapping[str, str]) -> None:
    changed = [name for name in current if stored.get(name, current[name]) != current[name]]
    if changed:
        old, new = (" and ".join(f"{name} {of[name]}" for name in changed) for of in (stored, current))
        raise JobError(
            f"{query}: the checkpoint began with {old}, and {new} would continue with that state; keep the old values, "
            f"or {_advice(job)}"
        )


def _advice(job: str) -> str:
    return f"start again from the first records: {commands.reposition(job, '--to-earliest --apply')}"
