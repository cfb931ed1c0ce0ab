"""Rules on what strangers could use or replace.

Subjects: ports open to the internet, archives that could be replaced during a download, keys and lifetimes of CAs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from ansible_collections.millrace.kafka.plugins.plugin_utils.archives import checksum_source, is_url
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.firewall import place_of, rules_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, Machine, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import overrides
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import LOOPBACK
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below, subnet
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# Prefix lengths of the widest subnets that an organization has.
WIDEST = {4: 8, 6: 16}
LIFE = 3650  # default days of a CA (roles/pki)
DIGITS = re.compile(r"[0-9a-fA-F]{128}")
EMPTIED = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/var/run")
# Addresses of the driver of a job, by default the loopback (millrace_jobs.session), and of its pages (WebUI.bind).
DRIVER = ("spark.driver.bindAddress", "spark.driver.host")
UI, OF_PAGES = "spark.ui.enabled", "SPARK_LOCAL_IP="


ARCHIVE_CLEAR = ProblemKind(
    "ARCHIVE_CLEAR",
    "not a SHA-512: a run would not notice a replaced archive",
    "write sha512:<128 hexadecimal digits>, or sha512:<https URL of a file with these digits>",
)
ARCHIVE_CLEAR_HTTP = ARCHIVE_CLEAR.variant(
    message="an unencrypted URL: a third party on the network can change the checksum, and then the archive as well"
)
CHECKSUM_FORM = ProblemKind(
    "CHECKSUM_FORM",
    "neither a path nor the digits of a SHA-512: {length} characters",
    "write sha512:<128 hexadecimal digits>, or the path or URL of a file that contains them",
)
CHECKSUM_FORM_LINE = CHECKSUM_FORM.variant(
    message="more than the digits of a SHA-512: a run would look for a file of this name",
    advice="write only sha512: and the 128 hexadecimal digits",
)
CHECKSUM_FORM_NONE = CHECKSUM_FORM.variant(message="not of the form sha512:HEX, sha512:FILE or sha512:URL")
CHECKSUM_FORM_BARE = CHECKSUM_FORM_NONE.variant(advice="write sha512: in front of the digits")


def archives(model: Model) -> Iterator[Problem]:
    """Yield a problem for each archive without a SHA-512 checksum, or with a checksum from an unencrypted URL."""
    for machine in model.functional:
        for name in model.input_names(machine, "archives"):
            variable = f"{name}_checksum"
            checksum = machine.inputs.values.get(variable)
            if checksum is None or not (checksum or machine.inputs.values.get(name)):  # an archive that is not used
                continue
            source = checksum_source(str(checksum))
            if source is None:
                bare = DIGITS.fullmatch(str(checksum).strip())
                yield machine.report(CHECKSUM_FORM_BARE if bare else CHECKSUM_FORM_NONE, variable, checksum)
            elif re.match(r"(http|ftp)://", source, re.IGNORECASE):
                yield machine.report(ARCHIVE_CLEAR_HTTP, variable, checksum)
            elif kind := refused_checksum(source):
                yield machine.report(kind, variable, checksum, length=len(source))


def refused_checksum(source: str) -> ProblemKind | None:
    """Return the kind of problem of what follows `sha512:` if it is neither 128 digits nor a path or URL, else None.

    A line of sha512sum, or of a file of checksums, contains the digits and the name of the archive.
    """
    if DIGITS.fullmatch(source) or source.startswith("/") or is_url(source):
        return None
    if re.fullmatch(r"[0-9A-Za-z\s]{1,300}", source):
        return CHECKSUM_FORM
    digits = "".join(re.findall(r"\b[0-9a-fA-F]{8,128}\b", source))
    return CHECKSUM_FORM_LINE if len(digits) >= 128 else None


FIREWALL_OPEN = ProblemKind(
    "FIREWALL_OPEN", "the whole internet may connect", "list only the subnets of the hosts that must connect"
)


def sources(model: Model) -> Iterator[Problem]:
    """Yield a problem for each source in the firewall rules that includes the whole internet."""
    for machine in model.functional:
        for rule in rules_of(machine):
            given = rule.get("from")
            for source in given if isinstance(given, (list, tuple)) else ():
                if _world(str(source)):
                    yield machine.report(FIREWALL_OPEN, place_of(machine, rule, source), source)


JOB_OPEN = ProblemKind(
    "JOB_OPEN",
    "the ports of the Spark driver, which require no login, would be open to the network",
    "remove it (default: 127.0.0.1)",
)
JOB_OPEN_PAGES = JOB_OPEN.variant(
    message="the web pages of the job require no login, and Spark opens them on all addresses of the host",
    advice=f"remove it (default: false), or set {OF_PAGES}127.0.0.1 in Environment of the job's unit_overrides",
)


def jobs(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Spark job with a port that other hosts can reach: the port requires no login."""
    for node in model.spark_nodes:
        for job in node.jobs:
            spark = job.config.get("spark")
            for name, value in spark.items() if isinstance(spark, Mapping) else ():
                variable, text = f"{job.variable}.config.spark[{name}]", str(value).strip().lower()
                if name in DRIVER and not LOOPBACK.fullmatch(text):
                    yield node.report(JOB_OPEN, variable, value)
                elif name == UI and text == "true" and not _loopback_alone(node, job):
                    yield node.report(JOB_OPEN_PAGES, variable, value, warning=True)


def _loopback_alone(node: SparkNode, job: Job) -> bool:
    """Tell whether a job's unit sets SPARK_LOCAL_IP to the loopback, so that other hosts cannot open its web pages."""
    variables = ("spark_job_unit_overrides", f"{job.variable}.unit_overrides")
    services = [sections.get("Service") for name, sections in overrides(node) if name in variables]
    environment = " ".join(str(service.get("Environment")) for service in services if isinstance(service, Mapping))
    return any(LOOPBACK.match(text) for text in environment.split(OF_PAGES)[1:])


@cache
def _world(source: str) -> bool:
    """Tell whether a subnet is wider than one organization can own: less than /8 in IPv4, less than /16 in IPv6."""
    network = subnet(source)
    return network is not None and network.prefixlen < WIDEST[network.version]


def authorities(model: Model) -> Iterator[Problem]:
    """Yield a problem if pki_directory, which holds the CAs' keys, is in a temporary folder or a Git repository."""
    for machine in model.functional:
        path, production = str(machine.inputs.get("pki_directory") or ""), machine.production
        own_keys = any(not entry.get("certificate") for entry in machine.inputs.entries("pki_authorities"))
        if production and path and own_keys:
            yield from _kept(machine, path)


AUTHORITY_KEYS = ProblemKind(
    "AUTHORITY_KEYS",
    "the system deletes files below {folder}, and without the keys of the CAs no certificate can be renewed",
    "set a folder of the control node that persists and is backed up, for example /srv/millrace-pki/<site>",
)
AUTHORITY_KEYS_REPOSITORY = AUTHORITY_KEYS.variant(
    message="inside the Git repository {repository}: each copy of the repository could contain the keys of the CAs"
)


def _kept(machine: Machine, path: str) -> Iterator[Problem]:
    if folder := below(path, *EMPTIED):
        yield machine.report(AUTHORITY_KEYS, "pki_directory", path, folder=folder)
    elif repository := _repository(path):
        yield machine.report(AUTHORITY_KEYS_REPOSITORY, "pki_directory", path, repository=repository)


def _repository(path: str) -> Path | None:
    """Return the root of the Git checkout on the control node that contains `path`; None if there is none."""
    try:
        return next((parent for parent in (Path(path), *Path(path).parents) if (parent / ".git").exists()), None)
    except OSError:
        return None


CERTIFICATE_LONG = ProblemKind(
    "CERTIFICATE_LONG",
    "longer than the {days} days of CA {authority}: all certificates would expire together with the CA",
    "lower it, for example to 397: certificates are renewed automatically",
)
AUTHORITY_SHORT = ProblemKind(
    "AUTHORITY_SHORT",
    "shorter than the {days} days of its certificates (pki_days): all would expire together with the CA",
    "set days above {days} (default: 3650), or lower pki_days",
)


def lives(model: Model) -> Iterator[Problem]:
    """Yield a problem for each CA of this project that expires before the certificates that it signs."""
    for machine in model.functional:
        certificate_days = machine.inputs.whole("pki_days")
        signing = {str(entry.get("authority")) for entry in machine.certificates}
        for entry in machine.inputs.entries("pki_authorities"):
            days, name = entry.get("days"), str(entry.get("name"))
            if not certificate_days or name not in signing or entry.get("certificate"):
                continue
            if days is None and certificate_days > LIFE:
                yield machine.report(CERTIFICATE_LONG, "pki_days", certificate_days, authority=name, days=LIFE)
            if isinstance(days, int) and days < certificate_days:
                yield machine.report(AUTHORITY_SHORT, f"pki_authorities[{name}].days", days, days=certificate_days)
