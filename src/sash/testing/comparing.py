"""Do two changelogs, or two bags of rows, say the same; and if not, where.

The order of rows at one instant does not count, and floats are compared with a tolerance. So what counts is the net
difference per instant: what is left after rows of the two sides, and changes that take each other back, have cancelled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from sash.testing.tables import Change, in_order
from sash.testing.values import Row, order, same

BEFORE = 3  # agreeing changes shown before the first that differs
SHOWN = 20  # differing changes shown

Difference = tuple[str, Change]  # "missing" or "unexpected", and the change


def assert_same(expected: Iterable[Change], actual: Iterable[Change]) -> None:
    """Fail with the difference of two changelogs, if there is one."""
    report = difference(expected, actual)
    if report:
        raise AssertionError(report)


def difference(expected: Iterable[Change], actual: Iterable[Change]) -> str:
    """A table of the changes that only one side has; the empty text when both say the same."""
    wanted = in_order(expected)
    found = differences(wanted, actual)
    return _report(wanted, found) if found else ""


def differences(expected: Iterable[Change], actual: Iterable[Change]) -> list[Difference]:
    """The changes that only one side has, in the order of time."""
    wanted = set(expected := list(expected))
    net: dict[int, Counter[Row]] = defaultdict(Counter)
    for sign, side in ((1, expected), (-1, actual)):
        for change in side:
            net[change.ts][change.row] += sign * change.op
    return [
        _named(Change(1 if weight > 0 else -1, ts, row), wanted)
        for ts in sorted(net)
        for row, weight in cancel(net[ts])
        for _ in range(abs(weight))
    ]


def _named(rest: Change, wanted: set[Change]) -> Difference:
    """A rest of +1 is an arrival that is missing or a departure that nobody expected; one of -1 the reverse."""
    return ("missing", rest) if rest in wanted else ("unexpected", rest._replace(op=-rest.op))


def cancel(net: Counter[Row]) -> list[tuple[Row, int]]:
    """The weights that are not zero, after rows that differ only by the rounding of floats have cancelled."""
    rest: list[tuple[Row, int]] = []
    for row in sorted((row for row, weight in net.items() if weight), key=order):
        weight = net[row]
        for place, (other, opposite) in enumerate(rest):
            if weight * opposite < 0 and same(row, other):
                taken = min(abs(weight), abs(opposite))
                weight -= taken if weight > 0 else -taken
                rest[place] = (other, opposite - taken if opposite > 0 else opposite + taken)
        rest.append((row, weight))
    return [(row, weight) for row, weight in rest if weight]


def _report(wanted: Sequence[Change], found: Sequence[Difference]) -> str:
    count = Counter(name for name, _ in found)
    first = found[0][1].ts
    agreeing: list[Difference] = [("", change) for change in wanted if change.ts < first]
    lines = [f"changelogs differ: {count['missing']} missing, {count['unexpected']} unexpected"]
    lines += [f"  {name:<12}{change}" for name, change in [*agreeing[-BEFORE:], *found[:SHOWN]]]
    if len(found) > SHOWN:
        lines.append(f"  and {len(found) - SHOWN} more")
    return "\n".join(lines)


def same_rows(expected: Iterable[Row], actual: Iterable[Row]) -> bool:
    """Whether two bags of rows are the same, up to the rounding of floats."""
    net = Counter(expected)
    net.subtract(Counter(actual))
    return not cancel(net)
