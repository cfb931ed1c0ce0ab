"""What versions there are is said in functions/all.yml (product_versions).

Whatever else has to name one says the same.
"""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from made_archives import CHECKSUMS
from older_definitions import OLDER

from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import host_facts
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import RELEASES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "functions" / "all.yml"
VERSIONS: dict[str, Any] = yaml.safe_load(SOURCE.read_text())["variables"]["product_versions"]
NAMESPACE = "{http://maven.apache.org/POM/4.0.0}"


def pom(part: str, name: str) -> str:
    """Return what a POM of packaging/ says of a property, or of the version of a dependency."""
    root = ElementTree.parse(ROOT / "packaging" / part / "pom.xml").getroot()
    found = {each.tag.removeprefix(NAMESPACE): str(each.text) for each in root.find(f"{NAMESPACE}properties") or []}
    for dependency in root.iter(f"{NAMESPACE}dependency"):
        found[str(dependency.findtext(f"{NAMESPACE}artifactId"))] = str(dependency.findtext(f"{NAMESPACE}version"))
    return found.get(name, "nothing")


def in_text(path: str, pattern: str) -> str:
    """Return what a pattern finds in a file, all of it that differs."""
    found = re.findall(pattern, (ROOT / path).read_text())
    return ", ".join(dict.fromkeys(found)) or "nothing"


def scala_of(part: str, name: str) -> str:
    """Return the Scala version in the name of a dependency of a POM."""
    return in_text(f"packaging/{part}/pom.xml", rf"<artifactId>{name}_([\d.]+)</artifactId>")


def definitions(product: str) -> str:
    """Return of which version the properties of a product are known; make definitions reads them from the jars."""
    files = (ROOT / "plugins" / "definitions" / "generated").glob(f"{product}-*.json")
    return ", ".join(file.stem.removeprefix(f"{product}-") for file in files) or "nothing"


def pinned(package: str) -> str:
    """Return the version of a package that a control node installs."""
    return in_text("requirements-control.lock", rf"(?m)^{package}==(\S+)")


def supported_releases() -> list[str]:
    """Return the releases of hosts that SUPPORT.md lists, in the form of RELEASES."""
    row = in_text("SUPPORT.md", r"(?m)^\| Release of hosts .*$")
    return re.findall(r"(?:debian|ubuntu) [\d.]+", row.lower())


KAFKA, ZOOKEEPER, SPARK, JAVA = (VERSIONS[name] for name in ("kafka", "zookeeper", "spark", "java"))
AGENT = in_text("functions/kafka.yml", r"(?m)^  kafka_metrics_version: (\S+)")
CLIENT = in_text("packaging/exporter/requirements.lock", r"(?m)^confluent-kafka==(\S+)")
OTHER_DATABASES = sorted({*RELEASES.values()} - {RELEASES["debian 12"]})
KAFKA_POM, JARS_POM = "packaging/kafka/pom.xml", "packaging/spark-jars/pom.xml"
SAID = [
    (KAFKA_POM, "kafka.version", pom("kafka", "kafka.version"), KAFKA),
    (KAFKA_POM, "zookeeper.client.version", pom("kafka", "zookeeper.client.version"), ZOOKEEPER),
    (KAFKA_POM, "kafka_<scala>", scala_of("kafka", "kafka"), VERSIONS["scala"]),
    ("packaging/products.py", "kafka_<scala>", in_text("packaging/products.py", r"kafka_([\d.]+)-"), VERSIONS["scala"]),
    ("packaging/zookeeper/pom.xml", "zookeeper.version", pom("zookeeper", "zookeeper.version"), ZOOKEEPER),
    ("packaging/jmx-exporter/pom.xml", "jmx-exporter.version", pom("jmx-exporter", "jmx-exporter.version"), AGENT),
    *(
        (file, "kafka_metrics_version", in_text(file, pattern), AGENT)
        for file, pattern in (
            ("roles/kafka/defaults/main.yml", r"(?m)^kafka_metrics_version: (\S+)"),
            (
                "roles/kafka/meta/argument_specs.yml",
                r"kafka_metrics_version:\n(?: {8}.*\n)*? {8}default: (\S+)",
            ),
        )
    ),
    (JARS_POM, "spark.version", pom("spark-jars", "spark.version"), SPARK),
    (JARS_POM, "kafka-clients", pom("spark-jars", "kafka-clients"), KAFKA),
    (JARS_POM, "spark-sql-kafka-0-10_<scala>", scala_of("spark-jars", "spark-sql-kafka-0-10"), VERSIONS["scala"]),
    *(
        (
            f"roles/{product}/{file}",
            f"{product}_version",
            in_text(f"roles/{product}/{file}", pattern),
            VERSIONS[product],
        )
        for product in ("kafka", "zookeeper")
        for file, pattern in (
            ("defaults/main.yml", rf"(?m)^{product}_version: (\S+)"),
            ("meta/argument_specs.yml", rf"{product}_version:\n(?: {{8}}.*\n)*? {{8}}default: (\S+)"),
        )
    ),
    ("plugins/definitions/generated/kafka-*.json", "the name", definitions("kafka"), KAFKA),
    ("plugins/definitions/generated/zookeeper-*.json", "the name", definitions("zookeeper"), ZOOKEEPER),
    (
        "spark_jobs/pyproject.toml",
        "version",
        in_text("spark_jobs/pyproject.toml", r'\nversion = "(.*?)"'),
        VERSIONS["jobs"],
    ),
    ("spark_jobs/pyproject.toml", "pyspark", in_text("spark_jobs/pyproject.toml", r"pyspark==([\d.]+)"), SPARK),
    ("spark_jobs/requirements.in", "pyspark", in_text("spark_jobs/requirements.in", r"pyspark==([\d.]+)"), SPARK),
    (
        "roles/java/vars/main.yml",
        "packages",
        in_text("roles/java/vars/main.yml", r"openjdk-(\d+)"),
        ", ".join(JAVA[::-1]),
    ),
    ("lab/packages.txt", "openjdk", in_text("lab/packages.txt", r"openjdk-(\d+)"), JAVA[0]),
    *(
        ("SUPPORT.md", name, in_text("SUPPORT.md", rf"(?m)^\| {name} \| (.*?) \|"), wanted)
        for name, wanted in (
            ("Kafka", KAFKA),
            ("ZooKeeper", ZOOKEEPER),
            ("Spark", f"{SPARK}, Scala {VERSIONS['scala']}"),
            ("Ansible", f"{pinned('ansible')}, ansible-core {pinned('ansible-core')}"),
            ("PostgreSQL", RELEASES["debian 12"]),
        )
    ),
    ("SUPPORT.md", "Java", in_text("SUPPORT.md", r"(?m)^\| Java \| (.*?) \| \|").replace(" | ", ", "), ", ".join(JAVA)),
    ("SUPPORT.md", "PostgreSQL", in_text("SUPPORT.md", r"\| \| (.*): that of the"), ", ".join(OTHER_DATABASES)),
    *(
        (
            "SUPPORT.md",
            f"upgrade of {product}",
            in_text("SUPPORT.md", rf"(?m)^\| {product} \| .*upgrade from ([\d.]+)"),
            OLDER[product.lower()][0],
        )
        for product in ("Kafka", "ZooKeeper")
    ),
    ("SUPPORT.md", "releases", ", ".join(sorted(supported_releases())), ", ".join(sorted(RELEASES))),
    ("plugins/plugin_utils/hosts/host_facts.py", "JAVA", ", ".join(host_facts.JAVA), ", ".join(JAVA)),
]


@pytest.mark.parametrize(("file", "name", "found", "wanted"), SAID, ids=[f"{file} {name}" for file, name, *_ in SAID])
def test_a_file_says_what_is_installed(file: str, name: str, found: str, wanted: str) -> None:
    assert found == wanted, f"{file}: {name} is {found}; product_versions of functions/all.yml says {wanted}"


def test_names_of_archives() -> None:
    assert set(CHECKSUMS) == {
        f"kafka_{VERSIONS['scala']}-{KAFKA}.tgz",
        f"apache-zookeeper-{ZOOKEEPER}-bin.tar.gz",
        f"millrace_jobs-{VERSIONS['jobs']}-py3-none-any.whl",
        f"spark-wheelhouse-{SPARK}.tar",
        f"spark-jars-{SPARK}.tgz",
        f"exporter-wheelhouse-{CLIENT}.tar",
        f"jmx-exporter-{AGENT}.tgz",
    }, "tests/made_archives.py: CHECKSUMS; product_versions of functions/all.yml says otherwise"


def test_the_wheelhouse_of_the_exporter() -> None:
    """Named after the client library in it."""
    assert in_text("functions/monitoring.yml", r"exporter-wheelhouse-([\d.]+)\.tar") == CLIENT


def test_what_is_stable_is_not_internal() -> None:
    """SUPPORT.md promises the filters that no page calls internal, and modules that exist."""
    text = (ROOT / "SUPPORT.md").read_text()
    promised = {
        kind: set(re.findall(r"`(\w+)`", re.findall(rf"(?s)\*\*{kind}\*\*:(.*?)\.\n", text)[0]))
        for kind in ("Modules", "Filters")
    }
    files = (ROOT / "plugins" / "filter").glob("*.yml")
    assert promised["Filters"] == {file.stem for file in files if "Internal" not in file.read_text()}
    assert promised["Modules"] <= {file.stem for file in (ROOT / "plugins" / "modules").glob("*.py")}
