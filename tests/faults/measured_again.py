"""Runs a test once more if it exceeded a promised bound while other work took the processors.

The hooks of this module work in every folder whose conftest.py imports them. For a test with the marker `timed`:

1. A clock (promises.py) keeps an exceeded bound, and the test goes on: it judges its ledger first. A lost, double or
   misplaced record, a failed send or a refusal fails the test at once, whatever a clock has kept.
2. If the test passes otherwise, it fails with PromiseBroken, which names every exceeded bound.
3. If the test was starved (starved.py) each time that a bound was exceeded, the fixtures are torn down, so the lab is
   healed, and the test is run once more. A teardown that fails is a failure: the test is not run again.
4. The result of the second run is the result of the test, unless that run was skipped.
   The notes of both runs are in the summary.

A test that cannot be run twice on one lab has the marker `timed(again=False)`.
"""

from collections.abc import Generator

import pytest
from _pytest.runner import runtestprotocol

from .inventory import Inventory
from .promises import Clock, PromiseBroken, Trial
from .starved import Meter

NOTE = "note"
"""The property of a report that the summary prints (tests/conftest.py)."""
STARVED = pytest.StashKey[str]()
"""What a starved test has exceeded."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Judge the bounds after everything else that the test asserts."""
    item.stash[STARVED] = ""
    inventory = getattr(item, "funcargs", {}).get("inventory")
    Clock.trial = trial = Trial(Meter(inventory if isinstance(inventory, Inventory) else None).read)
    try:
        result = yield
    except BaseException as error:
        for exceeded in trial.exceeded:
            error.add_note(f"a bound was exceeded, too: {exceeded}")
        if not (trial.exceeded and isinstance(error, pytest.skip.Exception)):
            raise
    finally:
        Clock.trial = None
    if trial.exceeded:
        text = "; ".join(map(str, trial.exceeded))
        item.stash[STARVED] = text if trial.starved else ""
        raise PromiseBroken(text)
    return result


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test with the marker `timed`, and once more where a bound was exceeded for lack of processors."""
    timed = item.get_closest_marker("timed")
    if timed is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    failed = [report.when for report in reports if report.failed]
    if failed == ["call"] and (first := item.stash[STARVED]) and timed.kwargs.get("again", True):
        line = f"{item.name}: measured again. First run: {first}"
        print(line)
        item.user_properties.append((NOTE, line))
        again = runtestprotocol(item, log=False, nextitem=nextitem)
        reports = reports if any(report.skipped for report in again) else again
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
