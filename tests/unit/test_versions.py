"""What versions there are is said in functions/all.yml (product_versions).

Whatever else has to name one says the same.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import yaml
from render.site import CHECKSUMS

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jobs import TOPICS
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

ROOT = Path(__file__).parents[2]
VERSIONS: dict[str, str] = yaml.safe_load((ROOT / "functions" / "all.yml").read_text())["variables"]["product_versions"]
NAMESPACE = "{http://maven.apache.org/POM/4.0.0}"


def pom(part: str) -> dict[str, str]:
    """Return the properties of a POM of packaging/, and the versions that its dependencies name in digits."""
    root = ElementTree.parse(ROOT / "packaging" / part / "pom.xml").getroot()
    found = {each.tag.removeprefix(NAMESPACE): str(each.text) for each in root.find(f"{NAMESPACE}properties") or []}
    for dependency in root.iter(f"{NAMESPACE}dependency"):
        found[str(dependency.findtext(f"{NAMESPACE}artifactId"))] = str(dependency.findtext(f"{NAMESPACE}version"))
    return found


def test_what_packaging_makes() -> None:
    kafka, zookeeper, spark = pom("kafka"), pom("zookeeper"), pom("spark-jars")
    assert (kafka["kafka.version"], kafka["zookeeper.client.version"]) == (VERSIONS["kafka"], VERSIONS["zookeeper"])
    assert zookeeper["zookeeper.version"] == VERSIONS["zookeeper"]
    assert (spark["spark.version"], spark["kafka-clients"]) == (VERSIONS["spark"], VERSIONS["kafka"])
    assert f"kafka_{VERSIONS['scala']}" in kafka
    assert f"spark-sql-kafka-0-10_{VERSIONS['scala']}" in spark


def test_what_roles_install_that_are_used_alone() -> None:
    for product in ("kafka", "zookeeper"):
        assert argument_spec(product)[f"{product}_version"]["default"] == VERSIONS[product]


def test_the_jobs() -> None:
    project = tomllib.loads((ROOT / "spark_jobs" / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSIONS["jobs"]
    assert f"pyspark=={VERSIONS['spark']}" in project["dependencies"]


def test_properties_are_known_of_the_same_versions() -> None:
    """make definitions reads them from the jars."""
    files = {file.name for file in (ROOT / "plugins" / "definitions").glob("*-*.json")}
    assert files == {f"{product}-{VERSIONS[product]}.json" for product in ("kafka", "zookeeper")}


def test_names_of_archives() -> None:
    assert set(CHECKSUMS) == {
        f"kafka_{VERSIONS['scala']}-{VERSIONS['kafka']}.tgz",
        f"apache-zookeeper-{VERSIONS['zookeeper']}-bin.tar.gz",
        f"millrace_jobs-{VERSIONS['jobs']}-py3-none-any.whl",
        f"spark-wheelhouse-{VERSIONS['spark']}.tar",
        f"spark-jars-{VERSIONS['spark']}.tgz",
    }


def test_java() -> None:
    """The lab's hosts and the control node run what the role installs."""
    installed = re.findall(r"openjdk-\d+-jre-headless", (ROOT / "roles" / "java" / "vars" / "main.yml").read_text())
    packages = (ROOT / "lab" / "packages.txt").read_text().split()
    assert [package for package in packages if package.startswith("openjdk")] == [installed[-1]]


def test_default_topics_of_jobs() -> None:
    """The model check, which does not import the jobs, knows the topics that they take when they are not told."""
    script = (
        "import json; from millrace_jobs.config import JOBS; "
        "print(json.dumps({name: [spec.input_topic, spec.output_topic] for name, spec in JOBS.items()}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "spark_jobs" / "src")},
    )
    assert json.loads(done.stdout) == {name: list(topics) for name, topics in TOPICS.items()}
