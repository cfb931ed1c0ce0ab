"""Prints the failures of a layout as a table; pairs of servers are summarised, and named where a name is exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import table
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.advice import NOBODY
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row

NOUNS = {"zookeeper": "ZooKeeper server", "kafka": "broker", "both": "server"}
# More pairs than this, where no shape means them exactly, are counted instead of named.
MOST_NAMES = 6
HEADLINE = ("what fails", "quorum", "writable", "zero loss", "who acts")


def text_table(layout_name: str, rows: Sequence[Row]) -> str:
    """Return the rows for a terminal, under the layout's name.

    Pairs are summarised, and named by what they have in common if that name fits no other pair.
    """
    return "\n".join(
        [layout_name, *table(HEADLINE, [cells for cells, _ in _lines(rows)]), *(f"  {line}" for line in _totals(rows))]
    )


def markdown_table(rows: Sequence[Row], seen: Callable[[Sequence[Row]], str] | None = None) -> str:
    """Return the same table as Markdown; `seen` adds a column with what was observed of the failures of a row."""
    headline = (*HEADLINE, "seen") if seen else HEADLINE
    cells = [(*cells, seen(members)) if seen else cells for cells, members in _lines(rows)]
    lines = [f"| {' | '.join(line)} |" for line in (headline, ("---",) * len(headline), *cells)]
    return "\n".join([*lines, *(f"\n{line[0].upper()}{line[1:]}." for line in _totals(rows))])


def _totals(rows: Sequence[Row]) -> list[str]:
    pairs = [row for row in rows if row.kind == "pair"]
    kept = f"{sum(row.quorum for row in pairs)} keep the quorum, {sum(row.writable for row in pairs)} stay writable"
    return (
        [f"of {len(pairs)} pairs of servers {kept}, {sum(row.zero_loss for row in pairs)} lose nothing"]
        if pairs
        else []
    )


def _lines(rows: Sequence[Row]) -> list[tuple[tuple[str, ...], list[Row]]]:
    """Return the cells of the tables with the rows that each line covers.

    Single failures come first, then pairs by outcome, harmless pairs last.
    """
    pairs, fine = [row for row in rows if row.kind == "pair"], list[Row]()
    outcomes: dict[tuple[str, ...], list[Row]] = {}
    for row in pairs:
        if row.quorum and row.writable and row.zero_loss:
            fine.append(row)
        else:
            outcomes.setdefault(row.cells, []).append(row)
    harmed = [((name, *cells), meant) for cells, members in outcomes.items() for name, meant in _names(members, pairs)]
    rest = f"any{' other' if harmed else ''} two servers ({len(fine)})"
    single = [((row.failure, *row.cells), [row]) for row in rows if row.kind != "pair"]
    return single + harmed + ([((rest, "yes", "yes", "yes", NOBODY), fine)] if fine else [])


def _names(members: Sequence[Row], pairs: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield names that fit `members` among `pairs` and no other pair, with the pairs that each name covers.

    Names by function come first, then by datacenter, then by server.
    """
    for functions in dict.fromkeys(row.functions for row in members):
        wanted = {row.failure for row in members if row.functions == functions}
        alike = [row for row in pairs if row.functions == functions]
        one, other = (NOUNS[function] for function in functions)
        every, two = (
            (f"any two {one}s", f"two {one}s")
            if one == other
            else (f"any {one} and any {other}", f"a {one} and a {other}")
        )
        if name := _exact(wanted, alike, every, two):
            yield name, [row for row in alike if row.failure in wanted]
            continue
        for places in dict.fromkeys(row.datacenters for row in alike):
            here = [row for row in alike if row.datacenters == places]
            some, two = (
                {row.failure for row in here} & wanted,
                f"a {one} of {places[0]} and {'one' if one == other else f'a {other}'} of {places[1]}",
            )
            if one == other and places[0] == places[1]:
                two = f"two {one}s of {places[0]}"
            meant = sorted((row for row in here if row.failure in some), key=lambda row: row.failure)
            if name := _exact(some, here, two, two):
                yield name, meant
            elif len(some) > MOST_NAMES:
                yield f"some {two}, such as {min(some)} ({len(some)})", meant
            else:
                yield from ((row.failure, [row]) for row in meant)


def _exact(wanted: set[str], alike: Sequence[Row], every: str, two: str) -> str:
    """Return a name for `wanted`; '' if none is exact.

    It is all of `alike`, or all that share a datacenter or rack, or all that do not.
    """
    names = {
        every: {row.failure for row in alike},
        f"{two} in one datacenter": {row.failure for row in alike if len(set(row.datacenters)) == 1},
        f"{two} in different datacenters": {row.failure for row in alike if len(set(row.datacenters)) == 2},
        f"{two} in one rack": {row.failure for row in alike if len({rack for _, _, rack in row.shape}) == 1},
        f"{two} in different racks": {row.failure for row in alike if len({rack for _, _, rack in row.shape}) == 2},
    }
    return next((f"{name} ({len(wanted)})" for name, meant in names.items() if wanted and meant == wanted), "")
