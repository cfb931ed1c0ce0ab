"""What takes too long for `make test`: part after part, each with its time; a part that fails does not stop the others.

Parts that choose by chance get the seed of the run; the same seed chooses the same. What docs/ says of running clusters
is written by these.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import sys
import time
import traceback
from collections.abc import Sequence

import campaign_status
import observations
from campaign_parts import PARTS
from campaign_run import Campaign, PartError, say
from checkout_lock import BusyError, only_run

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def end_on_signals() -> None:
    """The first of them ends the part that runs, its commands and labs, and then the campaign; others change nothing.

    They are not ignored as such: commands would inherit that, and not end on SIGINT.
    """

    def stop(number: int, _: object) -> None:
        for each in SIGNALS:
            signal.signal(each, lambda *_: None)
        raise SystemExit(128 + number)

    for each in SIGNALS:
        signal.signal(each, stop)


def main(arguments: Sequence[str]) -> int:
    """Run the parts that are named, all without; 1 where one failed, 2 where one is unknown, or other tests run."""
    unknown = [name for name in arguments if name not in PARTS]
    if unknown:
        print(
            f"campaign: no part {', '.join(unknown)}; there are:",
            *(f"  {name:<16} {part.__doc__}" for name, part in PARTS.items()),
            sep="\n",
            file=sys.stderr,
        )
        return 2
    seed = os.environ.get("SEED", "")
    if not re.fullmatch("[0-9]*", seed):
        print(f"campaign: SEED={seed} is no whole number", file=sys.stderr)
        return 2
    try:
        observations.read(campaign_status.FILE)
    except ValueError as error:
        print(f"campaign: {error}", file=sys.stderr)
        return 2
    try:
        with only_run(" ".join(("make campaign", *arguments))) as lock:
            return run(Campaign(int(seed or secrets.randbelow(1_000_000)), lock), arguments)
    except BusyError as error:
        print(error, file=sys.stderr)
        return 2


def run(campaign: Campaign, arguments: Sequence[str]) -> int:
    """Run the parts that are named, all without, and say what became of each; 1 where one failed."""
    names = list(dict.fromkeys(arguments or PARTS))
    summary, left = list[str](), list(names)
    try:
        for name in names:
            summary.append(attempt(campaign, name, left))
            if not say(f"=== {summary[-1].strip()}"):
                raise SystemExit(128 + signal.SIGPIPE)
    finally:
        headline = "all passed:" if not left else "failed:" if len(summary) == len(names) else "interrupted:"
        again = f"make campaign PARTS='{' '.join(left or arguments)}' SEED={campaign.seed}"
        say(headline, *summary, f"again with the same seed: {again}")
    return 1 if left else 0


def attempt(campaign: Campaign, name: str, left: list[str]) -> str:
    """Run a part, and take it from those that are left where it passes; return its line of the summary."""
    say(f"=== {name}, SEED={campaign.seed}: {PARTS[name].__doc__}")
    started, problem = time.monotonic(), ""
    try:
        PARTS[name](campaign)
        left.remove(name)
    except Exception as error:  # whatever it is, the other parts are run
        if not isinstance(error, PartError):
            say(traceback.format_exc())
        problem = f", FAILED: {error}"
    took = time.monotonic() - started
    campaign_status.keep(name, "failed" if problem else "passed", took, campaign.seed)
    return f"  {name:<16} {took:6.0f} s{problem}"


if __name__ == "__main__":
    end_on_signals()
    sys.exit(main(sys.argv[1:]))
