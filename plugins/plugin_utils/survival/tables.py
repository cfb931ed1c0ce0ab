"""Prints the failures of a layout as a table; pairs of servers with the same results can share a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import table
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.advice import NOBODY
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row

NOUNS = {"zookeeper": "ZooKeeper server", "kafka": "broker", "both": "server"}
# If no shape covers exactly these pairs, more than this many are counted instead of named.
MOST_NAMES = 6
HEADLINE = ("what fails", "quorum", "writable", "zero loss", "who acts")


def text_table(layout_name: str, rows: Sequence[Row]) -> str:
    """Return the table of failures as text for a terminal, below the name of the layout; `rows` is from `survival`.

    Pairs of servers with the same results share a line if one name fits exactly these pairs, such as "any two brokers".
    """
    return "\n".join(
        [layout_name, *table(HEADLINE, [cells for cells, _ in lines(rows)]), *(f"  {line}" for line in totals(rows))]
    )


def markdown_table(rows: Sequence[Row], seen: Callable[[Sequence[Row]], str] | None = None) -> str:
    """Return the table of failures as Markdown; `rows` is the result of `survival`.

    `seen`, if given, adds a column: it gets the rows of a line, and returns what tests observed for these failures.
    """
    headline = (*HEADLINE, "seen") if seen else HEADLINE
    cells = [(*cells, seen(members)) if seen else cells for cells, members in lines(rows)]
    table_lines = [f"| {' | '.join(line)} |" for line in (headline, ("---",) * len(headline), *cells)]
    return "\n".join([*table_lines, *(f"\n{line[0].upper()}{line[1:]}." for line in totals(rows))])


def totals(rows: Sequence[Row]) -> list[str]:
    """Return the sentence that counts the failures of two servers, without a full stop; [] if there is no pair."""
    pairs = [row for row in rows if row.kind == "pair"]
    quorum, writable = sum(row.quorum for row in pairs), sum(row.writable for row in pairs)
    return (
        [
            f"of the {len(pairs)} failures of two servers, the cluster keeps the quorum in {quorum}, stays writable in "
            f"{writable}, loses no record in {sum(row.zero_loss for row in pairs)}"
        ]
        if pairs
        else []
    )


def lines(rows: Sequence[Row]) -> list[tuple[tuple[str, ...], list[Row]]]:
    """Return (cells, rows that the line covers) for each line of the table.

    Single failures come first, then pairs by outcome. All pairs without any harm are one line, the last.
    """
    pairs, harmless = [row for row in rows if row.kind == "pair"], list[Row]()
    outcomes: dict[tuple[str, ...], list[Row]] = {}
    for row in pairs:
        if row.quorum and row.writable and row.zero_loss:
            harmless.append(row)
        else:
            outcomes.setdefault(row.cells, []).append(row)
    harmed = [
        ((name, *cells), covered) for cells, members in outcomes.items() for name, covered in _names(members, pairs)
    ]
    rest = f"any{' other' if harmed else ''} two servers ({len(harmless)})"
    single = [((row.failure, *row.cells), [row]) for row in rows if row.kind != "pair"]
    return single + harmed + ([((rest, "yes", "yes", "yes", NOBODY), harmless)] if harmless else [])


def _names(members: Sequence[Row], pairs: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield (name, rows) so that the names together cover `members`, and each name fits no other row of `pairs`.

    A name by function is preferred, then one by datacenter, then the two servers.
    """
    for functions in dict.fromkeys(row.functions for row in members):
        wanted = {row.failure for row in members if row.functions == functions}
        same_functions = [row for row in pairs if row.functions == functions]
        noun, other_noun = (NOUNS[function] for function in functions)
        all_of_them, two_of_them = (
            (f"any two {noun}s", f"two {noun}s")
            if noun == other_noun
            else (f"any {noun} and any {other_noun}", f"a {noun} and a {other_noun}")
        )
        if name := _exact(wanted, same_functions, all_of_them, two_of_them):
            yield name, [row for row in same_functions if row.failure in wanted]
            continue
        for places in dict.fromkeys(row.datacenters for row in same_functions):
            same_place = [row for row in same_functions if row.datacenters == places]
            matching, two_of_them = (
                {row.failure for row in same_place} & wanted,
                f"a {noun} of {places[0]} and {'one' if noun == other_noun else f'a {other_noun}'} of {places[1]}",
            )
            if noun == other_noun and places[0] == places[1]:
                two_of_them = f"two {noun}s of {places[0]}"
            covered = sorted((row for row in same_place if row.failure in matching), key=lambda row: row.failure)
            if name := _exact(matching, same_place, two_of_them, two_of_them):
                yield name, covered
            elif len(matching) > MOST_NAMES:
                yield f"some {two_of_them}, such as {min(matching)} ({len(matching)})", covered
            else:
                yield from ((row.failure, [row]) for row in covered)


def _exact(wanted: set[str], pairs: Sequence[Row], all_of_them: str, two_of_them: str) -> str:
    """Return a name for the failures `wanted` among `pairs`; '' if no name fits exactly these.

    The names cover all pairs, the pairs in one datacenter or rack, or the pairs in different datacenters or racks.
    `all_of_them` and `two_of_them` are texts such as "any two brokers" and "two brokers".
    """
    names = {
        all_of_them: {row.failure for row in pairs},
        f"{two_of_them} in one datacenter": {row.failure for row in pairs if len(set(row.datacenters)) == 1},
        f"{two_of_them} in different datacenters": {row.failure for row in pairs if len(set(row.datacenters)) == 2},
        f"{two_of_them} in one rack": {row.failure for row in pairs if len({rack for _, _, rack in row.shape}) == 1},
        f"{two_of_them} in different racks": {
            row.failure for row in pairs if len({rack for _, _, rack in row.shape}) == 2
        },
    }
    return next((f"{name} ({len(wanted)})" for name, covered in names.items() if wanted and covered == wanted), "")
