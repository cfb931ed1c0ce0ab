"""Puts a distance between the datacenters of a running lab: what passes between them arrives later, and is counted.

Runs until it is ended (Ctrl-C), and then puts the hosts back. Bytes between datacenters are counted in
distance.json of the lab's directory. SIGUSR1 cuts the datacenters off from each other, and a second one connects them
again. Killed with signal 9 it leaves them cut off; the next run mends that.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event

from derive import lab_directory
from millrace_lab.distance import Bridges, Relay, carry, only_relay
from millrace_lab.records import LabError
from millrace_lab.shared_resources import Machine

ROOT = Path(__file__).resolve().parents[1]
COUNTS = "distance.json"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(place: Path, milliseconds: float, loss: float, rate: float) -> int:
    """Hold the datacenters of the lab in `place` apart until a signal; print the bytes that passed; return 0.

    `loss` is the share of lost frames, from 0 to 1; `rate` the bytes a second, 0 for no limit.
    """
    ended = Event()
    for number in SIGNALS:
        signal.signal(number, lambda *_: ended.set())
    bridges = Bridges(Machine(str(ROOT / "lab" / "podman.conf")), place)
    relay = Relay(bridges.sides(), bridges.places(), milliseconds / 2000, loss, rate)

    def toggle(*_: object) -> None:
        relay.cut = not relay.cut

    signal.signal(signal.SIGUSR1, toggle)
    with only_relay(place), bridges.apart() as taps:
        print(f"{', '.join(bridges.names)} are {milliseconds:g} ms apart; end with Ctrl-C", flush=True)
        carry(relay, taps, ended.is_set, place / COUNTS)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # also for the commands that put the hosts back
    for pair, count in sorted(relay.counts.items()):
        network, source, target = pair.split(" ", 2)
        print(f"{network:<12} {source} -> {target} {count:>15,} bytes")
    return 0


def at_most(limit: float) -> Callable[[str], float]:
    """Return a type of options: a number from 0 to `limit`."""

    def number(text: str) -> float:
        if not 0 <= (value := float(text)) <= limit:
            raise argparse.ArgumentTypeError(f"{text} is not from 0 to {limit:g}")
        return value

    return number


def main() -> int:
    """Read the command line; return the exit code, 1 if the lab does not run or has one datacenter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", type=Path, help="an inventory of a running lab, or a folder below .lab")
    parser.add_argument(
        "--round-trip",
        type=at_most(10_000),
        default=20,
        metavar="MS",
        help="milliseconds from one datacenter to another and back",
    )
    parser.add_argument(
        "--loss", type=at_most(100), default=0, metavar="PERCENT", help="frames that are lost on the way (0)"
    )
    parser.add_argument(
        "--rate", type=at_most(100_000), default=0, metavar="MBIT", help="megabits a second (0: no limit)"
    )
    arguments = parser.parse_args()
    place = arguments.place.absolute()
    directory = place if place.is_relative_to(ROOT / ".lab") else lab_directory(place)
    try:
        return run(directory, arguments.round_trip, arguments.loss / 100, arguments.rate * 125_000)
    except LabError as error:
        print(f"lab-distance: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
