"""Rules on what strangers reach: ports open to everybody, archives that anybody can change, keys of CAs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.firewall import place_of, rules_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, Machine, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import overrides
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import LOOPBACK
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below, subnet
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# The widest subnets that somebody owns.
WIDEST = {4: 8, 6: 16}
LIFE = 3650  # days of a CA that says none (roles/pki)
DIGITS = re.compile(r"[0-9a-fA-F]{128}")
EMPTIED = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/var/run")
# Where the driver of a job listens, else on the loopback (millrace_jobs.session), and its pages (WebUI.bind).
DRIVER = ("spark.driver.bindAddress", "spark.driver.host")
UI, OF_PAGES = "spark.ui.enabled", "SPARK_LOCAL_IP="


def archives(model: Model) -> Iterator[Problem]:
    """What is installed is what was published: the digits of its checksum come from elsewhere, or over TLS."""
    for machine in model.functional:
        for name in model.input_names(machine, "archives"):
            checksum = machine.inputs.values.get(f"{name}_checksum")
            if checksum is not None and not re.match(r"sha512:(?!http://|ftp://).", str(checksum), re.IGNORECASE):
                clear = "whoever is on the way can change it, and then the archive as well"
                wrong = clear if "://" in str(checksum) else "no SHA-512: nobody would notice another archive"
                advice = "use https, or write the digits: sha512:<128 hexadecimal digits>"
                yield machine.problem(f"{name}_checksum", "ARCHIVE_CLEAR", checksum, wrong, advice)
            digits = str(checksum).partition(":")[2]
            if checksum is not None and re.fullmatch(r"[0-9A-Za-z]{1,200}", digits) and not DIGITS.fullmatch(digits):
                wrong = f"neither a path nor the digits of a SHA-512: {len(digits)} signs"
                advice = "write sha512:<128 hexadecimal digits>, or the path or URL of a file that holds them"
                yield machine.problem(f"{name}_checksum", "CHECKSUM_FORM", checksum, wrong, advice)


def sources(model: Model) -> Iterator[Problem]:
    """No port is open to the whole world."""
    for machine in model.functional:
        for rule in rules_of(machine):
            given = rule.get("from")
            for source in given if isinstance(given, (list, tuple)) else ():
                if _world(str(source)):
                    wrong, advice = "the whole world may connect", "name the subnets of those who have to"
                    yield machine.problem(place_of(machine, rule, source), "FIREWALL_OPEN", source, wrong, advice)


def jobs(model: Model) -> Iterator[Problem]:
    """Ports of jobs are on the loopback: none of them asks for a login."""
    for node in model.spark_nodes:
        for job in node.jobs:
            spark = job.config.get("spark")
            for name, value in spark.items() if isinstance(spark, Mapping) else ():
                place, told = f"{job.variable}.config.spark[{name}]", str(value).strip().lower()
                if name in DRIVER and not LOOPBACK.fullmatch(told):
                    wrong = "its ports, which ask for no login, would be open to the network"
                    yield node.problem(place, "JOB_OPEN", value, wrong, "leave it out: 127.0.0.1")
                elif name == UI and told == "true" and not _loopback_alone(node, job):
                    wrong = "its pages ask for no login, and Spark opens them on all addresses of the node"
                    advice = f"leave it out: false, or say {OF_PAGES}127.0.0.1 in Environment of its unit_overrides"
                    yield node.problem(place, "JOB_OPEN", value, wrong, advice, warning=True)


def _loopback_alone(node: SparkNode, job: Job) -> bool:
    """Tell whether the environment of a job's unit says where its pages are."""
    places = ("spark_job_unit_overrides", f"{job.variable}.unit_overrides")
    services = [sections.get("Service") for name, sections in overrides(node) if name in places]
    told = " ".join(str(service.get("Environment")) for service in services if isinstance(service, Mapping))
    return any(LOOPBACK.match(text) for text in told.split(OF_PAGES)[1:])


@cache
def _world(source: str) -> bool:
    found = subnet(source)
    return found is not None and found.prefixlen < WIDEST[found.version]


def authorities(model: Model) -> Iterator[Problem]:
    """The keys of the CAs are kept, and kept to oneself."""
    for machine in model.functional:
        path, own = str(machine.inputs.get("pki_directory") or ""), machine.production
        if own and path and any(not entry.get("certificate") for entry in machine.inputs.entries("pki_authorities")):
            yield from _kept(machine, path)


def _kept(machine: Machine, path: str) -> Iterator[Problem]:
    advice = "name a folder of the control node that is kept and backed up, as /srv/millrace-pki/<site>"
    if folder := below(path, *EMPTIED):
        wrong = f"{folder} is emptied, and without these keys no certificate is ever renewed"
        yield machine.problem("pki_directory", "AUTHORITY_KEYS", path, wrong, advice)
    elif repository := _repository(path):
        wrong = f"inside the repository {repository}: keys of CAs would go wherever that is copied to"
        yield machine.problem("pki_directory", "AUTHORITY_KEYS", path, wrong, advice)


def _repository(path: str) -> Path | None:
    """Return the checkout that a path is in, on the control node."""
    try:
        return next((parent for parent in (Path(path), *Path(path).parents) if (parent / ".git").exists()), None)
    except OSError:
        return None


def lives(model: Model) -> Iterator[Problem]:
    """A CA of ours outlives the certificates that it signs."""
    for machine in model.functional:
        wanted = machine.inputs.whole("pki_days")
        signing = {str(entry.get("authority")) for entry in machine.certificates}
        for entry in machine.inputs.entries("pki_authorities"):
            days, name = entry.get("days"), str(entry.get("name"))
            if days is None and wanted and wanted > LIFE and name in signing and not entry.get("certificate"):
                wrong = f"longer than CA {name} lives, {LIFE} days: certificates would end with it, all at once"
                advice = "lower it; 397 is usual, and hosts are given new ones by themselves"
                yield machine.problem("pki_days", "CERTIFICATE_LONG", wanted, wrong, advice)
            if isinstance(days, int) and wanted and days < wanted and name in signing and not entry.get("certificate"):
                wrong = f"its certificates would live {wanted} days, and end with it: all at once"
                advice = "leave days out: 3650, or lower pki_days"
                yield machine.problem(f"pki_authorities[{name}].days", "AUTHORITY_SHORT", days, wrong, advice)
