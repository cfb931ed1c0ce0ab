"""A whole lab before each test and after it, and topics that go away."""

import uuid
from collections.abc import Generator, Iterator

import pytest
from observations import given_file

from .inventory import Inventory
from .lab import UNITS, Lab
from .measured_again import pytest_runtest_call as pytest_runtest_call
from .measured_again import pytest_runtest_protocol as pytest_runtest_protocol
from .word_counts import INPUT, JOBS, OUTPUT, LastCounts

_JOURNAL_LINES = 15


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the seed of what is chosen by chance."""
    parser.addoption("--faults-seed", type=int, default=1, metavar="N", help="chooses whom a fault hits (1)")
    parser.addoption("--faults-rows", default="", metavar="2,9a", help="rows of the fault matrix (all)")
    parser.addoption(
        "--faults-record", type=given_file, metavar="FILE", help="where what was measured is kept (nowhere)"
    )
    parser.addoption("--faults-rounds", type=int, default=20, metavar="N", help="rounds of the campaign of kills (20)")


@pytest.fixture(scope="session")
def session_lab(inventory: Inventory) -> Lab:
    """The lab of --inventory."""
    if inventory.lab_directory is None or not inventory.lab_directory.exists():
        pytest.fail(
            f"{inventory.directory}: no running lab; faults are made in containers only (make lab)", pytrace=False
        )
    return Lab(inventory)


@pytest.fixture
def lab(session_lab: Lab) -> Iterator[Lab]:
    """The lab: whole before the test, and healed after it."""
    session_lab.wait()
    yield session_lab
    session_lab.heal()


@pytest.fixture
def run_id() -> str:
    """A name for this run: begins the keys of its records, and names its topics."""
    return f"faults{uuid.uuid4().hex[:8]}"


@pytest.fixture
def topic(lab: Lab, run_id: str) -> Iterator[str]:
    """A topic of RF 3, min ISR 2 and 6 partitions, deleted after the test."""
    lab.create_topic(run_id)
    yield run_id
    lab.heal()
    lab.delete_topic(run_id)


@pytest.fixture
def word_counts(lab: Lab, run_id: str) -> Iterator[LastCounts]:
    """The counts of this run's words. The topics of the jobs stay: the jobs' checkpoints name their offsets."""
    if not lab.inventory.hosts("spark_producer") or not lab.inventory.hosts("spark_consumer"):
        pytest.fail(f"{lab.inventory.directory} has no Spark nodes; name an inventory that has them", pytrace=False)
    for name in {INPUT, OUTPUT} - lab.admin.list_topics(timeout=10).topics.keys():
        lab.create_topic(name)
    counts = LastCounts(lab.inventory.kafka_properties, run_id)
    yield counts
    counts.close()
    for group, unit in JOBS.items():
        lab.on_all(lab.inventory.hosts(group), f"systemctl start {unit}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the end of every journal to a failure."""
    report = yield
    lab = getattr(item, "funcargs", {}).get("session_lab")
    if report.failed and isinstance(lab, Lab):
        for group, unit in {**UNITS, "spark": "'spark-job@*'"}.items():
            for host in lab.inventory.hosts(group):
                command = f"journalctl --no-pager -n 300 -u {unit} | grep -v 'srvr command' | tail -n {_JOURNAL_LINES}"
                text = lab.inventory.run(host, command, check=False)
                report.sections.append((f"journal of {host}", text))
    return report
