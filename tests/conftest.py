"""What all tests share: the option --inventory, what it names, lines of the summary, and the cost of each test."""

import gc
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from compile_cache import compile_once
from costs import Costs
from faults.inventory import ROOT, Inventory, load

NOTE = "note"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say which hosts to test, and who asks them."""
    default = ROOT / "inventories" / "lab"
    parser.addoption(
        "--inventory", type=Path, default=default, metavar="DIR", help="the hosts to test (inventories/lab)"
    )
    parser.addoption(
        "--client-file",
        type=Path,
        metavar="FILE",
        help="librdkafka properties of a user who may everything (a lab's own kcat.conf)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take Ctrl-C also where a shell in the background had it ignored, which commands of tests would inherit."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    forget_repository()
    compile_once()
    config.pluginmanager.register(Costs(config))
    if not hasattr(config, "workerinput"):  # a process of pytest-xdist tells the first one
        config.pluginmanager.register(Failures(config))


def forget_repository() -> None:
    """Remove what a hook of git sets (GIT_DIR and others): tests that make repositories would change this one."""
    names = subprocess.run(["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=False)
    for name in names.stdout.split():
        os.environ.pop(name, None)


class Failures:
    """Names what failed at once: an interrupted run has no summary."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Say it on a line of its own."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and reporter:
            reporter.write_line(f"\nFAILED {report.nodeid} ({report.when})")


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay: garbage is looked for among what comes after, and where there is some."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def inventory(pytestconfig: pytest.Config) -> Iterator[Inventory]:
    """The inventory that --inventory names."""
    loaded = load(pytestconfig.getoption("--inventory").resolve(), pytestconfig.getoption("--client-file"))
    yield loaded
    loaded.close()


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Print one line now, and again in the summary at the end."""

    def add(text: str) -> None:
        line = f"{request.node.name}: {text}"
        print(line)
        request.node.user_properties.append((NOTE, line))  # reaches the summary from another process, too

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was measured, also where a test passed."""
    ended = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "teardown"
    ]
    notes = [str(text) for report in ended for name, text in report.user_properties if name == NOTE]
    if notes:
        terminalreporter.section("measured")
        terminalreporter.write_line("\n".join(notes))
