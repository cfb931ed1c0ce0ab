"""What is there before the first test is no garbage: a collection need not look at thousands of tests each time."""

import gc


def pytest_collection_finish() -> None:
    """Leave it out of every later collection."""
    gc.collect()
    gc.freeze()
