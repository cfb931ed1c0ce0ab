"""Lists the declared Spark jobs that read a topic, for a run that deletes its records."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model


def readers(model: Model, topic: str) -> tuple[list[dict[str, str]], list[str]]:
    """Return (jobs that read `topic`, jobs of which this is unknown), in the order of the inventory.

    Each reader is {host, unit}. An unknown job is a text with the reason: its wheel cannot be asked.
    """
    found, unknown = list[dict[str, str]](), list[str]()
    for node in model.spark_nodes:
        for job in node.jobs:
            unit = f"spark-job@{job.name}.service"
            if topic in job.reads:
                found.append({"host": node.name, "unit": unit})
            elif not job.uses.known:
                reason = (
                    node.answers.error or f"{node.inputs.text('spark_job_wheel')} does not exist, or has no such job"
                )
                unknown.append(f"{unit} on {node.name} ({reason})")
    return found, unknown


def report(topic: str, jobs: list[dict[str, str]], unknown: list[str]) -> list[str]:
    """Return the lines of the report for the result of `readers`."""
    lines = [f"No declared job reads topic {topic}."]
    if jobs:
        lines = [f"Declared jobs that read topic {topic}. Their offsets refer to its present records:"]
        lines += [f"  {job['unit']} on {job['host']}" for job in jobs]
        lines += [
            "If the topic is recreated, each of these jobs stops, and its message contains the commands with which it",
            f"continues (journalctl -u {jobs[0]['unit'].removesuffix('.service')}).",
        ]
    return [*lines, *(f"Not known whether this job reads topic {topic}: {text}" for text in unknown)]
